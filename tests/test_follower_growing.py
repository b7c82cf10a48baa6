"""publication_follower: files that grow or change, evidence that changed, and what the journal is worth."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from follower_world import RUN, Clock, Guest
from spoteval.publication.manifest import Manifest, manifest_from
from spoteval.publication.pull import pull
from spoteval.publication.verify import compare
from spoteval.store.contract import Put
from spoteval_agents.publication_follower import evidence, growing
from spoteval_agents.publication_follower.cycle import cycle
from spoteval_agents.publication_follower.journal import Journal, held
from spoteval_agents.publication_follower.memory import Memory
from spoteval_agents.publication_follower.work import Begun, Blob, Ident

ONE, TWO, THREE = (Blob(digit * 64, 1) for digit in "123")
EVENTS = "log/gpu-1/events.jsonl/"
STATE = "state/work/intended.json/"


@pytest.fixture
def guest(tmp_path: Path) -> Guest:
    """A guest whose logs and records are published."""
    guest = Guest(tmp_path)
    run(guest)
    return guest


def run(guest: Guest) -> None:
    """A regular pass."""
    guest.later()
    cycle(guest.world, guest.memory)


def state(guest: Guest, text: str) -> None:
    """The harness writes its state file."""
    guest.paths.work.mkdir(exist_ok=True)
    (guest.paths.work / "intended.json").write_text(text)


def body(guest: Guest, key: str) -> bytes:
    """An object of the run."""
    return guest.store.inner.get(f"runs/{RUN}/{key}")


def journal_path(guest: Guest) -> Path:
    """The journal's file."""
    return guest.disk.publication / "journal.jsonl"


def agrees(guest: Guest) -> bool:
    """Store and disk are the same."""
    report = compare(guest.store.inner, RUN, guest.paths.root)
    return report.verified


def test_a_log_grows_by_segments(guest: Guest) -> None:
    """One object for what was appended since the last pass, at its offset."""
    size = guest.paths.events.stat().st_size
    guest.log("events.jsonl", {"kind": "healthy"})
    grown = guest.paths.events.stat().st_size
    run(guest)
    assert guest.keys(EVENTS) == [
        f"{EVENTS}000001/{0:012d}-{size}",
        f"{EVENTS}000001/{size:012d}-{grown - size}",
        f"{EVENTS}000001/BEGIN.json",
    ]
    assert json.loads(body(guest, f"{EVENTS}000001/BEGIN.json"))["replaces"] is None
    assert agrees(guest)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:10]), "shrank from 36 to 10 bytes"),
        (lambda path: path.write_bytes(b""), "shrank from 36 to 0 bytes"),
        (lambda path: path.write_bytes(b"#" * 36), "differs from byte 0 on"),
        (lambda path: path.write_bytes(b"#" * 99), "differs from byte 0 on"),
    ],
)
def test_a_log_that_is_not_what_it_was_begins_a_new_incarnation(
    guest: Guest, change: Callable[[Path], object], why: str
) -> None:
    """Its first object names the one it replaces, and why; what was published stays."""
    before = guest.keys(EVENTS)
    change(guest.paths.events)
    run(guest)
    first = json.loads(body(guest, f"{EVENTS}000002/BEGIN.json"))
    assert (first["replaces"], first["why"]) == (1, why)
    assert set(before) < set(guest.keys(EVENTS))
    guest.log("events.jsonl", {"kind": "later"})
    run(guest)
    assert agrees(guest)
    assert guest.keys(EVENTS + "000003") == []


def test_a_segment_whose_answer_was_lost_keeps_its_bounds(guest: Guest) -> None:
    """The log grew meanwhile: first the same segment again, then the rest."""
    size = guest.paths.events.stat().st_size
    guest.log("events.jsonl", {"kind": "a"})
    guest.store.lost_answers = True
    run(guest)
    guest.store.lost_answers = False
    guest.log("events.jsonl", {"kind": "b"})
    run(guest)
    offsets = [int(key.rpartition("/")[2].split("-")[0]) for key in guest.keys(EVENTS)[:-1]]
    assert offsets == [0, size, size + len('{"kind": "a"}\n')]
    assert agrees(guest)


def test_a_lost_journal_begins_a_new_incarnation(guest: Guest) -> None:
    """What lies in the old one is not known any more; the new one holds the whole file."""
    journal_path(guest).unlink()
    guest.restart()
    guest.log("events.jsonl", {"kind": "later"})
    run(guest)
    assert json.loads(body(guest, f"{EVENTS}000002/BEGIN.json"))["replaces"] == 1
    assert agrees(guest)


def test_a_state_file_is_copied_when_its_bytes_change(guest: Guest) -> None:
    """A generation each; a new time or a new inode alone is no change."""
    for text in ("[1]", "[2]", "[2]", "[1]"):
        state(guest, text)
        run(guest)
    (guest.paths.work / "intended.json").touch()
    run(guest)
    assert guest.keys(STATE) == [f"{STATE}000001-00000{number}" for number in (1, 2, 3)]
    assert body(guest, f"{STATE}000001-000003") == b"[1]"


def test_an_epoch_begins_anew_and_is_newer(guest: Guest) -> None:
    """Only what changed since is copied again."""
    state(guest, "[1]")
    run(guest)
    guest.reboot("s2")
    run(guest)
    assert len(guest.keys(STATE)) == 1
    state(guest, "[2]")
    run(guest)
    assert guest.keys(STATE) == [f"{STATE}000001-000001", f"{STATE}000002-000001"]
    assert agrees(guest)


def test_a_number_is_never_used_twice(guest: Guest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the journal lost, taken numbers are found one by one, some in each pass, and the newest stays the newest."""
    for number in range(7):
        state(guest, f"[{number}]")
        run(guest)
    before = {key: body(guest, key) for key in guest.keys(STATE)}
    journal_path(guest).unlink()
    guest.restart()
    monkeypatch.setattr(growing, "TRIES", 3)
    state(guest, "[99]")
    for _ in range(3):
        run(guest)
    after = {key: body(guest, key) for key in guest.keys(STATE)}
    assert after == {**before, f"{STATE}000001-000008": b"[99]"}
    assert agrees(guest)


def test_a_lost_answer_costs_a_generation_and_hides_no_change(guest: Guest) -> None:
    """An object that exists is never taken for what was meant."""
    state(guest, "[1]")
    guest.store.lost_answers = True
    run(guest)
    state(guest, "[2]")
    run(guest)
    guest.store.lost_answers = False
    run(guest)
    assert body(guest, guest.keys(STATE)[-1]) == b"[2]"
    assert agrees(guest)


def test_a_large_file_is_sent_from_the_disk(guest: Guest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Above the limit nothing is kept in memory; at it the very bytes that were hashed are sent."""
    sent: list[str] = []
    put_file = guest.store.put_file

    def counted(key: str, path: Path) -> Put:
        sent.append(key)
        return put_file(key, path)

    monkeypatch.setattr(guest.store, "put_file", counted)
    monkeypatch.setattr(evidence, "IN_MEMORY_BYTES", 100)
    guest.finish("1", {"at": b"x" * 100, "above": b"x" * 101})
    state(guest, "[" + "1," * 60 + "1]")
    run(guest)
    names = [key.removeprefix(f"runs/{RUN}/").partition("/")[2] for key in sent]
    assert "1/1/above" in names
    assert "1/1/at" not in names
    assert "work/intended.json/000001-000001" in names
    assert agrees(guest)


def test_a_large_file_that_changes_while_it_is_sent_is_sent_again(
    guest: Guest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What lies under the first number may be a mixture; the next number holds the file."""
    monkeypatch.setattr(evidence, "IN_MEMORY_BYTES", 1)
    put_file, times = guest.store.put_file, [0]

    def slow(key: str, path: Path) -> Put:
        answer = put_file(key, path)
        if "state/work" in key and not times[0]:
            times[0] += 1
            state(guest, "[22]")
        return answer

    monkeypatch.setattr(guest.store, "put_file", slow)
    state(guest, "[1]")
    run(guest)
    run(guest)
    assert body(guest, f"{STATE}000001-000002") == b"[22]"
    assert agrees(guest)


def manifest(guest: Guest, key: str) -> Manifest:
    """A manifest of the store."""
    found = manifest_from(body(guest, key), key)
    assert isinstance(found, Manifest)
    return found


@pytest.mark.parametrize("answered", [False, True])
def test_a_part_that_the_harness_wrote_anew_stays_what_was_put(
    guest: Guest,
    tmp_path: Path,
    answered: bool,
) -> None:
    """Cut between part and manifest, the file written anew meanwhile: the manifest names the bytes in the store."""
    guest.finish("1", {"log.txt": b"first"})
    if answered:
        guest.store.refused = ("MANIFEST.json",)
    else:
        guest.store.lost_answers = True
    run(guest)
    guest.store.refused, guest.store.lost_answers = (), False
    if answered:
        guest.paths.finished.unlink()  # the line was torn away by a power cut
    guest.finish("1", {"log.txt": b"second"})
    guest.restart()
    for _ in range(2):
        run(guest)
    report = pull(guest.store.inner, RUN, tmp_path / "out")
    assert (report.differences, report.episodes) == ((), 1)
    assert (tmp_path / "out/episodes/1/1/log.txt").read_bytes() in (b"first", b"second")
    parts = {part.name: part.size for part in manifest(guest, "episodes/1/1/MANIFEST.json").parts}
    assert parts["log.txt"] == len(body(guest, "episodes/1/1/log.txt"))


def test_a_witnessed_attempt_is_published_from_its_line_alone(guest: Guest) -> None:
    """Its files are gone before the manifest was put; the parts were put before."""
    guest.finish("1")
    guest.store.refused = ("MANIFEST.json",)
    run(guest)
    assert len(guest.witness()) == 1
    guest.store.refused = ()
    (guest.paths.work / "episodes" / "1").rename(guest.root / "away")
    run(guest)
    assert manifest(guest, "episodes/1/1/MANIFEST.json").attempt.key == "1"
    assert agrees(guest)


def test_another_store_is_another_journal(guest: Guest, tmp_path: Path) -> None:
    """What one store has, another has not; the old address back again, everything is still known."""
    old, new = f"file://{guest.root}/store", "file:///other"
    known = Journal(journal_path(guest), old)
    assert known.put
    assert Journal(journal_path(guest), new).put == {}
    Journal(journal_path(guest), new).done("k", ONE)
    assert Journal(journal_path(guest), new).put == {"k": ONE}
    again = Journal(journal_path(guest), old)
    assert again.put == known.put


def test_a_journal_cut_at_each_byte_is_read(tmp_path: Path) -> None:
    """What is left is known, what is torn is not, and what comes after it is."""
    path = tmp_path / "journal.jsonl"
    first = Journal(path, "file:///s")
    first.begin("r", {("e", "n"): Begun(2, [("runs/r/episodes/e/2/p", ONE)])})
    first.done("a", ONE)
    first.taken("b")
    first.intend([("c", TWO)])
    whole = path.read_bytes()
    for length in range(len(whole) + 1):
        path.write_bytes(whole[:length])
        found = Journal(path, "file:///s")
        assert set(found.put.items()) <= {("a", ONE)}
        assert set(found.numbers("r", ["e"]).items()) <= {(("e", "n"), 2)}
        assert found.intents("c") in ((), (TWO,))
        found.done("z", THREE)
        assert Journal(path, "file:///s").put == {**found.put, "z": THREE}


@pytest.mark.parametrize(
    ("answer", "earlier", "found"),
    [
        (Put.CREATED, (), ONE),
        (Put.CREATED, (TWO,), ONE),
        (Put.EXISTS, (ONE,), ONE),
        (Put.EXISTS, (TWO,), TWO),
        (Put.EXISTS, (), None),
        (Put.EXISTS, (ONE, TWO), None),
        (Put.EXISTS, (TWO, THREE), None),
    ],
)
def test_what_an_answer_tells(answer: Put, earlier: tuple[Blob, ...], found: Blob | None) -> None:
    """Created: what was sent. Exists: the one thing that was ever meant, or nobody knows."""
    assert held(answer, ONE, earlier) == found


def test_a_segment_that_a_torn_journal_forgot_is_not_trusted(guest: Guest) -> None:
    """The file was written anew, as long as before: what lies under the same key is not what it holds."""
    path = journal_path(guest)
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(line for line in lines if b"/000000000000-" not in line))
    guest.paths.events.write_bytes(b"#" * guest.paths.events.stat().st_size)
    guest.restart()
    run(guest)
    assert json.loads(body(guest, f"{EVENTS}000002/BEGIN.json"))["why"] == "journal lost"
    assert agrees(guest)


@pytest.mark.parametrize(("age_s", "remembered"), [(2.0, False), (2.1, True)])
def test_a_file_written_just_now_is_read_again(age_s: float, remembered: bool) -> None:
    """Two writes may bear the same time and length; an older file that looks the same is the same."""
    memory, now = Memory(), Clock()()
    written_ns = int((now.wall.timestamp() - age_s) * 1e9)
    memory.learn({"a": Ident(1, 2, written_ns)}, frozenset(), now)
    assert ("a" in memory.read) is remembered
