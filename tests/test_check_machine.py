"""`spoteval check` looks at the machine: units in force, who reaches a server, the clock, whose the store is."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from fake_model_server import KEY, MODELS, of_kind, serving
from spoteval.clock import read_now
from spoteval.machine.listening import listening_at
from spoteval.machine.process import NOT_FOUND, Finished
from spoteval.paths import HostPaths
from spoteval.report.agents import AGENTS
from spoteval.report.check import Check
from spoteval.report.check_clock import clock_check
from spoteval.report.check_docker import docker_check
from spoteval.report.check_server import server_checks
from spoteval.report.check_store import folder_check, guest_rights, read_check
from spoteval.report.check_units import HOOK, Wanted, dropin_check, guest_units, is_this_host
from spoteval.shape import Reading, Unreadable
from spoteval.store.contract import Put, StoreRefused
from spoteval.store.file import FileStore

WANTED = Wanted(60.0, Path("/mnt/durable"))
AFTER = "dbus.service dbus.socket spoteval-run.service spoteval-publication-follower.service"
GOOD: Mapping[str, Mapping[str, str]] = {
    **{
        f"spoteval-{agent}.service": {"TimeoutStopUSec": "15s", "UnitFileState": "enabled"}
        for agent in AGENTS
    },
    HOOK: {
        "TimeoutStopUSec": "2min 30s",
        "UnitFileState": "enabled",
        "After": f"{AFTER} network-online.target mnt-durable.mount basic.target",
        "LoadState": "loaded",
    },
    "spoteval-run.service": {"TimeoutStopUSec": "1min 30s"},
    "poweroff.target": {"JobTimeoutUSec": "3min"},
    "ssh.service": {"TimeoutStopUSec": "1min 30s", "UnitFileState": "enabled"},
}


def manager(
    changes: Mapping[str, Mapping[str, str]] = {}, more: Mapping[str, str] = {}
) -> "Manager":
    """A systemd where all is well, but for these changes, and with these further services and their stop timeouts."""
    units = {unit: {**found, **changes.get(unit, {})} for unit, found in GOOD.items()}
    others = {
        name: {"TimeoutStopUSec": span, "UnitFileState": "enabled"} for name, span in more.items()
    }
    return Manager({**units, **others})


class Manager:
    """Answers `systemctl` from a table."""

    def __init__(self, units: Mapping[str, Mapping[str, str]], code: int = 0) -> None:
        self._units, self._code = units, code

    def __call__(self, argv: Sequence[str], within_s: float) -> Finished:
        """As process.run."""
        if argv[1] == "show":
            asked = argv[argv.index("--") + 1 :]
            out = "\n\n".join(self._block(unit) for unit in asked) + "\n"
        else:
            on = [
                name
                for name, found in self._units.items()
                if found.get("UnitFileState") == "enabled"
            ]
            out = "\n".join(f"{name} enabled enabled" for name in [*on, "getty@.service"])
        err = "Failed to connect to bus" if self._code else ""
        return Finished(self._code, out, err, timed_out=False, duration_s=0.1)

    def _block(self, unit: str) -> str:
        found = {"Id": unit, **self._units.get(unit, {"LoadState": "not-found"})}
        return "\n".join(f"{key}={value}" for key, value in found.items())


def said(found: Reading[object] | list[Check]) -> list[tuple[str, str]]:
    """Name and verdict of each."""
    assert isinstance(found, list)
    return [(one.name, one.verdict) for one in found]


def units(changes: Mapping[str, Mapping[str, str]] = {}, **more: str) -> list[Check]:
    """What is said of such a host."""
    return list(guest_units(WANTED, manager(changes, more)))


def test_a_host_as_the_package_makes_it() -> None:
    """Three lines, with the figures in force."""
    assert [f"{one.name} {one.verdict} {one.text}" for one in units()] == [
        (
            "stop ok shutdown-hook may take 150 s, its plan 50 s of the window of 60 s;"
            " publication-follower 15 s"
        ),
        "poweroff ok forced after 180 s",
        "order ok shutdown-hook stops before the run, the follower, D-Bus, network and disk",
    ]


@pytest.mark.parametrize(("span", "verdict"), [("50s", "ok"), ("49s", "fail"), ("infinity", "ok")])
def test_complaint_49_the_timeout_in_force_is_held_against_the_plan(
    span: str, verdict: str
) -> None:
    """Not what the file asks for, but what systemd will do: equal fits, a second less does not."""
    found = units({HOOK: {"TimeoutStopUSec": span}})
    assert ("stop", verdict) in said(found)
    if verdict == "fail":
        assert found[0].text.startswith("shutdown-hook is killed after 49 s, its plan takes 50 s")
        assert found[0].code == 1


def test_complaint_50_nobodys_default_holds_a_power_off_unseen() -> None:
    """What would be cut by the forced power-off is named; one that would never end too; the default is not."""
    found = units(
        {}, **{"slow.service": "3min 1s", "never.service": "infinity", "ok.service": "3min"}
    )
    (line,) = [one.text for one in found if one.verdict == "warn"]
    assert line == (
        "cut short by it: never.service for ever, slow.service 181 s (their TimeoutStopSec=)"
    )


@pytest.mark.parametrize(
    ("span", "verdicts"),
    [
        ("3min", ["ok"]),
        ("5min", ["ok"]),
        ("30min", ["warn"]),
        ("infinity", ["warn"]),
        ("2min", ["fail"]),
    ],
)
def test_the_power_off_is_forced_soon_and_not_before_the_hook(
    span: str, verdicts: list[str]
) -> None:
    """Debian's own half an hour is money."""
    found = units({"poweroff.target": {"JobTimeoutUSec": span}})
    assert [one.verdict for one in found if one.name == "poweroff"][:1] == verdicts


@pytest.mark.parametrize(
    "gone", ["dbus.socket", "spoteval-run.service", "network-online.target", "mnt-durable.mount"]
)
def test_complaint_48_the_order_in_force_is_looked_at(gone: str) -> None:
    """What the hook needs at its stop was started before it."""
    after = " ".join(unit for unit in GOOD[HOOK]["After"].split() if unit != gone)
    (line,) = [one for one in units({HOOK: {"After": after}}) if one.verdict == "fail"]
    assert line.text.startswith(f"shutdown-hook is not ordered after {gone}: ")


def test_complaint_53_the_mount_that_is_configured_is_the_one_that_is_ordered() -> None:
    """Another mount point has a unit of its own, which only the drop-in of setup names."""
    elsewhere = list(guest_units(replace(WANTED, mount=Path("/srv/my-disk")), manager()))
    (line,) = [one.text for one in elsewhere if one.verdict == "fail"]
    assert "srv-my\\x2ddisk.mount" in line
    assert "(spoteval setup guest)" in line


def test_an_agent_that_is_not_enabled_is_named() -> None:
    """It runs until the first preemption."""
    (line,) = [one for one in units({HOOK: {"UnitFileState": "disabled"}}) if one.verdict == "warn"]
    assert line.text == (
        "not at the next boot: shutdown-hook (systemctl enable spoteval-shutdown-hook)"
    )
    off = manager({HOOK: {"UnitFileState": "disabled"}})
    quiet = replace(WANTED, running=frozenset(["boot-resume"]))  # the line of the agent says it
    assert [one for one in guest_units(quiet, off) if one.verdict != "ok"] == []


def test_unknown_is_not_false() -> None:
    """A manager that does not answer, and units that are not there, have a line of their own."""
    (line,) = guest_units(WANTED, Manager(GOOD, code=1))
    assert (line.verdict, line.text) == (
        "warn",
        "not known here: systemctl list-unit-files: Failed to connect to bus",
    )
    (line,) = guest_units(WANTED, Manager({}))
    assert line.text == f"{HOOK} is not installed (docs/install.md)"


def test_the_manager_of_other_directories_is_not_asked(tmp_path: Path) -> None:
    """A local node has units of its own."""
    assert is_this_host(HostPaths(), tmp_path)
    assert not is_this_host(HostPaths(run=tmp_path), tmp_path)
    assert not is_this_host(HostPaths(), tmp_path / "none")


def test_units_that_were_not_told_are_named(tmp_path: Path) -> None:
    """After a change of the host file, until setup was called again."""
    texts = {"a.service": "x", "b.service": "y"}
    folder = tmp_path / "a.service.d"
    folder.mkdir()
    (folder / "50-spoteval-setup.conf").write_text("x")
    (line,) = dropin_check(texts, "guest", tmp_path)
    assert line.text == "not told of the host file of now: b.service (spoteval setup guest)"
    assert list(dropin_check({"a.service": "x"}, "guest", tmp_path)) == []


def at(*places: str) -> object:
    """Listening there."""
    return lambda port: frozenset(places)


@pytest.mark.parametrize(
    ("places", "verdict"),
    [
        (["127.0.0.1"], "ok"),
        (["127.0.0.1", "::1"], "ok"),
        (["0.0.0.0"], "fail"),
        (["127.0.0.1", "10.0.0.7"], "fail"),
        (["::"], "fail"),
        (["::ffff:127.0.0.1"], "ok"),
    ],
)
def test_who_reaches_a_server(places: list[str], verdict: str) -> None:
    """By where it listens, whatever its URL says."""
    with serving(of_kind("vllm", key=KEY), "vllm", credential="model-key") as server:
        found = list(server_checks(server, at(*places)))  # type: ignore[arg-type]  # a stand-in
    assert said(found) == [("server", "ok"), ("server", verdict), ("server", "ok")]


def test_a_server_without_a_key_is_everybodys() -> None:
    """An agent under evaluation has a shell on this machine. Only what is seen is said."""
    loopback = at("127.0.0.1")
    with serving(of_kind("vllm"), "vllm", credential="model-key") as server:
        last = list(server_checks(server, loopback))[-1]  # type: ignore[arg-type]  # a stand-in
        assert (last.verdict, last.text) == (
            "fail",
            "policy answers without a key (start it with --api-key)",
        )
    with serving(of_kind("vllm", key=KEY), "vllm", credential=None) as server:
        last = list(server_checks(server, loopback))[-1]  # type: ignore[arg-type]  # a stand-in
        assert (last.verdict, last.code) == ("fail", 2)
    with serving(of_kind("ollama"), "ollama") as server:
        last = list(server_checks(server, loopback))[-1]  # type: ignore[arg-type]  # a stand-in
        assert (last.verdict, "ollama has no keys" in last.text) == ("warn", True)
    with serving(of_kind("vllm", {MODELS: (503, b"")}), "vllm") as server:
        last = list(server_checks(server, loopback))[-1]  # type: ignore[arg-type]  # a stand-in
        assert (last.verdict, "not known: /v1/models 503" in last.text) == ("warn", True)


def test_nobody_listening_and_nobody_knowing_are_two_things() -> None:
    """Neither is ok."""
    with serving(of_kind("vllm"), "vllm") as server:
        pass
    quiet = list(server_checks(server, lambda port: frozenset()))
    blind = list(server_checks(server, lambda port: Unreadable("no /proc")))
    assert [one[-1].verdict for one in (quiet, blind)] == ["warn", "warn"]
    assert "nothing listens at port" in quiet[-1].text
    assert "not known: no /proc" in blind[-1].text


def test_listening_is_read_from_the_kernel() -> None:
    """A real socket, and after it none."""
    with serving(of_kind("vllm"), "vllm") as server:
        port = int(server.url.rpartition(":")[2])
        assert listening_at(port) == frozenset(["127.0.0.1"])
    assert listening_at(port) == frozenset()


def test_a_clock_that_is_not_synchronised_is_said() -> None:
    """Deadlines wait for it."""
    assert clock_check(replace(read_now(), synced=True)).verdict == "ok"
    assert clock_check(replace(read_now(), synced=False)).verdict == "warn"


class Bucket:
    """An S3 store whose key may do some of it."""

    url = "s3://evals/a"

    def __init__(self, *may: str) -> None:
        self._may = may

    def put(self, key: str, data: bytes) -> Put:
        """Releases have a right of their own."""
        self._need("release" if "/releases/" in key else "put")
        return Put.CREATED

    def list(self, prefix: str) -> Sequence[object]:
        """Nothing is there."""
        self._need("list")
        return []

    def get(self, key: str) -> bytes:
        """Nothing is there."""
        self._need("get")
        return b"{}"

    def _need(self, right: str) -> None:
        if right not in self._may:
            raise StoreRefused(f"403 {right}")


@pytest.mark.parametrize(
    ("may", "verdict", "text"),
    [
        (["put"], "ok", "this key may neither list, get nor release"),
        (["put", "list"], "warn", "this key may list: a guest needs put alone"),
        (["put", "list", "get"], "warn", "this key may list and get: a guest needs put alone"),
        (["put", "release"], "fail", "this key may put releases, hence lift holds"),
    ],
)
def test_a_guests_key_is_tried(may: list[str], verdict: str, text: str) -> None:
    """What it must be refused is asked for; nothing is deleted by trying."""
    (found,) = guest_rights(Bucket(*may), "gpu-1")  # type: ignore[arg-type]  # a stand-in
    assert (found.verdict, found.text.startswith(text)) == (verdict, True)


def test_a_restarter_host_must_be_able_to_read() -> None:
    """Or holds and facts would be unreadable, hence held."""
    assert read_check(Bucket("get"), "gpu-1").verdict == "ok"  # type: ignore[arg-type]  # a stand-in
    assert read_check(Bucket("put"), "gpu-1").text == "403 get"  # type: ignore[arg-type]  # a stand-in


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_store_that_is_a_directory_belongs_to_the_agents(tmp_path: Path) -> None:
    """Root may write anywhere, so its put proves nothing for them."""
    store = FileStore(tmp_path)
    (line,) = folder_check(store, "nobody")
    assert line.text.endswith(
        f"belongs to uid 0, the agents are nobody (chown -R nobody: {tmp_path})"
    )
    tmp_path.chmod(0o1777)
    assert list(folder_check(store, "nobody")) == []
    tmp_path.chmod(0o755)
    assert list(folder_check(store, "root")) == []
    assert list(folder_check(store, "no-such-user")) == []


def docker(folder: Path, code: int = 0) -> object:
    """A Docker whose data lies there."""

    def run(argv: Sequence[str], within_s: float) -> Finished:
        out = "12300000000\t/x\n" if argv[0] == "du" else f"{folder}\n"
        err = "Cannot connect" if code else ""
        return Finished(code, "" if code else out, err, timed_out=False, duration_s=0.1)

    return run


def test_images_on_the_boot_disk_are_said_with_their_size(tmp_path: Path) -> None:
    """They go with the node. Without Docker there is nothing to say; one that does not answer is not known."""
    durable = Path("/proc")  # any other file system
    (line,) = docker_check(durable, docker(Path("/")))  # type: ignore[arg-type]  # a stand-in
    assert (line.verdict, line.text) == (
        "warn",
        '/ is on the boot disk (12.3 GB): "data-root": "/proc/docker" in /etc/docker/daemon.json keeps it',
    )
    (line,) = docker_check(durable, docker(durable))  # type: ignore[arg-type]  # a stand-in
    assert (line.verdict, line.text) == ("ok", "images in /proc, on the durable disk")
    (line,) = docker_check(tmp_path, docker(durable))  # type: ignore[arg-type]  # a stand-in
    assert (line.verdict, line.text) == ("ok", "images in /proc, not on the boot disk")
    (line,) = docker_check(durable, docker(durable, 1))  # type: ignore[arg-type]  # a stand-in
    assert (line.verdict, line.text) == (
        "warn",
        "where its images lie is not known: Cannot connect",
    )
    assert list(docker_check(durable, docker(durable, NOT_FOUND))) == []  # type: ignore[arg-type]  # a stand-in
