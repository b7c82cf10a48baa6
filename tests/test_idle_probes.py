"""The probes of idle-guard: each on its file or child, and each in a whole cycle."""

import json
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from hook_world import AtOnce, Guest
from idle_world import Idle
from spoteval.control.acknowledged import note_progress
from spoteval.control.children import Reply
from spoteval.control.eventlog import tell
from spoteval.files import write_whole
from spoteval.machine.gpu import QUERY, gpu_share
from spoteval.machine.io import Counter, disk_bytes, network_bytes, rate
from spoteval.machine.login import inhibitors, logged_in
from spoteval.machine.process import Finished
from spoteval.shape import Reading, Table, Unreadable
from spoteval_agents.idle_guard.eyes import AGAIN_S, Eyes

SESSION = "# This is private data. Do not parse.\nUID=1000\nUSER=ana\nSTATE={state}\nCLASS={kind}\n"
HANGS = Unreadable("nvidia-smi: timeout:10s")
INHIBIT = "WHAT={what}\nMODE={mode}\nWHO=backup\nWHY=nightly copy\n"


@pytest.fixture
def idle(tmp_path: Path) -> Idle:
    """A machine that nothing uses."""
    return Idle(Guest(tmp_path))


def after_a_sample(idle: Idle) -> None:
    """Two looks, 10 s apart: shares are known."""
    idle.look()
    idle.guest.clock.pause(10.0)


@pytest.mark.parametrize(
    ("disk", "network", "expected"),
    [
        (60_000_000, 0, 'because="disk 6.0 MB/s"'),
        (0, 50_000_001, 'because="network 5.0 MB/s"'),
        (50_000_000, 50_000_000, "decision=idle"),
    ],
)
def test_what_is_transferred_is_work_above_the_limit(
    idle: Idle, disk: int, network: int, expected: str
) -> None:
    """At the limit it is none: 5 MB/s over ten seconds."""
    after_a_sample(idle)
    idle.transfer(disk=disk, network=network)
    idle.look()
    assert expected in idle.line


def test_only_real_disks_and_interfaces_count(tmp_path: Path) -> None:
    """Loop devices, device mapper, loopback and bridges repeat what is counted elsewhere."""
    for name in ("devices/pci0/vda", "devices/virtual/block/loop0"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "block").mkdir()
    (tmp_path / "block/vda").symlink_to(tmp_path / "devices/pci0/vda")
    (tmp_path / "block/loop0").symlink_to(tmp_path / "devices/virtual/block/loop0")
    rows = [
        "253 0 vda 1 0 10 0 1 0 20 0",
        "253 1 vda1 1 0 10 0 1 0 20 0",
        "7 0 loop0 1 0 99 0 1 0 99 0",
    ]
    (tmp_path / "diskstats").write_text("\n".join(rows))
    assert disk_bytes(tmp_path / "diskstats", tmp_path / "block") == 30 * 512
    rest = "1 0 0 0 0 0 0 0 2 0 0 0 0 0 0 0"
    rows = [f"  {name}: {rest}" for name in ("lo", "eth0", "docker0", "veth1a", "ens5")]
    (tmp_path / "net").write_text("\n".join(["head", "head", *rows]))
    assert network_bytes(tmp_path / "net") == 6


@pytest.mark.parametrize("text", ["", "1 2", "253 0 vda x x x x x x x"])
def test_counters_that_are_none_are_unreadable(tmp_path: Path, text: str) -> None:
    """Absent, torn, or not numbers: nobody knows, which is no zero."""
    (tmp_path / "block").mkdir()
    (tmp_path / "block/vda").mkdir()
    if text:
        (tmp_path / "diskstats").write_text(text)
        (tmp_path / "net").write_text(f"a\nb\neth0: {text}")
    assert isinstance(disk_bytes(tmp_path / "diskstats", tmp_path / "block"), Unreadable)
    assert isinstance(network_bytes(tmp_path / "net"), Unreadable)


def test_a_rate_needs_time_and_two_counts() -> None:
    """A counter that was set back has moved nothing."""
    gone = Unreadable("EIO")
    assert rate(Counter(0, 0.0), Counter(100, 10.0)) == 10.0
    assert rate(Counter(100, 0.0), Counter(0, 10.0)) == 0.0
    assert isinstance(rate(Counter(0, 1.0), Counter(9, 1.0)), Unreadable)
    assert rate(gone, Counter(9, 1.0)) == gone == rate(Counter(9, 1.0), gone)


@pytest.mark.parametrize(
    ("state", "kind", "users"),
    [
        ("active", "user", ("ana",)),
        ("online", "user", ("ana",)),
        ("closing", "user", ()),
        ("active", "manager", ()),
        ("online", "background", ()),
    ],
)
def test_a_person_who_has_gone_is_not_logged_in(
    tmp_path: Path, state: str, kind: str, users: tuple[str, ...]
) -> None:
    """What was left running goes on in a closing session; user managers are nobody."""
    (tmp_path / "3").write_text(SESSION.format(state=state, kind=kind))
    assert logged_in(tmp_path) == users


@pytest.mark.parametrize(
    ("what", "mode", "blocks"),
    [
        ("shutdown:sleep", "block", True),
        ("idle", "block", True),
        ("sleep", "block", False),
        ("shutdown", "delay", False),
    ],
)
def test_who_only_delays_keeps_nothing_on(
    tmp_path: Path, what: str, mode: str, blocks: bool
) -> None:
    """Block inhibitors for power-off or idleness alone, with who and why."""
    (tmp_path / "1").write_text(INHIBIT.format(what=what, mode=mode))
    (tmp_path / "1.ref").mkdir()
    assert inhibitors(tmp_path) == (("backup: nightly copy",) if blocks else ())


def test_without_logind_nobody_is_logged_in_and_a_file_in_its_place_is_unreadable(
    tmp_path: Path,
) -> None:
    """Not configured is not unreadable."""
    assert logged_in(tmp_path / "none") == () == inhibitors(tmp_path / "none")
    (tmp_path / "file").write_text("")
    assert isinstance(logged_in(tmp_path / "file"), Unreadable)
    assert isinstance(inhibitors(tmp_path / "file"), Unreadable)


def done(code: int, out: str, err: str, timed_out: bool = False) -> Finished:
    """What became of nvidia-smi."""
    return Finished(code, out, err, timed_out, duration_s=0.1)


@pytest.mark.parametrize(
    ("finished", "share"),
    [
        (done(0, "0\n97\n3\n", ""), 0.97),
        (done(0, "0\n", ""), 0.0),
        (done(0, "", ""), Unreadable("nvidia-smi: no GPU is listed")),
        (
            done(0, "[N/A]\n", ""),
            Unreadable('nvidia-smi: "[N/A]" is no percentage'),
        ),
        (
            done(127, "", "nvidia-smi: No such file or directory"),
            Unreadable("nvidia-smi: No such file or directory"),
        ),
        (
            done(9, "No devices were found\n", ""),
            Unreadable("nvidia-smi: No devices were found"),
        ),
        (done(-9, "", "", timed_out=True), Unreadable("nvidia-smi: timeout:10s")),
    ],
)
def test_the_busiest_gpu_counts_and_no_answer_is_unreadable(
    finished: Finished, share: Reading[float]
) -> None:
    """A missing tool, a driver that hangs, and MIG: nobody knows."""
    asked: list[tuple[Sequence[str], float]] = []

    def run(argv: Sequence[str], within_s: float) -> Finished:
        asked.append((argv, within_s))
        return finished

    assert gpu_share(run) == share
    assert asked == [(QUERY, 10.0)]


@dataclass
class Answers:
    """What GPUs and servers answer."""

    gpu: Reading[float] = 0.0
    servers: Reading[dict[str, object]] | None = None

    def eyes(self, *servers: str) -> Eyes:
        """Eyes that ask here."""
        return Eyes(AtOnce(), wants_gpu=True, servers=servers, ask=self.ask, gpu=lambda: self.gpu)

    def ask(self, verb: Sequence[str], within_s: float) -> Reading[Reply]:
        """The child."""
        assert list(verb) == ["server", "load"]
        if isinstance(self.servers, Unreadable):
            return self.servers
        return Reply(Table(json.loads(json.dumps({"servers": self.servers or {}})), "child"))


@pytest.mark.parametrize(
    ("gpu", "servers", "expected"),
    [
        (0.97, {"policy": {"in_flight": 14}}, "policy 14 requests in flight; gpu 97 %"),
        (0.05, {"policy": {"in_flight": 1}}, "policy 1 request in flight"),
        (0.05, {"policy": {"in_flight": 0}}, None),
        (0.05, {"policy": {"in_flight": None}}, None),
        (0.0501, {"policy": {"in_flight": 0}}, "gpu 5 %"),
        (HANGS, {"policy": {"in_flight": 0}}, "gpu unreadable: nvidia-smi: timeout:10s"),
        (0.0, {"policy": {"why": "metrics: 500"}}, "policy unreadable: metrics: 500"),
        (0.0, {}, "policy unreadable: [child.servers] policy: missing"),
        (0.0, HANGS, "policy unreadable: nvidia-smi: timeout:10s"),
    ],
)
def test_gpus_and_servers(
    idle: Idle, gpu: Reading[float], servers: Reading[dict[str, object]], expected: str | None
) -> None:
    """Above the limit is use, at it is none; no answer is use; a server that does not tell is none."""
    idle.guard.eyes = Answers(gpu, servers).eyes("policy")
    after_a_sample(idle)
    idle.look()
    if expected is None:
        assert "decision=idle" in idle.line
    else:
        assert expected.replace("child.servers", "eyes.servers.servers") in idle.line


def test_eyes_are_asked_again_after_a_minute_and_before_the_end_every_ten_seconds(
    tmp_path: Path,
) -> None:
    """A process a minute; near the end a fresh word."""
    eyes = Answers(servers={"policy": {"in_flight": 0}}).eyes("policy")
    idle = Idle(Guest(tmp_path), eyes=eyes)
    worker = eyes.worker
    assert isinstance(worker, AtOnce)
    idle.until(1000 + 600)
    assert 10 <= len(worker.started) <= 11
    idle.proof = Unreadable("store away")
    idle.until(1000 + 1210)
    before = len(worker.started)
    idle.until(1000 + 1310)
    assert len(worker.started) - before == 100 / AGAIN_S


def test_the_last_look_waits_for_a_fresh_word(tmp_path: Path) -> None:
    """GPUs that began to work after the hold was proved are seen before the machine goes off."""

    class Slow(AtOnce):
        """Answers when it is told to."""

        def take(self, name: str) -> Reading[str] | None:
            return super().take(name) if ready else None

    ready = [True]
    answers = Answers()
    eyes = Eyes(Slow(), wants_gpu=True, servers=(), ask=answers.ask, gpu=lambda: answers.gpu)
    idle = Idle(Guest(tmp_path), eyes=eyes)
    idle.until(1000 + 1190)
    ready.clear()
    while "decision=hold" not in idle.line:
        idle.guest.clock.pause(max(1.0, idle.look()))
    idle.guest.clock.pause(20.0)
    idle.look()
    assert 'why="once more before the end"' in idle.line
    answers.gpu = 0.5
    eyes.worker.start("eyes", eyes._asked)
    ready.append(True)
    idle.look()
    assert "decision=withdraw" in idle.line
    assert not idle.off


def test_new_bytes_of_the_harness_are_use(idle: Idle) -> None:
    """Also where nothing of it is in the run's unit: the time begins anew."""
    idle.until(1000 + 1100)
    write_whole(idle.guest.run.work / "logs" / "one.json", b"x" * 7)
    idle.guest.clock.pause(idle.look())
    assert 'because="episode logs grew by 7 bytes"' in idle.line
    write_whole(idle.guest.run.work / "logs" / "one.json", b"y" * 7)
    idle.guest.clock.pause(idle.look())
    assert 'because="episode logs changed"' in idle.line
    idle.until(1000 + 2300)
    assert not idle.off
    idle.until(1000 + 2500)
    assert idle.off


@pytest.mark.parametrize(
    ("backlog", "age_s", "session", "active"),
    [
        (3, 1800.0, "5e55", True),
        (3, 1800.1, "5e55", False),
        (0, 1.0, "5e55", False),
        (3, 1.0, "other", False),
    ],
)
def test_what_the_store_took_lately_is_use_while_more_waits(
    idle: Idle, backlog: int, age_s: float, session: str, active: bool
) -> None:
    """Of this life; half an hour at most."""
    note_progress(idle.guest.durable, session, backlog, idle.guest.clock().mark)
    idle.guest.clock.pause(age_s - 10.0)
    after_a_sample(idle)
    idle.look()
    assert ("3 waiting, the store took something" in idle.line) is active


def test_a_damaged_word_of_the_follower_is_use(idle: Idle) -> None:
    """Until it writes the next."""
    idle.guest.durable.publication.mkdir(parents=True)
    idle.guest.durable.publication_progress.write_bytes(b"\0" * 20)
    after_a_sample(idle)
    idle.look()
    assert "publication unreadable: " in idle.line


@pytest.mark.parametrize("probe", ["logins", "inhibitors"])
def test_a_login_and_an_inhibitor_keep_it_on(idle: Idle, probe: str) -> None:
    """For as long as they are there."""
    root = idle.guest.root
    folder = root / ("sessions" if probe == "logins" else "inhibit")
    folder.mkdir()
    text = SESSION.format(state="active", kind="user")
    (folder / "1").write_text(
        text if probe == "logins" else INHIBIT.format(what="shutdown", mode="block")
    )
    idle.until(1000 + 7200)
    assert not idle.off
    expected = "ana logged in" if probe == "logins" else "backup: nightly copy blocks a power-off"
    assert expected in idle.line


def test_an_unread_probe_is_one_warning_and_its_recovery_one_line(
    idle: Idle, capsys: pytest.CaptureFixture[str]
) -> None:
    """Not one a minute."""
    (idle.guest.root / "sessions").write_text("no folder")
    for _ in range(5):
        idle.guest.clock.pause(idle.look())
    (idle.guest.root / "sessions").unlink()
    for _ in range(5):
        idle.guest.clock.pause(idle.look())
    tell("end")
    lines = [line for line in capsys.readouterr().err.splitlines() if "decision=" not in line]
    why = f"logins unreadable: {idle.guest.root / 'sessions'}: Not a directory"
    assert lines == [f"<4>{why}; counted as use", "<6>logins can be read again", "<6>end"]


def test_blind_for_an_hour_is_told_once(idle: Idle) -> None:
    """At the hour, not before; and anew when it comes back."""
    sessions = idle.guest.root / "sessions"

    def minutes(count: int) -> None:
        for _ in range(count):
            idle.look()
            idle.guest.clock.pause(60.0)

    sessions.write_text("no folder")
    minutes(60)
    assert idle.kinds() == []
    minutes(60)
    assert idle.kinds() == ["needs_you"]
    sessions.unlink()
    minutes(1)
    sessions.write_text("no folder")
    minutes(70)
    assert idle.kinds() == ["needs_you", "needs_you"]
    assert not idle.off


def test_blind_beside_real_use_is_not_blind(idle: Idle) -> None:
    """A keep-alive explains why the machine is on."""
    (idle.guest.root / "sessions").write_text("no folder")
    idle.guest.durable.keep_alive.parent.mkdir(parents=True)
    idle.guest.durable.keep_alive.touch()
    for _ in range(70):
        idle.look()
        idle.guest.clock.pause(60.0)
    assert idle.kinds() == []


@pytest.mark.parametrize(("hours", "told"), [(11.99, []), (12.0, ["needs_you"])])
def test_a_keep_alive_that_is_forgotten_is_told(
    idle: Idle, hours: float, told: list[str], touched: Callable[[Idle, Path], None]
) -> None:
    """Its age stands in each line, and from keep_alive_warn on a person hears of it, once."""
    keep = idle.guest.durable.keep_alive
    write_whole(keep, b"big download (ana)")
    touched(idle, keep)
    idle.guest.clock.pause(hours * 3600)
    for _ in range(3):
        idle.look()
    assert idle.kinds() == told
    assert f'keep_alive="big download (ana)" keep_alive_s={hours * 3600:.0f}' in idle.line


@pytest.fixture
def touched() -> Callable[[Idle, Path], None]:
    """Set a file's time to the test's clock."""

    def set_time(idle: Idle, path: Path) -> None:
        at = idle.guest.clock().wall.timestamp()
        os.utime(path, (at, at))

    return set_time
