"""The demo's end as values: the summary for people and the JSON file for programs."""

import shlex
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

from spoteval.demo.director import Options, Played
from spoteval.demo.layout import DemoPaths
from spoteval.placement.spend import spend
from spoteval.placement.stages import medians, restarts
from spoteval.report.summary import Summary
from spoteval.report.timeline import pieces, strip

RIGHT = "C"
"""What Inspect's scorers write for a correct answer."""


def summary(options: Options, played: Played, until: datetime) -> Summary:
    """What the person sees last."""
    account = played.account
    found = [restart for restart in restarts(account.events) if restart.done]
    verdicts = [attempt.verdict for attempt in account.progress.finished]
    return Summary(
        intended=len(account.progress.intended or ()),
        finished=len(account.progress.finished_keys),
        lost=account.lost,
        run_twice=account.witness.rerun,
        duration_s=played.duration_s,
        strip=strip(pieces(account.events, until)),
        stages=medians(found),
        restarts=len(found),
        classes=account.classes,
        right=verdicts.count(RIGHT),
        wrong=len(verdicts) - verdicts.count(RIGHT),
        attempts=account.attempts,
        spend=spend(account.events, until),
        look=_look(options.root),
        next="docs/first-real-run.md",
    )


def keys(options: Options, played: Played, until: datetime) -> dict[str, object]:
    """The JSON file's keys."""
    account, values = played.account, summary(options, played, until)
    return {
        "seed": options.seed,
        "profile": options.profile,
        "episodes_intended": values.intended,
        "episodes_completed": account.classes["completed"],
        "episodes_lost": account.lost,
        "finished_episodes_rerun": account.witness.rerun,
        "witness": {"begins": account.witness.begins, "ends": account.witness.ends},
        "attempts": sum(account.attempts.values()),
        "attempts_by_outcome": account.attempts,
        "preemptions": account.preemptions,
        "capacity_failures": account.capacity_failures,
        "start_errors_that_ran": account.start_errors_that_ran,
        "hold_violations": account.hold_violations,
        "pull_verified": played.pull_verified,
        "second_pull_refused": played.second_pull_refused,
        "classes": dict(account.classes),
        "price_range": _price(values),
        "restart_stages": {name: round(value, 3) for name, value in values.stages.items()},
        "machine_off": account.machine_off,
        "both_holds": account.both_holds,
        "duration_s": round(played.duration_s, 1),
    }


def failures(found: Mapping[str, object]) -> list[str]:
    """What does not hold that the demo promises; empty where all is well."""
    same = found["episodes_completed"] == found["episodes_intended"] != 0
    wrong = [name for name in _ZERO if found[name] != 0]
    wrong += [name for name in _TRUE if found[name] is not True]
    return wrong + ([] if same else ["episodes_completed"])


_ZERO = ("episodes_lost", "finished_episodes_rerun", "hold_violations")
_TRUE = ("pull_verified", "second_pull_refused", "machine_off", "both_holds")


def _price(values: Summary) -> list[float]:
    """Least and most that it may have cost, in the currency of the market."""
    spent = values.spend
    return [round(spent.low, 4), round(spent.high, 4)] if spent is not None else []


def _look(root: Path) -> list[str]:
    """What to type next, from where the person stands."""
    here = Path.cwd()
    near = root.relative_to(here) if root.is_relative_to(here) else root
    work = DemoPaths(near).pulled / "work"
    return [
        f". {shlex.quote(str(near / 'env'))}",
        "spoteval events",
        "spoteval decisions",
        f"inspect view --log-dir {shlex.quote(str(work))}",
    ]
