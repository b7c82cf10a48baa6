"""Logs as no run leaves them: foreign, torn, huge, changed. Never a traceback, never a lost finished episode."""

import json
import os
import shutil
import zipfile
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from follower_world import Guest
from harness_runs import RECORDED, inspect_work, run_of, written
from spoteval.cli.settle import refuse_changed
from spoteval.control.refused import Refused
from spoteval.episode import Attempt, Outcome
from spoteval.harness.contract import Survey
from spoteval.harness.inspect import Inspect
from spoteval.harness.inspect_args import option, without
from spoteval.harness.inspect_log import Log, read_log
from spoteval.harness.inspect_select import selection
from spoteval.harness.inspect_survey import EvalSet
from spoteval.harness.inspect_zip import Archive
from spoteval_agents.publication_follower.cycle import cycle

ARGS = ("t.py", "--model", "m", "--limit", "2")


def survey(work: Path) -> Survey:
    """A fresh adapter's survey."""
    return Inspect().survey(run_of("inspect"), work)


def remade(source: Path, target: Path, change: Any) -> None:
    """The log again, each member as `change(name, data)` makes it; None leaves it out."""
    with Archive(source) as old, zipfile.ZipFile(target, "w") as new:
        for name in sorted(old.names):
            data = change(name, old.read(name))
            if data is not None:
                new.writestr(name, data)


def with_ids(ids: list[str], **config: Any) -> Any:
    """A change of the header: other sample ids, and settings of the run."""

    def change(name: str, data: bytes) -> bytes:
        if name not in ("header.json", "_journal/start.json"):
            return data
        header = json.loads(data)
        header["eval"]["dataset"] |= {"sample_ids": ids, "samples": len(ids)}
        header["eval"]["config"] |= config
        return json.dumps(header).encode()

    return change


def test_a_log_of_another_eval_set_is_named_set_aside_and_not_counted(tmp_path: Path) -> None:
    """Inspect would refuse the whole directory; what belongs to the run is as it was."""
    logs = inspect_work(tmp_path, ["killed"])
    own = read_log(logs / "killed.eval")
    assert isinstance(own, Log)
    (logs / ".eval-set-id").write_text(own.spec.eval_set or "")
    before = survey(tmp_path)
    shutil.copy(RECORDED / "odd.eval", logs)
    written(logs / "odd.eval", 5)
    found = survey(tmp_path)
    assert found.attempts == before.attempts
    assert found.intended == before.intended
    assert [("odd.eval" in why, "another eval set" in why) for why in found.unreadable] == [
        (True, True)
    ]
    said = Inspect().prepare(run_of("inspect"), tmp_path)
    assert any("odd.eval is of another eval set: moved to" in line for line in said)
    assert (tmp_path / "set-aside/odd.eval").exists()
    assert survey(tmp_path).unreadable == ()


@pytest.mark.parametrize("name", ["killed", "resumed", "finished", "odd"])
def test_every_cut_of_a_log_is_survived(tmp_path: Path, name: str) -> None:
    """Also with a good log beside it, whose samples stay."""
    logs = inspect_work(tmp_path, ["cancelled"])
    known = survey(tmp_path).attempts
    data = (RECORDED / f"{name}.eval").read_bytes()
    for size in range(0, len(data), max(1, len(data) // 60)):
        (logs / "torn.eval").write_bytes(data[:size])
        found = survey(tmp_path)
        assert {item.native_id for item in known} <= {item.native_id for item in found.attempts}
    (logs / "torn.eval").write_bytes(os.urandom(5000))
    assert len(survey(tmp_path).unreadable) == 1


def test_one_unreadable_member_costs_one_episode(tmp_path: Path) -> None:
    """The others are published; the line names it."""
    guest = Guest(tmp_path, harness="inspect")
    logs = inspect_work(guest.paths.work, ["finished"])
    path = logs / "finished.eval"
    with Archive(path) as archive:
        entry = archive.entries["samples/item-000_epoch_1.json"]
    data = bytearray(path.read_bytes())
    middle = entry.offset + 60 + entry.stored // 2
    data[middle : middle + 8] = b"\xff" * 8
    path.write_bytes(data)
    guest.later()
    cycle(guest.world, guest.memory)
    assert len(guest.witness()) == 3


def test_a_huge_sample_is_published_whole(tmp_path: Path) -> None:
    """A megabyte in one member, as a traceback in each sample makes it."""
    guest = Guest(tmp_path, harness="inspect")
    logs = inspect_work(guest.paths.work, ["killed"])
    huge = json.dumps({"filler": os.urandom(400_000).hex()}).encode()
    member = "samples/item-001_epoch_1.json"
    remade(
        RECORDED / "killed.eval",
        logs / "killed.eval",
        lambda name, data: huge if name == member else data,
    )
    guest.later()
    cycle(guest.world, guest.memory)
    (part,) = [key for key in guest.keys("episodes/") if "item-001" in key and "sample" in key]
    assert guest.store.inner.get(f"runs/r1/{part}") == huge


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        (
            [f"item-00{i}" for i in range(3)],
            "intended episodes changed 5 -> 3 since the first start",
        ),
        ([f"x-{i}" for i in range(5)], "intended episodes changed 5 -> 5, 5 of them others since"),
    ],
)
def test_other_episodes_than_at_the_first_start_are_refused(
    tmp_path: Path, ids: list[str], said: str
) -> None:
    """Inspect takes another --limit or dataset without a word; what was intended stays, and a person decides."""
    logs = inspect_work(tmp_path, ["killed"])
    remade(RECORDED / "killed.eval", logs / "later.eval", with_ids(ids))
    written(logs / "later.eval", 5)
    found = survey(tmp_path)
    assert len(found.intended or ()) == 5
    assert found.changed[0].startswith(said)
    with pytest.raises(Refused) as refused:
        refuse_changed(run_of("inspect", args=ARGS), found)
    assert "(args: --limit 2): refused. `spoteval run new … --like demo`" in str(refused.value)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ((), ()),
        (("--limit", "5"), ()),
        (("--limit", "9"), ()),
        (("--limit", "3"), ("intended episodes changed 5 -> 3 since the first start",)),
        (("--epochs", "2"), ("intended episodes changed 5 -> 10 since the first start",)),
        (("--limit", "1-3"), ()),
    ],
)
def test_arguments_that_ask_for_others_are_seen_before_a_start(
    tmp_path: Path, args: tuple[str, ...], said: tuple[str, ...]
) -> None:
    """A record that was edited: the five of the first header stay the five."""
    inspect_work(tmp_path, ["killed"])
    assert Inspect().survey(run_of("inspect", args=args), tmp_path).changed == said


def test_samples_that_were_left_out_by_name_are_no_change(tmp_path: Path) -> None:
    """A resume that leaves out what is over says so in its header."""
    logs = inspect_work(tmp_path, ["killed"])
    change = with_ids(["item-003"], sample_id=["item-003"])

    def keep_size(name: str, data: bytes) -> bytes:
        made = change(name, data)
        return bytes(made).replace(b'"samples": 1', b'"samples": 5')

    remade(RECORDED / "killed.eval", logs / "later.eval", keep_size)
    written(logs / "later.eval", 5)
    assert survey(tmp_path).changed == ()


def test_another_setting_is_named_with_both_values(tmp_path: Path) -> None:
    """Model, limits, task arguments: what makes another measurement of it."""
    logs = inspect_work(tmp_path, ["killed"])

    def change(name: str, data: bytes) -> bytes:
        return data.replace(b'"openai-api/local/stand-in"', b'"openai-api/local/other"')

    remade(RECORDED / "killed.eval", logs / "later.eval", change)
    written(logs / "later.eval", 5)
    (said,) = survey(tmp_path).changed
    assert said.startswith("model changed openai-api/local/stand-in -> openai-api/local/other")
    assert said.endswith("since the first start (later.eval)")


IDS = st.lists(
    st.text(st.sampled_from("ab01-[]*?,: ]!"), min_size=1, max_size=5), unique=True, min_size=2
)


@given(ids=IDS, left=st.sets(st.integers(0, 30)))
def test_a_selection_means_exactly_the_others(ids: list[str], left: set[int]) -> None:
    """Whatever characters ids are made of: Inspect's own way of matching finds the rest, or nothing is said."""
    one = read_log(RECORDED / "finished.eval")
    assert isinstance(one, Log)
    log = replace(one, episodes=tuple((name, 1) for name in ids), samples=(), closed=True)
    over = {name for at, name in enumerate(ids) if at in left}
    failed = tuple(
        Attempt(f"demo/{name}/1", name, Outcome.HARNESS_ERROR, 1) for name in sorted(over)
    )
    text = selection(EvalSet((log,), ()), Survey(attempts=failed), ())
    if text is None:
        return
    patterns = [pattern.strip().removeprefix("demo:") for pattern in text.split(",")]
    matched = {name for name in ids if any(_matches(name, pattern) for pattern in patterns)}
    assert matched == set(ids) - over


def _matches(name: str, pattern: str) -> bool:
    """As Inspect 0.3.285 compares, numbers filled up to twenty digits."""
    return fnmatch(_filled(name), _filled(pattern))


def _filled(text: str) -> str:
    return str(int(text)).zfill(20) if text.isdigit() else text


def test_thousands_of_ids_are_few_patterns() -> None:
    """Each pattern is tried against each sample: ids that differ in their last digit share one."""
    one = read_log(RECORDED / "finished.eval")
    assert isinstance(one, Log)
    log = replace(one, episodes=tuple((f"i-{n:05d}", 1) for n in range(5000)), samples=())
    failed = Attempt("demo/i-00017/1", "u", Outcome.HARNESS_ERROR, 1)
    text = selection(EvalSet((log,), ()), Survey(attempts=(failed,)), ())
    assert text is not None
    assert len(text.split(",")) == 500
    assert "i-0001[012345689]" in text.split(",")


@pytest.mark.parametrize(
    ("args", "value", "rest"),
    [
        (("--limit", "5", "x"), "5", ("x",)),
        (("--limit=5", "x"), "5", ("x",)),
        (("x", "--limit", "5", "--limit=6"), "6", ("x",)),
        (("x", "--limits", "5"), None, ("x", "--limits", "5")),
        (("--limit",), None, ()),
    ],
)
def test_options_among_arguments(
    args: tuple[str, ...], value: str | None, rest: tuple[str, ...]
) -> None:
    """Both spellings, the last one counts."""
    assert option(args, "--limit") == value
    assert without(args, "--limit") == rest


def test_the_first_log_stays_it_however_the_times_lie(tmp_path: Path) -> None:
    """The furthest log is made the newest before a start; a resume that left samples out is not what was intended."""
    logs = inspect_work(tmp_path, ["killed"])
    change = with_ids(["item-003"], sample_id=["item-003"])
    remade(RECORDED / "killed.eval", logs / "later.eval", change)
    written(logs / "later.eval", -5)
    found = survey(tmp_path)
    assert len(found.intended or ()) == 5
    assert all("5 -> 1" in line for line in found.changed)


def test_a_role_may_be_served_elsewhere(tmp_path: Path) -> None:
    """Its address is no part of what is measured; the model is."""
    logs = inspect_work(tmp_path, ["killed"])
    for minute, (name, url, model) in enumerate(
        [("killed", "http://a", "m"), ("second", "http://b", "m"), ("third", "http://b", "n")]
    ):
        roles = {"grader": [{"model": model, "base_url": url}]}

        def change(member: str, data: bytes, roles: Any = roles) -> bytes:
            if member != "_journal/start.json":
                return data
            header = json.loads(data)
            header["eval"]["model_roles"] = roles
            return json.dumps(header).encode()

        remade(RECORDED / "killed.eval", logs / f"{name}.eval", change)
        written(logs / f"{name}.eval", minute)
    (line,) = survey(tmp_path).changed
    assert line.startswith("model roles changed")
    assert "third.eval" in line
