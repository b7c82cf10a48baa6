"""I5, I6, I7 and I11, judged by the truth after every cycle."""

from dataclasses import dataclass, field

from sim.checks_request import stop_every_s
from sim.truth import LATE_S, Patience, Truth, Violated
from sim.virtual_host import VirtualHost
from spoteval.decision import Decision
from spoteval.hold import Hold
from spoteval.local.market import UP, History

OVER_S, SILENT_S, RULE_GRACE_S = 7200.0, 5400.0, 600.0
PAUSE_S, SLACK_S = 7200.0, 240.0
"""How long what nobody needs, or what says nothing, may run before a hold; that hold's grace; the loop guard's
longest pause, and by how much more than a poll a life may have looked shorter than it was."""


@dataclass(frozen=True, slots=True)
class Stepped:
    """One cycle. `spent_s`: since this host's last one. `credit_s`: what a fault excuses, inf for everything."""

    host: VirtualHost
    row: int
    decision: Decision | None
    started: bool
    spent_s: float
    credit_s: float


@dataclass
class AfterStep:
    """Keeps what is due, and since when."""

    truth: Truth
    seen_holds: dict[str, set[str]] = field(default_factory=dict)
    start_due: Patience = field(default_factory=Patience)
    release_due: Patience = field(default_factory=Patience)
    stop_due: dict[str, Patience] = field(default_factory=dict)
    own_holds: dict[tuple[str, str], tuple[int, int, int]] = field(default_factory=dict)
    blurred: set[int] = field(default_factory=set)
    placed_now: set[str] = field(default_factory=set)  # by the cycle itself: its look was before
    known_boots: dict[str, int] = field(default_factory=dict)
    serving: str = ""
    taken_over: bool = False  # from another, whose start may be open: a window passes first
    releases: int = 0

    def anew(self) -> None:
        """What a lost memory or clock has to wait for begins again, and how long a life is nobody knows."""
        self.blurred.add(self.truth.cloud.boot)
        self.start_due.over()
        self.stop_due.clear()

    def own_hold(self, hold: Hold, by: str, *, lied: bool) -> None:
        """I6: a restarter has placed a hold. A rule trips once for what it has seen, and not for our own stop.

        `lied`: an old page was shown to it just now, so that it may speak of the life before.
        """
        truth = self.truth
        self.placed_now.add(hold.id)
        kind = hold.id.split("-20")[0]
        lives = (truth.cloud.boot - int(lied), truth.starts, truth.people.edits)
        if kind.startswith("rule-") and self.own_holds.get((by, kind)) == lives:
            raise Violated("I6", f"{kind} has tripped again, and nothing was started in between")
        self.own_holds[by, kind] = lives
        boot = truth.cloud.boot
        by_others = boot in truth.people.console_stops or truth.cloud.cause == "guest"
        if kind == "stop" and (boot, by) in truth.own_stops and not by_others:
            raise Violated("I6", f"{hold.id}: our own stop is taken for somebody's")

    def judge(self, step: Stepped) -> None:
        """Everything that must hold now."""
        if self.truth.cloud.state not in ("RUNNING", "STARTING"):
            self.truth.stops.clear()
        self._nobody_lifts(step.host)
        self._obeyed(step)
        self.placed_now.clear()
        if not self.truth.serves(step.host):
            return
        if self.serving != step.host.name:
            self.serving = step.host.name
            self.taken_over = len(self.truth.people.owners) > 1
            self.anew()
        if step.host.confused_s == self.truth.now_s:
            self.blurred.add(self.truth.cloud.boot)
            self.known_boots.pop(step.host.name, None)
        self._knows_boot(step.host)
        if self.releases != self.truth.people.releases:  # it begins anew with what tripped it
            self.releases = self.truth.people.releases
            self.stop_due.pop("over", None)
            self.stop_due.pop("silent", None)
        self._pauses_with_reason(step)
        self._start_comes(step)
        self._stop_comes(step)
        self._release_is_heard(step)

    def _nobody_lifts(self, host: VirtualHost) -> None:
        """Nobody but people lifts a hold, in the store or in the restarter's memory."""
        if self.truth.people.foreign:
            raise Violated("I5", f"released by nobody: {self.truth.people.foreign}")
        known = {item.hold.id for item in host.book.state.holds}
        seen = self.seen_holds.get(host.name, set())
        if forgotten := (seen & self.truth.people.standing) - known:
            raise Violated("I5", f"forgotten: {sorted(forgotten)}")
        self.seen_holds[host.name] = known

    def _obeyed(self, step: Stepped) -> None:
        """A hold that the look could see decides."""
        if step.decision is None or step.row == 1 or step.host.store.away:
            return
        held = self.truth.holds_in(step.host) - self.placed_now
        if held or self.truth.people.touched:
            raise Violated("I5", f"{step.decision.word} (row {step.row}) while held: {held}")

    def _pauses_with_reason(self, step: Stepped) -> None:
        """I6: the loop guard pauses only after short lives, and our own stops make none."""
        if step.decision is None or step.decision.word != "loop-guard":
            return
        limit_s = self.truth.poll.short_run_s + self.truth.poll.every_s + SLACK_S
        lives = cut_lives(self.truth.cloud.history)[-6:]
        short = [boot for boot, life_s in lives if life_s < limit_s or boot in self.blurred]
        if len(short) < self.truth.poll.loop_guard - 1:
            raise Violated("I6", f"loop guard after {len(short)} short lives of {lives}")

    def _release_is_heard(self, step: Stepped) -> None:
        """After a release some other row is reached within one window.

        A removed file that came back, because the memory of having written it was lost, holds until it is gone.
        """
        people = self.truth.people
        if people.stubborn:
            raise Violated("I5", f"removed, and there again: {people.stubborn}")
        held = people.held or people.came_back(step.host.paths)
        if step.row != 1 or step.decision is None or held:
            self.release_due.over()
            return
        if not self.release_due.running:
            self.release_due.begin(self.truth.poll.start_window_s + LATE_S)
        self.release_due.passes(step.spent_s, step.credit_s)
        if self.release_due.lost:
            raise Violated("I5", f"held {self.release_due.spent_s:.0f} s after the last release")

    def _start_comes(self, step: Stepped) -> None:
        """I11: stopped and free is started in time, windows and backoff included."""
        self.taken_over = self.taken_over and not step.started
        undone = any(not item.placed for item in step.host.book.state.holds)
        if (
            step.started or not self.truth.free or undone
        ):  # or its own hold is decided and not yet put
            self.start_due.over()
            return
        if not self.start_due.running:
            self.start_due.begin(self._start_within_s(step.host))
        if step.decision is not None and step.decision.word == "loop-guard":
            self.start_due.limit_s = PAUSE_S + self._at_last_s()
        if step.decision is None:  # an intent may be on record whose request never went out
            self.start_due.limit_s = max(self.start_due.limit_s, self._at_last_s())
        self.start_due.passes(step.spent_s, step.credit_s)
        if self.start_due.lost:
            raise Violated("I11", f"not started: free for {self.start_due.spent_s:.0f} s")

    def _start_within_s(self, host: VirtualHost) -> float:
        """From a stop: the poll that sees it, the grace, a poll after its end. A release takes polls to be heard.

        After a start that failed or was refused there is a wait, and looks are rarer where there were too many.
        """
        poll, people, state = self.truth.poll, self.truth.people, host.book.state
        if state.counts.rated:
            return self._at_last_s() + 5 * rested_s(state.counts.rated, poll.every_s)
        waits = state.ask is not None or state.failures > 0 or state.refusal is not None
        if waits or self.taken_over:
            return self._at_last_s()
        on_time_s = poll.every_s + poll.grace_s + 2 * poll.in_motion_s
        by_people = people.changed_s >= self.truth.cloud.began_s - 1.0
        return on_time_s + (2 * poll.every_s + LATE_S if by_people else 0.0)

    def _at_last_s(self) -> float:
        """The same with a window that must close and the longest backoff."""
        poll = self.truth.poll
        waits_s = poll.start_window_s + poll.backoff_max_s
        return waits_s + poll.grace_s + 5 * poll.every_s + LATE_S

    def _stop_comes(self, step: Stepped) -> None:
        """I7: what runs and is not wanted is asked to stop, after its grace and two polls."""
        reasons = self._unwanted(step) if self.truth.cloud.state == "RUNNING" else {}
        for reason in self.stop_due.keys() - reasons.keys():
            del self.stop_due[reason]
        asked = max(self.truth.stops_of_life.values(), key=lambda stop: stop.at_s, default=None)
        for reason, limit_s in reasons.items():
            due = self.stop_due.setdefault(reason, Patience())
            if not due.running:
                due.begin(max(limit_s, stop_every_s(asked.count) + limit_s if asked else 0.0))
            if asked is not None and asked.at_s >= self.truth.now_s - step.spent_s:
                due.begin(stop_every_s(asked.count) + limit_s)
            due.passes(step.spent_s, step.credit_s)
            if due.lost:
                raise Violated("I7", f"runs on for {due.spent_s:.0f} s, not wanted: {reason}")

    def _unwanted(self, step: Stepped) -> dict[str, float]:
        """Why what runs should be off, each with how long it may take."""
        truth, people = self.truth, self.truth.people
        polls_s = 3 * truth.poll.every_s + LATE_S
        holds = (people.placed[hold_id] for hold_id in people.standing)
        due = {hold.id: hold.stop_after_s + polls_s for hold in holds if hold.ensure_stopped}
        if people.held:  # whoever holds it decides, also where the hold leaves it on
            return due
        known = people.over_since_s is not None or step.host.clock.synced
        if 4 in truth.rows and people.over and known:
            due["over"] = OVER_S + RULE_GRACE_S + polls_s
        if 5 in truth.rows and self._must_hear_silence(step.host):
            # It counts from the look that first sees it RUNNING; then three times as much as a poll may be missing.
            due["silent"] = SILENT_S + RULE_GRACE_S + polls_s + truth.poll.every_s
        return due

    def _knows_boot(self, host: VirtualHost) -> None:
        """A boot that was known in its own time is never taken for a later one."""
        state, boot = host.book.state, self.truth.cloud.boot
        of_life = state.life.boot if state.life is not None else None
        if boot in (state.counts.boot_seq, of_life):
            self.known_boots[host.name] = boot

    def _must_hear_silence(self, host: VirtualHost) -> bool:
        """Whether this life says nothing, and no boot of before can be taken for its own.

        That can be where provider, store or memory was away all the time from that boot's facts to this life.
        """
        guest, boot = self.truth.guest, self.truth.cloud.boot
        if not guest.silent(boot):
            return False
        spoke = next((one for one in range(boot - 1, 0, -1) if not guest.silent(one)), 0)
        return spoke <= self.known_boots.get(host.name, 0)


def rested_s(refusals: int, every_s: float) -> float:
    """Seconds between two looks after so many refusals for too many requests."""
    return max(every_s, min(900.0, every_s * 2.0**refusals))


def cut_lives(history: History) -> list[tuple[int, float]]:
    """Number and length of each life that was not ended on purpose."""
    lives: list[tuple[int, float]] = []
    up_s, boot = 0.0, 0
    for phase in history:
        boot += phase.name == "running"
        up_s = up_s + phase.length_s if phase.name in (*UP, "noticed", "stopping") else up_s
        if phase.name == "stopped":
            if up_s > 0 and phase.cause not in ("user", "guest"):
                lives.append((boot, up_s))
            up_s = 0.0
    return lives
