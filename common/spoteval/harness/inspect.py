"""Inspect AI: one `eval-set` whose logs, buffers and home lie on the durable disk."""

import os
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from stat import S_ISREG

from spoteval.clock import read_now
from spoteval.files import read_text
from spoteval.harness.contract import Command, StopStep, Survey
from spoteval.harness.inspect_args import option, without
from spoteval.harness.inspect_buffer import (
    SIDECARS,
    Buffer,
    buffers,
    damaged,
    database_files,
)
from spoteval.harness.inspect_log import Log, read_log
from spoteval.harness.inspect_repair import (
    free_buffers,
    order_logs,
    remove_leftovers,
    set_aside,
)
from spoteval.harness.inspect_select import selection
from spoteval.harness.inspect_survey import EvalSet, planned_change, survey_of, tasks_of
from spoteval.harness.inspect_zip import signature_of
from spoteval.harness.plans import stop_steps
from spoteval.run import RunPlan, RunRecord
from spoteval.shape import Reading, Unreadable

_FEW, _FLUSHES = 100, 10
_NEVER_BY_COUNT = 10_000
_REFUSED = {
    "remaining_budget": "its limits are per run, not per episode"
    ' (use "fresh_budget", or a task that reads $SPOTEVAL_PLAN)',
    "continued": 'a sample that was cut begins again (use "fresh_budget")',
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
_YOUNG_NS = 2_000_000_000
_Signature = tuple[int, int, int]


@dataclass
class Inspect:
    """The adapter `inspect`."""

    name: str = "inspect"
    stop_steps: tuple[StopStep, ...] = stop_steps("inspect")
    _known: dict[Path, tuple[_Signature, Reading[Log]]] = field(default_factory=dict, repr=False)
    _rows: tuple[Reading[Buffer], ...] = field(default=(), repr=False)
    _last: tuple[object, Survey] | None = field(default=None, repr=False)

    def refuses(self, run: RunRecord) -> str | None:
        """The settlement that it cannot honour, or an option that is not the user's to set."""
        why = _REFUSED.get(run.plan.settlement)
        if why is not None:
            return (
                f'settlement "{run.plan.settlement}" cannot be honoured by harness inspect: {why}'
            )
        epochs = option(run.plan.args, "--epochs") or "1"
        if run.plan.settlement == "none" and epochs != "1":
            return (
                f'settlement "none" cannot be honoured by harness inspect with --epochs {epochs}: '
                'it resumes samples, and leaves out no single epoch of one (use "fresh_budget")'
            )
        for arg in run.plan.args:
            if (name := arg.partition("=")[0]) in _OWNED:
                return f'args "{arg}": not with harness inspect: {_OWNED[name]}'
        return None

    def prepare(self, run: RunRecord, work: Path) -> tuple[str, ...]:  # noqa: ARG002
        """Mend what would make Inspect stumble, or lose finished samples, when it resumes."""
        logs = work / "logs"
        said = [*remove_leftovers(logs)]
        said += set_aside(_not_ours(self._logs(logs), logs), work / "set-aside")
        said += set_aside(damaged(work / "home"), work / "set-aside")
        found = [item for item in buffers(work / "home") if isinstance(item, Buffer)]
        readable = [log for log in self._logs(logs).values() if isinstance(log, Log)]
        said += order_logs(readable, found, int(read_now().wall.timestamp() * 1e9))
        return (*said, *free_buffers(found))

    def command(self, run: RunRecord, work: Path, closed: Collection[str] = frozenset()) -> Command:
        """The one command that starts and resumes. Samples are named where some of them must not begin again."""
        plan = run.plan
        home = work / "home"
        survey = self.survey(run, work)
        chosen = selection(self._eval_set(work), survey, closed)
        episodes = _expected(plan) if survey.intended is None else len(survey.intended)
        return Command(
            argv=(plan.executable or "inspect", *_arguments(run, work, chosen, episodes)),
            env={"HOME": str(home), **plan.env, "XDG_DATA_HOME": str(home / ".local/share")},
            cwd=Path(plan.directory),
        )

    def survey(self, run: RunRecord, work: Path) -> Survey:
        """Logs and buffers, merged. What did not change since the last call is not read again."""
        seen = (_signatures(work), run.plan.args)
        if seen[0] is None or self._last is None or self._last[0] != seen:
            self._last = seen, self._read(run, work)
        return self._last[1]

    def _read(self, run: RunRecord, work: Path) -> Survey:
        logs, found = work / "logs", self._eval_set(work)
        survey, known = survey_of(found), self._logs(logs)
        change = planned_change(found, run.plan.args)
        wrong = [i.why for i in (*known.values(), *self._rows) if isinstance(i, Unreadable)]
        wrong += [
            f"{path}: {why}" for path, why in _not_ours(known, logs) if isinstance(known[path], Log)
        ]
        return replace(
            survey,
            changed=(*survey.changed, *(() if change is None else (change,))),
            unreadable=tuple(wrong),
            state_files=_state_files(logs),
        )

    def salvage(self, run: RunRecord, work: Path) -> tuple[Path, ...]:  # noqa: ARG002
        """The buffers: they hold the events of the samples that were running."""
        paths = [item.path for item in buffers(work / "home") if isinstance(item, Buffer)]
        sidecars = [path.with_name(path.name + end) for path in paths for end in SIDECARS]
        return (*paths, *(path for path in sidecars if path.is_file()))

    def _eval_set(self, work: Path) -> EvalSet:
        # Buffers first: what a flush moves meanwhile from there into a log is then seen twice, not never.
        self._rows = tuple(buffers(work / "home"))
        logs = self._logs(work / "logs")
        wrong = {path for path, _ in _not_ours(logs, work / "logs")}
        return EvalSet(
            logs=tuple(
                log for path, log in logs.items() if isinstance(log, Log) and path not in wrong
            ),
            buffers=tuple(item for item in self._rows if isinstance(item, Buffer)),
            tasks=_tasks(work / "logs"),
        )

    def _logs(self, folder: Path) -> dict[Path, Reading[Log]]:
        """Each log as it is now, oldest first; of one that was written anew only what is new is read."""
        found = {path: self._log(path) for path in _log_files(folder)}
        self._known = {path: known for path, known in self._known.items() if path in found}
        return found

    def _log(self, path: Path) -> Reading[Log]:
        try:
            signature = signature_of(path.stat())
        except OSError as error:
            return Unreadable(f"{path}: {error.strerror}")
        known = self._known.get(path)
        if known is None or known[0] != signature:
            before = known[1] if known is not None and isinstance(known[1], Log) else None
            known = self._known[path] = (signature, read_log(path, before))
        return known[1]


def _arguments(
    run: RunRecord, work: Path, chosen: str | None, episodes: int | None
) -> Iterator[str]:
    """The user's arguments between what she may override and what she may not."""
    # The control server would be a socket below HOME, whose path may be too long for one; nobody here asks it.
    args = run.plan.args if chosen is None else without(run.plan.args, "--limit")
    yield from ("eval-set", "--ctl-server", "false", *args)
    yield from () if chosen is None else ("--sample-id", chosen)
    yield from ("--log-dir", str(work / "logs"), "--log-buffer", str(_log_buffer(episodes)))
    yield from ("--max-samples", str(run.plan.concurrency), "--display", "none")
    yield from ("--no-retry-cleanup", "--no-fail-on-error", "--incomplete-action", "retry")
    # One pass over the tasks: a task that fails as a whole ends the run and is seen, at once.
    yield from ("--no-retry-immediate", "--retry-attempts", "1")
    if run.plan.errors == "retry-1":
        yield "--retry-on-error=1"


def _expected(plan: RunPlan) -> int | None:
    """How many episodes there will be, as far as the plan tells before the first header does."""
    limit = option(plan.args, "--limit")
    if plan.expected is not None or limit is None or not limit.isdigit():
        return plan.expected
    epochs = option(plan.args, "--epochs") or "1"
    return int(limit) * (int(epochs) if epochs.isdigit() else 1)


def _log_buffer(episodes: int | None) -> int:
    """Finished samples that make a flush, which writes the whole log anew: a fixed number of flushes is linear.

    Of a few episodes each one is flushed. Besides, Inspect flushes 60 s after the first sample that waits: while
    nobody knows how many episodes there are, that alone has to do.
    """
    if episodes is None:
        return _NEVER_BY_COUNT
    return 1 if episodes <= _FEW else -(-episodes // _FLUSHES)


def _not_ours(logs: Mapping[Path, Reading[Log]], folder: Path) -> list[tuple[Path, str]]:
    """Logs that Inspect would stumble over, each with the reason; one of another eval set was put there by hand."""
    own = read_text(folder / ".eval-set-id")
    known = own if isinstance(own, str) and own else None
    wrong = []
    for path, log in logs.items():
        if not isinstance(log, Log):
            wrong.append((path, "cannot be read"))
        elif known is not None and log.spec.eval_set not in (None, known):
            wrong.append((path, "is of another eval set"))
    return wrong


def _signatures(work: Path) -> tuple[object, ...] | None:
    """What tells that nothing was written; None where the last write is too young to tell."""
    logs = work / "logs"
    own = [path for name in _STATE if (path := logs / name).is_file()]
    paths = [*_log_files(logs), *own, *database_files(work / "home")]
    try:
        found = tuple((path, signature_of(path.stat())) for path in paths)
    except OSError:
        return None
    youngest_ns = max((signature[2] for _, signature in found), default=0)
    return found if youngest_ns < int(read_now().wall.timestamp() * 1e9) - _YOUNG_NS else None


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
