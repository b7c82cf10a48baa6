"""control.weights: every listed file is what its sum says, read once, and again only where it changed."""

import hashlib
from pathlib import Path

import pytest

from crash_points import Crash, CrashPoints
from spoteval.control.refused import Refused
from spoteval.control.weights import SUMS, Verified, verify_weights

FILES = {"model-1.safetensors": b"a" * 1000, "model-2.safetensors": b"b" * 2000, "x/c.json": b"{}"}


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    """A model of three files with their sums."""
    folder = tmp_path / "model"
    for name, data in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    lines = (f"{hashlib.sha256(data).hexdigest()}  {name}\n" for name, data in FILES.items())
    (folder / SUMS).write_text("".join(lines))
    return folder


def verified(weights: Path) -> Verified:
    """One verification."""
    return verify_weights(weights, weights.parent / "memory" / "policy.json")


def test_each_file_is_read_once(weights: Path) -> None:
    """The second boot reads nothing; a file that was written anew is read again, and it alone."""
    assert verified(weights) == Verified(listed=True, files=3, read=3, read_bytes=3002)
    assert verified(weights) == Verified(listed=True, files=3)
    (weights / "x/c.json").unlink()
    (weights / "x/c.json").write_bytes(b"{}")
    assert verified(weights) == Verified(listed=True, files=3, read=1, read_bytes=2)


def test_without_sums_nothing_is_claimed(weights: Path) -> None:
    """There is no list: not verified, and no failure."""
    (weights / SUMS).unlink()
    assert verified(weights) == Verified(listed=False)


def test_a_file_that_differs_is_named(weights: Path) -> None:
    """Also one that was good before."""
    verified(weights)
    (weights / "model-2.safetensors").write_bytes(b"b" * 1999 + b"c")
    with pytest.raises(Refused, match=r"model-2\.safetensors: is not what SHA256SUMS says"):
        verified(weights)


def test_a_sum_that_changed_is_held_against_the_file_again(weights: Path) -> None:
    """The list is part of what is known."""
    verified(weights)
    text = (weights / SUMS).read_text()
    (weights / SUMS).write_text(text.replace(text[:64], "0" * 64))
    with pytest.raises(Refused, match=r"model-1\.safetensors"):
        verified(weights)


def test_a_file_that_is_missing_is_named(weights: Path) -> None:
    """A download that was cut off."""
    (weights / "model-1.safetensors").unlink()
    with pytest.raises(Refused, match="listed in SHA256SUMS and not there"):
        verified(weights)


@pytest.mark.parametrize("line", ["hello", "0" * 63 + "  a", "0" * 64 + " a"])
def test_a_line_that_is_none_is_named(weights: Path, line: str) -> None:
    """By its number; nothing is guessed."""
    with (weights / SUMS).open("a") as file:
        file.write(line + "\n")
    with pytest.raises(Refused, match="line 4 is no line of sha256sum"):
        verified(weights)


def test_what_was_verified_before_a_cut_is_not_read_again(
    weights: Path, crash_points: CrashPoints
) -> None:
    """700 GB are not begun anew because the machine was taken away at 690; a torn memory is none."""
    memory = weights.parent / "memory" / "policy.json"
    points = crash_points.count(lambda: verified(weights))
    for n in range(1, points):
        memory.unlink(missing_ok=True)
        with pytest.raises(Crash), crash_points.crash_at(n):
            verified(weights)
        assert verified(weights).files == 3
    memory.write_bytes(b"\0" * 99)
    assert verified(weights).read == 3
