"""The process `spoteval-shutdown-hook`: it waits for a notice or for its own end."""

import json
import sys
from pathlib import Path
from time import sleep

from spoteval.clock import monotonic_s, read_now
from spoteval.config.guest import GuestConfig
from spoteval.config.host import fail
from spoteval.control import children
from spoteval.control.containers import DOCKER
from spoteval.control.eventlog import DecisionLog, tell
from spoteval.control.guest import serve
from spoteval.control.interrupting import adopt
from spoteval.interruption import Opened
from spoteval.loop import Waker
from spoteval.machine.cgroup import members_here
from spoteval.machine.process import Child
from spoteval.machine.session import this_session
from spoteval.machine.systemd import Notifier, is_rebooting, is_stopping
from spoteval.notice.contract import Notice, NoticeSource
from spoteval.notice.open import open_notices
from spoteval.paths import HostPaths
from spoteval.shape import ShapeError, Unreadable
from spoteval.steps import StepResult
from spoteval_agents.shutdown_hook.decide import AGENT
from spoteval_agents.shutdown_hook.hook import Hook, Sources
from spoteval_agents.shutdown_hook.target import Target, resolve
from spoteval_agents.shutdown_hook.watch import Polled
from spoteval_agents.shutdown_hook.work import World

NOTICE_EVERY_S, TARGET_EVERY_S, FEED_EVERY_S = 0.25, 1.0, 10.0


class Facts:
    """The fact `notice`, put by a child that nobody waits for."""

    def __init__(self) -> None:
        self._child: Child | None = None

    def put(self, opened: Opened) -> str:
        """Start the child; returns what the step says. Raises OSError where it cannot be started."""
        body = json.dumps({"interruption": opened.id, "notice": opened.notice})
        begun = children.begin(["fact", "put", "notice", "--body", body])
        if isinstance(begun, Unreadable):
            raise OSError(begun.why)
        self._child = begun
        return "on its way"

    def reap(self) -> None:
        """Let a child that has ended go."""
        if self._child is not None and self._child.poll() is not None:
            self._child = None


def main() -> None:
    """The entry point. Exit 0 at TERM, 1 where another hook runs, 2 for a wrong host file."""
    sys.exit(serve(AGENT, run))


def run(config: GuestConfig, host: HostPaths) -> None:
    """Watch until the machine's end, or the unit's."""
    session = this_session(host.session, read_now().boot).id
    source, facts, notifier = _notices(config), Facts(), Notifier()
    notices = Polled[Notice | None]("notices", source.read, NOTICE_EVERY_S)
    targets = Polled[Target | None]("target", lambda: resolve(config), TARGET_EVERY_S)
    hook = Hook(
        config=config,
        host=host,
        session=session,
        world=_world(config, host, facts),
        sources=Sources(
            notice=lambda: notices.value,
            target=lambda: targets.value,
            stopping=lambda within_s: is_stopping(_told_by_file(config, host), within_s),
            rebooting=lambda within_s: is_rebooting(_told_by_file(config, host), within_s),
        ),
        notifier=notifier,
        log=DecisionLog(None),
    )
    if isinstance(targets.value, Target):
        adopt(targets.value.durable)
    hook.recall(read_now())
    with Waker() as waker:
        notices.start()
        targets.start()
        notifier.ready()
        terminated, fed_s = False, 0.0
        while hook.cycle(read_now(), terminated):
            fed_s = _fed(notifier, fed_s)
            facts.reap()
            terminated = waker.wait(NOTICE_EVERY_S).reason == "signal" or terminated


def _fed(notifier: Notifier, fed_s: float) -> float:
    """Feed the watchdog now and then, not four times a second; returns when it was fed last."""
    now_s = monotonic_s()
    if now_s - fed_s < FEED_EVERY_S:
        return fed_s
    notifier.watchdog()
    return now_s


def _notices(config: GuestConfig) -> NoticeSource:
    try:
        return open_notices(config.provider, config.provider_table)
    except ShapeError as error:
        fail(config.path, str(error))


def _world(config: GuestConfig, host: HostPaths, facts: Facts) -> World:
    return World(
        instance=config.instance,
        members=members_here(),
        draining=host.draining,
        docker=DOCKER,
        remove_containers=host.remove_containers,
        clock=read_now,
        pause=sleep,
        say=_say,
        put_fact=facts.put,
        since_ns=host.session.stat().st_mtime_ns,
    )


def _told_by_file(config: GuestConfig, host: HostPaths) -> Path | None:
    """On a local node, or under a supervisor, a file says that it stops; elsewhere systemd is asked."""
    by_file = config.provider == "local" or host.supervised.exists()
    return host.stopping if by_file else None


def _say(result: StepResult) -> None:
    """Each step to the journal: what the disk does not take is not lost."""
    text = f"step {result.name}: {result.detail} ({result.took_s:.3f} s)"
    tell(text, warning=not result.ok)
