"""A guest on disk for tests: host file, durable directory with its sentinel, a frozen run, and the variables for it."""

from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from spoteval.clock import Now
from spoteval.config.guest import GuestConfig, read_guest
from spoteval.control.disk import adopt
from spoteval.files import write_record, write_whole
from spoteval.machine.session import this_session
from spoteval.paths import DurablePaths, HostPaths, RunPaths
from spoteval.run import RunPlan, RunRecord

AT = datetime(2026, 12, 1, 3, 0, 0, tzinfo=UTC)
NOW = Now(AT, 100.0, "boot-1")
RUN = "swe"
PLAN = RunPlan("directory", "fresh_budget", executable="/bin/true")
RECORD = RunRecord(RUN, "gpu-1", 2, AT, PLAN)


@dataclass(frozen=True)
class Guest:
    """Where the parts of one guest lie."""

    root: Path

    @property
    def paths(self) -> HostPaths:
        """What systemd's variables would say."""
        return HostPaths(
            config=self.root / "config.toml",
            run=self.root / "run",
            state=self.root / "state",
            credentials=self.root / "credentials",
        )

    @property
    def disk(self) -> DurablePaths:
        """The durable disk."""
        return DurablePaths(self.root / "durable")

    @property
    def run(self) -> RunPaths:
        """The run's directory."""
        return self.disk.run(RUN)

    @property
    def config(self) -> GuestConfig:
        """The host file, read."""
        return read_guest(self.paths.config)

    @property
    def environment(self) -> dict[str, str]:
        """For commands that are to find this guest."""
        return {
            "SPOTEVAL_CONFIG": str(self.paths.config),
            "SPOTEVAL_RUN_DIRECTORY": str(self.paths.run),
            "SPOTEVAL_STATE_DIRECTORY": str(self.paths.state),
            "SPOTEVAL_CREDENTIALS_DIRECTORY": str(self.paths.credentials),
            "SPOTEVAL_UNIT": f"{self.root}:shell",
        }

    def session(self, boot: str) -> str:
        """This life's session."""
        return this_session(self.paths.session, boot).id

    def activate(self, record: RunRecord = RECORD) -> None:
        """Freeze the run and make it the active one."""
        write_record(self.run.record, record.record())
        write_whole(self.disk.active, f"{record.name}\n".encode())


def guest(root: Path, servers: str = "") -> Guest:
    """A guest below `root`, its disk adopted, no run yet; `servers` is TOML."""
    made = Guest(root)
    for folder in (made.disk.root, root / "store", made.paths.run, made.paths.credentials):
        folder.mkdir(parents=True)
    made.paths.config.write_text(
        '[host]\nrole = "guest"\ninstance = "gpu-1"\n'
        f'[disk]\npath = "{made.disk.disk}"\nidentity = "sentinel"\nmin_free = "0"\n'
        f'[provider]\nkind = "local"\n[store]\nurl = "file://{root / "store"}"\n{servers}'
    )
    assert adopt(made.config, AT)
    return made
