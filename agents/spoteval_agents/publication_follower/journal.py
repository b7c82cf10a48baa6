"""The follower's journal: which key holds which bytes. Its loss costs requests, never a doubled episode."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from spoteval.files import append_line, append_lines, read_lines
from spoteval.store.contract import Put
from spoteval_agents.publication_follower.work import AttemptId, Blob

_INTEND, _PUT, _TAKEN, _NUMBER, _STORE = "intend", "put", "taken", "number", "store"


class Journal:
    """What is known of one store. Lines about another store, before the last change of its address, are not read.

    An *intent* is durable before its put; after a crash it tells with which bytes the object was meant, should it
    exist. That a put was answered is mostly written without sync: forgotten, it is asked again, and the answer is
    that it exists.
    """

    def __init__(self, path: Path, store_url: str) -> None:
        self._path = path
        self.put: dict[str, Blob] = {}
        self.numbers: dict[tuple[str, AttemptId], int] = {}
        self._intents: dict[str, list[Blob]] = {}
        self._taken: set[str] = set()
        url: object = None
        for line in read_lines(path).records:
            url = line.get("url") if line.get("did") == _STORE else url
            if url == store_url:
                self._learn(line)
        if url != store_url:
            append_line(path, {"did": _STORE, "url": store_url})

    def intents(self, key: str) -> tuple[Blob, ...]:
        """What we meant to put there, so far."""
        return tuple(self._intents.get(key, ()))

    def is_taken(self, key: str) -> bool:
        """Whether the store holds something under the key that nobody knows."""
        return key in self._taken

    def number_of(self, run: str) -> Mapping[AttemptId, int]:
        """Numbers given to attempts of the run before their first part was sent."""
        return {name: number for (of, name), number in self.numbers.items() if of == run}

    def below(self, prefix: str) -> Iterator[str]:
        """Every key with this prefix that was put, begun or found taken."""
        for key in {*self.put, *self._intents, *self._taken}:
            if key.startswith(prefix):
                yield key

    def intend(self, wanted: Sequence[tuple[str, Blob]]) -> None:
        """Write down what is about to be put; durable when it returns."""
        self._write([_line(_INTEND, key, blob) for key, blob in wanted])

    def give_number(
        self, run: str, name: AttemptId, number: int, wanted: Sequence[tuple[str, Blob]]
    ) -> None:
        """Write down an attempt's number and the parts that are about to be put; durable when it returns."""
        lines = [_line(_INTEND, key, blob) for key, blob in wanted]
        if (run, name) not in self.numbers:
            given: dict[str, object] = {"did": _NUMBER, "run": run, "attempt": number}
            lines = [given | {"episode": name[0], "native_id": name[1]}, *lines]
        self._write(lines)

    def done(self, key: str, blob: Blob, *, durable: bool = False) -> None:
        """The store holds these bytes under the key."""
        self._learn(_line(_PUT, key, blob))
        append_line(self._path, _line(_PUT, key, blob), durable)

    def taken(self, key: str) -> None:
        """The store holds something under the key, and nobody knows what."""
        self._learn({"did": _TAKEN, "key": key})
        append_line(self._path, {"did": _TAKEN, "key": key}, durable=False)

    def _write(self, lines: list[dict[str, object]]) -> None:
        if lines:
            append_lines(self._path, list(lines))
        for line in lines:
            self._learn(line)

    def _learn(self, line: Mapping[str, object]) -> None:
        did, key, number = line.get("did"), line.get("key"), line.get("attempt")
        if did == _NUMBER and isinstance(number, int):
            name = (str(line.get("episode")), str(line.get("native_id")))
            self.numbers.setdefault((str(line.get("run")), name), number)
        elif isinstance(key, str):
            self._learn_key(did, key, line)

    def _learn_key(self, did: object, key: str, line: Mapping[str, object]) -> None:
        sha256, size = line.get("sha256"), line.get("size")
        if did == _TAKEN:
            self._taken.add(key)
        elif isinstance(sha256, str) and isinstance(size, int):
            blob = Blob(sha256, size)
            if did == _PUT:
                self.put[key] = blob
            elif did == _INTEND and blob not in self.intents(key):
                self._intents.setdefault(key, []).append(blob)


def held(answer: Put, blob: Blob, earlier: Sequence[Blob]) -> Blob | None:
    """What the store holds after a put of `blob`, given what had been meant before; None where nobody knows.

    CREATED or ACKNOWLEDGED: these bytes. EXISTS: an earlier put of ours went through unseen, and where only one
    content was ever tried, it is that one.
    """
    if answer.is_ours:
        return blob
    return earlier[0] if len(earlier) == 1 else None


def _line(did: str, key: str, blob: Blob) -> dict[str, object]:
    return {"did": did, "key": key, "sha256": blob.sha256, "size": blob.size}
