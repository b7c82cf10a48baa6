"""The table of verbs: where each lives and what it says of itself, so that help imports none of them."""

from typing import NamedTuple

BLOCKS = ("decide", "set up", "run", "after")


class Verb(NamedTuple):
    """One verb: `module:attribute` of its click command, its line in the help, its block (None = hidden).

    A NamedTuple: importing dataclasses would cost the help page 10 of its 80 ms.
    """

    target: str
    help: str
    block: str | None = None


_RUN, _SHOW, _HOLD = "spoteval.cli.run", "spoteval.cli.run_show", "spoteval.cli.hold"

# Keys are the words a person types. Without a target a verb is a group of the keys that begin with its words;
# a module that brings its own group is the target of all its keys.
VERBS: dict[str, Verb] = {
    "demo": Verb("spoteval.cli.demo:demo", "Try it: a real evaluation, no cloud, 4 min.", "decide"),
    "math": Verb("spoteval.cli.math:math", "Interruptions, restarts, tokens: by hand.", "decide"),
    "place": Verb("spoteval.cli.place:place", "Should this run on spot at all?", "decide"),
    "tau": Verb("spoteval.cli.tau:tau", "How long machines live here, from logs.", "decide"),
    "setup": Verb("", "Make this host ready; changes nothing twice.", "set up"),
    "setup guest": Verb(
        "spoteval.cli.setup:guest", "Disk, folders, units, a first host file.", "set up"
    ),
    "setup restarter": Verb(
        "spoteval.cli.setup_restarter:restarter", "Folders, the unit, a first host file.", "set up"
    ),
    "supervise": Verb(
        "spoteval.cli.supervise:supervise", "The agents, in a container without systemd.", "set up"
    ),
    "check": Verb("spoteval.cli.check:check", "Is this host ready? Names what to do.", "set up"),
    "config": Verb("", "The configuration in force.", "set up"),
    "config show": Verb(
        "spoteval.cli.config:show", "Every value and where it came from.", "set up"
    ),
    "config schema": Verb(
        "spoteval.cli.config:schema", "The JSON Schema of the host file.", "set up"
    ),
    "drill": Verb("", "Rehearse what a provider does to a node.", "set up"),
    "drill forced-stop": Verb(
        "spoteval.cli.drill:forced_stop",
        "Stop it twice, unwarned; judge what came of it.",
        "set up",
    ),
    "drill provider": Verb(
        "spoteval.cli.drill_provider:provider",
        "Ten minutes with a real account; reads, unless told more.",
        "set up",
    ),
    "drill show": Verb("spoteval.cli.drill:show", "What the last drill showed.", "set up"),
    "run": Verb("", "Make, start, stop and look at runs.", "run"),
    "run new": Verb(f"{_RUN}:new", "Freeze [run] into a run record; starts nothing.", "run"),
    "run start": Verb(f"{_RUN}:start", "Make a run the active one; boot-resume starts it.", "run"),
    "run stop": Verb(f"{_RUN}:stop", "Stop the active run, keep it resumable.", "run"),
    "run set": Verb("spoteval.cli.run_set:set_", "Change concurrency, deadline, limits.", "run"),
    "run finish": Verb("spoteval.cli.run_finish:finish", "End a run early, for good.", "run"),
    "run show": Verb(f"{_SHOW}:show", "One run's record and progress.", "run"),
    "run list": Verb(f"{_SHOW}:list_", "All runs of this disk or store.", "run"),
    "run accept-environment": Verb(
        "spoteval.cli.run_environment:accept", "Go on after a GPU or version changed.", "run"
    ),
    "run environment": Verb(
        "spoteval.cli.run_environment:environment", "What the active run is measured on."
    ),
    "run exec": Verb("spoteval.cli.run_exec:exec_", "Become the harness of the active run."),
    "run fence": Verb("spoteval.cli.run_fence:fence", "Keep the run from the metadata addresses."),
    "status": Verb("spoteval.cli.status:status", "Where the run stands; no provider call.", "run"),
    "events": Verb("spoteval.cli.events:events", "Starts, stops, prices, stages, holds.", "run"),
    "decisions": Verb("spoteval.cli.decisions:decisions", "What the agents decided, why.", "run"),
    "hold": Verb("", "Place, release and show holds.", "run"),
    "hold place": Verb(f"{_HOLD}:place", "Nothing is started while a hold stands.", "run"),
    "hold release": Verb(f"{_HOLD}:release", "Lift the holds that `hold show` lists.", "run"),
    "hold show": Verb("spoteval.cli.hold_show:show", "Every hold, and what lifts it.", "run"),
    "stop": Verb("spoteval.cli.stop:stop", "Hold, stop, wait until it is off.", "run"),
    "stop-self": Verb("spoteval.cli.stop_self:stop_self", "Ask the provider, then power off."),
    "start": Verb("spoteval.cli.start:start", "Start by hand, past the restarter.", "run"),
    "tunnel": Verb("spoteval.cli.tunnel:tunnel", "A guest's model server, on loopback.", "run"),
    "restarter": Verb("", "Which restarter serves an instance.", "run"),
    "restarter adopt": Verb(
        "spoteval.cli.restarter:adopt", "This host serves it from now on.", "run"
    ),
    "pull": Verb(
        "spoteval.cli.pull:pull", "A run from the store into an empty directory.", "after"
    ),
    "verify": Verb(
        "spoteval.cli.verify:verify", "Every pulled byte against its manifest.", "after"
    ),
    "cost": Verb("spoteval.cli.cost:cost", "Per completed episode, by its parts.", "after"),
    "restarts": Verb("spoteval.cli.restarts:restarts", "How long the way back takes.", "after"),
    "fact": Verb("spoteval.cli.fact:fact", "Facts of this boot."),
    "fact put": Verb("spoteval.cli.fact:fact", "Put one fact of this boot into the store."),
    "fact epoch": Verb("spoteval.cli.fact:fact", "Claim the next epoch of the active run."),
    "containers": Verb("", "The run's containers."),
    "containers remove": Verb(
        "spoteval.cli.containers:remove", "Obey the request to remove them; takes root."
    ),
    "settle": Verb("spoteval.cli.settle:settle", "Settle what the last interruption cut."),
    "server": Verb("spoteval.cli.server:server", "The model servers."),
    "server weights": Verb("spoteval.cli.server:server", "Weights against their SHA256SUMS."),
    "server health": Verb("spoteval.cli.server:server", "Is a server that was ready still one."),
    "server probe": Verb("spoteval.cli.server:server", "One look whether a server is ready."),
    "server load": Verb("spoteval.cli.server:server", "Requests in flight of each server."),
}
