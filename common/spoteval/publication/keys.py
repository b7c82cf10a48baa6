"""Names of objects in the store, and reversible safe names for what people and harnesses call things."""

import re
from urllib.parse import quote, unquote

_PLAIN = re.compile(r"[A-Za-z0-9_=+@,~/-][A-Za-z0-9_.=+@,~/-]*")

LONGEST_PART, LONGEST_PATH = 200, 600
"""Of a key: between two slashes (services that keep files: 255), and of all below an attempt (the protocol: 1024)."""
MANIFEST = "MANIFEST.json"
BEGIN = "BEGIN.json"


def safe(name: str) -> str:
    """A name as one part of a key: percent-encoded, no slash, never empty or a dot path.

    Names of files that are no text (surrogates, as Python reads them) come back as they were, too.
    """
    if _PLAIN.fullmatch(name):  # nearly every key of an episode, and a tenth of the time
        return name.replace("/", "%2F")
    text = quote(name.encode("utf-8", "surrogateescape"), safe="-_.=+@,~") or "%"
    return "%2E" + text[1:] if text.startswith(".") else text


def original(part: str) -> str:
    """The name that `safe` encoded."""
    return "" if part == "%" else unquote(part, errors="surrogateescape")


def safe_path(path: str) -> str:
    """A relative path as parts of a key: each part safe, slashes kept."""
    return "/".join(safe(part) for part in path.split("/"))


def original_path(path: str) -> str:
    """The relative path that `safe_path` encoded."""
    return "/".join(original(part) for part in path.split("/"))


def run_prefix(run: str) -> str:
    """Everything of one run."""
    return f"runs/{run}/"


def record_key(run: str, generation: int) -> str:
    """One generation of the run record."""
    return f"runs/{run}/record/{generation:06d}.json"


def epoch_key(run: str, epoch: int) -> str:
    """The claim of one epoch."""
    return f"runs/{run}/epochs/{epoch:06d}.json"


def attempt_prefix(run: str, episode: str, attempt: int) -> str:
    """The parts of one attempt. The episode's key is one part of it, slashes encoded."""
    return f"runs/{run}/episodes/{safe(episode)}/{attempt}/"


def manifest_key(run: str, episode: str, attempt: int) -> str:
    """Written last: without it the attempt is not published."""
    return attempt_prefix(run, episode, attempt) + MANIFEST


def part_key(run: str, episode: str, attempt: int, name: str) -> str:
    """One part of an attempt. No name of a part can take the manifest's key.

    What is longer than services take is shortened by its digest; the manifest has the name as it was.
    """
    return attempt_prefix(run, episode, attempt) + part_tail(name)


def part_tail(name: str) -> str:
    """What comes below the attempt in the key of a part."""
    path = safe_path(name)
    if path == MANIFEST:
        path = "%4D" + path[1:]
    shortened = "/".join(_shortened(part, LONGEST_PART) for part in path.split("/"))
    return _shortened(shortened, LONGEST_PATH)


def conflict_prefix(run: str, episode: str, attempt: int, sha256: str) -> str:
    """Where an attempt goes whose name somebody else has taken; `sha256` is that of its manifest."""
    return f"runs/{run}/conflicts/{safe(episode)}/{attempt}/{sha256[:12]}/"


def _shortened(text: str, longest: int) -> str:
    """The text, or one part of a key that no other long text becomes."""
    if len(text) <= longest:
        return text
    import hashlib  # agents that only name facts are spared OpenSSL's memory

    begin = text[:60].replace("/", "_").replace("%", "_")
    return f"{begin}~{hashlib.sha256(text.encode()).hexdigest()}"


def log_prefix(run: str, host: str, name: str) -> str:
    """All incarnations of one appended file."""
    return f"runs/{run}/log/{host}/{safe(name)}/"


def begin_key(run: str, host: str, name: str, incarnation: int) -> str:
    """The first object of an incarnation: names the one that it replaces."""
    return f"{log_prefix(run, host, name)}{incarnation:06d}/{BEGIN}"


def segment_key(run: str, host: str, name: str, incarnation: int, offset: int, length: int) -> str:
    """One segment of an appended file."""
    return f"{log_prefix(run, host, name)}{incarnation:06d}/{offset:012d}-{length}"


def state_prefix(run: str, path: str) -> str:
    """All generations of a file that changes in place."""
    return f"runs/{run}/state/{safe_path(path)}/"


def state_key(run: str, path: str, epoch: int, generation: int) -> str:
    """One generation of a file that changes in place."""
    return f"{state_prefix(run, path)}{epoch:06d}-{generation:06d}"


def interruption_key(run: str, interruption: str, name: str) -> str:
    """A record of one interruption."""
    return f"runs/{run}/interruptions/{safe(interruption)}/{safe_path(name)}"


def end_key(run: str) -> str:
    """How the run ended."""
    return f"runs/{run}/end.json"


def heartbeat_key(run: str, session: str, number: int) -> str:
    """One sign of life with progress."""
    return f"runs/{run}/heartbeat/{session}/{number:08d}.json"


def instance_prefix(instance: str) -> str:
    """Holds, releases, facts and owner of one instance: read by one LIST a poll."""
    return f"instances/{instance}/"


def hold_key(instance: str, hold: str) -> str:
    """A hold."""
    return f"instances/{instance}/holds/{safe(hold)}.json"


def release_key(instance: str, hold: str) -> str:
    """A person's release of the hold of the same id."""
    return f"instances/{instance}/releases/{safe(hold)}.json"


def fact_key(instance: str, seq: int, session: str, fact: str) -> str:
    """A fact of one boot; its name is what it says."""
    return f"instances/{instance}/boots/{seq:06d}-{session}/{safe(fact)}.json"


def owner_key(instance: str, number: int, identity: str) -> str:
    """An entry of the register of owners: the greatest is the restarter that serves the instance."""
    return f"instances/{instance}/owner/{number:06d}-{identity}.json"
