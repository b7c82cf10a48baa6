"""What a process under evaluation may not do, tried from inside: it has a shell in the run's unit."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from lab.nspawn import until
from lab.person import Plan
from lab.records import last
from lab.world import AGENTS, RUN, Kit, World, begin, set_up, world
from show.lines import Line, judged

SPOTEVAL = "/mnt/durable/spoteval"
RUN_FOLDER = f"{SPOTEVAL}/runs/{RUN}"
CREDENTIALS = "/etc/spoteval/credentials"
Attempts = dict[str, list[str]]

READ: Attempts = {
    "read a credential": [
        f"cat {CREDENTIALS}/model-key",
        f"ls {CREDENTIALS}",
        *(f"cat /run/credentials/spoteval-{agent}.service/*" for agent in AGENTS),
        *(f"cat /proc/$(pidof_agent {agent})/environ" for agent in AGENTS),
        "cat /root/model-key",
    ],
}
HOLDS: Attempts = {
    "touch or lift a hold": [
        *(f"touch {SPOTEVAL}/holds/{name}" for name in ("guest", "keep-alive", "kill-switch")),
        f"rm -f {SPOTEVAL}/holds/kept",
        f"mv {SPOTEVAL}/holds {SPOTEVAL}/away",
        "touch /srv/evals/instances/gpu-1/releases/x.json",
        "mkdir -p /srv/evals/instances/gpu-2/holds",
    ],
}
RECORDS: Attempts = {
    "change a record": [
        *(
            f"echo x >> {RUN_FOLDER}/{name}"
            for name in ("run.json", "events.jsonl", "finished.jsonl")
        ),
        *(f"touch {RUN_FOLDER}/{name}" for name in ("settlement.jsonl", "end.json", "finish.json")),
        f"rm -f {RUN_FOLDER}/run.json",
        f"mv {RUN_FOLDER} {SPOTEVAL}/runs/other",
        f"mkdir {RUN_FOLDER}/interruptions/x",
        f"echo x > {SPOTEVAL}/active",
        *(f"touch {SPOTEVAL}/{name}/x" for name in ("enders", "requests", "publication", "busy")),
        "echo x >> /mnt/durable/.spoteval-disk.json",
        "echo x >> /etc/spoteval/config.toml",
    ],
}
AGENTS_TRIED: Attempts = {
    "signal or stop an agent, or the machine": [
        *(f"kill -0 $(pidof_agent {agent})" for agent in AGENTS),
        *(f"kill -TERM $(pidof_agent {agent})" for agent in AGENTS),
        *(f"systemctl stop spoteval-{agent}" for agent in AGENTS),
        *(
            f"touch /run/spoteval/{name}"
            for name in ("poweroff", "start-run", "draining", "session")
        ),
        "touch /run/spoteval/remove-containers",
        *(f"flock -n /run/spoteval/{agent}.lock true" for agent in AGENTS),
        *(f"systemctl kill spoteval-{agent}" for agent in AGENTS),
        "systemctl set-property --runtime spoteval-shutdown-hook.service CPUQuota=1%",
        "touch /run/systemd/system/spoteval-shutdown-hook.service",
        "systemd-run --no-ask-password true",
        "find /sys/fs/cgroup -name cgroup.procs -writable | grep .",
        "systemctl start spoteval-poweroff.service",
        "systemctl --no-block poweroff",
        "sudo -n true",
    ],
}
METADATA = ("169.254.169.254", "169.254.170.2", "fd00:ec2::254")
ASKED: Attempts = {
    "reach a metadata address": [f"timeout 3 python3 ./ask {address}" for address in METADATA]
}
EVERY: Attempts = READ | HOLDS | RECORDS | AGENTS_TRIED | ASKED
# What must work, or the attempts show nothing.
CONTROL = (
    "id -un | grep -x eval",
    "grep -q spoteval-run.service /proc/self/cgroup",
    "touch /mnt/durable/evals/own",
    f"touch {RUN_FOLDER}/work/own",
    *(f"test -d /proc/$(pidof_agent {agent})" for agent in AGENTS),
)
_NODAD = "nodad"  # no wait until an address is surely nobody else's
_CLOUD = (
    "link set lo up",
    "netns add cloud",
    "link add md0 type veth peer name md1 netns cloud",
    *(f"address add {address} dev md0 {_NODAD}" for address in ("10.9.9.1/24", "fd09::1/64")),
    *(f"-n cloud address add {one} dev md1 {_NODAD}" for one in ("10.9.9.2/24", "fd09::2/64")),
    "link set md0 up",
    "-n cloud link set md1 up",
)
_ASK = """\
import sys, urllib.request
host = sys.argv[1]
urllib.request.urlopen(f"http://[{host}]/" if ":" in host else f"http://{host}/", timeout=2).read()
"""
_HEAD = """\
pidof_agent() { pgrep -f -o "spoteval-$1\\$" || pgrep -f -o "spoteval-$1 " || echo 999999999; }
try() { if eval "$2" >/dev/null 2>&1; then echo "did	$1	$2"; else echo "denied	$1	$2"; fi; }
"""


def lines(place: Path, kit: Kit) -> Iterator[Line]:
    """One run whose evaluation tries all of it before it begins."""
    plan = Plan(window_s=30, episodes=3, turns=1, delay_s=0.1)
    with world(place, kit, plan, private=True) as lab:
        tried = lab.disk.point / "evals" / "tried"
        (lab.disk.point / "evals" / "before").write_text(script())
        (lab.disk.point / "evals" / "ask").write_text(_ASK)
        _answer(lab)
        set_up(lab)
        lab.guest.must(f"touch {SPOTEVAL}/holds/kept && chown spoteval: {SPOTEVAL}/holds/kept")
        before = _pids(lab)
        begin(lab)
        until(lambda: _whole(tried), 120.0, "the attempts", lambda: last(lab.guest))
        found = results(tried.read_text())
        yield _controls(found)
        yield _worth_trying(lab)
        yield _answered(lab)
        for what, commands in EVERY.items():
            yield verdict(what, commands, found)
        same = _pids(lab) == before and lab.cloud.state == "RUNNING"
        figure = f"{len(before)} agents as before" if same else f"{before} became {_pids(lab)}"
        yield judged(same, "inside: nobody was disturbed", figure)


def script() -> str:
    """What the evaluation runs first."""
    words = [f"try control {_quoted(line)}" for line in CONTROL]
    words += [f"try attempt {_quoted(line)}" for lines in EVERY.values() for line in lines]
    return "\n".join([_HEAD, "{", *words, "echo whole; } > ./tried", ""])


def results(text: str) -> Mapping[str, str]:
    """`did` or `denied` by what was tried."""
    rows = (line.split("\t") for line in text.splitlines())
    return {row[2]: row[0] for row in rows if len(row) == 3}


def verdict(what: str, commands: Sequence[str], found: Mapping[str, str]) -> Line:
    """ok when each of them was tried and denied."""
    did = [line for line in commands if found.get(line) != "denied"]
    figure = f"{len(commands) - len(did)} of {len(commands)} attempts denied"
    return judged(not did, f"inside: cannot {what}", "; ".join([figure, *did]))


def _answer(lab: World) -> None:
    """Something that answers at each metadata address, one hop away as on a cloud."""
    for line in _CLOUD:
        lab.guest.must(f"ip {line}")
    for number, address in enumerate(METADATA):
        via = "fd09::2 dev md0" if ":" in address else "10.9.9.2"
        lab.guest.must(f"ip -n cloud address add {address} dev md1 {_NODAD}")
        lab.guest.must(f"ip route add {address} via {via}")
        serve = f"ip netns exec cloud python3 -m http.server --bind {address} 80"
        lab.guest.must(f"systemd-run -q --unit=metadata-{number} {serve}")
    until(lambda: lab.guest.type(_asked_by("root", METADATA[-1])).code == 0, 30.0, "an answer")


def _answered(lab: World) -> Line:
    """Whoever is not the run is answered: root, and the agents, who have to be."""
    who = ("root", "spoteval")
    asks = [_asked_by(user, address) for user in who for address in METADATA]
    heard = sum(lab.guest.type(line).code == 0 for line in asks)
    figure = f"{heard} of {len(asks)} questions of {' and '.join(who)}"
    return judged(heard == len(asks), "inside: metadata addresses answer others", figure)


def _asked_by(user: str, address: str) -> str:
    return f"sudo -u {user} timeout 5 python3 /mnt/durable/evals/ask {address}"


def _worth_trying(lab: World) -> Line:
    """What is denied is there: root reads it."""
    read = [line for lines in READ.values() for line in lines]
    can = [line for line in read if lab.guest.type(f"{_HEAD}\n{line}").code == 0]
    figure = f"root can read {len(can)} of {len(read)}"
    return judged(len(can) > len(read) // 2, "inside: what is denied is there", figure)


def _controls(found: Mapping[str, str]) -> Line:
    worked = [line for line in CONTROL if found.get(line) == "did"]
    figure = f"{len(worked)} of {len(CONTROL)} things that it may do"
    return judged(len(worked) == len(CONTROL), "inside: the attempts are those of the run", figure)


def _whole(path: Path) -> bool:
    return path.exists() and path.read_text().endswith("whole\n")


def _pids(lab: World) -> Mapping[str, str]:
    show = "systemctl show -p MainPID --value spoteval-"
    return {agent: lab.guest.must(f"{show}{agent}").strip() for agent in AGENTS}


def _quoted(line: str) -> str:
    assert "'" not in line
    return f"'{line}'"
