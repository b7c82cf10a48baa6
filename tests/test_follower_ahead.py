"""publication-follower with a store that takes many puts at a time: the first try of a batch, and what follows it."""

from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from follower_world import RUN, Guest
from put_only import PutOnly
from spoteval.publication.pull import pull
from spoteval.store.contract import Later, Put
from spoteval_agents.publication_follower.ahead import Ahead as Rows
from spoteval_agents.publication_follower.cycle import cycle

FILES = {"a.txt": b"a\n", "b/c.txt": b"c\n"}
PARTS = ("a.txt", "b/c.txt", "episode.json")


class Ahead(PutOnly):
    """A store that takes many puts at a time. `lost`: words of keys whose first try had no answer."""

    lanes = 8
    tried: list[str]
    lost: tuple[str, ...]

    def put_each(
        self, wanted: Iterable[tuple[str, bytes] | None], most: int
    ) -> Iterator[tuple[str, Put | Later]]:
        """Those of which `most` may be under way, in their order; answers only when there is no other."""
        out, left = deque[tuple[str, Put | Later]](), iter(wanted)
        while True:
            while len(out) < most and (one := next(left, None)) is not None:
                key, data = one
                self.tried.append(key)
                is_lost = any(word in key for word in self.lost)
                out.append((key, partial(self.put, key, data) if is_lost else self.put(key, data)))
            if not out:
                return
            yield out.popleft()


@pytest.fixture
def tried(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The keys that were tried, in order."""
    found = list[str]()
    for name, value in {"tried": found, "lost": ()}.items():
        monkeypatch.setattr(Ahead, name, value, raising=False)
    monkeypatch.setattr("follower_world.PutOnly", Ahead)
    return found


def run(guest: Guest) -> None:
    """Time passes, then a cycle."""
    guest.later()
    cycle(guest.world, guest.memory)


def met(root: Path, *names: str) -> Guest:
    """A guest whose journal knows its run from the beginning, with these episodes."""
    guest = Guest(root)
    run(guest)
    for name in names:
        guest.finish(name, FILES)
    return guest


def keys(name: str, *parts: str) -> list[str]:
    """Of the first attempt of an episode."""
    return [f"runs/{RUN}/episodes/{name}/1/{part}" for part in parts]


def test_first_parts_then_the_others_then_manifests(tmp_path: Path, tried: list[str]) -> None:
    """Every put once, and what comes back is what was there."""
    guest = met(tmp_path, "1", "2")
    guest.asked()
    run(guest)
    first, *others = PARTS
    assert tried == [
        *keys("1", first), *keys("2", first),
        *keys("1", *others), *keys("2", *others),
        *keys("1", "MANIFEST.json"), *keys("2", "MANIFEST.json"),
    ]  # fmt: skip
    asked = [key for key in guest.asked() if "/episodes/" in key]
    assert sorted(asked) == sorted(tried)
    assert pull(guest.store.inner, RUN, tmp_path / "out").verified


def test_who_finds_the_first_part_taken_stops_there(tmp_path: Path, tried: list[str]) -> None:
    """Of two machines that publish one episode one has all of it; the other's lies beside it."""
    guest = met(tmp_path, "1", "2")
    guest.store.inner.put(keys("1", "a.txt")[0], b"theirs")
    run(guest)
    assert [key for key in tried if "/episodes/1/" in key] == keys("1", "a.txt")
    assert guest.keys("episodes/1/") == ["episodes/1/1/a.txt"]
    assert len(guest.keys("conflicts/1/1/")) == len(PARTS) + 1
    assert guest.has("episodes/2/1/MANIFEST.json")


@pytest.mark.parametrize("word", ["1/1/a.txt", "1/1/b/c.txt", "1/1/MANIFEST.json"])
def test_what_had_no_answer_is_gone_on_with(
    tmp_path: Path, tried: list[str], monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    """Of that episode; the other is not held up, and both are published in this pass."""
    monkeypatch.setattr(Ahead, "lost", (word,))
    guest = met(tmp_path, "1", "2")
    run(guest)
    assert pull(guest.store.inner, RUN, tmp_path / "out").verified
    assert [line["episode"] for line in guest.witness()] == ["1", "2"]
    assert len(tried) == len(set(tried))


@pytest.mark.parametrize("word", ["1/1/a.txt", "1/1/b/c.txt"])
def test_what_fails_for_good_fails_alone(
    tmp_path: Path, tried: list[str], monkeypatch: pytest.MonkeyPatch, word: str
) -> None:
    """Nothing of it is witnessed; the next pass takes it."""
    monkeypatch.setattr(Ahead, "lost", (word,))
    guest = met(tmp_path, "1", "2")
    guest.store.refused = (word,)
    run(guest)
    assert [line["episode"] for line in guest.witness()] == ["2"]
    assert not guest.has("episodes/1/1/MANIFEST.json")
    guest.store.refused = ()
    run(guest)
    assert pull(guest.store.inner, RUN, tmp_path / "out").verified
    assert tried


def test_what_was_begun_is_ended(
    tmp_path: Path, tried: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Time is over after the first of all puts: its episode is whole, the other was not touched."""
    guest = met(tmp_path, "1", "2")
    put, clock = guest.store.put, guest.clock

    def slow(key: str, data: bytes) -> Put:
        clock.passed_s += 3600.0
        return put(key, data)

    monkeypatch.setattr(guest.store, "put", slow)
    monkeypatch.setattr("spoteval_agents.publication_follower.lanes.LOOK_S", 0.0)
    run(guest)
    assert tried[0] == keys("1", "a.txt")[0]
    assert guest.has("episodes/1/1/MANIFEST.json")
    assert [line["episode"] for line in guest.witness()] == ["1"]
    assert guest.keys("episodes/2/") == []


def test_a_store_that_fails_altogether_is_away(
    tmp_path: Path, tried: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is lost, and each is published once it is back."""
    monkeypatch.setattr(Ahead, "lost", ("/",))
    guest = met(tmp_path, *"12345")
    guest.store.away = True
    run(guest)
    assert guest.witness() == []
    guest.store.away = False
    run(guest)
    assert pull(guest.store.inner, RUN, tmp_path / "out").verified
    assert tried


@dataclass
class Several:
    """A store that has several puts under way, and answers them in any order; some first ones are not ours."""

    dice: Random
    taken: frozenset[int]
    limit: int
    seen: list[tuple[int, int]] = field(default_factory=list)
    url: str = "mem://"

    @property
    def many(self) -> "Several":
        """Itself."""
        return self

    def put_each(
        self, wanted: Iterable[tuple[str, bytes] | None], most: int
    ) -> Iterator[tuple[str, Put | Later]]:
        """Asked whenever there is room."""
        out, left = list[tuple[int, int]](), iter(wanted)
        while True:
            while len(out) < most and (one := next(left, None)) is not None:
                row, _, part = one[0].partition("/")
                out.append((int(row), int(part)))
                self.seen.append(out[-1])
            assert len({row for row, part in out if part == 0}) <= self.limit
            if not out:
                return
            number, place = out.pop(self.dice.randrange(len(out)))
            is_taken = place == 0 and number in self.taken
            yield f"{number}/{place}", Put.EXISTS if is_taken else Put.CREATED


@given(
    sizes=st.lists(st.integers(0, 5), max_size=12),
    taken=st.frozensets(st.integers(0, 11)),
    most=st.integers(2, 8),
    begins=st.integers(0, 14),
    seed=st.integers(0, 1000),
)
def test_rows_are_begun_a_few_at_a_time_and_ended(
    sizes: list[int], taken: frozenset[int], most: int, begins: int, seed: int
) -> None:
    """Whatever comes in what order: each put once, all of a row whose first is ours, of others the first alone."""
    rows = {row: [(f"{row}/{part}", b"") for part in range(size)] for row, size in enumerate(sizes)}
    store = Several(Random(seed), taken, most)
    left = iter(range(begins))
    begun = Rows(store).try_rows(rows, lambda: next(left, None) is not None, most)  # type: ignore[arg-type]
    assert begun == set([row for row, size in enumerate(sizes) if size][:begins])
    wanted = {(row, part) for row in begun for part in range(1 if row in taken else sizes[row])}
    assert sorted(store.seen) == sorted(wanted)
