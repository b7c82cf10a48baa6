"""Provider `command`: the contract, and what one's own programs may do wrong."""

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from provider_contract import AT, ERRORS, KINDS, SECRET, ProviderContract
from spoteval.clock import Now, stamp
from spoteval.machine.process import is_alive
from spoteval.provider.answer import answer_table, observation_from, price_from, reply_from
from spoteval.provider.command import MOST_BYTES, CommandProvider, CommandSettings, command_provider
from spoteval.provider.contract import (
    ErrorKind,
    Observation,
    Price,
    Provider,
    Reply,
    ReplyKind,
    State,
    Unanswered,
    unanswered,
)
from spoteval.shape import ShapeError, Table, Unreadable

PROGRAM = """\
#!/bin/sh
cd "$(dirname "$0")"
case $SPOTEVAL_ASKED in start | stop) echo "$SPOTEVAL_ASKED" >>calls ;; esac
if [ -e silent ]; then exec sleep 600; fi
cat "$SPOTEVAL_ASKED"
exit "$(cat code)"
"""
NOW = Now(datetime(2026, 12, 1, 13, tzinfo=UTC), 0.0, "b1")

runs = pytest.mark.runs("the programs of provider command are programs")


@dataclass
class CommandFace:
    """A directory with one program, what it prints for each question, and its exit code."""

    root: Path

    def __post_init__(self) -> None:
        self.program = self.root / "ask"
        self.program.write_text(PROGRAM)
        self.program.chmod(0o755)
        self.exits(0)
        self.is_now(State.STOPPED)
        self.costs(3.21, "USD", "hour")
        self.replies("accepted")

    @property
    def provider(self) -> Provider:
        """All four questions go to the one program."""
        asked = (str(self.program),)
        return CommandProvider(
            "gpu-1", "i-1", CommandSettings(asked, asked, asked, asked), lambda: NOW
        )

    @property
    def kinds(self) -> Sequence[ReplyKind]:
        """A program can say anything."""
        return KINDS

    @property
    def errors(self) -> Sequence[ErrorKind]:
        """A program can say anything."""
        return ERRORS

    cancels = True
    advises = True

    def refuses(self, kind: ErrorKind) -> None:
        """In the place of a state and of a price."""
        self.prints(json.dumps({"error": kind, "detail": "as the cloud put it\n"}))

    def hints(self, advice: str) -> None:
        """With the state and with every reply."""
        self.prints(json.dumps({"state": "STOPPED", "reply": "accepted", "advice": advice}))

    @property
    def damages(self) -> Sequence[Callable[[], None]]:
        """What a program may print instead of an answer."""
        texts = (
            "",
            SECRET,
            f'{{"state": "{SECRET}", "amount": "{SECRET}", "reply": "{SECRET}"',
            f'["{SECRET}"]',
            f'{{"state": "{SECRET}\\n", "amount": "{SECRET}", "reply": "{SECRET}"}}',
            f'{{"state": 1, "amount": NaN, "currency": "USD", "reply": ["{SECRET}"]}}',
            f'{{"state": "STOPPED", "billed": "{SECRET}", "amount": -1, "currency": "{SECRET}"}}',
            f'{{"state": "STOPPED", "last_start": "{SECRET}", "amount": 1, "currency": 5}}',
            "[" * 60_000,
            SECRET * MOST_BYTES,
            f'{{"error": "{SECRET}", "state": "STOPPED", "amount": 1, "currency": "USD"}}',
            f'{{"error": ["{SECRET}"]}}',
        )
        found: list[Callable[[], None]] = [partial(self.prints, text) for text in texts]
        return [*found, partial(self.fails_after, f'{{"state": "STOPPED"}} {SECRET}')]

    def prints(self, text: str) -> None:
        """Whatever it is asked."""
        for name in ("observe", "start", "stop", "price"):
            (self.root / name).write_text(text)

    def fails_after(self, text: str) -> None:
        """It prints that, and exits with 3."""
        self.prints(text)
        self.exits(3)

    def exits(self, code: int) -> None:
        """Its exit code, from now on."""
        (self.root / "code").write_text(str(code))

    def is_now(
        self,
        state: State,
        billed: bool | None = None,
        last_start: datetime | None = None,
        cause: str | None = None,
    ) -> None:
        """The instance, from now on."""
        record = {
            "state": state.value,
            "billed": billed,
            "last_start": stamp(last_start) if last_start else None,
            "cause": cause,
        }
        (self.root / "observe").write_text(json.dumps(record))

    def says_another_word(self) -> None:
        """Its own word for it."""
        (self.root / "observe").write_text('{"state": "Stopped"}')

    def costs(self, amount: float, currency: str, per: str) -> None:
        """The price, from now on."""
        record = {"amount": amount, "currency": currency, "per": per}
        (self.root / "price").write_text(json.dumps(record))

    def replies(self, kind: ReplyKind) -> None:
        """To each call, from now on."""
        for name in ("start", "stop"):
            (self.root / name).write_text(json.dumps({"reply": kind}))

    def never_answers(self) -> None:
        """It sleeps, longer than any test."""
        (self.root / "silent").touch()

    def is_away(self) -> None:
        """No such program."""
        self.program.unlink()

    def calls(self) -> list[str]:
        """What the program wrote down."""
        path = self.root / "calls"
        return path.read_text().split() if path.exists() else []


@pytest.fixture
def face(tmp_path: Path) -> CommandFace:
    """A program that obeys."""
    return CommandFace(tmp_path)


@runs
class TestCommandContract(ProviderContract):
    """One's own programs keep the contract of every provider."""


def provider(*argv: str, deadline_s: float = 20.0) -> CommandProvider:
    """A provider all of whose questions are this program."""
    return CommandProvider(
        "gpu-1", "i-1", CommandSettings(argv, argv, argv, argv, deadline_s), lambda: NOW
    )


def why(answer: object) -> str:
    """The text of an unreadable answer."""
    assert isinstance(answer, Unreadable)
    return answer.why


@runs
@pytest.mark.parametrize(
    ("script", "error"),
    [
        ("exit 3", "observe: exit 3"),
        ("kill -9 $$", "observe: ended by signal 9"),
        ("true", "observe: printed nothing"),
        ("echo hello", "observe: did not print one JSON object"),
        ("echo '{}{}'", "observe: did not print one JSON object"),
        ("echo '[]'", "observe: did not print a JSON object"),
        ("echo '{}'", f"observe: state missing: must be {' | '.join(State)}"),
        (
            """echo '{"state": "halted"}'""",
            f'observe: state "halted": must be {" | ".join(State)}',
        ),
        (
            """echo '{"state": "STOPPED", "billed": 1}'""",
            "observe: billed: must be true or false",
        ),
        ("cat /dev/zero", "observe: more than 64 kB of output"),
        ("cat /dev/zero >&2", "observe: more than 64 kB of output"),
        ("exec sleep 600", "timeout:0.3s"),
        ("sleep 600 & echo '{}'", "timeout:0.3s"),
        ("cat", "observe: printed nothing"),
    ],
)
def test_what_a_program_does_wrong_is_one_line(script: str, error: str) -> None:
    """Its exit code, its silence, its flood, its own words; a child that it leaves behind is waited for no longer."""
    assert why(provider("sh", "-c", script).observe(0.3 if "600" in script else 5)) == error


@runs
def test_a_program_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    """Absent and not executable."""
    (tmp_path / "data").write_text("x")
    for path, code in ((tmp_path / "absent", 127), (tmp_path / "data", 126)):
        text = why(provider(str(path)).observe(5))
        assert text == f"observe: exit {code} (is the program there, and executable?)"


@runs
def test_a_zero_byte_in_an_argument_starts_nothing() -> None:
    """No program can be given one: an error like any other."""
    assert isinstance(provider("true", "a\0b").observe(5), Unreadable)


@runs
def test_the_typed_deadline_is_an_upper_bound() -> None:
    """The shorter of the two ends the program."""
    assert why(provider("sleep", "600", deadline_s=0.1).observe(5)) == "timeout:0.1s"
    assert why(provider("sleep", "600", deadline_s=5).observe(0.1)) == "timeout:0.1s"
    assert provider("sleep", "600", deadline_s=0.1).start(5).detail == "timeout:0.1s"


@runs
def test_what_it_started_ends_with_it(tmp_path: Path) -> None:
    """At the deadline, children in its group included: nothing goes on asking the cloud."""
    pid = tmp_path / "pid"
    provider("sh", "-c", f"sleep 600 & echo $! >{pid}; wait").observe(0.5)
    child = int(pid.read_text())
    for _ in range(500):  # the kernel takes its time to carry out a KILL
        if not is_alive(child):
            return
        time.sleep(0.01)
    pytest.fail(f"process {child} lives on")


@runs
def test_no_shell_reads_the_arguments(tmp_path: Path) -> None:
    """Each is handed over as it stands, with the instance's names put in, and nothing else."""
    tricky = ("$(touch x)", "a b", "; exit 1", "{id}/{instance}", "{other}", "*")
    code = (
        "import json, sys; print(json.dumps({'reply': 'rate', 'detail': ' '.join(sys.argv[1:])}))"
    )
    reply = provider("python3", "-c", code, *tricky).start(20)
    assert reply == Reply(
        ok=False, kind="rate", detail="$(touch x) a b ; exit 1 i-1/gpu-1 {other} *"
    )


@runs
def test_the_question_is_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which question, which instance, how long; what the service manager said to us alone is not."""
    monkeypatch.setenv("NOTIFY_SOCKET", "/run/ours")
    script = (
        'echo "{\\"reply\\": \\"gone\\", \\"detail\\": \\"$SPOTEVAL_ASKED $SPOTEVAL_INSTANCE'
        ' $SPOTEVAL_INSTANCE_ID $SPOTEVAL_DEADLINE_S ${NOTIFY_SOCKET-none}\\"}"'
    )
    assert provider("sh", "-c", script).stop(5).detail == "stop gpu-1 i-1 5 none"


@runs
def test_output_up_to_the_bound_is_read() -> None:
    """At the bound it is an answer, one byte more it is none."""
    code = (
        'import sys; head = \'{"state": "STOPPED"}\';'
        "print(head + ' ' * (int(sys.argv[1]) - len(head)), end='')"
    )
    at, past = (provider("python3", "-c", code, str(MOST_BYTES + more)) for more in (0, 1))
    assert at.observe(20) == Observation(State.STOPPED)
    assert why(past.observe(20)) == "observe: more than 64 kB of output"


def test_a_detail_is_one_short_line() -> None:
    """It goes into decision lines and events."""
    reply = reply_from(
        Table({"reply": "capacity", "detail": " no\n\x1b room " + "x" * 900}, "start")
    )
    assert (reply.kind, reply.ok) == ("capacity", False)
    assert reply.detail.startswith("no room x")
    assert (len(reply.detail), reply.detail.isprintable()) == (200, True)


def test_evidence_is_one_word() -> None:
    """As the line has it; without one, the program's word is the provider's reason."""
    table = {"state": "STOPPED", "cause": "platform", "evidence": "host error\n7"}
    assert observation_from(Table(table, "observe")) == Observation(
        State.STOPPED, cause="platform", evidence="host-error-7"
    )
    seen = observation_from(Table({"state": "STOPPED", "cause": "user"}, "observe"))
    assert isinstance(seen, Observation)
    assert seen.evidence == "provider-reason"


def test_a_refusal_needs_no_detail() -> None:
    """The kind alone is its text."""
    for read in (observation_from, lambda table: price_from(table, NOW)):
        assert read(Table({"error": "auth", "state": "STOPPED"}, "observe")) == unanswered("auth")
        said = read(Table({"error": "rate", "detail": " 60 a\nminute"}, "observe"))
        assert said == Unanswered("rate:60 a minute", "rate")


def test_whether_it_cancels_is_typed() -> None:
    """It does, unless the table says otherwise."""
    assert command_provider(Table(TABLE, "instance.gpu-1")).cancels
    assert not command_provider(Table(TABLE | {"cancels": False}, "instance.gpu-1")).cancels


def test_a_cause_in_other_words_is_no_cause() -> None:
    """It is then unknown, like any stop without a reason."""
    seen = observation_from(Table({"state": "STOPPED", "cause": "solar flare"}, "observe"))
    assert seen == Observation(State.STOPPED)


@given(st.text() | st.binary().map(lambda data: data.decode(errors="replace")))
def test_no_text_is_stopped_by_accident(text: str) -> None:
    """Whatever is printed, nothing is raised; STOPPED is what says STOPPED."""
    table = answer_table(text, "observe")
    if isinstance(table, Unreadable):
        assert table.why.isprintable()
        return
    seen = observation_from(table)
    if isinstance(seen, Observation) and seen.state is State.STOPPED:
        assert table.values["state"] == "STOPPED"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=5,
)
WORDS = [*State, *KINDS, "USD", "hour", "spot", "preempted", stamp(AT)]
ANSWER_KEYS = (
    *("error", "advice", "state", "billed", "auto_restart", "last_start", "cause", "evidence"),
    *("reply", "detail", "amount", "currency", "per", "kind", "as_of"),
)
ANSWER = st.dictionaries(st.sampled_from(ANSWER_KEYS), st.sampled_from(WORDS) | JSON)


@given(ANSWER)
def test_no_object_breaks_a_reading(record: dict[str, object]) -> None:
    """Right keys, wrong values: readings or replies, a price that can be compared, lines that are lines."""
    table = answer_table(json.dumps(record), "asked")
    assert isinstance(table, Table)
    seen, reply, price = observation_from(table), reply_from(table), price_from(table, NOW)
    assert reply.ok == (record.get("reply") == "accepted")
    if isinstance(price, Price):
        assert 0 <= price.amount < float("inf")
    if isinstance(seen, Observation):
        assert record["state"] == seen.state.value
        assert record.get("error") is None
        assert seen.advice is None or seen.advice.isprintable()


TABLE = {
    "provider": "command",
    "id": "i-1",
    "observe": ["/o", "{id}"],
    "start": ["/s"],
    "stop": ["/t"],
}


def test_a_price_that_was_typed_keeps_its_day() -> None:
    """It is `configured`, and as old as it says; without a program and without a price there is none."""
    typed = {"amount": 11.6, "currency": "USD", "per": "hour", "as_of": "2026-11-20"}
    found = command_provider(Table(TABLE | {"price": typed}, "instance.gpu-1")).price(5)
    day = datetime(2026, 11, 20, tzinfo=UTC)
    assert found == Price(11.6, "USD", "hour", "configured", day)
    assert command_provider(Table(TABLE, "instance.gpu-1")).price(5) == Unreadable(
        "no price: set price in [instance.gpu-1]"
    )


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"observe": "/bin/ask now"}, '[instance.gpu-1] observe "/bin/ask now": must be a list'),
        ({"start": []}, "[instance.gpu-1] start []: must be a program and its arguments"),
        ({"stop": ["", "x"]}, '[instance.gpu-1] stop ["", "x"]: must be a program'),
        ({"cancels": "no"}, '[instance.gpu-1] cancels "no": must be true or false'),
        ({"deadline": 20}, "[instance.gpu-1] deadline 20: must be a duration such as"),
        ({"deadline": "0"}, '[instance.gpu-1] deadline "0": must be a duration above 0'),
        ({"price": 3}, "[instance.gpu-1] price 3: must be a list of strings"),
        (
            {"price": {"amount": 1, "currency": "USD", "per": "hour"}},
            "[instance.gpu-1.price] as_of: missing (allowed: the day on which it was looked up)",
        ),
    ],
)
def test_a_wrong_setting_names_its_place(change: dict[str, object], error: str) -> None:
    """Table, key, value, what is allowed."""
    with pytest.raises(ShapeError) as caught:
        command_provider(Table(TABLE | change, "instance.gpu-1"))
    assert str(caught.value).startswith(error)
