"""idle_guard.decide: every row on its sentence."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from spoteval.clock import Mark, Now
from spoteval.control.enders import HOLD_WITHIN_S, Ender
from spoteval.shape import Reading, Unreadable
from spoteval_agents.idle_guard.decide import decide, observe
from spoteval_agents.idle_guard.seen import Keep, Policy, Seen, State
from spoteval_agents.idle_guard.uses import uses

WALL = datetime(2026, 12, 1, 3, tzinfo=UTC)
NOW = Now(WALL, 5000.0, "boot-1")
POLICY = Policy(after_s=1200.0, cpu_above=0.10, every_s=60.0)
QUIET = Seen("5e55", members=0, cpu=0.02)


def ago(seconds: float) -> Mark:
    """A mark so many seconds before NOW."""
    return Mark(WALL - timedelta(seconds=seconds), NOW.mono_s - seconds, "boot-1")


INTENT = Ender("5e55", "5e55", "idle-guard", "idle for 1200 s", "idle-1", ago(0))
LONG = State(ago(5000))


def sentence(seen: Seen, state: State = LONG) -> str:
    """The line of one decision."""
    return decide(state, seen, POLICY, NOW).line()


@pytest.mark.parametrize(
    ("seen", "because"),
    [
        (replace(QUIET, members=3), "run active"),
        (
            replace(QUIET, members=Unreadable("no control groups")),
            "run unreadable: no control groups",
        ),
        (replace(QUIET, cpu=0.1001), "cpu 10 %"),
        (replace(QUIET, cpu=0.974), "cpu 97 %"),
        (replace(QUIET, cpu=Unreadable("EIO")), "cpu unreadable: EIO"),
        (replace(QUIET, draining=True), "notice pending"),
        (replace(QUIET, keep_alive=Unreadable("EIO")), "keep-alive unreadable: EIO"),
        (replace(QUIET, busy=("boot-resume",)), "boot-resume at work"),
        (replace(QUIET, busy=("boot-resume",), complete=Unreadable("x")), "boot-resume at work"),
        (replace(QUIET, busy=("boot-resume",), guest_hold=Unreadable("x")), "boot-resume at work"),
        (
            replace(QUIET, busy=("end-handler",), complete=True, guest_hold=""),
            "end-handler at work",
        ),
        (replace(QUIET, busy=Unreadable("EIO")), "busy files unreadable: EIO"),
        (replace(QUIET, members=1, cpu=0.5, draining=True), "run active; cpu 50 %; notice pending"),
    ],
)
def test_whatever_uses_the_machine_is_named(seen: Seen, because: str) -> None:
    """A probe that cannot be read counts as use."""
    assert sentence(seen).startswith(
        f'agent=idle-guard decision=active because="{because}" idle_s=0 keep_alive='
    )


@pytest.mark.parametrize(
    ("text", "shown"), [("setup 2026-12-01", '"setup 2026-12-01"'), ("", "yes")]
)
def test_keep_alive_is_shown_with_its_text(text: str, shown: str) -> None:
    """A bare touch is one too."""
    assert sentence(replace(QUIET, keep_alive=Keep(text))) == (
        f"agent=idle-guard decision=active because=keep-alive idle_s=0 keep_alive={shown}"
    )


@pytest.mark.parametrize(
    "seen",
    [
        QUIET,
        replace(QUIET, cpu=0.10),
        replace(QUIET, busy=("boot-resume",), complete=True),
        replace(QUIET, busy=("boot-resume",), guest_hold="tp 4 -> 8"),
        replace(QUIET, busy=("boot-resume",), guest_hold=""),
        replace(QUIET, disk="/d: no sentinel", complete=False),
    ],
)
def test_what_uses_nothing(seen: Seen) -> None:
    """A share at its limit, boot-resume with nothing to bring back, waiting for a person, no disk."""
    assert uses(seen, POLICY) == ()


@pytest.mark.parametrize(
    ("idle_s", "word"), [(0, "idle"), (1199.9, "idle"), (1200, "intent"), (1200.1, "intent")]
)
def test_idle_long_enough_is_written_down_first(idle_s: float, word: str) -> None:
    """Equal is enough."""
    assert f"decision={word} " in sentence(QUIET, State(ago(idle_s)))


def test_the_sentence_of_idleness_counts_down() -> None:
    """And so does that of the first look, which knows nothing yet."""
    assert sentence(QUIET, State(ago(300))) == (
        "agent=idle-guard decision=idle idle_s=300 after_s=1200 keep_alive=none "
        'why="off in 900 s unless something uses it"'
    )
    assert "idle_s=0" in sentence(QUIET, State())


@pytest.mark.parametrize("intents", [(), (INTENT,), (replace(INTENT, proved=True),)])
def test_before_the_processors_are_known_nothing_is_decided(intents: tuple[Ender, ...]) -> None:
    """A guard that was started again neither withdraws nor stops; its idleness has not begun."""
    seen = replace(QUIET, cpu=None, intents=intents)
    assert sentence(seen) == (
        "agent=idle-guard decision=look keep_alive=none "
        'why="nobody knows yet how busy the machine is"'
    )
    assert observe(State(), seen, POLICY, NOW) == State()
    assert "decision=active" in sentence(replace(seen, members=1, intents=()))


def test_the_sentence_of_the_intent() -> None:
    """Also without a disk, whose fault is in the line."""
    assert sentence(QUIET, State(ago(1260))) == (
        "agent=idle-guard decision=intent idle_s=1260 keep_alive=none "
        'why="nothing uses it; written down before anything is done"'
    )
    assert 'disk="/d: no sentinel"' in sentence(replace(QUIET, disk="/d: no sentinel"))


@pytest.mark.parametrize(("failed", "why"), [(None, ""), ("timeout:60s", " why=timeout:60s")])
def test_then_its_hold_is_proved(failed: str | None, why: str) -> None:
    """What the last try said is in the line."""
    seen = replace(QUIET, intents=(replace(INTENT, at=ago(61)),), failed=failed)
    assert sentence(seen) == (
        f"agent=idle-guard decision=hold hold=idle-1 tried_s=61 keep_alive=none{why}"
    )


def test_a_proved_hold_and_one_more_quiet_look_end_the_machine() -> None:
    """The hold keeps it off."""
    assert sentence(replace(QUIET, intents=(replace(INTENT, proved=True),))) == (
        "agent=idle-guard decision=stop hold=idle-1 restarter_hold=proved power=off keep_alive=none "
        'why="nothing uses it, and it is not started again until a person releases the hold"'
    )


@pytest.mark.parametrize(
    ("tried_s", "word"),
    [(HOLD_WITHIN_S - 0.1, "hold"), (HOLD_WITHIN_S, "stop"), (HOLD_WITHIN_S + 1, "stop")],
)
def test_a_hold_that_cannot_be_proved_keeps_the_machine_on_for_a_quarter_of_an_hour(
    tried_s: float, word: str
) -> None:
    """Then it is stopped anyway; the hold stays owed."""
    text = sentence(replace(QUIET, intents=(replace(INTENT, at=ago(tried_s)),)))
    assert f"decision={word} " in text
    if word == "stop":
        assert text.endswith(
            "restarter_hold=unproved power=off keep_alive=none "
            'why="the hold could not be proved; the next boot places it first"'
        )


@pytest.mark.parametrize(("before", "word"), [(0, "intent"), (2, "intent"), (3, "gave-up")])
def test_three_rounds_without_a_hold_and_no_fourth(before: int, word: str) -> None:
    """Own actions never form a circle."""
    owed = tuple(replace(INTENT, name=f"{n}", session=f"{n}") for n in range(before))
    others = (
        replace(INTENT, name="a", session="a", agent="end-handler"),
        replace(INTENT, name="b", session="b", proved=True),
        replace(INTENT, name="c", session="c", withdrawn=True),
    )
    text = sentence(replace(QUIET, intents=(*owed, *others)))
    assert f"decision={word} " in text
    if word == "gave-up":
        assert text.endswith(
            'rounds=3 keep_alive=none why="stopped 3 times without a hold, and started again each '
            'time; a person must look"'
        )


@pytest.mark.parametrize(
    ("proved", "why"),
    [(False, ""), (True, ' why="spoteval hold release idle-1, or it is stopped"')],
)
def test_use_after_the_intent_withdraws_it(proved: bool, why: str) -> None:
    """A hold that stands is a person's to lift, and that is said."""
    seen = replace(QUIET, members=1, intents=(replace(INTENT, proved=proved),))
    assert sentence(seen) == (
        f'agent=idle-guard decision=withdraw because="run active" hold=idle-1 keep_alive=none{why}'
    )


@pytest.mark.parametrize("proved", [True, False])
@pytest.mark.parametrize("busy", [(), ("publication-follower",)])
def test_the_stop_that_it_asked_for_takes_no_intent_back(
    proved: bool, busy: tuple[str, ...]
) -> None:
    """The hook is at work in the shutdown, and so is whoever it asks: that is no use of the machine."""
    own = replace(INTENT, proved=proved)
    seen = replace(QUIET, draining=True, intents=(own,), busy=busy)
    assert sentence(seen) == (
        "agent=idle-guard decision=going hold=idle-1 keep_alive=none"
        ' why="the machine is being stopped; looked at again should it go on"'
    )
    assert "decision=going" not in sentence(replace(seen, draining=False))
    assert "notice pending" in sentence(replace(seen, intents=()))


def test_a_withdrawn_intent_is_history() -> None:
    """Idle again later: a new one."""
    seen = replace(QUIET, intents=(replace(INTENT, withdrawn=True),))
    assert "decision=intent" in sentence(seen)
    assert "decision=active" in sentence(replace(seen, members=1))


def test_intents_that_cannot_be_read_are_waited_for() -> None:
    """Nowhere to write one either."""
    assert sentence(replace(QUIET, intents=Unreadable("EIO"))).endswith('why="intents: EIO"')


def test_idleness_begins_with_the_first_quiet_look_and_ends_with_use() -> None:
    """It does not begin anew at each look."""
    started = observe(State(), QUIET, POLICY, NOW)
    later = replace(NOW, mono_s=NOW.mono_s + 60)
    assert started == State(NOW.mark)
    assert observe(started, QUIET, POLICY, later) == started
    assert observe(started, replace(QUIET, members=1), POLICY, later) == State()


@pytest.mark.parametrize("members", [1, Unreadable("x")])
def test_unknown_never_ends_a_machine(members: Reading[int]) -> None:
    """However long it was idle before."""
    seen = replace(QUIET, members=members)
    assert decide(observe(LONG, seen, POLICY, NOW), seen, POLICY, NOW).word == "active"
