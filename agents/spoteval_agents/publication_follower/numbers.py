"""The number of an attempt: unique within its episode, and the same whenever it is asked for."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from spoteval.episode import Attempt
from spoteval_agents.publication_follower.work import AttemptId, Known, Seen


def attempt_id(attempt: Attempt) -> AttemptId:
    """What makes two attempts the same."""
    return attempt.key, attempt.native_id


def numbers(seen: Seen, known: Known) -> dict[AttemptId, int]:
    """A number for each finished attempt.

    The witness's, else the one that was written down before its first part was sent, else one more than there are
    other attempts of the episode in witness and settlement.
    """
    witnessed = _recorded(seen.witness)
    settled = _recorded(seen.settlement)
    fixed = {**known.numbers, **witnessed}
    others = _by_episode([*fixed, *settled])
    taken = _taken({**settled, **fixed})
    found = dict[AttemptId, int]()
    for attempt in seen.attempts:
        name = attempt_id(attempt)
        if attempt.finished and name not in found:
            number = fixed.get(name)
            if number is None:
                number = _free(name, others[attempt.key], taken[attempt.key])
            found[name] = number
            others[attempt.key].add(attempt.native_id)
            taken[attempt.key][number] = attempt.native_id
    return found


def _free(name: AttemptId, others: Iterable[str], taken: Mapping[int, str]) -> int:
    number = 1 + len(set(others) - {name[1]})
    while taken.get(number, name[1]) != name[1]:
        number += 1
    return number


def _recorded(records: Iterable[Mapping[str, object]]) -> dict[AttemptId, int]:
    """Numbers in the lines of witness or settlement; of several lines of one attempt the first counts."""
    found = dict[AttemptId, int]()
    for record in records:
        number = record.get("attempt")
        if isinstance(number, int):
            found.setdefault((str(record.get("episode")), str(record.get("native_id"))), number)
    return found


def _by_episode(names: Iterable[AttemptId]) -> defaultdict[str, set[str]]:
    found = defaultdict[str, set[str]](set)
    for episode, native_id in names:
        found[episode].add(native_id)
    return found


def _taken(fixed: Mapping[AttemptId, int]) -> defaultdict[str, dict[int, str]]:
    found = defaultdict[str, dict[int, str]](dict)
    for (episode, native_id), number in fixed.items():
        found[episode][number] = native_id
    return found
