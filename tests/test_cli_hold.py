"""`spoteval hold place|release|show`, on both hosts and a laptop."""

import os
from pathlib import Path

import pytest

from cli_hosts import Hosts, made_hosts
from spoteval.clock import read_now
from spoteval.files import touch
from spoteval.paths import DurablePaths, InstancePaths
from spoteval.report.holds import HoldsSeen, lines
from spoteval.report.holds_seen import guest_files, restarter_file


@pytest.fixture
def hosts(tmp_path: Path) -> Hosts:
    """Both hosts."""
    return made_hosts(tmp_path)


def test_on_the_restarter_host_it_is_a_file(hosts: Hosts) -> None:
    """The reason and who placed it are the text, read back; a second one keeps the first reason."""
    done = hosts.restarter("hold", "place", "gpu-1", "--reason", "tp 4 -> 8")
    assert (done.code, done.err) == (0, "")
    assert done.out == f"gpu-1 held: {hosts.instance.hold} (read)\n"
    assert hosts.instance.hold.read_text() == "tp 4 -> 8 (ana)"
    again = hosts.restarter("hold", "place", "--reason", "other", "--json")
    assert again.record["reason"] == "tp 4 -> 8 (ana)"
    assert hosts.stored() == []


def test_what_a_file_cannot_say_is_an_object(hosts: Hosts) -> None:
    """With --ensure-stopped it goes to the store, seen there by LIST."""
    words = ("hold", "place", "--reason", "rule", "--ensure-stopped", "--stop-after", "90s")
    done = hosts.restarter(*words, "--id", "rule-1", "--by", "rule", "--json")
    assert done.record == {"id": "rule-1", "strength": "read"}
    (hold,) = hosts.laptop("hold", "show", "gpu-1", "--json").record["store"]
    assert (hold["ensure_stopped"], hold["stop_after_s"], hold["by"]) == (True, 90.0, "rule")
    assert not hosts.instance.hold.exists()


def test_the_guest_proves_its_hold_without_reading(hosts: Hosts) -> None:
    """Its key may only put: a second put that meets the first is the proof. Placing it again is as once."""
    words = ("hold", "place", "--reason", "complete", "--ensure-stopped", "--id", "end-1", "--json")
    first, again = hosts.guest(*words), hosts.guest(*words)
    assert first.record == again.record == {"id": "end-1", "strength": "proved"}
    assert hosts.stored() == ["instances/gpu-1/holds/end-1.json"]


def test_the_guest_hold_is_a_file_on_its_disk(hosts: Hosts) -> None:
    """--guest places the guest hold, below the disk that was configured."""
    done = hosts.guest("hold", "place", "--guest", "--reason", "tp 4 -> 8")
    assert done.code == 0
    assert hosts.disk.guest_hold.read_text() == "tp 4 -> 8 (ana)"
    assert hosts.restarter("hold", "place", "--guest", "--reason", "x").err == (
        "hold place: this is a restarter host; it is typed on the guest\n"
    )


@pytest.mark.parametrize(
    ("host", "words", "code", "line"),
    [
        ("guest", ("gpu-2",), 3, '"gpu-2": this guest is "gpu-1", and its key holds no other'),
        ("restarter", ("gpu-2",), 3, '"gpu-2": no such instance (configured: gpu-1)'),
        ("laptop", (), 3, "name an instance"),
        (
            "laptop",
            ("../x",),
            3,
            '"../x": an instance name is 1 to 64 of a-z A-Z 0-9 - _ and begins with a letter or digit',
        ),
        (
            "guest",
            ("--stop-after", "90"),
            2,
            (
                'Invalid value for \'--stop-after\': "90" is not a duration such as "60s", "15min" or "2h"'
                " (spoteval hold place --help)"
            ),
        ),
    ],
)
def test_place_refuses(
    hosts: Hosts, host: str, words: tuple[str, ...], code: int, line: str
) -> None:
    """What this host cannot hold, in one line, and nothing is written."""
    done = getattr(hosts, host)("hold", "place", *words, "--reason", "x")
    assert (done.code, done.err) == (code, f"hold place: {line}\n")
    assert hosts.stored() == []


def test_a_hold_that_cannot_be_proved_fails(hosts: Hosts) -> None:
    """A store that is away: exit 1 and the reason, never a hold that only seems to stand."""
    (hosts.base / "store").rmdir()
    done = hosts.guest("hold", "place", "--reason", "x", "--json")
    assert (done.code, done.out) == (1, "")
    assert done.err.startswith("hold place: file://")


def test_release_lifts_what_show_lists(hosts: Hosts) -> None:
    """The file, the mirrors and every object; then nothing holds. Releasing again says so."""
    hosts.restarter("hold", "place", "--reason", "mine")
    hosts.guest("hold", "place", "--reason", "complete", "--id", "end-1")
    mirror = hosts.instance.hold.with_name("gpu-1.d") / "end-1"
    touch(mirror, "complete")
    assert hosts.restarter("hold", "show").lines[0] == "gpu-1: held"
    done = hosts.restarter("hold", "release", "gpu-1")
    assert done.lines == [f"lifted {hosts.instance.hold}", f"lifted {mirror}", "lifted end-1"]
    assert hosts.restarter("hold", "show").lines[0] == "gpu-1: not held"
    assert hosts.restarter("hold", "release").out == "gpu-1: no hold stands here\n"


def test_release_of_one_hold_leaves_the_others(hosts: Hosts) -> None:
    """With --id only that one; one that does not stand is refused."""
    hosts.restarter("hold", "place", "--reason", "mine")
    for name in ("a", "b"):
        hosts.laptop("hold", "place", "gpu-1", "--reason", "x", "--id", name)
    done = hosts.laptop("hold", "release", "gpu-1", "--id", "a", "--json")
    assert done.record == {"instance": "gpu-1", "released": ["a"], "removed": []}
    assert hosts.laptop("hold", "release", "gpu-1", "--id", "a").err == (
        'hold release: "a": no such hold stands on gpu-1 (spoteval hold show gpu-1)\n'
    )
    left = hosts.restarter("hold", "show", "--json").record
    assert [hold["id"] for hold in left["store"]] == ["b"]
    assert left["files"][0]["placed"] is True


def test_the_guest_may_not_release(hosts: Hosts) -> None:
    """Its key has no right there: exit 3, with what to type where."""
    hosts.guest("hold", "place", "--reason", "x", "--id", "h")
    done = hosts.guest("hold", "release")
    assert (done.code, done.err) == (
        3,
        (
            "hold release: the guest's key may not write releases. On the restarter host: "
            f"spoteval hold release gpu-1. The guest hold: rm {hosts.disk.guest_hold}\n"
        ),
    )
    assert hosts.stored("instances/gpu-1/releases/") == []


def test_nothing_is_lifted_by_halves_while_the_store_is_away(hosts: Hosts) -> None:
    """The store is read first: without it the file stays too."""
    hosts.restarter("hold", "place", "--reason", "mine")
    (hosts.base / "store").rmdir()
    assert hosts.restarter("hold", "release").code == 1
    assert hosts.instance.hold.exists()


def _age(path: Path, seconds: float) -> None:
    at = read_now().wall.timestamp() - seconds
    os.utime(path, (at, at))


def test_show_explains_each_file_in_one_line(hosts: Hosts) -> None:
    """On the restarter host: its own file with reason and age, the guest's by name, the store's with its release."""
    hosts.restarter("hold", "place", "--reason", "tp 4 -> 8")
    _age(hosts.instance.hold, 5400)
    hosts.guest(
        "hold",
        "place",
        "--reason",
        "complete",
        "--by",
        "end-handler",
        "--id",
        "e",
        "--ensure-stopped",
    )
    found = hosts.restarter("hold", "show").lines
    assert found == [
        "gpu-1: held",
        f"  restarter    HOLD  nothing is started  {hosts.instance.hold}",
        '                     "tp 4 -> 8 (ana)", 1 h 30 min old; rm lifts it',
        "  guest        ?     run is not resumed  <durable>/spoteval/holds/guest",
        "  keep-alive   ?     idle-guard rests    <durable>/spoteval/holds/keep-alive",
        "  kill switch  ?     end-handler rests   <durable>/spoteval/holds/kill-switch",
        "  store        HOLD  nothing is started  e",
        '                     "complete" (end-handler); stopped after 10 min',
        "                     spoteval hold release gpu-1 --id e",
    ]


def test_show_names_the_mirror_that_can_be_removed(hosts: Hosts) -> None:
    """`rm` of what is listed lifts a hold; while the store is away, its holds are known by their files."""
    hosts.laptop("hold", "place", "gpu-1", "--reason", "quota", "--id", "rule-1")
    mirror = hosts.instance.hold.with_name("gpu-1.d") / "rule-1"
    touch(mirror, "quota (ana)")
    assert hosts.restarter("hold", "show").lines[-1] == f"                     or rm {mirror}"
    (hosts.base / "store").rename(hosts.base / "away")
    away = hosts.restarter("hold", "show")
    assert away.lines[0] == "gpu-1: held"
    assert away.lines[-3:] == [
        "  store        HOLD  nothing is started  rule-1",
        '                     "quota (ana)"',
        f"                     rm {mirror}, obeyed once the store is back",
    ]
    assert hosts.restarter("hold", "show", "--json").record["mirrors"] == [
        {"path": str(mirror), "reason": "quota (ana)"}
    ]


def test_what_explains_a_file_fits_on_a_screen() -> None:
    """With the usual paths and the longest reason that fits, no line is wider than 80 columns."""
    disk, own = (
        DurablePaths(Path("/mnt/durable")),
        InstancePaths(Path("/var/lib/spoteval"), "gpu-1"),
    )
    now = read_now()
    for files in (guest_files(disk, now), guest_files(None, now)):
        seen = HoldsSeen("gpu-1", (restarter_file(own, now, here=False), *files), ())
        assert max(map(len, lines(seen))) <= 80


def test_release_of_the_file_alone(hosts: Hosts) -> None:
    """Under the name that lines give it; the store is not needed for that."""
    hosts.restarter("hold", "place", "--reason", "mine")
    (hosts.base / "store").rmdir()
    done = hosts.restarter("hold", "release", "--id", "operator")
    assert (done.code, done.out) == (0, f"lifted {hosts.instance.hold}\n")
    assert not hosts.instance.hold.exists()


def test_show_on_the_guest(hosts: Hosts) -> None:
    """Its three files; an empty one is a hold all the same."""
    touch(hosts.disk.guest_hold)
    touch(hosts.disk.keep_alive, "ana debugs")
    for path in (hosts.disk.guest_hold, hosts.disk.keep_alive):
        _age(path, 60)
    found = hosts.guest("hold", "show", "--json").record
    states = {file["name"]: (file["placed"], file["reason"]) for file in found["files"]}
    assert states == {
        "restarter": (None, None),
        "guest": (True, ""),
        "keep-alive": (True, "ana debugs"),
        "kill switch": (False, None),
    }
    assert (found["held"], found["store"]) == (False, [])
    assert hosts.guest("hold", "show").lines[2:4] == [
        f"  guest        HOLD  run is not resumed  {hosts.disk.guest_hold}",
        "                     placed, no reason given, 1 min old; rm lifts it",
    ]


def test_show_never_takes_unknown_for_free(hosts: Hosts) -> None:
    """No holds directory is a hold; a store that is away is unknown."""
    (hosts.base / "store").rmdir()
    found = hosts.laptop("hold", "show", "gpu-1")
    assert found.lines[0] == "gpu-1: unknown, as the store cannot be read here"
    (hosts.base / "restarter" / "state" / "holds").rmdir()
    found = hosts.restarter("hold", "show")
    assert found.lines[0] == "gpu-1: held"
    assert "unreadable, so it holds: " in found.lines[2]


EVIL = "evil\nINJECTED decision=start\x1b[2J\x1b]0;title\x07"


def test_a_reason_breaks_no_line_and_steers_no_terminal(hosts: Hosts) -> None:
    """As a file and as an object, wherever it is shown; --json tells it as it was written."""
    hosts.restarter("hold", "place", "--reason", EVIL)
    hosts.laptop("hold", "place", "gpu-1", "--reason", EVIL, "--by", EVIL, "--id", "evil\n1")
    shown = [
        hosts.restarter(*words)
        for words in (["hold", "show"], ["status"], ["start"], ["hold", "release", "--id", EVIL])
    ]
    for done in shown:
        text = done.out + done.err
        assert "evil INJECTED" in text
        assert not [char for char in text if not char.isprintable() and char != "\n"]
        assert not [line for line in text.splitlines() if line.startswith("INJECTED")]
    store = hosts.restarter("hold", "show", "--json").record["store"]
    assert [hold["reason"] for hold in store] == [EVIL]


def test_release_takes_no_file_of_another_hold(hosts: Hosts) -> None:
    """A mirror that is removed is a release: only those of the holds that were released go, by their whole name."""
    hosts.laptop("hold", "place", "gpu-1", "--reason", "x", "--id", "b")
    mirrors = hosts.instance.hold.with_name("gpu-1.d")
    for name in ("b", "late-b"):
        touch(mirrors / name, "x")
    hosts.restarter("hold", "release")
    assert [path.name for path in mirrors.iterdir()] == ["late-b"]
