"""install.sh guest|restarter: which way it takes, and what it lays down, with stand-ins for apt, dpkg and pipx."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from cli_hosts import typed

ROOT = Path(__file__).resolve().parent.parent
TOOLS = (
    *(
        "bash",
        "basename",
        "cat",
        "chmod",
        "cksum",
        "cmp",
        "dirname",
        "env",
        "find",
        "mkdir",
        "mktemp",
    ),
    *("install", "readlink", "rm", "sed", "sort", "tail", "xargs"),
)

pytestmark = pytest.mark.runs("install.sh is a program")

# Each says on a line what it was called with, and does what it stands for as far as others can see it.
STAND_INS = {
    "id": "echo 0",
    "systemctl": "",
    "systemd-sysusers": "",
    "systemd-tmpfiles": "",
    "pipx": 'echo > "$stands/spoteval"; chmod +x "$stands/spoteval"',
    "apt-get": 'case $* in *spoteval_2*) echo 2 > "$stands/.version";; esac',
    "dpkg": "",
    "dpkg-deb": "echo 2",
    "dpkg-query": '[ -e "$stands/.version" ] && echo "install ok installed $(cat "$stands/.version")"',
}


@dataclass(frozen=True)
class Machine:
    """A machine that has these programs and no other."""

    base: Path

    @property
    def stands(self) -> Path:
        """Its programs."""
        return self.base / "bin"

    @property
    def called(self) -> list[str]:
        """What was called, in order, without looks."""
        log = self.base / "called"
        lines = log.read_text().splitlines() if log.exists() else []
        return [line for line in lines if line.split()[0] not in ("id", "dpkg-query", "dpkg-deb")]

    def install(self, *words: str) -> tuple[int, list[str], str]:
        """Type `./install.sh WORDS`."""
        env = {
            "PATH": str(self.stands),
            "SPOTEVAL_INSTALL_ROOT": str(self.base / "root"),
            "stands": str(self.stands),
            "TMPDIR": str(self.base),
        }
        done = subprocess.run(
            [str(ROOT / "install.sh"), *words],
            capture_output=True, text=True, check=False, env=env, timeout=60,
        )  # fmt: skip
        return done.returncode, done.stdout.splitlines(), done.stderr


def machine(base: Path, *absent: str) -> Machine:
    """A machine without these."""
    found = Machine(base)
    found.stands.mkdir()
    for name in TOOLS:
        place = shutil.which(name)
        assert place is not None, name
        (found.stands / name).symlink_to(place)
    (found.stands / "python3").symlink_to(sys.executable)
    for name, does in STAND_INS.items():
        if name not in absent:
            path = found.stands / name
            path.write_text(
                f'#!{shutil.which("bash")}\necho "{name} $*" >> {base}/called\n{does}\n'
            )
            path.chmod(0o755)
    return found


def files_below(folder: Path) -> set[str]:
    """All files, by their names from there."""
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


NO_APT = ("apt-get", "dpkg", "dpkg-deb", "dpkg-query")


@pytest.fixture
def deb(tmp_path: Path) -> Path:
    """A package."""
    path = tmp_path / "spoteval_2_all.deb"
    path.write_text("")
    return path


def test_where_apt_is_the_package_is_installed_and_nothing_enabled(
    tmp_path: Path, deb: Path
) -> None:
    """By its whole path, as apt wants it; done again it is there already."""
    here = machine(tmp_path)
    code, out, err = here.install("restarter", "--deb", str(deb))
    assert (code, err) == (0, "")
    assert out == [
        "as a .deb: you named one",
        "spoteval 2 installed",
        "nothing was enabled or started; next: sudo spoteval setup restarter",
    ]
    assert here.called == [f"apt-get install -y -q {deb}"]
    assert here.install("restarter", "--deb", str(deb))[1][1] == "spoteval 2 is installed already"
    assert len(here.called) == 1


def test_elsewhere_pipx_lays_out_what_the_package_would(tmp_path: Path) -> None:
    """Into /opt and /usr/local, since units see no home; the same units, user and directories."""
    here = machine(tmp_path, *NO_APT)
    code, out, err = here.install("guest")
    assert (code, err) == (0, "")
    assert out[0] == "with pipx: no apt here, so no .deb"
    assert out[-1] == "nothing was enabled or started; next: sudo spoteval setup guest"
    library = tmp_path / "root" / "usr" / "local" / "lib"
    assert files_below(library / "systemd" / "system") == files_below(ROOT / "units")
    assert [line.split()[0] for line in here.called] == [
        "pipx",
        "systemd-sysusers",
        "systemd-tmpfiles",
    ]
    assert here.called[0].endswith(f"{ROOT}[inspect]")
    before = here.called
    code, out, _ = here.install("guest")
    assert out[1].endswith("of this checkout is installed already")
    assert not [line for line in out if line.startswith("wrote")]
    assert here.called == before


def test_an_upgrade_restarts_what_runs_and_is_taken_for_no_shutdown(tmp_path: Path) -> None:
    """try-restart starts nothing; the file that the hook looks for is there meanwhile, and gone after."""
    here = machine(tmp_path, *NO_APT)
    run = tmp_path / "root" / "run"
    (run / "systemd" / "system").mkdir(parents=True)
    (run / "spoteval").mkdir()
    systemctl = here.stands / "systemctl"
    systemctl.write_text(
        f"{systemctl.read_text()}echo $1 with: {run}/spoteval/* >> {tmp_path}/called\n"
    )
    here.install("guest")
    said = [line for line in here.called if line.startswith("try-restart with")]
    assert said == [f"try-restart with: {run}/spoteval/restarting"]
    assert list((run / "spoteval").iterdir()) == []
    restarted = next(line for line in here.called if line.startswith("systemctl try-restart"))
    assert "spoteval-run" not in restarted
    assert not [line for line in here.called if "enable" in line or " start " in line]


@pytest.mark.parametrize("role", ["guest", "restarter"])
def test_complaint_51_nothing_is_installed_for_one_user(tmp_path: Path, role: str) -> None:
    """Services of a user are killed within seconds of the last logout: neither installer nor setup takes them."""
    here = machine(tmp_path)
    code, _, err = here.install(role, "--user")
    assert (code, here.called) == (3, [])
    assert "the agents are system services: a user's own are killed" in err
    done = typed(("setup", role, "--user"), {"SPOTEVAL_CONFIG": str(tmp_path / "config.toml")})
    assert done.code == 3
    assert "the agents are system services: a user's own are killed" in done.err
    assert not (tmp_path / "config.toml").exists()


@pytest.mark.parametrize(
    ("absent", "words", "code", "line"),
    [
        ((), ["guest", "--dep"], 2, 'guest "--dep": unknown; allowed are --deb FILE and --pipx'),
        ((), ["guest", "--deb", "/no.deb"], 2, '--deb "/no.deb": no such file'),
        ((), ["gest"], 2, '"gest": unknown; allowed are demo, test, guest and restarter'),
        (("systemctl",), ["guest"], 3, "no systemd on this machine"),
        ((*NO_APT, "pipx"), ["guest"], 3, "no pipx"),
    ],
)
def test_what_it_refuses(
    tmp_path: Path, absent: tuple[str, ...], words: list[str], code: int, line: str
) -> None:
    """One line, and nothing was done."""
    here = machine(tmp_path, *absent)
    found, _, err = here.install(*words)
    assert (found, len(err.splitlines())) == (code, 1)
    assert err.startswith(f"install.sh: {line}")
    assert here.called == []


def test_two_copies_would_stand_in_each_others_way(tmp_path: Path, deb: Path) -> None:
    """The one in /usr/local/bin is found first: whoever has one kind is told to remove it before the other."""
    here = machine(tmp_path)
    place = tmp_path / "root" / "usr" / "local" / "bin" / "spoteval"
    place.parent.mkdir(parents=True)
    place.write_text("")
    code, _, err = here.install("guest", "--deb", str(deb))
    assert (code, "/usr/local/bin/spoteval would stand before" in err) == (3, True)
    place.unlink()
    assert here.install("guest", "--deb", str(deb))[0] == 0
    code, _, err = here.install("guest", "--pipx")
    assert (code, "apt remove spoteval first" in err) == (3, True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_without_root_it_says_so(tmp_path: Path) -> None:
    """And which line to type."""
    here = machine(tmp_path, "id")
    (here.stands / "id").write_text("#!/bin/sh\necho 1000\n")
    (here.stands / "id").chmod(0o755)
    code, _, err = here.install("guest")
    assert (code, err) == (3, "install.sh: guest needs root (sudo ./install.sh guest)\n")
