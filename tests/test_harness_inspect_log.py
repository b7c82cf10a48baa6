"""Inspect's logs are read natively, and a damaged one is named, never guessed at."""

import json
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness_runs import RECORDED
from spoteval.episode import Outcome, Part, Usage
from spoteval.harness.inspect_log import Log, read_log, sample_attempt
from spoteval.harness.inspect_zip import Archive, Damaged
from spoteval.harness.parts import read_part
from spoteval.shape import Unreadable

NAMES = sorted(path.stem for path in RECORDED.glob("*.eval"))


def log_of(name: str) -> Log:
    """A recorded log."""
    log = read_log(RECORDED / f"{name}.eval")
    assert isinstance(log, Log)
    return log


def test_a_finished_log() -> None:
    """Two samples of two epochs: all ended, half of them right."""
    log = log_of("finished")
    assert (log.task, log.closed, len(log.kept)) == ("demo", True, 4)
    assert log.episodes == (("item-000", 1), ("item-000", 2), ("item-001", 1), ("item-001", 2))
    assert {(s.key, s.verdict) for s in log.samples} == {
        ("demo/item-000/1", "C"),
        ("demo/item-000/2", "C"),
        ("demo/item-001/1", "I"),
        ("demo/item-001/2", "I"),
    }


def test_a_sample_tells_what_it_spent_and_when() -> None:
    """Tokens of all models, begin and end."""
    sample = log_of("finished").samples[0]
    assert sample.usage == Usage(input_tokens=12, output_tokens=1)
    assert sample.started is not None
    assert sample.ended is not None
    assert sample.started < sample.ended


def test_a_cancelled_log() -> None:
    """SIGINT: what was running is there as cut, without a verdict; what never began is not there."""
    samples = log_of("cancelled").samples
    outcomes = [sample.outcome for sample in samples]
    assert outcomes == [Outcome.COMPLETED] * 2 + [Outcome.PREEMPTION_INTERRUPTED] * 2
    assert {sample.error for sample in samples[2:]} == {"CancelledError"}
    assert {sample.verdict for sample in samples[2:]} == {None}


def test_a_killed_log() -> None:
    """SIGKILL: no header, only what was flushed."""
    log = log_of("killed")
    assert (log.closed, len(log.kept), len(log.episodes)) == (False, 2, 5)


def test_of_a_double_name_the_last_entry_counts() -> None:
    """A resumed log holds the sample that was cut twice: the summary and the member tell of the same attempt."""
    with zipfile.ZipFile(RECORDED / "retried.eval") as archive:
        assert archive.namelist().count("samples/item-003_epoch_1.json") == 2
    sample = next(s for s in log_of("retried").samples if s.key == "demo/item-003/1")
    assert json.loads(read_part(sample.parts[0]))["uuid"] == sample.native_id


def test_errors_limits_and_scores() -> None:
    """An error that is no cancellation is the harness's; a limit stands beside the verdict; a number is JSON."""
    fails, limited, plain = sorted(log_of("odd").samples, key=lambda sample: sample.key)
    assert fails.outcome is Outcome.HARNESS_ERROR
    assert (fails.error or "").startswith("RuntimeError('no sandbox")
    assert (limited.outcome, limited.limit, limited.verdict) == (
        Outcome.COMPLETED,
        "message",
        "0.5",
    )
    assert (plain.limit, plain.verdict) == (None, "0.5")


@pytest.mark.parametrize(
    ("error", "outcome", "said"),
    [
        ("CancelledError('by <Task …>')", Outcome.PREEMPTION_INTERRUPTED, "CancelledError"),
        ("Cancelled()", Outcome.PREEMPTION_INTERRUPTED, "Cancelled"),
        ("CancelledErrors(1)", Outcome.HARNESS_ERROR, "CancelledErrors(1)"),
        ("ValueError('x')\nmore", Outcome.HARNESS_ERROR, "ValueError('x')"),
        ("E" * 301, Outcome.HARNESS_ERROR, "E" * 300),
        (None, Outcome.COMPLETED, None),
    ],
)
def test_what_an_error_says(error: str | None, outcome: Outcome, said: str | None) -> None:
    """Only the repr of a cancellation is a cut; an error is one line of at most 300 characters."""
    attempt = sample_attempt("t/s/1", {"uuid": "u", "error": error})
    assert (attempt.outcome, attempt.error) == (outcome, said)


def test_input_from_a_cache_is_input() -> None:
    """Inspect counts it apart."""
    usage = {"input_tokens": 3, "input_tokens_cache_read": 64, "output_tokens": 5}
    attempt = sample_attempt("t/s/1", {"uuid": "u", "model_usage": {"m": usage, "grader": usage}})
    assert attempt.usage == Usage(134, 10)


@pytest.mark.parametrize(
    ("scores", "verdict"),
    [
        ({"a": {"value": "C"}, "b": {"value": "I"}}, "C"),
        ({"a": {"value": 1}}, "1"),
        ({"a": {"value": {"y": 1, "x": True}}}, '{"x": true, "y": 1}'),
        ({}, None),
    ],
)
def test_the_first_score_is_the_verdict(scores: dict[str, Any], verdict: str | None) -> None:
    """Text as it is, anything else as JSON."""
    assert sample_attempt("t/s/1", {"uuid": "u", "scores": scores}).verdict == verdict


@pytest.mark.parametrize("name", NAMES)
def test_every_member_is_read_and_checked(name: str) -> None:
    """Also those in zstd; each is JSON."""
    with Archive(RECORDED / f"{name}.eval") as archive:
        assert all(json.loads(archive.read(member)) is not None for member in archive.names)


@pytest.mark.parametrize("method", [zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])
def test_other_methods(tmp_path: Path, method: int) -> None:
    """Members may also be stored or deflated."""
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("m.json", b"[1, 2]" * 99)
    assert read_part(Part("m", path, "m.json")) == b"[1, 2]" * 99


def test_an_unknown_method_is_said(tmp_path: Path) -> None:
    """Not decompressed into nonsense."""
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("m.json", b"[1, 2]")
    with Archive(path) as archive, pytest.raises(Damaged, match="method 14 is not known"):
        archive.read("m.json")


def test_parts_that_are_not_there(tmp_path: Path) -> None:
    """A missing file is an OSError, a missing member says what it is."""
    with pytest.raises(FileNotFoundError):
        read_part(Part("sample.json", tmp_path / "gone.eval", "samples/x.json"))
    with pytest.raises(FileNotFoundError):
        read_part(Part("a", tmp_path / "gone"))
    with pytest.raises(ValueError, match=r"holds no samples/x\.json"):
        read_part(Part("sample.json", RECORDED / "killed.eval", "samples/x.json"))


def test_a_file_is_a_part_too(tmp_path: Path) -> None:
    """Whole, as it lies there."""
    (tmp_path / "a").write_bytes(b"\0x\n")
    assert read_part(Part("a", tmp_path / "a")) == b"\0x\n"


@pytest.mark.parametrize("name", ["killed", "retried"])
def test_a_torn_log_is_named_never_raised(tmp_path: Path, name: str) -> None:
    """Cut at every 7th byte and near its end at each: never a log that only seems whole."""
    data = (RECORDED / f"{name}.eval").read_bytes()
    path = tmp_path / "torn.eval"
    for size in [*range(0, len(data) - 40, 7), *range(len(data) - 40, len(data))]:
        path.write_bytes(data[:size])
        found = read_log(path)
        assert isinstance(found, Unreadable), size
        assert str(path) in found.why


@given(at=st.integers(0, 5572), bit=st.integers(0, 7))
def test_a_flipped_bit_never_raises(
    tmp_path_factory: pytest.TempPathFactory, at: int, bit: int
) -> None:
    """Whatever byte is damaged: unreadable, or what the log says anyway (the bit was in a place nobody reads)."""
    path = tmp_path_factory.mktemp("flip") / "killed.eval"
    data = bytearray((RECORDED / "killed.eval").read_bytes())
    data[at % len(data)] ^= 1 << bit
    path.write_bytes(data)
    found = read_log(path)
    assert isinstance(found, Log | Unreadable)
    if isinstance(found, Log):
        assert {sample.verdict for sample in found.samples} <= {"C", "I"}


@pytest.mark.parametrize(
    "header",
    [b"{}", b"[]", b'{"eval": {}}', b'{"eval": {"config": null}}', b"{", b"\xff", b""],
)
def test_a_foreign_header_is_unreadable(tmp_path: Path, header: bytes) -> None:
    """A whole zip that is no log of Inspect's."""
    path = tmp_path / "foreign.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", header)
    assert isinstance(read_log(path), Unreadable)


def test_only_a_sample_that_is_in_the_file_is_finished(tmp_path: Path) -> None:
    """A summary without its member tells nothing."""
    path = tmp_path / "less.eval"
    shutil.copy(RECORDED / "killed.eval", path)
    with Archive(path) as whole, zipfile.ZipFile(tmp_path / "new.eval", "w") as new:
        for name in sorted(whole.names - {"samples/item-000_epoch_1.json"}):
            new.writestr(name, whole.read(name))
    log = read_log(tmp_path / "new.eval")
    assert isinstance(log, Log)
    assert [sample.key for sample in log.samples] == ["demo/item-001/1"]
