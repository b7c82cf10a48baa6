"""What every provider must do, as tests. A test file of one kind gives the fixture `face` and inherits the class."""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Protocol

import pytest

from spoteval.provider.contract import (
    ErrorKind,
    Observation,
    Price,
    Provider,
    Reply,
    ReplyKind,
    State,
    Unanswered,
    error_kind,
)
from spoteval.shape import Unreadable

SECRET = "hunter2-in-the-answer"
AT = datetime(2026, 12, 1, 12, tzinfo=UTC)
KINDS: tuple[ReplyKind, ...] = (
    "accepted",
    "capacity",
    "auth",
    "quota",
    "gone",
    "conflict",
    "price",
    "rate",
    "unknown",
)
ERRORS: tuple[ErrorKind, ...] = (
    "auth",
    "quota",
    "gone",
    "conflict",
    "rate",
    "timeout",
    "unknown",
)
LONGEST = 300


class Face(Protocol):
    """The world behind a provider of one kind, as a test sets it."""

    @property
    def provider(self) -> Provider:
        """The provider under test."""
        ...

    @property
    def kinds(self) -> Sequence[ReplyKind]:
        """The replies that this kind can tell apart."""
        ...

    @property
    def errors(self) -> Sequence[ErrorKind]:
        """The refusals to say a state or a price that this kind can tell apart."""
        ...

    @property
    def cancels(self) -> bool:
        """Whether its stop ends a start that is under way."""
        ...

    @property
    def advises(self) -> bool:
        """Whether this kind has hints about its room."""
        ...

    @property
    def damages(self) -> Sequence[Callable[[], None]]:
        """Ways in which an answer can come damaged; each holds SECRET where it holds text at all."""
        ...

    def is_now(
        self,
        state: State,
        billed: bool | None = None,
        last_start: datetime | None = None,
        cause: str | None = None,
    ) -> None:
        """The instance, from now on."""
        ...

    def says_another_word(self) -> None:
        """Its state comes in a word that nobody knows."""
        ...

    def costs(self, amount: float, currency: str, per: str) -> None:
        """The price, from now on."""
        ...

    def replies(self, kind: ReplyKind) -> None:
        """To each call, from now on."""
        ...

    def refuses(self, kind: ErrorKind) -> None:
        """To say a state or a price, from now on."""
        ...

    def hints(self, advice: str) -> None:
        """At its room, with the state and with every reply."""
        ...

    def never_answers(self) -> None:
        """Calls arrive and are not answered."""
        ...

    def is_away(self) -> None:
        """There is nobody to ask."""
        ...

    def calls(self) -> list[str]:
        """The starts and stops that arrived, in order."""
        ...


def said(answer: object) -> str:
    """The text in an answer that says why."""
    return answer.why if isinstance(answer, Unreadable) else getattr(answer, "detail", "")


class ProviderContract:
    """Inherit, and give a fixture `face` whose instance is STOPPED, costs something and obeys."""

    @pytest.mark.parametrize("state", [state for state in State if state is not State.UNKNOWN])
    def test_each_state_is_observed(self, face: Face, state: State) -> None:
        """In our words."""
        face.is_now(state)
        seen = face.provider.observe(5)
        assert isinstance(seen, Observation)
        assert seen.state is state

    @pytest.mark.parametrize("billed", [True, False])
    def test_what_it_says_besides_is_observed(self, face: Face, billed: bool) -> None:
        """Bill, last start, and why it stopped, with what says so."""
        face.is_now(State.STOPPED, billed, AT, "preempted")
        seen = face.provider.observe(5)
        assert isinstance(seen, Observation)
        assert (seen.billed, seen.last_start, seen.cause) == (billed, AT, "preempted")
        assert seen.evidence

    def test_a_cause_is_never_made_up(self, face: Face) -> None:
        """Without a word of the provider there is no cause, and nothing is evidence."""
        face.is_now(State.STOPPED, billed=False)
        seen = face.provider.observe(5)
        assert isinstance(seen, Observation)
        assert (seen.cause, seen.evidence, seen.last_start) == (None, None, None)

    def test_another_word_is_never_stopped(self, face: Face) -> None:
        """An answer that nobody understands is UNKNOWN or unreadable."""
        face.says_another_word()
        seen = face.provider.observe(5)
        assert isinstance(seen, Unreadable) or seen.state is State.UNKNOWN

    def test_a_damaged_answer_is_unreadable(self, face: Face) -> None:
        """Never a state, never a price, never a reply that claims to know; and it says so in one line."""
        assert len(face.damages) >= 4
        for damage in face.damages:
            damage()
            answers = [face.provider.observe(5), face.provider.price(5)]
            assert [type(answer) for answer in answers] == [Unreadable, Unreadable]
            for answer in answers:
                self._is_one_clean_line(said(answer))

    def test_an_error_holds_nothing_of_the_answer(self, face: Face) -> None:
        """What came damaged could hold a secret: no reply to a call quotes it either."""
        for damage in face.damages:
            damage()
            for reply in (face.provider.start(0.2), face.provider.stop(0.2)):
                assert (reply.ok, reply.kind) == (False, "unknown")
                self._is_one_clean_line(reply.detail)

    @staticmethod
    def _is_one_clean_line(text: str) -> None:
        assert text
        assert text.isprintable()
        assert len(text) <= LONGEST
        assert SECRET not in text

    @pytest.mark.parametrize("kind", KINDS)
    def test_a_reply_has_its_kind(self, face: Face, kind: ReplyKind) -> None:
        """One call, one reply; only `accepted` is ok."""
        if kind not in face.kinds:
            pytest.skip("this kind of provider never says so")
        face.replies(kind)
        replies = [face.provider.start(5), face.provider.stop(5)]
        assert [reply.kind for reply in replies] == [kind, kind]
        assert [reply.ok for reply in replies] == [kind == "accepted"] * 2
        assert face.calls() == ["start", "stop"]

    @pytest.mark.parametrize("deadline_s", [0.1, 0.3])
    def test_the_deadline_ends_a_call(self, face: Face, deadline_s: float) -> None:
        """The request may have gone through: unknown, and it was put exactly once."""
        face.never_answers()
        late = Reply(ok=False, kind="unknown", detail=f"timeout:{deadline_s:g}s")
        assert face.provider.start(deadline_s) == late
        assert face.calls() == ["start"]
        assert face.provider.stop(deadline_s) == late
        assert face.calls() == ["start", "stop"]

    def test_nobody_there_is_unknown(self, face: Face) -> None:
        """Neither STOPPED nor a price nor a reply."""
        face.is_away()
        assert isinstance(face.provider.observe(5), Unreadable)
        assert isinstance(face.provider.price(5), Unreadable)
        for reply in (face.provider.start(5), face.provider.stop(5)):
            assert (reply.ok, reply.kind) == (False, "unknown")
            assert reply.detail

    def test_a_price_is_read(self, face: Face) -> None:
        """Amount, currency, unit of time, and from when it is."""
        face.costs(3.21, "USD", "hour")
        found = face.provider.price(5)
        assert isinstance(found, Price)
        assert (found.amount, found.currency, found.per) == (3.21, "USD", "hour")
        assert found.kind in ("spot", "list", "configured")
        assert found.as_of.tzinfo is not None

    def test_looking_calls_nothing(self, face: Face) -> None:
        """Observing and asking for the price start and stop nothing."""
        face.provider.observe(5)
        face.provider.price(5)
        assert face.calls() == []

    @pytest.mark.parametrize("kind", ERRORS)
    def test_a_refusal_to_say_has_its_kind(self, face: Face, kind: ErrorKind) -> None:
        """A value to act on, and a text that begins with it; never a state, never a price."""
        if kind not in face.errors:
            pytest.skip("this kind of provider never says so")
        face.refuses(kind)
        for answer in (face.provider.observe(5), face.provider.price(5)):
            assert isinstance(answer, Unanswered)
            assert (answer.kind, error_kind(answer)) == (kind, kind)
            assert answer.why.partition(":")[0] == kind
            self._is_one_clean_line(answer.why)

    def test_a_damaged_answer_is_of_no_kind(self, face: Face) -> None:
        """Nobody refused: what to do about it is not known."""
        for damage in face.damages:
            damage()
            answer = face.provider.observe(5)
            assert isinstance(answer, Unreadable)
            assert error_kind(answer) == "unknown"

    def test_a_stop_while_it_starts_goes_out_once(self, face: Face) -> None:
        """Where the provider cancels a start, one request is how; where not, nobody should ask."""
        assert face.provider.cancels is face.cancels
        face.is_now(State.STARTING)
        face.replies("accepted")
        if face.cancels:
            assert face.provider.stop(5).ok
            assert face.calls() == ["stop"]

    def test_advice_is_one_word_or_none(self, face: Face) -> None:
        """Only what the provider says."""
        seen, reply = face.provider.observe(5), face.provider.start(5)
        assert isinstance(seen, Observation)
        assert (seen.advice, reply.advice) == (None, None)
        if not face.advises:
            return
        face.hints("preemptible: LOW\n")
        seen, reply = face.provider.observe(5), face.provider.start(5)
        assert isinstance(seen, Observation)
        assert (seen.advice, reply.advice) == ("preemptible:-LOW", "preemptible:-LOW")
