"""The command itself: help in four blocks, nothing heavy imported, errors in one line with their exit code."""

import json
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from cli_hosts import Hosts, made_hosts, typed
from spoteval.cli.errors import line_of, said
from spoteval.cli.output import painted, table
from spoteval.cli.root import root, verb_of
from spoteval.cli.verbs import BLOCKS, VERBS
from spoteval.config.shared import ConfigError
from spoteval.control.refused import Failed, Refused
from spoteval.files import Taken
from spoteval.machine.process import run
from spoteval.store.contract import StoreError

HEAVY = (
    "boto3",
    "botocore",
    "requests",
    "zstandard",
    "psutil",
    "sdnotify",
    "http.client",
    "ssl",
    "asyncio",
    "subprocess",
    "spoteval.config.guest",
    "spoteval.store",
    "spoteval.cli.status",
)


def test_help_has_four_blocks_in_order() -> None:
    """decide, set up, run, after; hidden verbs are in none."""
    found = typed(("--help",), {}).out
    places = [found.index(f"\n{block}:\n") for block in BLOCKS]
    assert places == sorted(places)
    assert "settle" not in found
    assert "  status " in found
    assert max(map(len, found.splitlines())) <= 80


@pytest.mark.runs("a fresh interpreter: this one has loaded everything")
@pytest.mark.parametrize("words", [["--help"], ["run", "--help"], ["--version"]])
def test_help_imports_nothing_heavy(words: list[str]) -> None:
    """Neither a verb nor a store client nor a process is loaded to print a page of text."""
    script = (
        "import sys; from spoteval.cli import main\n"
        f"sys.argv[1:] = {words!r}\n"
        "try: main()\nexcept SystemExit as end: assert end.code == 0, end\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules])"
    )
    env = {"PYTHONPATH": str(Path(__file__).parents[1] / "common"), "PATH": "/usr/bin:/bin"}
    done = run([sys.executable, "-c", script], 30.0, env)
    assert (done.code, done.out.splitlines()[-1]) == (0, "[]"), done.err


def test_every_verb_of_the_table_is_there() -> None:
    """Each target can be imported, and answers --help."""
    for words, verb in VERBS.items():
        if words.startswith("demo"):
            continue  # needs what only the demo's environment has
        done = typed((*words.split(), "--help"), {})
        assert done.code == 0, (words, done.err)
        assert verb.block in (None, *BLOCKS)


def test_a_group_without_a_verb_prints_its_help() -> None:
    """And is a wrong command line."""
    done = typed(("run",), {})
    assert done.code == 2
    assert "Make a run the active one" in done.err + done.out


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (("holt",), 'spoteval: "holt": no such verb (did you mean "hold"?) (spoteval --help)'),
        (("run", "neww"), 'run: "neww": no such verb (did you mean "new"?) (spoteval run --help)'),
        (("zzz",), 'spoteval: "zzz": no such verb (spoteval --help)'),
        (("run", "new"), "run new: Missing argument 'NAME'. (spoteval run new --help)"),
        (
            ("stop", "gpu-1"),
            "stop: Missing option '--reason'. (spoteval stop --help)",
        ),
    ],
)
def test_a_wrong_command_line_is_one_line(words: tuple[str, ...], line: str) -> None:
    """Exit 2, what is wrong, where to read more."""
    done = typed(words, {})
    assert (done.code, done.out, done.err) == (2, "", line + "\n")


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (ConfigError("/etc/x.toml: [run]: missing"), 2, "/etc/x.toml: [run]: missing"),
        (Refused("held"), 3, "run new: held"),
        (Refused("no disk", subject="/mnt/durable"), 3, "/mnt/durable: no disk"),
        (Failed("not off"), 1, "run new: not off"),
        (StoreError("file:///x: gone"), 1, "run new: file:///x: gone"),
        (Taken("/x: held"), 1, "run new: /x: held"),
        (OSError(28, "No space left on device", "/a"), 1, "run new: /a: No space left on device"),
        (OSError("odd"), 1, "run new: odd"),
        (click.ClickException("demo failed"), 1, "run new: demo failed"),
        (KeyboardInterrupt(), 130, "run new: stopped by the keyboard"),
        (click.Abort(), 130, "run new: stopped by the keyboard"),
        (ValueError("a\nb"), 1, "run new: ValueError: a b (a defect; --debug shows where)"),
    ],
)
def test_each_error_has_its_line_and_code(error: BaseException, code: int, line: str) -> None:
    """1 failed, 2 configuration, 3 refused; always one line."""
    assert line_of(error, "run new") == (code, line)


def test_an_exit_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    """A verb that ended itself has said what it had to say."""
    assert said(SystemExit(4), "x") == 4
    assert said(SystemExit("text"), "x") == 1
    assert said(click.exceptions.Exit(5), "x") == 5
    assert capsys.readouterr().err == ""


@pytest.mark.runs("a pipe whose reader goes away")
def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    """`spoteval … | head` says nothing on stderr."""
    hosts = made_hosts(tmp_path)
    program = f"{sys.executable} -c 'from spoteval.cli import main; main()' config show"
    env = {name: value for name, value in hosts.environment("node").items() if value}
    env |= {"PYTHONPATH": str(Path(__file__).parents[1] / "common"), "PATH": "/usr/bin:/bin"}
    done = run(["bash", "-c", f"{program} | true; echo ${{PIPESTATUS[0]}}"], 30.0, env)
    assert done.err == ""
    assert done.out.strip() in ("0", "1")  # 0 where it had written before the reader was gone


def test_debug_shows_the_traceback(tmp_path: Path) -> None:
    """Anywhere in the line; without it there is none."""
    env = {"SPOTEVAL_CONFIG": str(tmp_path / "none.toml")}
    plain = typed(("check",), env)
    assert plain.code == 2
    assert plain.err.endswith("names another)\n")
    result = CliRunner().invoke(root, ["check", "--debug"], env=env)
    assert isinstance(result.exception, ConfigError)


@pytest.mark.parametrize(
    ("words", "verb"),
    [
        (["--debug", "run", "new", "q3"], "run new"),
        (["hold", "place", "gpu-1", "--reason", "stop"], "hold place"),
        (["status", "run"], "status"),
        (["q"], ""),
        ([], ""),
    ],
)
def test_the_verb_of_a_line(words: list[str], verb: str) -> None:
    """What was typed, without what follows it."""
    assert verb_of(words) == verb


def test_json_goes_to_stdout_alone(tmp_path: Path) -> None:
    """One object a line, nothing else; what is for people goes to stderr."""
    hosts: Hosts = made_hosts(tmp_path)
    done = hosts.guest("hold", "place", "--reason", "käse", "--id", "h", "--json")
    assert (json.loads(done.out), done.err) == ({"id": "h", "strength": "proved"}, "")


def test_tables_and_colours() -> None:
    """Columns as wide as their widest cell; no colour where nobody looks."""
    assert table([("a", "bbb"), ("aaa", "b")], ("H", "I")) == ["H    I", "a    bbb", "aaa  b"]
    assert painted("x", "red", terminal=False) == "x"
    assert painted("x", "red", terminal=True) == "\x1b[31mx\x1b[0m"
