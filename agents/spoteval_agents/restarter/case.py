"""One question to the table of decisions, with the answers that several rows share. Pure."""

from dataclasses import dataclass

from spoteval.clock import Now
from spoteval.config.grant import Grant, tightened
from spoteval.decision import Decision
from spoteval.event import NEEDS_YOU
from spoteval.hold import Hold
from spoteval.line import Value
from spoteval.provider.contract import State as ProviderState
from spoteval.run import StopRules
from spoteval.settings.money import Money
from spoteval_agents.restarter.policy import Policy, since_s, stop_every_s
from spoteval_agents.restarter.seen import Seen
from spoteval_agents.restarter.state import KnownHold, State

FILE_HOLD = "operator"
"""The name under which the touch file stands in lines."""
HOLD, STOP = "hold", "stop"
"""What is done besides saying it: the value of `action` in a line."""
NO_RULES = StopRules()


@dataclass(frozen=True, slots=True)
class Case:
    """State after `observe`, the look it came from, and now."""

    state: State
    seen: Seen
    policy: Policy
    now: Now

    @property
    def provider_word(self) -> ProviderState | None:
        """The provider's state, None unless it is understood."""
        obs = self.seen.understood
        return obs.state if obs is not None else None

    @property
    def in_state_s(self) -> float:
        """Seconds since the first look that saw this state."""
        return since_s(self.state.since, self.now) if self.state.since is not None else 0.0

    @property
    def limits(self) -> Grant:
        """The grant, tightened by the rules of the run."""
        run = self.state.run
        if run is None or run.rules == NO_RULES:
            return self.policy.grant
        return tightened(self.policy.grant, run.rules)

    @property
    def holds_word(self) -> str:
        """Names of the holds that are known, `unreadable` for what may stand besides, or `none`."""
        names = [FILE_HOLD] if self.state.file_hold is not None else []
        names += [item.hold.id for item in self.state.holds]
        names += ["unreadable"] if self.seen.holds_error is not None else []
        return ",".join(names) if names else "none"

    @property
    def stop_hold(self) -> KnownHold | None:
        """The hold whose grace for stopping ends first, or None where none wants a stop."""
        wanting = [item for item in self.state.holds if item.hold.ensure_stopped]
        return min(wanting, key=self.stop_in_s, default=None)

    def stop_in_s(self, item: KnownHold) -> float:
        """Seconds until this hold's grace is over; 0 from then on."""
        return max(0.0, item.hold.stop_after_s - since_s(item.since, self.now))

    @property
    def on(self) -> bool:
        """Whether it costs what a machine costs: running, stuck in its start, or stopped and billed all the same."""
        obs, word = self.seen.understood, self.provider_word
        if obs is None:
            return False
        billed = word is ProviderState.STOPPED and obs.billed is True
        return word is ProviderState.RUNNING or self.stuck or billed

    @property
    def stuck(self) -> bool:
        """Starting for a whole window, and no request of ours may still be under way."""
        late = self.in_state_s >= self.policy.poll.start_window_s
        return self.provider_word is ProviderState.STARTING and late and self.state.ask is None

    @property
    def stop_wait_s(self) -> float:
        """Seconds until another stop request may go out."""
        asks = self.state.stop_asks
        if asks is None:
            return 0.0
        return max(0.0, stop_every_s(asks.count) - since_s(asks.at, self.now))

    @property
    def off_costs(self) -> str:
        """What it costs while it stands still, as the end of a sentence."""
        cost = rate(self.policy.stopped_price)
        return "nothing is running" + (f", disks cost {cost}" if cost is not None else "")

    @property
    def on_costs(self) -> str:
        """What it costs while it is on, by the last price that was read."""
        price = self.state.price
        life = self.state.life
        price = life.price if life is not None and life.price is not None else price
        if price is None:
            return "at a price that is not known"
        return f"at {price.amount:.2f} {price.currency}/{'h' if price.per == 'hour' else price.per}"

    def holds_now(self, word: str, pairs: dict[str, Value], why: str) -> Decision:
        """A decision to place a hold and to tell a person."""
        return self.said(word, {**pairs, "action": HOLD, "alert": NEEDS_YOU}, why)

    def said(
        self,
        word: str,
        pairs: dict[str, Value],
        why: str | None = None,
        next_s: float | None = None,
    ) -> Decision:
        """The decision: instance and state first, holds behind its own facts, the sentence last."""
        strays = ",".join(self.seen.strays) if self.seen.strays else None
        run = self.state.run
        tail: dict[str, Value] = {
            "rules_of": run.obeys if run is not None else None,
            "holds": self.holds_word,
            "holds_of_no_instance": strays,
            "next_s": next_s,
        }
        head: dict[str, Value] = {"instance": self.policy.instance, "state": self.seen.word}
        return Decision(word, {**head, **pairs, **tail}, why)


def hold_text(hold: Hold) -> str:
    """A hold's reason and who gave it."""
    return f"{hold.reason} ({hold.by})" if hold.by else hold.reason


def span(seconds: float) -> str:
    """A length of time as people say it: 19 s, 4 min, 2.5 h."""
    if seconds < 120:
        return f"{seconds:.0f} s" if seconds >= 10 else f"{seconds:.1f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"


def how_many(count: int, noun: str) -> str:
    """1 boot, 2 boots."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def rate(money: Money | None) -> str | None:
    """A price as people say it: 11.60 USD/h."""
    return None if money is None else f"{money.amount:.2f} {money.currency}/h"


def tenths(seconds: float) -> float:
    """Seconds as a line shows them."""
    return round(seconds, 1)
