"""Memory of the agents that stay resident on the guest, and how fast the hook marks."""

import json
from collections.abc import Iterator, Mapping

from show.lines import Line, Missing, judged, short
from show.stage import Stage, output

RSS_KB, PRIVATE_KB, MARKER_MS = 24 * 1024, 12 * 1024, 100.0
BOUNDED = ("shutdown-hook", "boot-resume", "idle-guard", "end-handler")


def memory(stage: Stage) -> Iterator[Line]:
    """A line for each bounded agent, for imports after READY, and for the marker."""
    bench = stage.root / "tests" / "bench" / "agents"
    if not bench.exists():
        raise Missing("tests/bench/agents does not exist")
    done = output([stage.python, str(bench), "--json"], stage.root)
    if done.returncode:
        raise Missing(f"tests/bench/agents: exit {done.returncode}: {done.stderr.strip()[-200:]}")
    found = json.loads(done.stdout)
    for name in BOUNDED:
        yield resident(name, found["agents"])
    yield nothing_imported_late(found["agents"])
    late = found["hook_forbidden_modules"]
    yield judged(late == [], "hook and boot-resume load neither boto3 nor requests", late)
    marker_ms = found["marker_ms_median"]
    figure = f"{marker_ms} ms median, at most {MARKER_MS:g}"
    yield judged(0 < marker_ms <= MARKER_MS, "signal to durable marker", figure)


def resident(name: str, agents: Mapping[str, Mapping[str, float]]) -> Line:
    """Rss and Private_Dirty of one agent, at its limits or below."""
    what = f"memory of {name}"
    if name not in agents:
        return short(what, "not measured")
    rss_kb, private_kb = agents[name]["rss_kb"], agents[name]["private_dirty_kb"]
    figure = f"{rss_kb / 1024:.1f} MB Rss, {private_kb / 1024:.1f} MB Private_Dirty"
    return judged(0 < rss_kb <= RSS_KB and 0 < private_kb <= PRIVATE_KB, what, figure)


def nothing_imported_late(agents: Mapping[str, Mapping[str, object]]) -> Line:
    """sys.modules at READY and at exit are the same, for every agent measured."""
    late = [name for name, found in agents.items() if found.get("modules_equal") is not True]
    good = not late and set(BOUNDED) <= set(agents)
    figure = f"differs: {', '.join(late)}" if late else f"{len(agents)} agents"
    return judged(good, "modules at READY and at exit are equal", figure)
