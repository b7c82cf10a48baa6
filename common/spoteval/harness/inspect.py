"""Inspect AI: one `eval-set` whose logs, buffers and home lie on the durable disk."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from stat import S_ISREG

from spoteval.clock import read_now
from spoteval.harness.contract import Command, StopStep, Survey
from spoteval.harness.inspect_buffer import SIDECARS, Buffer, buffers
from spoteval.harness.inspect_log import Log, read_log
from spoteval.harness.inspect_repair import (
    free_buffers,
    order_logs,
    remove_leftovers,
    set_aside,
)
from spoteval.harness.inspect_survey import EvalSet, survey_of, tasks_of
from spoteval.harness.plans import stop_steps
from spoteval.run import RunRecord
from spoteval.shape import Reading, Unreadable

_SMALL_LOG_BYTES = 20_000_000
_NEVER_BY_COUNT = 10_000
_REFUSED = {
    "remaining_budget": "its limits are per run, not per episode"
    ' (use "fresh_budget", or a task that reads $SPOTEVAL_PLAN)',
    "continued": 'a sample that was cut begins again (use "fresh_budget")',
    "none": 'its resume runs every cut sample again (use "fresh_budget")',
}
# Options that spoteval sets, or that take away what a resume stands on, and what to use instead.
_OWNED = {
    "--log-dir": "spoteval sets it",
    "--log-format": "only .eval logs are read",
    "--log-buffer": "spoteval sets it",
    "--no-log-samples": "samples are the result",
    "--no-log-realtime": "a kill would lose finished samples",
    "--max-samples": "use [run] concurrency",
    "--retry-on-error": "use [run] errors",
    "--retry-attempts": "use [run] errors",
    "--fail-on-error": "one error would end the run",
    "--incomplete-action": "cut samples are run again",
    "--no-retry-cleanup": "spoteval sets it",
    "--bundle-dir": "bundle after the run",
    "--display": "spoteval sets it",
    "--json": "spoteval sets --display",
    "--detach": "the unit must see the process",
}
_STATE = (".eval-set-id", "eval-set.json")
_Signature = tuple[int, int, int]


@dataclass
class Inspect:
    """The adapter `inspect`."""

    name: str = "inspect"
    stop_steps: tuple[StopStep, ...] = stop_steps("inspect")
    _known: dict[Path, tuple[_Signature, Reading[Log]]] = field(default_factory=dict, repr=False)

    def refuses(self, run: RunRecord) -> str | None:
        """The settlement that it cannot honour, or an option that is not the user's to set."""
        why = _REFUSED.get(run.plan.settlement)
        if why is not None:
            return (
                f'settlement "{run.plan.settlement}" cannot be honoured by harness inspect: {why}'
            )
        for arg in run.plan.args:
            if (option := arg.partition("=")[0]) in _OWNED:
                return f'args "{arg}": not with harness inspect: {_OWNED[option]}'
        return None

    def prepare(self, run: RunRecord, work: Path) -> tuple[str, ...]:  # noqa: ARG002
        """Mend what would make Inspect stumble, or lose finished samples, when it resumes."""
        logs = work / "logs"
        torn = [path for path in _log_files(logs) if not isinstance(self._log(path), Log)]
        said = [*remove_leftovers(logs), *set_aside(torn, work / "set-aside")]
        found = [item for item in buffers(work / "home") if isinstance(item, Buffer)]
        readable = [log for path in _log_files(logs) if isinstance(log := self._log(path), Log)]
        said += order_logs(readable, found, int(read_now().wall.timestamp() * 1e9))
        return (*said, *free_buffers(found))

    def command(self, run: RunRecord, work: Path) -> Command:
        """The one command that starts and resumes."""
        plan = run.plan
        home = work / "home"
        return Command(
            argv=(plan.executable or "inspect", *_arguments(run, work)),
            env={"HOME": str(home), **plan.env, "XDG_DATA_HOME": str(home / ".local/share")},
            cwd=Path(plan.directory),
        )

    def survey(self, run: RunRecord, work: Path) -> Survey:  # noqa: ARG002
        """Logs and buffers, merged. Logs that did not change since the last call are not read again."""
        # Buffers first: what a flush moves meanwhile from there into a log is then seen twice, not never.
        rows = list(buffers(work / "home"))
        logs = [self._log(path) for path in _log_files(work / "logs")]
        found = EvalSet(
            logs=tuple(log for log in logs if isinstance(log, Log)),
            buffers=tuple(item for item in rows if isinstance(item, Buffer)),
            tasks=_tasks(work / "logs"),
        )
        return replace(
            survey_of(found),
            unreadable=tuple(item.why for item in (*logs, *rows) if isinstance(item, Unreadable)),
            state_files=_state_files(work / "logs"),
        )

    def salvage(self, run: RunRecord, work: Path) -> tuple[Path, ...]:  # noqa: ARG002
        """The buffers: they hold the events of the samples that were running."""
        paths = [item.path for item in buffers(work / "home") if isinstance(item, Buffer)]
        sidecars = [path.with_name(path.name + end) for path in paths for end in SIDECARS]
        return (*paths, *(path for path in sidecars if path.is_file()))

    def _log(self, path: Path) -> Reading[Log]:
        try:
            status = path.stat()
        except OSError as error:
            return Unreadable(f"{path}: {error.strerror}")
        signature = (status.st_ino, status.st_size, status.st_mtime_ns)
        known = self._known.get(path)
        if known is None or known[0] != signature:
            known = self._known[path] = (signature, read_log(path))
        return known[1]


def _arguments(run: RunRecord, work: Path) -> Iterator[str]:
    """The user's arguments between what she may override and what she may not."""
    # The control server would be a socket below HOME, whose path may be too long for one; nobody here asks it.
    yield from ("eval-set", "--ctl-server", "false", *run.plan.args)
    yield from ("--log-dir", str(work / "logs"), "--log-buffer", str(_log_buffer(work / "logs")))
    yield from ("--max-samples", str(run.plan.concurrency), "--display", "none")
    yield from ("--no-retry-cleanup", "--no-fail-on-error", "--incomplete-action", "retry")
    # One pass over the tasks: a task that fails as a whole ends the run and is seen, at once.
    yield from ("--no-retry-immediate", "--retry-attempts", "1")
    if run.plan.errors == "retry-1":
        yield "--retry-on-error=1"


def _log_buffer(logs: Path) -> int:
    """Finished samples that make a flush, which writes the whole log anew.

    Besides, Inspect flushes 60 s after the first sample that waits: a count that is never reached means once a minute.
    """
    largest = max((path.stat().st_size for path in _log_files(logs)), default=0)
    return 1 if largest < _SMALL_LOG_BYTES else _NEVER_BY_COUNT


def _log_files(logs: Path) -> list[Path]:
    """The logs, in the order in which they were written last: that of the processes that wrote them."""
    found = [(path.lstat(), path) for path in logs.glob("*.eval") if not path.is_symlink()]
    plain = [(status.st_mtime_ns, path.stem, path) for status, path in found if _is_file(status)]
    return [path for _, _, path in sorted(plain)]


def _state_files(logs: Path) -> tuple[Path, ...]:
    """What a resume needs, without sockets, temporary files, and the listing that is made anew."""
    named = [path for name in _STATE if (path := logs / name).is_file()]
    return (*_log_files(logs), *named)


def _tasks(logs: Path) -> tuple[tuple[str, str], ...]:
    try:
        return tasks_of((logs / "eval-set.json").read_bytes())
    except OSError:
        return ()


def _is_file(status: os.stat_result) -> bool:
    return S_ISREG(status.st_mode)
