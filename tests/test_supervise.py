"""`spoteval supervise`: a guest in a container without systemd, whose first process alone is told of its end."""

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from fakes.machine import Machine
from fakes.runpod import KEY, FakeRunpod, problem
from restarter_world import Clock
from spoteval.clock import Now
from spoteval.control.supervising import AGAIN_S, Supervisor
from spoteval.decision import Decision
from spoteval.files import read_lines
from spoteval.local.journal import Journal
from spoteval.paths import DurablePaths
from spoteval.provider.contract import Reply
from spoteval.provider.own import own_stop
from spoteval.shape import Table

GOOD, BAD = Reply(ok=True, kind="accepted"), Reply(ok=False, kind="auth", detail="403")


class Units:
    """They end two looks after the button."""

    def __init__(self) -> None:
        self.poweroff_asked, self.pressed, self.looks = False, 0, 0

    def press_button(self) -> None:
        self.pressed += 1

    def tick(self, now: Now) -> None:
        self.looks += self.pressed

    @property
    def is_down(self) -> bool:
        return self.looks >= 2


class Stage:
    """One supervisor on a clock of its own."""

    def __init__(self, stop: Callable[[], Reply] | None) -> None:
        self.units, self.clock, self.said = Units(), Clock(), list[Decision]()
        self.supervisor = Supervisor(self.units, stop, self.said.append)

    def tick(self, signal: str | None = None, after_s: float = 1.0) -> bool:
        """One look, so much later."""
        self.clock.seconds += after_s
        return self.supervisor.tick(self.clock(), signal)


def test_a_signal_ends_the_units_and_then_the_process() -> None:
    """Nothing is asked of the provider: it is the one that ends the container."""
    stage = Stage(lambda: pytest.fail("asked"))
    assert [stage.tick(), stage.tick("SIGTERM"), stage.tick("SIGTERM")] == [True, True, False]
    assert stage.units.pressed == 1
    assert [one.word for one in stage.said] == ["stopping", "ended"]


def test_a_power_off_asks_the_provider_until_it_has_effect() -> None:
    """At equal and one before; said once; a signal is the effect."""
    asked = list[float]()

    def stop() -> Reply:
        asked.append(stage.clock.seconds)
        return BAD if len(asked) < 3 else GOOD

    stage = Stage(stop)
    stage.units.poweroff_asked = True
    assert [stage.tick(), stage.tick()] == [True, True]
    first = asked[0]
    stage.tick(after_s=AGAIN_S - 1)
    assert asked == [first]
    stage.tick()
    assert asked == [first, first + AGAIN_S]
    stage.tick(after_s=AGAIN_S)
    assert [one.pairs.get("reply") for one in stage.said[1:]] == ["auth:403", "accepted"]
    assert stage.tick("SIGTERM") is False


def test_without_such_a_call_a_power_off_is_the_end() -> None:
    """Where the container's end is the machine's."""
    stage = Stage(None)
    stage.units.poweroff_asked = True
    assert [stage.tick(), stage.tick()] == [True, False]


def test_a_pod_stops_itself_with_the_key_in_its_environment() -> None:
    """One request; without pod or key none."""
    machine = Machine(Clock())
    machine.runs()
    fake = FakeRunpod({"pod-1": machine}, {"REST": "write", "GraphQL": "none"})
    with fake.listening():
        table = Table({"endpoint_url": fake.url}, "provider")
        stop = own_stop("runpod", table, {"RUNPOD_POD_ID": "pod-1", "RUNPOD_API_KEY": KEY})
        assert stop is not None
        assert stop().ok
        assert (machine.state, len(fake.asked)) == ("STOPPING", 1)
        fake.goes_wrong(problem(403))
        assert stop().kind == "auth"
        bare = own_stop("runpod", table, {})
        assert bare is not None
        assert bare().kind == "auth"
    assert len(fake.asked) == 2
    assert own_stop("command", table, {}) is None


def test_a_journal_in_memory_keeps_what_a_unit_is(tmp_path: Path) -> None:
    """Beyond its size a unit's own lines go; the node's stay, as the state is read from them."""
    said = list[str]()
    journal, now = Journal(tmp_path, said.append, 200), Clock()()
    journal.say("a.service", "active", now)
    for n in range(20):
        journal.take("a.service", f"line {n} -- of its own\n".encode(), now)
    text = (tmp_path / "a.service.log").read_text()
    assert len(text) <= 300
    assert text.splitlines()[0].endswith("-- active")
    assert said[0] == "a.service -- active\n"
    assert len(said) == 21


CONFIG = """\
[host]
role = "guest"
instance = "gpu-1"
[disk]
path = "{base}/durable"
identity = "sentinel"
min_free = "0"
[provider]
kind = "runpod"
endpoint_url = "{url}"
[publication]
every = "2s"
[idle]
gpu = false
[store]
url = "file://{base}/store"
[end]
publish_within = "1min"
[run]
harness = "directory"
settlement = "fresh_budget"
executable = "{base}/program"
expected = 12
"""
PROGRAM = """\
#!/bin/sh
cd "$SPOTEVAL_WORK" || exit 1
for n in $(seq 12); do
  [ -s "episodes/$n/episode.json" ] && continue
  mkdir -p "episodes/$n" && sleep 1 && echo '{}' > "episodes/$n/e" && mv "episodes/$n/e" "episodes/$n/episode.json"
done
"""
LIFE = """
mount --make-rprivate / && mount --bind "$volume" "$base/durable" || exit 70
if ! [ -e "$base/durable/.spoteval-disk.json" ]; then
  spoteval setup guest --adopt --owner root --etc "$base/etc" || exit 71
  rm -f "$base/durable/spoteval/holds/keep-alive"
  spoteval run new swe || exit 72
  spoteval run start swe  # the restarter learns of it at the first boot: until then it exits 1
fi
(sleep 0.1 &)
exec spoteval supervise
"""


class Container:
    """Two lives of one pod: namespaces of its own, a volume that stays."""

    def __init__(self, base: Path, volume: Path, url: str) -> None:
        self.base, self.volume = base, volume
        for name in ("durable", "store", "etc", "state", "credentials"):
            (base / name).mkdir()
        (base / "config.toml").write_text(CONFIG.format(base=base, url=url))
        (base / "program").write_text(PROGRAM)
        (base / "program").chmod(0o755)
        self.run = DurablePaths(volume).run("swe")

    @contextmanager
    def life(self) -> Iterator[subprocess.Popen[str]]:
        """Until the end of the block, whatever becomes of it."""
        own = {
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "base": str(self.base),
            "volume": str(self.volume),
            "RUNPOD_POD_ID": "pod-1",
            "RUNPOD_API_KEY": KEY,
            "SPOTEVAL_CONFIG": str(self.base / "config.toml"),
            "SPOTEVAL_RUN_DIRECTORY": str(self.base / "run" / "spoteval"),
            "SPOTEVAL_STATE_DIRECTORY": str(self.base / "state"),
            "SPOTEVAL_CREDENTIALS_DIRECTORY": str(self.base / "credentials"),
        }
        (self.base / "run" / "spoteval").mkdir(parents=True, exist_ok=True)
        argv = ["unshare", "--mount", "--pid", "--fork", "--mount-proc", "--kill-child"]
        with (self.base / "log").open("a") as log:
            life = subprocess.Popen(
                [*argv, "sh", "-c", LIFE], env=own, stdout=log, stderr=log, text=True
            )
            try:
                yield life
            finally:
                life.kill()
                life.wait()

    def told(self) -> str:
        """Its log."""
        return (self.base / "log").read_text()

    def tell(self, life: subprocess.Popen[str], signum: int) -> None:
        """To its first process, as Runpod does."""
        children = Path(f"/proc/{life.pid}/task/{life.pid}/children").read_text().split()
        os.kill(int(children[0]), signum)


def comes(what: Callable[[], object], container: Container, within_s: float = 300.0) -> None:
    """It becomes true in time; else the container's log says why not."""
    until_s = time.monotonic() + within_s
    while not what():
        assert time.monotonic() < until_s, container.told()[-6000:]
        time.sleep(0.1)


@pytest.mark.slow
@pytest.mark.runs("a container of namespaces, in which the real agents live and are killed")
@pytest.mark.skipif(os.geteuid() != 0, reason="namespaces with mounts take root")
def test_a_pod_is_taken_comes_back_and_stops_itself(tmp_path: Path) -> None:
    """TERM: the hook's marker, closed, and all ended; then resumed, finished, and one stop of itself."""
    machine = Machine(Clock())
    machine.runs()
    fake = FakeRunpod({"pod-1": machine}, {"REST": "write", "GraphQL": "none"})
    volume = Path(tempfile.mkdtemp(dir="/dev/shm", prefix="spoteval-pod-"))
    try:
        with fake.listening():
            container = Container(tmp_path, volume, fake.url)
            episodes = container.run.work / "episodes"
            with container.life() as life:
                comes(lambda: len(list(episodes.glob("*/episode.json"))) >= 2, container)
                container.tell(life, signal.SIGTERM)
                comes(lambda: life.poll() is not None, container)
                assert life.returncode == 0, container.told()[-3000:]
            (opened,) = container.run.interruptions.glob("*/opened.json")
            assert (opened.parent / "closed.json").exists(), container.told()[-3000:]
            assert fake.asked == []
            with container.life() as life:
                comes(lambda: fake.asked, container)
                assert life.poll() is None
                container.tell(life, signal.SIGTERM)
                comes(lambda: life.poll() is not None, container)
        assert [one.path for one in fake.asked] == ["/v2/pods/pod-1/action"]
        assert len(list(episodes.glob("*/episode.json"))) == 12
        kinds = [record["kind"] for record in read_lines(container.run.events).records]
        assert "resume-began" in kinds
        assert "decision=stop-self reply=accepted" in container.told()
        assert KEY not in container.told()
    finally:
        shutil.rmtree(volume)
