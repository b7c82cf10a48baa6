"""Large files in parts: the id is on the disk first, a slice sends what it has time for, nothing is left behind."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from s3_server import Service
from spoteval.store.contract import NotThere, Put, StoreError
from spoteval.store.s3_parts import PART_BYTES, part_bytes
from spoteval_agents.publication_follower.evidence import Changed, take
from spoteval_agents.publication_follower.journal import Journal
from spoteval_agents.publication_follower.uploading import abort_stale, put_evidence

KEY = "runs/r1/state/work/large/000001-000001"


@dataclass
class Parts:
    """A store that keeps parts; `fails` names calls that raise."""

    url: str = "s3://b"
    uploads: dict[str, dict[int, bytes]] = field(default_factory=dict)
    objects: dict[str, bytes] = field(default_factory=dict)
    fails: dict[str, Exception] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)

    @property
    def large(self) -> "Parts":
        """Itself."""
        return self

    def begin(self, key: str, sha256: str) -> str:
        """A new id."""
        self._ask("begin")
        self.uploads[f"u{len(self.asked)}"] = {}
        return f"u{len(self.asked)}"

    def part(self, key: str, upload: str, number: int, data: bytes) -> str:
        """Kept."""
        self._ask(f"part {number}")
        self.uploads[upload][number] = data
        return f"tag{number}"

    def complete(self, key: str, upload: str, tags: Sequence[str]) -> Put:
        """Joined, create-only."""
        self._ask("complete")
        parts = self.uploads.pop(upload)
        if key in self.objects:
            self.uploads[upload] = parts
            return Put.EXISTS
        self.objects[key] = b"".join(parts[number] for number in sorted(parts))
        return Put.CREATED

    def abort(self, key: str, upload: str) -> None:
        """Forgotten."""
        self._ask("abort")
        self.uploads.pop(upload, None)

    def _ask(self, what: str) -> None:
        self.asked.append(what)
        if what in self.fails:
            raise self.fails.pop(what)


@dataclass
class Scene:
    """A file of three parts and a journal."""

    root: Path
    store: Parts = field(default_factory=Parts)

    def __post_init__(self) -> None:
        """Sparse, with another byte in each part."""
        self.path = self.root / "large"
        with self.path.open("wb") as file:
            for number in range(3):
                file.seek(number * PART_BYTES)
                file.write(bytes([number + 1]))
            file.truncate(2 * PART_BYTES + 5)
        self.journal = self.opened()

    def opened(self) -> Journal:
        """As a new process reads it."""
        return Journal(self.root / "journal.jsonl", "s3://b")

    def put(self, times: int = 99) -> Put:
        """Send it, with time for so many parts."""
        left = iter([True] * times)
        evidence = take(self.path, self.root)
        return put_evidence(
            self.store, self.journal, KEY, evidence, 1000, lambda: next(left, False)
        )


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """Nothing is sent yet."""
    return Scene(tmp_path)


def test_a_large_file_goes_in_parts(scene: Scene) -> None:
    """Each once, the object whole, no upload left and none in the journal."""
    assert scene.put() is Put.CREATED
    assert scene.store.asked == ["begin", "part 1", "part 2", "part 3", "complete"]
    assert scene.store.objects[KEY] == scene.path.read_bytes()
    assert scene.store.uploads == {}
    assert scene.opened().uploads == {}


def test_a_slice_without_time_goes_on_in_the_next(scene: Scene) -> None:
    """What was sent is not sent again; the id is in the journal before the first part."""
    with pytest.raises(Changed, match="1 parts sent, the rest follows"):
        scene.put(times=1)
    assert set(scene.opened().uploads) == {KEY}
    assert scene.put() is Put.CREATED
    assert scene.store.asked == ["begin", "part 1", "part 2", "part 3", "complete"]


def test_failure_08_what_a_dead_process_began_is_ended_by_the_next(scene: Scene) -> None:
    """Failure 8: parts that nobody completes are paid for."""
    with pytest.raises(Changed):
        scene.put(times=2)
    scene.journal = scene.opened()
    scene.store.fails["abort"] = StoreError("timeout")
    abort_stale(scene.store, scene.journal)
    assert set(scene.journal.uploads) == {KEY}
    abort_stale(scene.store, scene.journal)
    assert scene.store.uploads == {}
    assert scene.opened().uploads == {}
    assert scene.put() is Put.CREATED


@pytest.mark.parametrize("error", [StoreError("503"), NotThere("gone")])
def test_a_part_that_fails_is_sent_next_time(scene: Scene, error: StoreError) -> None:
    """Of an upload that the service forgot, everything is."""
    scene.store.fails["part 2"] = error
    with pytest.raises(StoreError):
        scene.put()
    assert scene.put() is Put.CREATED
    assert scene.store.objects[KEY] == scene.path.read_bytes()
    assert scene.store.uploads == {} or isinstance(error, NotThere)


def test_a_file_that_changed_on_its_way_is_no_object(scene: Scene) -> None:
    """Neither a mixture nor a rest of it."""
    with pytest.raises(Changed):
        scene.put(times=1)
    with scene.path.open("r+b") as file:
        file.write(b"other")
    os.utime(scene.path, ns=(1, 1))
    assert scene.put() is Put.CREATED
    assert scene.store.objects[KEY] == scene.path.read_bytes()
    assert "abort" in scene.store.asked


def test_what_exists_is_not_overwritten_and_its_parts_go(scene: Scene) -> None:
    """412 at the end."""
    scene.store.objects[KEY] = b"another's"
    assert scene.put() is Put.EXISTS
    assert scene.store.objects[KEY] == b"another's"
    assert scene.store.uploads == {}


@pytest.mark.parametrize(
    ("size", "each"), [(1, PART_BYTES), (9_000 * PART_BYTES + 1, PART_BYTES + 1)]
)
def test_no_file_has_more_parts_than_the_protocol_allows(size: int, each: int) -> None:
    """9,000 of 10,000."""
    assert part_bytes(size) == each


@pytest.mark.runs("a real service on loopback, started once for all of them")
def test_put_only_is_enough_for_parts(moto_service: Service, tmp_path: Path) -> None:
    """Begun, sent, completed create-only, aborted: by the guest's own key."""
    store = moto_service.part(moto_service.store("publisher"), moto_service.fresh("runs"))
    scene = Scene(tmp_path)
    evidence = take(scene.path, tmp_path)
    for wanted in (Put.CREATED, Put.EXISTS):
        answer = put_evidence(store, scene.journal, KEY, evidence, 1000, lambda: True)
        assert answer is wanted
    reads = moto_service.part(
        moto_service.store("reader"), store.url.removeprefix("s3://evals/team-a/")
    )
    assert reads.get(KEY) == scene.path.read_bytes()
    upload = store.large.begin(KEY, evidence.blob.sha256)
    store.large.abort(KEY, upload)
