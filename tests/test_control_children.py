"""control.children: verbs as children, and what their answers mean."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from spoteval.control import children
from spoteval.control.children import Reply
from spoteval.machine.process import Child, Finished, Run
from spoteval.shape import Unreadable

Script = Callable[[str], None]


@pytest.fixture
def spoteval(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Script:
    """A stand-in named spoteval, found first on PATH."""

    def write(script: str) -> None:
        program = tmp_path / "spoteval"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")

    return write


def answered(code: int, out: str = "", err: str = "", timed_out: bool = False) -> Run:
    """A child that ended so."""

    def run(argv: Sequence[str], within_s: float) -> Finished:
        assert argv == ["spoteval", "hold", "place", "--reason", "x", "--json"]
        return Finished(code, out, err, timed_out, 0.1)

    return run


def ask(run: Run) -> object:
    """One question through that child."""
    return children.ask(["hold", "place", "--reason", "x"], 20, run)


def test_exit_0_with_an_object_is_the_reply() -> None:
    """The object is read from the last line; what came before it is chatter."""
    reply = ask(answered(0, 'connecting\n{"id": "idle-1", "strength": "proved"}\n'))
    assert isinstance(reply, Reply)
    assert (reply.body.text("strength"), reply.refused) == ("proved", False)


@pytest.mark.parametrize(
    ("out", "forked"), [('{"forked": true}\n', True), ("", False), ("[1]", False)]
)
def test_exit_3_is_a_refusal_with_or_without_an_object(out: str, forked: bool) -> None:
    """Refused is an answer: what was asked was not done, and the last line says why."""
    reply = ask(answered(3, out, "fact epoch: refused: the disk forked\n"))
    assert isinstance(reply, Reply)
    assert reply.refused
    assert reply.said == "fact epoch: refused: the disk forked"
    assert reply.body.flag("forked", default=False) is forked


@pytest.mark.parametrize(
    ("run", "why"),
    [
        (answered(1, '{"id": "x"}', "store: no such directory\n"), "store: no such directory"),
        (answered(2, "", "config.toml: [run]: no\n"), "config.toml: [run]: no"),
        (answered(-9), "exit -9"),
        (answered(0, ""), "without a JSON object"),
        (answered(0, "[1]"), "without a JSON object"),
        (answered(0, '{"id": "x'), "without a JSON object"),
        (answered(0, '{"id": "x"}', timed_out=True), "timeout:20s"),
        (answered(127, "", "spoteval: No such file or directory"), "No such file"),
    ],
)
def test_everything_else_is_unreadable(run: Run, why: str) -> None:
    """Nobody may conclude that it was done, nor that it was not."""
    reply = ask(run)
    assert isinstance(reply, Unreadable)
    assert reply.why.startswith("spoteval hold place: ")
    assert why in reply.why


@pytest.mark.runs("starts a stand-in named spoteval, by PATH")
def test_a_real_child_is_found_by_path(spoteval: Script) -> None:
    """The verb, its arguments and --json arrive as they were given."""
    spoteval('printf \'{"argv": "%s"}\\n\' "$*"')
    reply = children.ask(["fact", "put", "ended-a b"], 20)
    assert isinstance(reply, Reply)
    assert reply.body.text("argv") == "fact put ended-a b --json"


@pytest.mark.runs("starts a stand-in that hangs")
def test_a_child_that_hangs_is_killed_at_its_deadline(spoteval: Script) -> None:
    """A store that does not answer costs its deadline and no more."""
    spoteval("exec sleep 60")
    assert children.ask(["fact", "put", "x"], 0.2) == Unreadable("spoteval fact put: timeout:0.2s")


@pytest.mark.runs("starts a stand-in and waits for its end")
def test_begin_returns_at_once(spoteval: Script) -> None:
    """What must not delay is started and polled."""
    spoteval("read line; exit 5")
    child = children.begin(["fact", "put", "notice"])
    assert isinstance(child, Child)
    assert child.wait(20) is not None


@pytest.mark.runs("looks for a program on PATH")
def test_begin_without_the_program_is_unreadable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The caller goes on."""
    monkeypatch.setenv("PATH", str(tmp_path))
    assert isinstance(children.begin(["fact", "put", "notice"]), Unreadable)
