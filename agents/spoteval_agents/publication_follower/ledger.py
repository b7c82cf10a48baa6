"""Which attempts of a run are witnessed, and which published: 12 MB for 100,000 episodes."""

from collections.abc import Iterator

from spoteval_agents.publication_follower.work import AttemptId

WITNESSED, PUBLISHED = 1, 2
_FLAGS = 4


class Ledger:
    """A number and two flags for each attempt.

    Nearly every episode has one attempt, by the name that the directory harness gives it: such a one is an entry in a
    dictionary of texts and small numbers, which exist once.
    """

    def __init__(self) -> None:
        self._usual: dict[str, int] = {}
        self._others: dict[str, dict[str, int]] = {}
        self.witnessed = 0
        """Episodes of which an attempt is witnessed."""

    def __len__(self) -> int:
        return len(self._usual) + sum(len(others) for others in self._others.values())

    def mark(self, name: AttemptId, number: int, flag: int) -> None:
        """Note it; the number of an attempt that is known stays."""
        known = self._get(name)
        if flag == WITNESSED and not any(flags & WITNESSED for _, _, flags in self.of(name[0])):
            self.witnessed += 1
        value = (number * _FLAGS if known is None else known) | flag
        episode, native_id = name
        if native_id == f"{episode}#{value // _FLAGS}" and (known is None or self._is_usual(name)):
            usual = self._usual.get(episode)
            if usual is None or usual // _FLAGS == value // _FLAGS:
                self._usual[episode] = value
                return
        self._others.setdefault(episode, {})[native_id] = value

    def has(self, name: AttemptId, flags: int) -> bool:
        """Whether all of the flags are set."""
        value = self._get(name)
        return value is not None and value & flags == flags

    def of(self, episode: str) -> Iterator[tuple[str, int, int]]:
        """Native id, number and flags of each attempt of an episode."""
        usual = self._usual.get(episode)
        if usual is not None:
            yield f"{episode}#{usual // _FLAGS}", usual // _FLAGS, usual % _FLAGS
        for native_id, value in self._others.get(episode, {}).items():
            yield native_id, value // _FLAGS, value % _FLAGS

    def all(self) -> Iterator[tuple[AttemptId, int, int]]:
        """Every attempt with its number and flags."""
        for episode in list(self._usual):
            value = self._usual[episode]
            yield (episode, f"{episode}#{value // _FLAGS}"), value // _FLAGS, value % _FLAGS
        for episode, others in self._others.items():
            for native_id, value in others.items():
                yield (episode, native_id), value // _FLAGS, value % _FLAGS

    def trust(self) -> None:
        """What is published is witnessed too: whoever says so has seen the witness."""
        for name, number, flags in list(self.all()) if self._others else self.all():
            if flags & PUBLISHED:
                self.mark(name, number, WITNESSED)

    def unwitness(self) -> None:
        """The witness is gone, or is another one."""
        self.witnessed = 0
        for values in (self._usual, *self._others.values()):
            for key, value in list(values.items()):
                values[key] = value & ~WITNESSED

    def _is_usual(self, name: AttemptId) -> bool:
        usual = self._usual.get(name[0])
        return usual is not None and name[1] == f"{name[0]}#{usual // _FLAGS}"

    def _get(self, name: AttemptId) -> int | None:
        if self._is_usual(name):
            return self._usual[name[0]]
        return self._others.get(name[0], {}).get(name[1]) if self._others else None
