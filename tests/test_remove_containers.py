"""The root helper that removes the run's containers: what it obeys, what it spares, and what it says."""

import json
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cli_hosts import guest_file, made_hosts, typed
from spoteval.cli import containers as cli
from spoteval.clock import Now, booted_at, stamp
from spoteval.config.server import ServerSettings
from spoteval.control.containers import Removal, ask_removal
from spoteval.control.removal import KEPT_LABEL, Servers, chosen, filter_error, request_of
from spoteval.control.remove_containers import AGAIN_S, WITHIN_S, Remover, servers_of
from spoteval.files import write_record
from spoteval.local.unit_file import load_units, parse_settings
from spoteval.machine.cgroup import MARK
from spoteval.machine.containers import Container, Engine, engine_here
from spoteval.machine.process import Finished
from spoteval.machine.unit_properties import properties
from spoteval.shape import Reading, Table, Unreadable

WALL = datetime(2026, 12, 1, 3, tzinfo=UTC)
SINCE = datetime(2026, 12, 1, 2, tzinfo=UTC)
BOOTED = datetime(2026, 12, 1, 1, tzinfo=UTC)
PROJECT = "com.docker.compose.project"
INSPECT = f"label={PROJECT}=inspect-*"
ASKED = Removal((INSPECT, "name=mine-*"), SINCE, "shutdown-hook")
UNITS = Path(__file__).parent.parent / "units"


def container(
    name: str, project: str = "inspect-swe-1", created: datetime = SINCE, **more: object
) -> Container:
    """One that is the run's, unless something else is said."""
    made = Container(f"{name}-id", name, {PROJECT: project}, created)
    return replace(made, **more)  # type: ignore[arg-type]  # fields of Container


def names(found: list[Container]) -> list[str]:
    """Of those that go."""
    return [one.name for one in found]


def test_only_what_matches_and_began_with_the_run_goes() -> None:
    """At the moment of the first start it is the run's; a moment earlier it is not, nor is one of an earlier life."""
    tick = timedelta(milliseconds=1)
    all_ = [
        container("at"),
        container("before", created=SINCE - tick),
        container("other", project="web"),
        container("mine-1", project="web"),
        container("bare", labels={}),
    ]
    assert names(chosen(all_, ASKED, Servers(), BOOTED)) == ["at", "mine-1"]
    long_ago = replace(ASKED, since=BOOTED - timedelta(days=9))
    earlier = [container("now", created=BOOTED), container("old", created=BOOTED - tick)]
    assert names(chosen(earlier, long_ago, Servers(), BOOTED)) == ["now"]


@pytest.mark.parametrize(
    "of_a_server",
    [
        {"name": "vllm"},
        {"ports": frozenset([8000])},
        {"labels": {PROJECT: "inspect-1", KEPT_LABEL: ""}},
    ],
)
def test_a_servers_container_never_goes(of_a_server: dict[str, object]) -> None:
    """By the words of its unit, by its port, or by its label, whatever the patterns say."""
    one = replace(container("x"), **of_a_server)  # type: ignore[arg-type]  # fields of Container
    asked = replace(ASKED, filters=("name=vll*", INSPECT))
    servers = Servers(ports=frozenset([8000]), words=frozenset(["vllm"]))
    assert chosen([one], asked, servers, BOOTED) == []


@pytest.mark.parametrize(
    ("text", "ok"),
    [
        (INSPECT, True),
        ("name=mine-*", True),
        ("label=run-id", True),
        ("name=ab*", False),
        ("name=abc*", True),
        ("name=*", False),
        (f"label={PROJECT}=*", False),
        ("name=a[b]c", False),
        ("name=a b", False),
        ("name=--force", True),  # never an argument: ids are
        ("status=running", False),
        ("id=abc", False),
        ("name=ok\nname=*", False),
    ],
)
def test_patterns_that_are_obeyed(text: str, ok: bool) -> None:
    """Names and labels with *, at least three letters; nothing that would match almost anything."""
    assert (filter_error(text) is None) is ok


@given(st.dictionaries(st.sampled_from(["filters", "since", "by", "x"]), st.one_of(
    st.none(), st.integers(), st.text(max_size=9), st.lists(st.text(max_size=9), max_size=3),
    st.just(stamp(SINCE)),
)))  # fmt: skip
def test_any_request_is_read_or_refused(body: dict[str, object]) -> None:
    """Whatever a user of few rights writes; what is read has nothing but patterns that are obeyed."""
    found = request_of(Table({"format": 1, **body}, "r"))
    if not isinstance(found, Unreadable):
        assert all(filter_error(text) is None for text in found.filters)
        assert found.filters


@dataclass
class FakeDocker:
    """An engine in which `rm` may fail some times."""

    all: list[Container]
    fails: int = 0
    calls: list[str] = field(default_factory=list)

    def containers(self) -> Reading[tuple[Container, ...]]:
        """All that are left."""
        self.calls.append("ps")
        return tuple(self.all)

    def remove(self, found: list[Container]) -> str | None:
        """Remove them."""
        self.calls.append(f"rm {' '.join(one.name for one in found)}")
        if self.fails > 0:
            self.fails -= 1
            return "docker rm: busy"
        self.all = [one for one in self.all if one not in found]
        return None


@dataclass
class Play:
    """A helper at work, with a clock that goes on when it waits."""

    request: Path
    docker: FakeDocker | None
    servers: Reading[Servers] = field(default_factory=Servers)
    now: Now = field(default_factory=lambda: Now(WALL, 7200.0, "b"))
    waited: list[float] = field(default_factory=list)

    def pause(self, seconds: float) -> None:
        """Time passes."""
        self.waited.append(seconds)
        self.now = replace(self.now, mono_s=self.now.mono_s + seconds)

    def line(self) -> str:
        """What it says at its end."""
        engine: Engine | None = self.docker  # type: ignore[assignment]  # all that is used of one
        remover = Remover(self.request, engine, lambda: self.servers, lambda: self.now, self.pause)
        return remover.obey().line()


@pytest.fixture
def request_file(tmp_path: Path) -> Path:
    """A request, written as the agents do."""
    path = tmp_path / "remove-containers"
    ask_removal(path, ASKED, Now(WALL, 7200.0, "b"))
    return path


def test_they_are_removed_looked_for_again_and_the_request_is_gone(request_file: Path) -> None:
    """One line with their names; without a pause between."""
    play = Play(request_file, FakeDocker([container("a"), container("b", project="web")]))
    assert play.line() == "agent=remove-containers decision=removed count=1 names=a"
    assert play.docker is not None
    assert (play.docker.calls, play.waited) == (["ps", "rm a", "ps"], [])
    assert not request_file.exists()


def test_it_tries_again_and_leaves_the_request_at_its_deadline(request_file: Path) -> None:
    """The hook waits for the file to go: a file that goes while containers live would be a lie."""
    play = Play(request_file, FakeDocker([container("a")], fails=2))
    assert "decision=removed count=1" in play.line()
    assert play.waited == [AGAIN_S, AGAIN_S]
    write_record(request_file, {"filters": [INSPECT], "since": stamp(SINCE), "by": "x"})
    play = Play(request_file, FakeDocker([container("a")], fails=1000))
    assert play.line() == 'agent=remove-containers decision=left count=0 why="docker rm: busy"'
    assert sum(play.waited) == WITHIN_S
    assert request_file.exists()


def test_unknown_servers_are_not_none(request_file: Path) -> None:
    """Nothing is removed while nobody knows what belongs to them."""
    play = Play(request_file, FakeDocker([container("a")]), Unreadable("config damaged"))
    assert play.line().endswith('decision=left count=0 why="config damaged"')
    assert play.docker is not None
    assert play.docker.calls == []


def test_a_request_that_cannot_be_obeyed_does_not_stay(request_file: Path) -> None:
    """Damaged or too wide: said, and taken away, or the path unit would ask for ever. No engine: nothing to do."""
    for text, why in (("{", "damaged"), ('{"format": 1, "filters": []}', "since: missing")):
        request_file.write_text(text)
        play = Play(request_file, FakeDocker([container("a")]))
        line = play.line()
        assert "decision=refused" in line
        assert why in line
        assert not request_file.exists()
    ask_removal(request_file, ASKED, Now(WALL, 0, "b"))
    assert "decision=none" in Play(request_file, None).line()
    assert not request_file.exists()
    assert "nothing is asked for any more" in Play(request_file, None).line()


def test_what_belongs_to_a_server_is_read_from_its_unit() -> None:
    """Its own names, its port, and the words of what its unit starts."""
    said = {"vllm.service": {"ExecStart": "{ argv[]=docker run --rm --name=qwen -p 1:2 img ; }"}}
    settings = ServerSettings(unit="vllm.service", model="m", url="http://127.0.0.1:8001")
    found = servers_of([settings], lambda units, names: said)
    assert isinstance(found, Servers)
    assert found.ports == {8001}
    assert {"qwen", "img", "vllm", "policy"} <= found.words
    why = Unreadable("systemctl show: no manager")
    assert servers_of([settings], lambda units, names: why) == why
    assert servers_of([]) == Servers()


DOCKER_JSON = [
    {
        "Id": "ab12",
        "Name": "/inspect-x-1",
        "Created": "2026-12-01T02:00:00.123456789Z",
        "Config": {"Labels": {PROJECT: "inspect-x"}},
        "HostConfig": {"PortBindings": {"80/tcp": [{"HostIp": "", "HostPort": "8000"}]}},
    },
    {
        "Id": "cd34",
        "Name": "plain",  # as podman has it
        "Created": "2026-12-01T03:00:00.5+01:00",
        "Config": {"Labels": None},
        "HostConfig": {"PortBindings": None},
    },
]


def answers(*outs: tuple[int, str, str]) -> tuple[Engine, list[list[str]]]:
    """An engine whose program gives these answers, one for each call."""
    calls, left = list[list[str]](), list(outs)

    def run(argv: object, timeout_s: float) -> Finished:
        calls.append(list(argv))  # type: ignore[call-overload]  # a sequence of words
        code, out, err = left.pop(0)
        return Finished(code, out, err, timed_out=False, duration_s=0.1)

    return Engine(("docker",), run), calls


def test_the_engine_is_asked_in_words_that_no_name_can_bend() -> None:
    """Ids alone are arguments; what docker and podman answer is read alike."""
    engine, calls = answers((0, "ab12\ncd34\n", ""), (0, json.dumps(DOCKER_JSON), ""), (0, "", ""))
    found = engine.containers()
    assert not isinstance(found, Unreadable)
    assert [(one.name, one.labels, one.ports) for one in found] == [
        ("inspect-x-1", {PROJECT: "inspect-x"}, {8000}),
        ("plain", {}, frozenset()),
    ]
    assert [one.created for one in found] == [
        datetime(2026, 12, 1, 2, 0, 0, 123456, tzinfo=UTC),
        datetime(2026, 12, 1, 2, 0, 0, 500000, tzinfo=UTC),
    ]
    assert engine.remove(found) is None
    assert calls[-1] == ["docker", "rm", "--force", "--volumes", "ab12", "cd34"]


def test_an_engine_that_does_not_answer_is_unreadable() -> None:
    """Unknown is not none; one that went between both questions is simply not among them."""
    assert answers((1, "", "Cannot connect to the Docker daemon\n"))[0].containers() == Unreadable(
        "docker ps: Cannot connect to the Docker daemon"
    )
    assert isinstance(answers((0, "ab", ""), (0, "[{}]", ""))[0].containers(), Unreadable)
    gone = answers((0, "ab12 ef", ""), (1, json.dumps(DOCKER_JSON[:1]), "No such container: ef"))
    found = gone[0].containers()
    assert not isinstance(found, Unreadable)
    assert [one.id for one in found] == ["ab12"]
    assert answers((0, "", ""))[0].containers() == ()
    assert answers((1, "", "busy"))[0].remove([]) == "docker rm: busy"


def test_docker_comes_before_podman_and_none_is_none() -> None:
    """Podman by its socket alone."""
    found = engine_here(lambda name: f"/usr/bin/{name}")
    assert found is not None
    assert found.program == ("docker",)
    podman = engine_here(lambda name: "/usr/bin/podman" if name == "podman" else None)
    assert podman is not None
    assert podman.program == ("podman", "--remote")
    assert engine_here(lambda name: None) is None


def test_the_properties_of_several_units_come_in_their_order() -> None:
    """One block each; a unit that systemd knows by another name too is answered for."""
    out = "Id=a.service\nTimeoutStopUSec=1min 30s\n\nId=real.service\nTimeoutStopUSec=infinity\n"

    def run(argv: object, timeout_s: float) -> Finished:
        return Finished(0, out, "", timed_out=False, duration_s=0.1)

    found = properties(["a.service", "alias.service"], ["TimeoutStopUSec"], run)
    assert not isinstance(found, Unreadable)
    assert {unit: one["TimeoutStopUSec"] for unit, one in found.items()} == {
        "a.service": "1min 30s",
        "alias.service": "infinity",
    }


def test_a_local_node_removes_nobodys_containers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What runs in Docker beside the demo is its owner's; the request goes, so that nobody waits."""
    hosts = made_hosts(tmp_path)
    hosts.configure("node", guest_file(tmp_path))
    request = tmp_path / "node" / "run" / "remove-containers"
    ask_removal(request, ASKED, Now(WALL, 0, "b"))
    monkeypatch.setattr(cli, "engine_here", None)
    done = hosts.guest("containers", "remove", **{MARK: "/x:1"})
    assert (done.code, done.out, request.exists()) == (0, "", False)


@pytest.mark.runs("starts a stand-in for docker")
def test_the_command_removes_with_the_engines_own_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """End to end: request, program, one line, request gone; nothing in its environment bends it."""
    hosts = made_hosts(tmp_path)
    hosts.configure("node", guest_file(tmp_path))
    program, state = tmp_path / "bin" / "docker", tmp_path / "state"
    program.parent.mkdir()
    made = stamp(datetime.now(UTC) + timedelta(seconds=1))
    (tmp_path / "inspect").write_text(json.dumps([{**DOCKER_JSON[0], "Created": made}]))
    state.write_text("ab12\n")
    program.write_text(
        f'#!/bin/sh\necho "$*" >> {tmp_path}/called\n'
        f"case $1 in ps) cat {state};; inspect) cat {tmp_path}/inspect;; rm) : > {state};; esac\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    request = tmp_path / "node" / "run" / "remove-containers"
    ask_removal(request, ASKED, Now(WALL, 0, "b"))
    done = typed(("containers", "remove"), hosts.environment("node"))
    line = "agent=remove-containers decision=removed count=1 names=inspect-x-1"
    assert (done.code, done.lines, done.err) == (0, [line], "")
    assert not request.exists()
    assert (tmp_path / "called").read_text().splitlines()[2] == "rm --force --volumes ab12"


def test_its_units_live_through_a_shutdown() -> None:
    """The hook asks inside one; nothing that a shutdown takes away may be required then."""
    units = load_units([UNITS])
    path, service = (units[f"spoteval-remove-containers.{kind}"] for kind in ("path", "service"))
    assert (str(path.path_exists), path.starts) == ("/run/spoteval/remove-containers", service.name)
    assert service.commands[0].argv == ("spoteval", "containers", "remove")
    assert path.enabled_by == ("paths.target",)
    assert service.start_timeout_s is not None
    assert service.start_timeout_s > WITHIN_S
    for name in (path.name, service.name):
        settings = parse_settings([(UNITS / name).read_text()])
        assert settings[("Unit", "DefaultDependencies")] == ["no"]
        assert ("Service", "PrivateTmp") not in settings


def test_when_this_boot_began() -> None:
    """By the wall clock of now."""
    assert booted_at(Now(WALL, 7200.0, "b")) == WALL - timedelta(hours=2)
