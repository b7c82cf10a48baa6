"""The program: alone, with nothing installed, and as `spoteval math`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from spoteval.placement import spot_math

FILE = Path(spot_math.__file__)
DISK_SCRIPT = FILE.parent.parent / "machine" / "disk_read_throughput.sh"
RUNS = "the program as a person starts it"


def told(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, float]:
    """What --json prints."""
    assert spot_math.main(["--json", *words]) == 0
    found = json.loads(capsys.readouterr().out)
    assert isinstance(found, dict)
    return found


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """Its error: one line, exit 2."""
    with pytest.raises(SystemExit) as ended:
        spot_math.main(words)
    assert ended.value.code == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    return lines[0]


@pytest.mark.parametrize(("duration", "share"), [("2h", 63), ("30min", 22), ("1800s", 22)])
def test_published_shares(capsys: pytest.CaptureFixture[str], duration: str, share: int) -> None:
    """63 % of two hours on a machine that lasts two hours, 22 % of half an hour."""
    found = told(capsys, "episode", "--duration", duration, "--tau", "2h", "--slots", "16")
    assert round(100 * found["interrupted_share"]) == share
    assert found["interrupted_per_preemption"] == 16


def test_published_restarts(capsys: pytest.CaptureFixture[str]) -> None:
    """20 min on 60: a third of useful, a quarter of billed time; 700 GB in 6 or 26 min."""
    words = ("restart", "--restart", "20min", "--useful", "60min", "--weights", "700GB", "--read")
    fast, slow = told(capsys, *words, "2GB/s"), told(capsys, *words, "450MB/s")
    assert fast["overhead_over_useful"] == pytest.approx(1 / 3)
    assert fast["overhead_of_billed"] == 0.25
    assert (round(fast["load_min"]), round(slow["load_min"])) == (6, 26)


TOKENS = ("tokens", "--input", "90000", "--output", "6000", "--cached-share", "0.8")
PRICES = ("--price-input", "3", "--price-cached", "0.3", "--price-output", "15")


def test_tokens(capsys: pytest.CaptureFixture[str]) -> None:
    """Blended over all tokens; an own node by its speed."""
    found = told(capsys, *TOKENS, *PRICES, "--node-price", "12", "--tokens-per-s", "2500")
    assert found["blended_usd_per_mtok"] == pytest.approx(1.725)
    assert found["self_hosted_usd_per_mtok"] == pytest.approx(4 / 3)
    spot = told(
        capsys, *TOKENS, *PRICES, "--node-price", "12", "--tokens-per-s", "2500", "--tau", "2h"
    )
    assert spot["self_hosted_over_api"] == pytest.approx(1.789527 / 1.725, rel=1e-5)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("episode", "--duration", "2", "--tau", "2h"), '"2" is not a duration such as "20min"'),
        (("episode", "--duration", "0h", "--tau", "2h"), "above 0"),
        (("episode", "--duration", "2h", "--tau", "2h", "--slots", "0"), "a whole number from 1"),
        (("episode", "--duration", "2h", "--tau", "2h", "--budget", "1h"), "below --duration"),
        (("episode", "--duration", "1s", "--tau", "2h", "--budget", "1h"), "1 to 1000 durations"),
        (("restart", "--restart", "20min"), "--useful"),
        (("tokens", "--input", "1", "--output", "1", "--price-input", "nan"), '"nan" is not'),
        ((*TOKENS[:-1], "1.2", *PRICES), '"1.2" is not a share'),
        ((*TOKENS, *PRICES, "--node-price", "3"), "go together"),
        (("walk",), "invalid choice"),
    ],
)
def test_what_is_wrong_is_one_line(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], line: str
) -> None:
    """The value, and what is allowed."""
    assert line in refused(capsys, *words)


def test_what_never_ends_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """No traceback where a power overflows; null for programs."""
    assert (
        told(capsys, "episode", "--duration", "2h", "--tau", "1s")["node_h_per_completed"] is None
    )
    spot_math.main(["episode", "--duration", "2h", "--tau", "1s"])
    assert "unbounded" in capsys.readouterr().out


@pytest.mark.parametrize("verb", ["episode", "restart", "tokens"])
def test_help_has_an_example_that_runs(capsys: pytest.CaptureFixture[str], verb: str) -> None:
    """As it is printed: words up to the two spaces."""
    example = getattr(spot_math, verb.upper())
    with pytest.raises(SystemExit):
        spot_math.main([verb, "--help"])
    assert " ".join(example.split()) in " ".join(capsys.readouterr().out.split())
    words, _, result = example.partition("   ")
    spot_math.main(words.split())
    figure = float(result.split()[0])
    printed = capsys.readouterr().out.split()
    assert any(f"{figure / 100:.3f}"[1:4] in word or f"{figure:g}" == word for word in printed)


@pytest.mark.runs(RUNS)
def test_it_runs_alone(tmp_path: Path) -> None:
    """Isolated, from elsewhere, without the package."""
    copy = tmp_path / "spot_math.py"
    copy.write_bytes(FILE.read_bytes())
    argv = [
        sys.executable,
        "-I",
        str(copy),
        "--json",
        "restart",
        "--restart",
        "20min",
        "--useful",
        "1h",
    ]
    done = subprocess.run(argv, cwd="/", capture_output=True, text=True, check=True)
    assert json.loads(done.stdout)["overhead_of_billed"] == 0.25


@pytest.mark.runs(RUNS)
def test_disk_script_reads_all(tmp_path: Path) -> None:
    """Every byte once for each number of streams, over several files; a file system without O_DIRECT is said."""
    sizes = (9_000_001, 5000)
    shards = [tmp_path / f"shard-{size}" for size in sizes]
    for shard, size in zip(shards, sizes, strict=True):
        shard.write_bytes(bytes(size))
    argv = ["bash", str(DISK_SCRIPT), "-n", "3", *map(str, shards)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    if done.returncode == 1:
        assert "O_DIRECT" in done.stderr
        pytest.skip("this file system has no O_DIRECT")
    lines = [dict(word.split("=") for word in line.split()) for line in done.stdout.splitlines()]
    assert [(line["streams"], line["bytes"]) for line in lines] == [
        ("1", "9005001"),
        ("3", "9005001"),
    ]


@pytest.mark.runs(RUNS)
@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "name a file"),
        (("-n", "0", "x"), "must be a whole number"),
        (("gone",), '"gone": no file'),
    ],
)
def test_disk_script_refuses(tmp_path: Path, words: tuple[str, ...], said: str) -> None:
    """One line and exit 2."""
    argv = ["bash", str(DISK_SCRIPT), *words]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert said in done.stderr
