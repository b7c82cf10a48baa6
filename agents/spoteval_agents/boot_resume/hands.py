"""Doing what a plan says: events first, then at most one act."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from spoteval.clock import Now
from spoteval.config.guest import GuestConfig
from spoteval.control.boot import recorded_boot
from spoteval.control.busy import show_work
from spoteval.control.eventlog import log_event
from spoteval.control.worker import Working
from spoteval.event import NEEDS_YOU, REHEARSAL, Event
from spoteval.files import read_lines, touch, write_record
from spoteval.paths import DurablePaths, HostPaths
from spoteval.shape import Unreadable
from spoteval_agents.boot_resume.rows_gate import NUMBER
from spoteval_agents.boot_resume.rows_run import HOLD, START
from spoteval_agents.boot_resume.seen import News, Plan, Seen
from spoteval_agents.boot_resume.stages import AGENT, BOOTED, gist
from spoteval_agents.boot_resume.work import Tools, work_of


@dataclass
class Hands:
    """Where this agent writes, once the disk has proved itself. All methods raise OSError."""

    config: GuestConfig
    host: HostPaths
    disk: DurablePaths
    session: str
    worker: Working
    tools: Tools

    def log(self, news: Iterable[News], seen: Seen, now: Now) -> None:
        """Write events, each durable: to the active run, or where there is none to the guest."""
        for item in news:
            log_event(self._events(seen), self._event(item, seen, now))

    def carry_out(self, plan: Plan, seen: Seen, now: Now) -> str | None:
        """The word to a person, once; the event; the act. What is begun is on the disk before it begins.

        Returns the name of slow work that was begun.
        """
        if plan.needs_you is not None and gist(plan.needs_you) not in seen.told:
            command = {} if plan.command is None else {"command": plan.command}
            self.log([News(NEEDS_YOU, plan.needs_you, command)], seen, now)
        if plan.news is not None:
            self.log([plan.news], seen, now)
        if plan.busy:
            show_work(self.disk, AGENT, self.session)
        if plan.act == NUMBER:
            self._number(now)
        elif plan.act == HOLD:
            touch(self.disk.guest_hold, plan.needs_you or "")
        elif plan.act == START:
            touch(self.host.start_run)
        elif plan.act is not None:
            begun = self.worker.start(plan.act, work_of(plan.act, seen, self.tools))
            return plan.act if begun else None
        return None

    def _events(self, seen: Seen) -> Path:
        if seen.active is None:
            return self.disk.root / "events.jsonl"
        return self.disk.run(seen.active.record.name).events

    def _number(self, now: Now) -> None:
        """Count one up. A number that is lost is found again in the events of earlier boots."""
        boot = recorded_boot(self.disk)
        last = self._last_number() if isinstance(boot, Unreadable) else boot.seq
        record = {"seq": last + 1, "session": self.session, "at": now.record()}
        write_record(self.disk.boot, record)

    def _last_number(self) -> int:
        logs = [self.disk.root / "events.jsonl", *self.disk.runs.glob("*/events.jsonl")]
        records = (record for log in logs for record in read_lines(log).records)
        details = (record.get("detail") for record in records if record.get("kind") == BOOTED)
        seqs = (detail.get("seq") for detail in details if isinstance(detail, dict))
        return max((seq for seq in seqs if isinstance(seq, int)), default=0)

    def _event(self, news: News, seen: Seen, now: Now) -> Event:
        boot = recorded_boot(self.disk) if news.kind == BOOTED else None
        seq = {} if boot is None or isinstance(boot, Unreadable) else {"seq": boot.seq}
        return Event(
            at=now.wall,
            kind=news.kind,
            source=AGENT,
            instance=self.config.instance,
            session=self.session,
            reason=news.reason,
            detail={**news.detail, **seq, **_rehearsed(seen)},
        )


def _rehearsed(seen: Seen) -> dict[str, bool]:
    """What happens to a drill's run is no weather."""
    return {REHEARSAL: True} if seen.active and seen.active.record.rehearsal else {}
