"""Key names: reversible, safe, and read back into the tree."""

from hypothesis import given
from hypothesis import strategies as st

from spoteval.publication import keys
from spoteval.publication.layout import layout
from spoteval.publication.own import Manner, manner_of
from spoteval.store.contract import Stored, key_error

RAW = st.binary(max_size=12).map(lambda data: data.decode("utf-8", "surrogateescape"))
NAMES = st.one_of(st.text(max_size=20), RAW)
PARTS = st.text(min_size=1, max_size=20).filter(lambda text: "/" not in text and "\0" not in text)
PATHS = st.lists(PARTS.filter(lambda part: part not in (".", "..")), min_size=1, max_size=3)


def on(*names: str) -> list[Stored]:
    """A listing."""
    return [Stored(name, 1) for name in names]


@given(name=NAMES)
def test_a_safe_name_is_one_part_and_comes_back(name: str) -> None:
    """No slash, no dot path, no temporary, never empty, and nothing is lost."""
    part = keys.safe(name)
    assert key_error(f"a/{part}") is None
    assert "/" not in part
    assert not part.startswith(".")
    assert keys.original(part) == name


@given(first=NAMES, second=NAMES)
def test_two_names_never_share_a_key(first: str, second: str) -> None:
    """What is told apart here is told apart there."""
    assert (keys.safe(first) == keys.safe(second)) == (first == second)


@given(episode=NAMES, parts=PATHS)
def test_no_part_takes_the_manifest_s_key(episode: str, parts: list[str]) -> None:
    """Also not one that is called as the manifest is."""
    for name in ("/".join(parts), keys.MANIFEST):
        key = keys.part_key("r", episode, 1, name)
        assert key_error(key) is None
        assert key != keys.manifest_key("r", episode, 1)


@given(episode=NAMES, parts=PATHS)
def test_an_attempt_is_found_again_in_a_listing(episode: str, parts: list[str]) -> None:
    """By episode and number, its manifest apart from its parts."""
    part = keys.part_key("r", episode, 12, "/".join(parts))
    found = layout("r", on(keys.manifest_key("r", episode, 12), part))
    assert found.unknown == ()
    attempt = found.attempts[0]
    assert (attempt.episode, attempt.number) == (episode, 12)
    assert attempt.manifest is not None
    assert [item.key for item in attempt.parts] == [part]


@given(parts=PATHS)
def test_of_a_state_file_the_newest_generation_counts(parts: list[str]) -> None:
    """By epoch first and then by generation, as numbers and not as text."""
    path = "/".join(parts)  # text, since a name that is none keeps its safe form in the tree
    made = [(2, 1), (1, 9), (1, 10), (10, 1), (9, 1_000_000)]
    found = layout("r", on(*(keys.state_key("r", path, *number) for number in made)))
    assert found.whole[path].key == keys.state_key("r", path, 10, 1)


def test_of_a_log_the_newest_incarnation_counts() -> None:
    """One that was begun and holds nothing yet replaces none."""
    segments = [keys.segment_key("r", "h", "events.jsonl", n, 0, 5) for n in (1, 2)]
    begun = [keys.begin_key("r", "h", "events.jsonl", n) for n in (1, 2, 3)]
    found = layout("r", on(*segments, *begun))
    assert [item[2].key for item in found.logs["events.jsonl"]] == [segments[1]]
    assert found.unknown == ()


def test_logs_of_two_hosts_do_not_mix() -> None:
    """A run that moved has the logs of both, each in a folder of its own."""
    names = [keys.segment_key("r", host, "events.jsonl", 1, 0, 5) for host in ("a", "b")]
    found = layout("r", on(*names))
    assert list(found.logs) == ["hosts/a/events.jsonl", "hosts/b/events.jsonl"]


def test_records_and_interruptions_have_their_places() -> None:
    """The newest record is run.json; an interruption's files lie below its id."""
    names = [keys.record_key("r", 9), keys.record_key("r", 10), keys.end_key("r")]
    names += [keys.interruption_key("r", "i-1", "salvage/a b")]
    found = layout("r", on(*names, keys.epoch_key("r", 1), keys.heartbeat_key("r", "s", 1)))
    assert {path: item.key for path, item in found.whole.items()} == {
        "run.json": names[1],
        "end.json": names[2],
        "interruptions/i-1/salvage/a b": names[3],
        "epochs/000001.json": keys.epoch_key("r", 1),
    }
    assert found.unknown == ()


def test_a_path_that_would_leave_the_tree_keeps_its_safe_name() -> None:
    """Nothing is lost, and nothing is written elsewhere; one that is no text comes back byte for byte."""
    names = ["state/%2E./%2E./x/000001-000001", "interruptions/i/%2E.", "state/a%FF/1-1"]
    names += ["log/h/%2E%2E/000001/000000000000-1", "state/a%2F%2E%2E/1-1"]
    found = layout("r", on(*(f"runs/r/{name}" for name in names)))
    assert found.unknown == ()
    assert sorted(found.whole) == ["%2E./%2E./x", "a%2F%2E%2E", "a\udcff", "interruptions/i/%2E."]
    assert list(found.logs) == ["%2E%2E"]


def test_each_file_of_a_run_has_its_manner() -> None:
    """How a file is published follows from its place alone."""
    expected = {
        "run.json": Manner.RECORD,
        "end.json": Manner.ONCE,
        "events.jsonl": Manner.LOG,
        "intended.json": Manner.STATE,
        "notes/x.jsonl": Manner.STATE,
        "interruptions/i/opened.json": Manner.ONCE,
        "interruptions/i/salvage/.local/x": Manner.ONCE,
        "interruptions/.spare/opened.json": None,
        "interruptions/stray": None,
        "work/logs/a.eval": None,
        "epochs/1.json": None,
        ".run.json.ab12cd34.tmp": None,
        "interruptions/i/.closed.json.ab12cd34.tmp": None,
    }
    assert {name: manner_of(name) for name in expected} == expected
