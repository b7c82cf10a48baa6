"""Where everything lies: one value, built from systemd's directory variables."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path


@dataclass(frozen=True, slots=True)
class HostPaths:
    """The directories of one host. `run` is emptied at each boot, `state` is kept."""

    config: Path = Path("/etc/spoteval/config.toml")
    run: Path = Path("/run/spoteval")
    state: Path = Path("/var/lib/spoteval")
    credentials: Path = Path("/etc/spoteval/credentials")

    @property
    def draining(self) -> Path:
        """Present while an interruption is under way: the run is not started."""
        return self.run / "draining"

    @property
    def start_run(self) -> Path:
        """Touched to have the run's unit started (a root path unit watches it)."""
        return self.run / "start-run"

    @property
    def poweroff(self) -> Path:
        """Touched to have the machine powered off (a root path unit watches it)."""
        return self.run / "poweroff"

    @property
    def remove_containers(self) -> Path:
        """Says which containers are to be removed; gone when they are (a root helper watches it)."""
        return self.run / "remove-containers"

    @property
    def session(self) -> Path:
        """The random that makes this boot's session its own."""
        return self.run / "session"

    @property
    def restarting(self) -> Path:
        """Present while our own maintainer scripts restart units: no interruption."""
        return self.run / "restarting"

    @property
    def stopping(self) -> Path:
        """On a local node, present while the node shuts down (a real host asks systemd)."""
        return self.run / "stopping"

    @property
    def supervised(self) -> Path:
        """Present where `spoteval supervise` runs the agents: there is no systemd to ask."""
        return self.run / "supervised"


def host_paths(environment: Mapping[str, str] | None = None) -> HostPaths:
    """The paths of this host: `SPOTEVAL_*` first, then what systemd sets for the unit, then the default."""
    env = os.environ if environment is None else environment
    default = HostPaths()
    return HostPaths(
        config=Path(env.get("SPOTEVAL_CONFIG") or default.config),
        run=_first(env, ("SPOTEVAL_RUN_DIRECTORY", "RUNTIME_DIRECTORY"), default.run),
        state=_first(env, ("SPOTEVAL_STATE_DIRECTORY", "STATE_DIRECTORY"), default.state),
        credentials=_first(
            env, ("SPOTEVAL_CREDENTIALS_DIRECTORY", "CREDENTIALS_DIRECTORY"), default.credentials
        ),
    )


def _first(env: Mapping[str, str], names: tuple[str, ...], default: Path) -> Path:
    found = next((env[name] for name in names if env.get(name)), None)
    return Path(found.split(":")[0]) if found else default


@dataclass(frozen=True, slots=True)
class RunPaths:
    """One run's directory on the durable disk."""

    root: Path

    @property
    def record(self) -> Path:
        """The frozen run record."""
        return self.root / "run.json"

    @property
    def intended(self) -> Path:
        """The intended episodes, frozen at the first start."""
        return self.root / "intended.json"

    @property
    def events(self) -> Path:
        """The guest's events of this run."""
        return self.root / "events.jsonl"

    @property
    def settlement(self) -> Path:
        """Cut attempts, each settled once."""
        return self.root / "settlement.jsonl"

    @property
    def finished(self) -> Path:
        """The witness: what is finished, appended before a manifest is put."""
        return self.root / "finished.jsonl"

    @property
    def interruptions(self) -> Path:
        """One folder for each interruption."""
        return self.root / "interruptions"

    @property
    def epochs(self) -> Path:
        """Claims: which boot went on from where."""
        return self.root / "epochs"

    @property
    def finish(self) -> Path:
        """A person has declared the run over: end-handler ends it."""
        return self.root / "finish.json"

    @property
    def drilled(self) -> Path:
        """What a drill showed whoever watched it to its end."""
        return self.root / "drilled.json"

    @property
    def end(self) -> Path:
        """How the run ended."""
        return self.root / "end.json"

    @property
    def work(self) -> Path:
        """The harness's own directory."""
        return self.root / "work"


@dataclass(frozen=True, slots=True)
class DurablePaths:
    """The durable disk, below `<disk.path>/spoteval`."""

    disk: Path

    @property
    def root(self) -> Path:
        """Everything of ours on the disk, but the sentinel."""
        return self.disk / "spoteval"

    @property
    def sentinel(self) -> Path:
        """Says whose disk this is."""
        return self.disk / ".spoteval-disk.json"

    @property
    def boot(self) -> Path:
        """The newest boot: its number and session."""
        return self.root / "boot.json"

    @property
    def guest_hold(self) -> Path:
        """Touch = this guest does not resume."""
        return self.root / "holds" / "guest"

    @property
    def keep_alive(self) -> Path:
        """Touch = idle-guard leaves the machine on."""
        return self.root / "holds" / "keep-alive"

    @property
    def kill_switch(self) -> Path:
        """Touch = end-handler does nothing."""
        return self.root / "holds" / "kill-switch"

    @property
    def active(self) -> Path:
        """The name of the one active run."""
        return self.root / "active"

    @property
    def requests(self) -> Path:
        """Requests for a pass, and their answers."""
        return self.root / "requests"

    @property
    def busy(self) -> Path:
        """Touched by agents while they work."""
        return self.root / "busy"

    @property
    def enders(self) -> Path:
        """Intents of idle-guard or end-handler to stop the machine."""
        return self.root / "enders"

    @property
    def runs(self) -> Path:
        """All runs of this disk."""
        return self.root / "runs"

    @property
    def publication(self) -> Path:
        """The follower's journal."""
        return self.root / "publication"

    @property
    def publication_progress(self) -> Path:
        """How much is waiting, and when the store last took something."""
        return self.publication / "progress.json"

    def uptime(self, run: str) -> Path:
        """How long the machine was up with the run. Outside of its directory, all of which is published."""
        return self.root / "uptime" / f"{run}.json"

    def run(self, name: str) -> RunPaths:
        """One run's directory."""
        return RunPaths(self.runs / name)

    def weights(self, server: str) -> Path:
        """Which of a server's weights were verified."""
        return self.root / "weights" / f"{server}.json"


@dataclass(frozen=True)  # without slots: the restarter asks for each of them at every look
class InstancePaths:
    """What the restarter host keeps about one instance, below `/var/lib/spoteval`."""

    state_root: Path
    instance: str

    @cached_property
    def hold(self) -> Path:
        """Touch = nothing is started; the text inside is the reason."""
        return self.state_root / "holds" / self.instance

    @cached_property
    def root(self) -> Path:
        """The instance's own directory."""
        return self.state_root / "instances" / self.instance

    @cached_property
    def state(self) -> Path:
        """What `observe` remembers."""
        return self.root / "state.json"

    @cached_property
    def drill(self) -> Path:
        """Who drills a forced stop announces it here before it asks for the stop."""
        return self.root / "drill.json"

    @cached_property
    def decisions(self) -> Path:
        """Changes of the decision, and one line an hour."""
        return self.root / "decisions.jsonl"

    @cached_property
    def events(self) -> Path:
        """Starts, stops, prices, holds."""
        return self.root / "events.jsonl"

    @cached_property
    def run(self) -> Path:
        """The last good copy of the run's record."""
        return self.root / "run.json"
