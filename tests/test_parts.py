"""Parts of a campaign add up, and never with those of other sources."""

from pathlib import Path

import pytest

import parts
from parts import Parts


def tree(root: Path) -> Path:
    """A checkout of two files."""
    for name in ("agents/a.py", "units/b.service", "tests/own/c.py", "tests/one.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(name)
    return root


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where results are kept, in a checkout of its own."""
    root = tree(tmp_path / "checkout")
    monkeypatch.setattr(parts, "sources", lambda own, real=parts.sources: real(own, root))
    return tmp_path / "results.json"


def opened(file: Path, what: str = "writes") -> Parts:
    """A campaign that begins now."""
    return parts.parts(file, ["tests/own", "tests/one.py"], what=what)


def test_two_parts_add_up(file: Path) -> None:
    """Results, what belongs to all of them, and the time; each result is safe as soon as it is there."""
    first = opened(file)
    first.more["points"] = 7
    first.add("one", {"wrong": []})
    second = opened(file)
    assert (second.found, second.more) == ({"one": {"wrong": []}}, {"points": 7})
    second.add("two", {"wrong": ["x"]})
    third = opened(file)
    assert set(third.found) == {"one", "two"}
    assert third.took_s >= first.took_s - 0.1


def test_what_was_wrong_before_stays_on_record(file: Path) -> None:
    """One that is good at last is not the same as one that was never wrong."""
    opened(file).add("one", {"wrong": ["x"]})
    opened(file).add("one", {"wrong": ["y"]})
    last = opened(file)
    last.add("one", {"wrong": []})
    last.add("two", {"wrong": []})
    assert last.found["one"] == {"wrong": [], "earlier": [{"wrong": ["x"]}, {"wrong": ["y"]}]}
    assert (last.again(["one", "two", "three"]), last.again(["two"])) == (1, 0)


def test_parts_may_run_at_the_same_time(file: Path) -> None:
    """None of them takes back what the other has found since it began, also of what both knew before."""
    opened(file).add("z", {"wrong": ["x"]})
    one, other = opened(file), opened(file)
    one.add("a", {"wrong": []})
    other.add("z", {"wrong": []})
    one.add("c", {"wrong": []})
    found = opened(file).found
    assert set(found) == {"a", "c", "z"}
    assert found["z"]["wrong"] == []


@pytest.mark.parametrize(
    "harm", ["changed", "new", "gone", "renamed", "own/c", "one", "what", "torn", "absent"]
)
def test_other_sources_begin_anew(file: Path, harm: str) -> None:
    """One byte of one file is enough; a file that cannot be read holds nothing."""
    opened(file).add("one", {"wrong": []})
    code = file.parent / "checkout" / "agents" / "a.py"
    if harm == "changed":
        code.write_text("agents/b.py")
    elif harm == "new":
        code.with_name("c.py").touch()
    elif harm == "gone":
        code.unlink()
    elif harm == "renamed":
        code.rename(code.with_name("c.py"))
    elif harm in ("own/c", "one"):
        (file.parent / "checkout" / "tests" / f"{harm}.py").write_text("")
    elif harm == "torn":
        file.write_text(file.read_text()[:-5])
    elif harm == "absent":
        file.unlink()
    assert opened(file, "points" if harm == "what" else "writes").found == {}


def test_tests_and_compiled_files_are_no_sources(file: Path) -> None:
    """Whoever runs it leaves the one, and no figure depends on the others."""
    opened(file).add("one", {"wrong": []})
    cache = file.parent / "checkout" / "agents" / "__pycache__"
    cache.mkdir()
    (cache / "a.pyc").touch()
    (file.parent / "checkout" / "tests" / "own" / "test_c.py").touch()
    assert set(opened(file).found) == {"one"}


def test_without_a_file_nothing_is_kept(tmp_path: Path) -> None:
    """And all else is the same."""
    kept = parts.parts(None, [])
    kept.add("one", {})
    assert kept.found == {"one": {}}
    assert list(tmp_path.iterdir()) == []
