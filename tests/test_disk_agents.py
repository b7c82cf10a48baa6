"""A disk that is absent, wrong, read-only, full or a copy: what each agent says, and what becomes of the machine."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from disk_namespace import OTHER, OURS, ROOT, play

pytestmark = pytest.mark.runs("mounts real file systems in a namespace of its own")

CONFIG = """
[host]
role = "guest"
instance = "gpu-1"
[disk]
path = "{base}/durable"
uuid = "{uuid}"
min_free = "0"
[provider]
kind = "command"
[idle]
gpu = false
[store]
url = "file://{base}/store"
[run]
harness = "directory"
settlement = "fresh_budget"
executable = "/bin/true"
expected = 3
"""
# The disk is adopted, has an active run and one finished episode; then it is taken away.
READY = f"""
mkdir -p "$base/durable" "$base/store" "$base/run" "$base/etc" "$base/state"
disk durable {OURS} 8; ours=$loop; at "$base/durable"
said setup spoteval setup guest --adopt --owner root --etc "$base/etc"
rm "$base/durable/spoteval/holds/keep-alive"
said new spoteval run new swe; said start spoteval run start swe
mkdir -p "$base/durable/spoteval/runs/swe/work/episodes/one"
mkdir "$base/durable/spoteval/runs/swe/epochs"
echo '{{"format": 1, "epoch": 1, "session": "5e55"}}' > "$base/durable/spoteval/runs/swe/epochs/1.json"
echo '{{"verdict": "C"}}' > "$base/durable/spoteval/runs/swe/work/episodes/one/episode.json"
digest() {{ find "$base/durable" -xdev -type f -exec sha256sum {{}} + | sort | sha256sum; }}
gone() {{ umount "$base/durable"; }}
agents() {{ said agents "$python" "{ROOT}/tests/disk_agents.py"; }}
"""


@dataclass(frozen=True)
class Met:
    """What the agents said to a disk."""

    said: dict[str, list[str]]
    off: bool
    out: list[str]
    base: Path

    def first(self, agent: str) -> str:
        """Its first line."""
        return self.said[agent][0]


def meet(base: Path, stage: str) -> Met:
    """The agents meet the disk after what the stage did to it."""
    base.mkdir(exist_ok=True)
    (base / "config.toml").write_text(CONFIG.format(base=base, uuid=OURS))
    played = play(base, f"{READY}\n{stage}\n")
    record = played.said("agents")
    assert record.code == 0, record.err
    return Met(record.record["said"], record.record["off"], played.out, base)


def held_with_one_clear_line(met: Met, why: str) -> None:
    """Each agent names the disk and what is wrong; nothing is published; the machine goes off."""
    assert [line for line in met.said["boot_resume"] if "stage=disk" not in line] == []
    assert met.said["boot_resume"] == [f'agent=boot-resume decision=wait stage=disk why="{why}"']
    assert met.said["end_handler"] == [f'agent=end-handler decision=wait stage=disk why="{why}"']
    assert met.said["follower"] == [f'agent=publication-follower decision=no-disk why="{why}"']
    assert why in "\n".join(met.said["hook"])
    assert all(f'disk="{why}"' in line for line in met.said["idle_guard"] if "decision=" in line)
    assert any("decision=stop" in line for line in met.said["idle_guard"])
    assert met.off
    assert (met.base / "run" / "enders" / "5e55.json").exists()


def test_disk_absent_is_said_by_each_agent_and_ends_in_power_off(tmp_path: Path) -> None:
    """The place of the mount stays empty: what is written there would fill the boot disk."""
    met = meet(tmp_path, 'gone; agents; find "$base/durable" -mindepth 1')
    on_root = tmp_path.stat().st_dev == Path("/").stat().st_dev
    lies = "is on the root filesystem" if on_root else "is no mount point"
    why = f"{tmp_path}/durable: {lies}, not UUID 0b5e…2a11: disk not attached?"
    held_with_one_clear_line(met, f"{why} nothing written (lsblk -f)")
    assert met.out == []


@pytest.mark.parametrize("wrong", ["another UUID", "another's sentinel", "no sentinel"])
def test_disk_wrong_is_said_by_each_agent_and_nothing_is_written(
    tmp_path: Path, wrong: str
) -> None:
    """Its bytes are the same after an hour of all agents."""
    sentinel = '"$base/durable/.spoteval-disk.json"'
    stage, text = {
        "another UUID": (
            f'gone; disk other {OTHER} 8; at "$base/durable"; echo theirs > "$base/durable/data"',
            f'UUID "{OTHER}" is not the configured "{OURS}" (lsblk -f)',
        ),
        "another's sentinel": (
            f'echo \'{{"format": 1, "instance": "gpu-9"}}\' > {sentinel}',
            'sentinel belongs to "gpu-9", this is "gpu-1"',
        ),
        "no sentinel": (f"rm {sentinel}", "no sentinel (spoteval setup guest --adopt writes it)"),
    }[wrong]
    met = meet(tmp_path, f"{stage}; digest; agents; digest")
    held_with_one_clear_line(met, f"{tmp_path}/durable: {text}".replace('"', '\\"'))
    assert met.out[0] == met.out[1]


def test_disk_read_only_is_said_by_each_agent_and_ends_in_power_off(tmp_path: Path) -> None:
    """As the kernel remounts one whose blocks fail."""
    met = meet(tmp_path, 'mount -o remount,ro "$base/durable"; digest; agents; digest')
    held_with_one_clear_line(met, f"{tmp_path}/durable: is read-only (dmesg shows why)")
    assert met.out[0] == met.out[1]


def test_disk_full_is_said_by_each_agent_and_ends_in_power_off(tmp_path: Path) -> None:
    """What is there stays whole, what cannot be written is said once, and the intent lies in /run."""
    stage = """
cp -a "$base/durable/." "$base/copy"; gone; mount -t tmpfs -o size=1m volume "$base/durable"
cp -a "$base/copy/." "$base/durable"
sed -i 's/^uuid = .*/identity = "sentinel"/' "$base/config.toml"
before=$(sha256sum "$base/durable/spoteval/runs/swe/run.json" "$base/durable/spoteval/active")
cat /dev/zero > "$base/durable/fill" 2>/dev/null || true
agents
after=$(sha256sum "$base/durable/spoteval/runs/swe/run.json" "$base/durable/spoteval/active")
test "$before" = "$after" && echo same
find "$base/durable/spoteval" -type f -name '*.tmp'
"""
    met = meet(tmp_path, stage)
    for agent in ("follower", "boot_resume", "end_handler", "idle_guard"):
        full = [line for line in met.said[agent] if "No space left on device" in line]
        assert len(full) >= 1, (agent, met.said[agent])
    assert "decision=stop" in "".join(met.said["idle_guard"])
    assert met.off
    assert met.out == ["same"]
    assert (tmp_path / "run" / "enders" / "5e55.json").exists()
