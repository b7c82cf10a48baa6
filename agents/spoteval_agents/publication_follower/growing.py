"""Files that grow or change in place: appended ones as segments, others as generations; no number is used twice."""

import re
from dataclasses import dataclass

from spoteval.files import encoded
from spoteval.publication.keys import (
    begin_key,
    log_prefix,
    segment_key,
    state_key,
    state_prefix,
)
from spoteval.store.contract import StoreError
from spoteval_agents.publication_follower.evidence import Bytes, Evidence, OpenLog, blob_of
from spoteval_agents.publication_follower.journal import Journal
from spoteval_agents.publication_follower.sending import Done, Target, claim, send
from spoteval_agents.publication_follower.work import Ident

TRIES = 64
"""Numbers tried in one pass after a lost journal; the next pass goes on where this one stopped."""

SEGMENT_BYTES = 8 << 20
"""Longest segment: what lies in memory at a time."""
_GENERATION = re.compile(r"(\d+)-(\d+)")
_SEGMENT = re.compile(r"(\d{6})/(\d+)-(\d+)")
_BEGIN = re.compile(r"(\d{6})/BEGIN\.json")


class _NotOurs(StoreError):
    """The incarnation holds what this journal knows nothing of."""


def publish_state(target: Target, name: str, evidence: Evidence, seen: Ident) -> Done:
    """Put the whole file as its next generation in this epoch, unless the newest one is the same. Raises StoreError.

    `seen` is how the file was before it was taken.
    After an answer that was lost, the same bytes may lie under two generations; never do two contents under one. No
    number is left out, so the first free one is above all used ones.
    """
    done, journal = Done(read=seen), target.journal
    number, newest = _newest(journal, state_prefix(target.run, name), target.epoch)
    if newest is not None and journal.put.get(newest) == evidence.blob:
        return done
    for generation in range(number + 1, number + 1 + TRIES):
        if claim(target, state_key(target.run, name, target.epoch, generation), evidence, done):
            return done
    raise StoreError(
        f"{name}: {TRIES} generations are taken by an earlier journal; tried on next time"
    )


def publish_log(target: Target, name: str, log: OpenLog, *, whole: bool) -> Done:
    """Put what was appended since the last segment. Raises StoreError, Changed and Withheld.

    A file that shrank or differs from what was published, or that this journal lost, begins a new incarnation. `whole`:
    hold all of it to what was published, as at the first look of a process; later ones look at the newest segment.
    """
    done, file = Done(read=log.ident), _Log(target, name, log)
    incarnation = file.incarnation()
    if incarnation == 0:
        incarnation = file.begin(0, "first", done)
    try:
        why = file.differs(incarnation, whole=whole)
        if why is None:
            file.extend(incarnation, done)
            return done
    except _NotOurs:
        why = "journal lost"
    file.extend(file.begin(incarnation, why, done), done)
    return done


@dataclass(frozen=True, slots=True)
class _Segment:
    """A stretch of the file that was put, or was about to be."""

    key: str
    offset: int
    length: int


@dataclass(frozen=True, slots=True)
class _Log:
    """One appended file and what the journal knows of it."""

    target: Target
    name: str
    log: OpenLog

    @property
    def prefix(self) -> str:
        return log_prefix(self.target.run, self.target.host, self.name)

    def incarnation(self) -> int:
        """The newest one that is ours; 0 where there is none."""
        journal = self.target.journal
        found = [(key, _BEGIN.fullmatch(rest)) for key, rest in self._rests() if key in journal.put]
        return max((int(match[1]) for _, match in found if match), default=0)

    def differs(self, incarnation: int, *, whole: bool) -> str | None:
        """Why the file is not what was published of it, grown; None where it is."""
        segments, journal = self._segments(incarnation), self.target.journal
        for segment in segments if whole else segments[-1:]:
            end = segment.offset + segment.length
            if self.log.size < end:
                return f"shrank from {end} to {self.log.size} bytes"
            blob = blob_of(self.log.read(segment.offset, segment.length))
            if blob not in (journal.put.get(segment.key), *journal.intents(segment.key)):
                return f"differs from byte {segment.offset} on"
        return None

    def begin(self, replaces: int, why: str, done: Done) -> int:
        """Begin the next incarnation that nobody has; its first object says which one it replaces, and why."""
        for incarnation in range(replaces + 1, replaces + 1 + TRIES):
            key = begin_key(self.target.run, self.target.host, self.name, incarnation)
            if self.target.journal.is_taken(key):
                continue
            before = incarnation - 1 if incarnation > 1 else None
            body = encoded({"name": self.name, "replaces": before, "why": why})
            if claim(self.target, key, Bytes(body), done):
                return incarnation
        raise StoreError(f"{self.name}: {TRIES} incarnations are taken by an earlier journal")

    def extend(self, incarnation: int, done: Done) -> None:
        """Put what is missing: first, unchanged, the segments whose put was not answered, then the rest."""
        end = 0
        for segment in self._segments(incarnation):
            if segment.key not in self.target.journal.put:
                self._put(segment.key, self.log.read(segment.offset, segment.length), done)
            end = max(end, segment.offset + segment.length)
        while end < self.log.size:
            rest = self.log.read(end, min(SEGMENT_BYTES, self.log.size - end))
            self.log.refuse_secret(end, len(rest))
            key = segment_key(
                self.target.run, self.target.host, self.name, incarnation, end, len(rest)
            )
            self._put(key, rest, done)
            end += len(rest)

    def _put(self, key: str, piece: bytes, done: Done) -> None:
        evidence = Bytes(piece)
        earlier = self.target.journal.intents(key)
        if evidence.blob not in earlier:
            self.target.journal.intend([(key, evidence.blob)])
        if send(self.target, key, evidence, earlier, done) is None:
            raise _NotOurs(f"{key}: holds bytes that are not known to be ours")

    def _segments(self, incarnation: int) -> list[_Segment]:
        found = [(key, _SEGMENT.fullmatch(rest)) for key, rest in self._rests()]
        ours = [
            _Segment(key, int(match[2]), int(match[3]))
            for key, match in found
            if match is not None
            and int(match[1]) == incarnation
            and not self.target.journal.is_taken(key)
        ]
        return sorted(ours, key=lambda segment: (segment.offset, segment.length))

    def _rests(self) -> list[tuple[str, str]]:
        return [
            (key, key.removeprefix(self.prefix)) for key in self.target.journal.below(self.prefix)
        ]


def _newest(journal: Journal, prefix: str, epoch: int) -> tuple[int, str | None]:
    """The highest number of this epoch, and the newest key of all epochs."""
    found = [
        (int(match[1]), int(match[2]), key)
        for key in journal.below(prefix)
        if (match := _GENERATION.fullmatch(key.removeprefix(prefix)))
    ]
    numbers = [generation for of, generation, _ in found if of == epoch]
    return max(numbers, default=0), max(found)[2] if found else None
