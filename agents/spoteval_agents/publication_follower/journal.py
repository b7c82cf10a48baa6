"""The follower's journal: which key holds which bytes. Its loss costs requests, never a doubled episode."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Lock

from spoteval.files import append_line, append_lines, json_line, move_aside, write_pieces
from spoteval.publication.keys import attempt_prefix
from spoteval.store.contract import Put
from spoteval_agents.publication_follower.ledger import PUBLISHED, Ledger
from spoteval_agents.publication_follower.work import AttemptId, Begun, Blob

_INTEND, _PUT, _TAKEN, _STORE = "intend", "put", "taken", "store"
_BEGIN, _PUBLISHED, _WITNESS, _UPLOAD = "begin", "published", "witness", "upload"
_MET, _CONFLICT = "met", "conflict"
LEAST_BYTES = 4 << 20
"""A journal up to this size is not written anew."""
GROWTH = 1.6
"""It is written anew, without what is over, when it has grown by this since."""
_MOST_TORN = 8
"""A crash leaves one torn line; more of them, or zeros, are the work of a damaged disk."""


class Journal:
    """What is known of one store. Lines about another store, before the last change of its address, are not read.

    An *intent* is durable before its put; after a crash it tells with which bytes the object was meant, should it
    exist. That a put was answered is mostly written without sync: forgotten, it is asked again, and the answer is
    that it exists. Of a published attempt one short line is left.
    """

    def __init__(self, path: Path, store_url: str) -> None:
        self._path, self._url = path, store_url
        self.put: dict[str, Blob] = {}
        self.begun: dict[tuple[str, AttemptId], Begun] = {}
        self.uploads: dict[str, str] = {}
        """Keys of large files whose upload was begun and is not over, with its id."""
        self.progress: dict[str, object] = {}
        """Uploads that this process has on their way."""
        self.conflicts: dict[tuple[str, AttemptId], str] = {}
        """Attempts whose name in the store somebody else has, and below which prefix they went instead."""
        self.complaint: str | None = None
        self._intents: dict[str, list[Blob]] = {}
        self._taken: set[str] = set()
        self._ledgers: dict[str, Ledger] = {}
        self._witness: dict[str, int] = {}
        self._met: set[str] = set()
        self._lock = Lock()
        url, torn = self._load()
        if torn > _MOST_TORN or torn < 0:
            self._set_aside()
        elif url != store_url:
            append_line(path, {"did": _STORE, "url": store_url})
        self._base = self._bytes()

    @property
    def folder(self) -> Path:
        """Where it lies."""
        return self._path.parent

    def intents(self, key: str) -> tuple[Blob, ...]:
        """What we meant to put there, so far."""
        return tuple(self._intents.get(key, ()))

    def is_taken(self, key: str) -> bool:
        """Whether the store holds something under the key that nobody knows."""
        return key in self._taken

    def ledger(self, run: str) -> Ledger:
        """The attempts of a run."""
        return self._ledgers.setdefault(run, Ledger())

    def witness_bytes(self, run: str) -> int:
        """So much of the run's witness tells nothing but what is published already."""
        return self._witness.get(run, 0)

    def is_first(self, run: str, name: AttemptId) -> bool:
        """Whether it is certain that nothing of this attempt was ever put from here.

        For that the journal has to know the run from its beginning: one that was lost, or is of another store, does
        not.
        """
        is_ours = (run, name) in self.begun or self.ledger(run).has(name, PUBLISHED)
        return run in self._met and not is_ours

    def meet(self, run: str) -> None:
        """From here on this journal has everything that is put of a run of which nothing was put yet."""
        if run not in self._met:
            self._write([{"did": _MET, "run": run}])

    def conflict(self, run: str, name: AttemptId, prefix: str) -> None:
        """The attempt goes below `prefix`, since its own name is taken; durable when it returns."""
        self._write([{"did": _CONFLICT, "run": run, **_named(name), "prefix": prefix}])

    def numbers(self, run: str, episodes: Iterable[str]) -> Mapping[AttemptId, int]:
        """Numbers given to attempts of these episodes before their first part was sent."""
        wanted = set(episodes)
        found = {
            name: begun.number
            for (of, name), begun in self.begun.items()
            if of == run and name[0] in wanted
        }
        for episode in wanted:
            for native_id, number, flags in self.ledger(run).of(episode):
                if flags & PUBLISHED:
                    found[episode, native_id] = number
        return found

    def below(self, prefix: str) -> Iterator[str]:
        """Every key with this prefix that was put, begun or found taken."""
        for key in {*self.put, *self._intents, *self._taken}:
            if key.startswith(prefix):
                yield key

    def intend(self, wanted: Sequence[tuple[str, Blob]]) -> None:
        """Write down what is about to be put; durable when it returns."""
        self._write([_line(_INTEND, key, blob) for key, blob in wanted])

    def begin(self, run: str, begun: Mapping[AttemptId, Begun]) -> None:
        """Write down attempts with their numbers and the parts that are about to be put; durable when it returns."""
        self._write([_begin_line(run, name, item) for name, item in begun.items()])

    def finish(self, run: str, done: Iterable[tuple[AttemptId, int]]) -> None:
        """These attempts are in the store, manifest and all; of their parts nothing has to be known any more."""
        self._write(
            [
                {"did": _PUBLISHED, "run": run, **_named(name), "attempt": number}
                for name, number in done
            ],
            durable=False,
        )
        if self._bytes() > max(LEAST_BYTES, GROWTH * self._base):
            self.compact()

    def note_witness(self, run: str, size: int) -> None:
        """All in the first `size` bytes of the run's witness is published; each new process begins there."""
        if size > self.witness_bytes(run):
            self._write([{"did": _WITNESS, "run": run, "bytes": size}], durable=False)

    def done(self, key: str, blob: Blob, *, durable: bool = False) -> None:
        """The store holds these bytes under the key."""
        self._write([_line(_PUT, key, blob)], durable=durable)

    def taken(self, key: str) -> None:
        """The store holds something under the key, and nobody knows what."""
        self._write([{"did": _TAKEN, "key": key}], durable=False)

    def upload(self, key: str, upload_id: str | None) -> None:
        """An upload in parts is begun, or is over (None); durable when it returns."""
        self._write([{"did": _UPLOAD, "key": key, "id": upload_id}])

    def compact(self) -> None:
        """Write it anew, without what is over. Raises OSError; then the old one stands."""
        write_pieces(self._path, (json_line(line) for line in self._lines()))
        self._base = self._bytes()

    def _lines(self) -> Iterator[dict[str, object]]:
        yield {"did": _STORE, "url": self._url}
        for run in self._met:
            yield {"did": _MET, "run": run}
        for (run, name), prefix in self.conflicts.items():
            yield {"did": _CONFLICT, "run": run, **_named(name), "prefix": prefix}
        for run, ledger in self._ledgers.items():
            for name, number, flags in ledger.all():
                if flags & PUBLISHED:
                    yield {"did": _PUBLISHED, "run": run, **_named(name), "attempt": number}
        for run, size in self._witness.items():
            yield {"did": _WITNESS, "run": run, "bytes": size}
        for (run, name), begun in self.begun.items():
            yield _begin_line(run, name, begun)
        of_begun = {key for begun in self.begun.values() for key, _ in begun.parts}
        for key, blobs in self._intents.items():
            if key not in self.put and key not in of_begun:
                yield from (_line(_INTEND, key, blob) for blob in blobs)
        yield from (_line(_PUT, key, blob) for key, blob in self.put.items())
        for key in self._taken:
            yield {"did": _TAKEN, "key": key}
        for key, upload in self.uploads.items():
            yield {"did": _UPLOAD, "key": key, "id": upload}

    def _load(self) -> tuple[object, int]:
        """Read it line by line. The last address of a store, and how many lines are torn (-1: all there are)."""
        url: object = None
        torn = read = 0
        try:
            with self._path.open("rb") as file:
                for data in file:
                    line = _record(data)
                    if line is None:
                        torn += 1 + _MOST_TORN * (b"\0" in data)
                        continue
                    read += 1
                    url = line.get("url") if line.get("did") == _STORE else url
                    if url == self._url:
                        self._learn(line)
        except FileNotFoundError:
            return None, 0
        return url, -1 if torn and not read else torn

    def _set_aside(self) -> None:
        """What could be read of it is kept; what could not be costs requests, whose answer is that it exists."""
        number = 1
        while (aside := self._path.with_name(f"journal.damaged-{number}.jsonl")).exists():
            number += 1
        move_aside(self._path, aside)
        self._witness.clear()
        self._met.clear()
        self.complaint = f"the journal was damaged: set aside as {aside.name}, and rebuilt"
        self.compact()

    def _bytes(self) -> int:
        try:
            return self._path.stat().st_size
        except FileNotFoundError:
            return 0

    def _write(self, lines: list[dict[str, object]], *, durable: bool = True) -> None:
        with self._lock:
            if lines and durable:
                append_lines(self._path, list(lines), alone=True)
            for line in lines:
                self._learn(line)
            if lines and not durable:
                append_lines(self._path, list(lines), durable=False)

    def _learn(self, line: Mapping[str, object]) -> None:
        did, key = line.get("did"), line.get("key")
        if did == _MET:
            self._met.add(str(line.get("run")))
        elif did in (_BEGIN, _PUBLISHED, _WITNESS, _CONFLICT):
            self._learn_run(did, str(line.get("run")), line)
        elif isinstance(key, str):
            self._learn_key(did, key, line)

    def _learn_run(self, did: object, run: str, line: Mapping[str, object]) -> None:
        size, number = line.get("bytes"), line.get("attempt")
        if did == _WITNESS and isinstance(size, int):
            self._witness[run] = size
            return
        name = (str(line.get("episode")), str(line.get("native_id")))
        if did == _CONFLICT:
            self.conflicts[run, name] = str(line.get("prefix"))
        if not isinstance(number, int):
            return
        if did == _PUBLISHED:
            self.ledger(run).mark(name, number, PUBLISHED)
            self._drop(run, name)
            return
        prefix, parts = attempt_prefix(run, name[0], number), _parts(line)
        begun = self.begun.setdefault((run, name), Begun(number))
        for rest, blob in parts:
            begun.parts.append((prefix + rest, blob))
            self._intend(prefix + rest, blob)

    def _drop(self, run: str, name: AttemptId) -> None:
        begun = self.begun.pop((run, name), None)
        for key, _ in begun.parts if begun is not None else ():
            self.put.pop(key, None)
            self._intents.pop(key, None)
            self._taken.discard(key)

    def _learn_key(self, did: object, key: str, line: Mapping[str, object]) -> None:
        sha256, size = line.get("sha256"), line.get("size")
        if did == _TAKEN:
            self._taken.add(key)
        elif did == _UPLOAD:
            upload = line.get("id")
            self.uploads.pop(key, None)
            if isinstance(upload, str):
                self.uploads[key] = upload
        elif isinstance(sha256, str) and isinstance(size, int):
            blob = Blob(sha256, size)
            if did == _PUT:
                self.put[key] = blob
            elif did == _INTEND:
                self._intend(key, blob)

    def _intend(self, key: str, blob: Blob) -> None:
        if blob not in self.intents(key):
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


def _named(name: AttemptId) -> dict[str, object]:
    return {"episode": name[0], "native_id": name[1]}


def _begin_line(run: str, name: AttemptId, begun: Begun) -> dict[str, object]:
    prefix = attempt_prefix(run, name[0], begun.number)
    parts = [[key.removeprefix(prefix), blob.sha256, blob.size] for key, blob in begun.parts]
    return {"did": _BEGIN, "run": run, **_named(name), "attempt": begun.number, "parts": parts}


def _parts(line: Mapping[str, object]) -> Iterator[tuple[str, Blob]]:
    parts = line.get("parts")
    for part in parts if isinstance(parts, list) else ():
        if isinstance(part, list) and len(part) == 3:
            name, sha256, size = part
            if isinstance(name, str) and isinstance(sha256, str) and isinstance(size, int):
                yield name, Blob(sha256, size)


def _record(data: bytes) -> dict[str, object] | None:
    try:
        line = json.loads(data)
    except ValueError:
        return None
    return line if isinstance(line, dict) else None
