"""Which samples a resume must not begin: Inspect's own rule is to run again all that its log holds no clean end of.

A sample that errored, one that was cut under the settlement "none", and one whose end only an older log or the
witness knows are over for us. Inspect can be told by `--sample-id`, which names the others, as patterns of `fnmatch`.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase

from spoteval.episode import Outcome
from spoteval.harness.contract import Survey
from spoteval.harness.inspect_log import Log
from spoteval.harness.inspect_survey import EvalSet

# Linux takes at most 128 KiB in one argument.
_MOST_CHARS = 120_000
_SPECIAL = "*?[]"
# An id's last character stands in a set of characters; these would mean something else there.
_NOT_IN_SET = frozenset("]!-^\\[*?")


def selection(found: EvalSet, survey: Survey, closed: Collection[str]) -> str | None:
    """The value of `--sample-id` for a resume; None where Inspect's own rule does the same, or it cannot be told.

    `closed`: episodes that are over by our own records. An id is left out as a whole: one with an epoch that is still
    to run stays in, and what Inspect then repeats of its other epochs does not count.
    """
    over = {*closed, *(a.key for a in (*survey.attempts, *survey.pending) if a.finished)}
    first, newest = found.first(), found.latest()
    patterns: list[str] = []
    left = 0
    for task_id, log in first.items():
        label = found.label(log.task, task_id)
        kept = {f"{label}{key.removeprefix(log.task)}" for key in newest[task_id].kept}
        kept |= {a.key for a in survey.pending if a.outcome is Outcome.COMPLETED}
        ids = _left_out(label, log, over, kept)
        rest = dict.fromkeys(name for name, _ in log.episodes if name not in ids)
        named = _named(log.task, rest, ids, is_alone=len(first) == 1)
        if named is None:
            return None
        patterns += named
        left += len(ids)
    text = ",".join(patterns)
    return text if left and 0 < len(text) <= _MOST_CHARS else None


def _left_out(label: str, log: Log, over: Collection[str], kept: Collection[str]) -> set[str]:
    """Sample ids of which nothing is left to run, and which Inspect would run."""
    by_id: defaultdict[str, list[str]] = defaultdict(list)
    for sample, epoch in log.episodes:
        by_id[sample].append(f"{sample}/{epoch}")
    return {
        sample
        for sample, ends in by_id.items()
        if all(f"{label}/{end}" in over for end in ends)
        and not all(f"{label}/{end}" in kept for end in ends)
    }


def _named(
    task: str, ids: Iterable[str], others: Collection[str], is_alone: bool
) -> list[str] | None:
    """Patterns for these ids; None where one of them would also mean an id that is to be left out."""
    wanted = [_normal(name) for name in ids]
    patterns = _patterns(wanted)
    vague = [pattern for pattern in patterns if "?" in pattern]
    if any(fnmatchcase(_normal(name), pattern) for pattern in vague for name in others):
        return None
    prefix = "" if is_alone and not any(":" in name for name in wanted) else f"{task}:"
    return [prefix + pattern for pattern in patterns]


def _patterns(ids: Iterable[str]) -> list[str]:
    """Ids that differ in their last character only are one pattern: thousands are tried against each sample."""
    ends: defaultdict[str, list[str]] = defaultdict(list)
    whole: list[str] = []
    for name in ids:
        if name and name[-1] not in _NOT_IN_SET and name[-1].isalnum():
            ends[name[:-1]].append(name[-1])
        else:
            whole.append(name)
    grouped = (
        _escaped(begin) + (chars[0] if len(chars) == 1 else f"[{''.join(chars)}]")
        for begin, chars in ends.items()
    )
    return [*grouped, *map(_escaped, whole)]


def _escaped(name: str) -> str:
    """A comma separates ids, and blanks around one are dropped: neither can be said but as "any character"."""
    inner = name.strip()
    edges = len(name) - len(name.lstrip()), len(name.rstrip())
    said = "".join(
        "?"
        if char == "," or not edges[0] <= at < edges[1]
        else f"[{char}]"
        if char in _SPECIAL
        else char
        for at, char in enumerate(name)
    )
    return said if inner else "?" * len(name)


def _normal(sample: str) -> str:
    """As Inspect compares ids: a number is filled up to twenty digits."""
    return str(int(sample)).zfill(20) if sample.isdigit() else sample
