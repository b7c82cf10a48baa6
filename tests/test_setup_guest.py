"""spoteval setup guest: on real file systems, as a person types it."""

from pathlib import Path

import pytest

from disk_namespace import OTHER, OURS, play
from spoteval.config.guest import read_guest

pytestmark = pytest.mark.runs("mounts real file systems in a namespace of its own")

SETUP = """
mkdir -p "$base/etc"
setup() { spoteval setup guest --etc "$base/etc" --owner nobody "$@"; }
first() { setup --path "$base/mnt" --instance gpu-1 --provider command \\
          --store "file://$base/store" "$@"; }
"""
FOLDERS = ("holds", "requests", "busy", "enders", "runs", "publication", "decisions")


def test_a_disk_with_data_is_shown_and_adopted_on_request_alone(tmp_path: Path) -> None:
    """Without a yes nothing is written; with one its data stays as it is; done again nothing changes."""
    script = f"""{SETUP}
disk durable {OURS} 16; at "$base/mnt"; echo data > "$base/mnt/old"; mkdir "$base/mnt/models"
said no first; ls -A "$base/mnt" "$base/etc" | tr '\\n' ' '; ls "$base/config.toml" || echo none
said yes first --adopt --json
said again setup --json; said told setup
cat "$base/mnt/old"; cut -d' ' -f1 "$base/mnt/spoteval/holds/keep-alive"; echo
find "$base/mnt" -mindepth 1 -not -name lost+found -printf '%P %u %m\\n' | sort
"""
    played = play(tmp_path, script)
    refused = played.said("no")
    assert (refused.code, refused.out) == (3, [])
    rows = [line.split(maxsplit=1) for line in refused.err[1:7]]
    assert [row[0] for row in rows] == ["device", "UUID", "label", "size", "used", "holds"]
    assert (rows[1][1], rows[2][1], rows[5][1]) == (OURS, "durable", "models, old")
    assert refused.err[7:] == [f"{tmp_path}/mnt: not adopted, nothing written (say --adopt)"]
    assert " ".join(played.out[0].split()).endswith("lost+found models old none")
    changed = played.said("yes").record["changed"]
    assert [line.split()[0] for line in changed[:4]] == ["wrote", "made", "touched", "wrote"]
    assert played.said("yes").record["todo"] == [
        (
            f"{tmp_path}/etc/fstab: no line mounts {tmp_path}/mnt; it should say (--write-fstab does"
            " it):"
        ),
        f"  UUID={OURS} {tmp_path}/mnt ext4 nofail,x-systemd.device-timeout=60s 0 2",
        "next: mend what fails above, then: spoteval check",
    ]
    checks = [(one["name"], one["verdict"]) for one in played.said("yes").record["checks"]]
    assert ("disk", "ok") in checks
    assert played.said("again").record["changed"] == []
    assert played.said("told").out[0] == "nothing changed: this host was set up already"
    assert played.out[1:3] == ["data", "setup"]
    assert [line for line in played.out[3:] if line] == [
        ".spoteval-disk.json root 644",
        "models root 755",
        "old root 644",
        *sorted(
            [
                "spoteval nobody 755",
                *(f"spoteval/{name} nobody 755" for name in FOLDERS),
                "spoteval/holds/keep-alive nobody 644",
            ]
        ),
    ]


def test_the_first_host_file_is_whole_and_never_written_over(tmp_path: Path) -> None:
    """It parses, names the disk, and what contradicts it later is an error."""
    script = f"""{SETUP}
disk durable {OURS} 16; at "$base/mnt"
said asks setup --path "$base/mnt"
said yes first --adopt; echo '# mine' >> "$base/config.toml"
said other setup --instance gpu-2
said again setup; tail -1 "$base/config.toml"
"""
    played = play(tmp_path, script)
    assert (played.said("asks").code, played.said("other").code) == (3, 2)
    assert "there is no host file yet: say --instance" in played.said("asks").err[-1]
    assert played.said("other").err == [
        f'{tmp_path}/config.toml: [host] instance "gpu-1": not "gpu-2" (edit the file, or --replace it)'
    ]
    assert played.out == ["# mine"]
    config = read_guest(tmp_path / "config.toml")
    assert (config.instance, config.disk.uuid, config.disk.path) == (
        "gpu-1",
        OURS,
        tmp_path / "mnt",
    )


def test_the_mount_line_is_added_and_mended_with_a_backup(tmp_path: Path) -> None:
    """Whole or not at all; a line that is there keeps its own words."""
    script = f"""{SETUP}
disk durable {OURS} 16; at "$base/mnt"
echo 'UUID=aa / ext4 defaults 0 1' > "$base/etc/fstab"
said yes first --adopt --write-fstab; cat "$base/etc/fstab"; cat "$base"/etc/fstab.before-*
said again setup --write-fstab; rm "$base"/etc/fstab.before-*
echo "LABEL=durable $base/mnt ext4 noatime 0 0" > "$base/etc/fstab"
said lacks setup; said mends setup --write-fstab; cat "$base/etc/fstab"
"""
    played = play(tmp_path, script)
    root = "UUID=aa / ext4 defaults 0 1"
    wanted = f"UUID={OURS} {tmp_path}/mnt ext4 nofail,x-systemd.device-timeout=60s 0 2"
    mended = f"LABEL=durable {tmp_path}/mnt ext4 noatime,nofail,x-systemd.device-timeout=60s 0 0"
    assert played.out == [root, wanted, root, mended]
    assert played.said("again").out[0] == "nothing changed: this host was set up already"
    told = [line for line in played.said("lacks").out if line.startswith((" ", f"{tmp_path}/etc"))]
    assert told == [
        (
            f"{tmp_path}/etc/fstab: line 1 lacks nofail or x-systemd.device-timeout=60s;"
            " it should say (--write-fstab does it):"
        ),
        f"  {mended}",
    ]


@pytest.mark.parametrize(
    ("stage", "why"),
    [
        ("true", "nothing is mounted there: mount the disk first (mkfs is yours; setup never"),
        ('at "$base/mnt"; mount -o remount,ro "$base/mnt"', "is read-only: not adopted"),
        (f'disk other {OTHER} 16; at "$base/mnt"', f'UUID "{OTHER}" is not the configured'),
        (
            (
                'at "$base/mnt"; echo \'{"format": 1, "instance": "gpu-9"}\''
                ' > "$base/mnt/.spoteval-disk.json"'
            ),
            'belongs to "gpu-9", this is "gpu-1": not adopted',
        ),
        (
            'at "$base/mnt"; echo broken > "$base/mnt/.spoteval-disk.json"',
            "whose disk this is cannot be told",
        ),
    ],
)
def test_complaint_52_what_is_no_disk_of_ours_is_never_adopted(
    tmp_path: Path, stage: str, why: str
) -> None:
    """Absent, read-only, another UUID, another's, unreadable: one line, and nothing is written."""
    (tmp_path / "config.toml").write_text(
        f'[host]\nrole = "guest"\ninstance = "gpu-1"\n[disk]\npath = "{tmp_path}/mnt"\n'
        f'uuid = "{OURS}"\n[provider]\nkind = "command"\n[store]\nurl = "file://{tmp_path}/store"\n'
    )
    script = f"""{SETUP}
mkdir -p "$base/mnt"; disk durable {OURS} 16
{stage}; said no setup --adopt; find "$base/mnt" "$base/etc" -name spoteval -o -name keep-alive
"""
    played = play(tmp_path, script)
    (line,) = played.said("no").err
    assert played.said("no").code == 3
    assert line.startswith(f"{tmp_path}/mnt: ")
    assert why in line
    assert played.out == []


def test_a_sentinel_alone_proves_a_volume_without_uuid(tmp_path: Path) -> None:
    """As in containers and on network volumes: chosen by itself where there is no UUID."""
    script = f"""{SETUP}
mkdir "$base/mnt"; mount -t tmpfs -o size=4m volume "$base/mnt"; points="$base/mnt"
said yes first --adopt; said again setup --json
"""
    played = play(tmp_path, script)
    assert played.said("yes").code == 0
    assert played.said("again").record["changed"] == []
    assert read_guest(tmp_path / "config.toml").disk.identity == "sentinel"


def test_without_the_agents_user_nothing_is_begun(tmp_path: Path) -> None:
    """What is written would belong to nobody that can use it."""
    script = f"""{SETUP}
disk durable {OURS} 16; at "$base/mnt"
said no first --adopt --owner no-such-user; ls -A "$base/mnt"
"""
    played = play(tmp_path, script)
    assert played.said("no").code == 3
    assert 'no user "no-such-user" on this machine' in played.said("no").err[-1]
    assert played.out == ["lost+found"]
