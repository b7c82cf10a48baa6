"""What uses the machine now, one word a probe. Pure."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from spoteval.shape import Reading, Unreadable
from spoteval_agents.idle_guard.seen import Policy, Seen

RESUME = "boot-resume"


class Use(NamedTuple):
    """One reason to stay on. `blind`: its probe could not be read, which counts as use."""

    probe: str
    text: str
    blind: bool = False


def found(seen: Seen, policy: Policy) -> tuple[Use, ...]:
    """Every use; nothing = idle."""
    return (
        *_run(seen),
        *_servers(seen),
        *_share("gpu", seen.gpu, policy.gpu_above),
        *_at_work(seen),
        *_share("cpu", seen.cpu, policy.cpu_above),
        *_rate("disk", seen.disk_io, policy.io_above),
        *_rate("network", seen.network, policy.io_above),
        *_said("episode logs", seen.logs),
        *_said("publication", seen.publishing),
        *_pending(seen),
        *_names("logins", seen.logins, "logged in"),
        *_names("inhibitors", seen.inhibitors, "blocks a power-off"),
        *_keep_alive(seen),
    )


def uses(seen: Seen, policy: Policy) -> tuple[str, ...]:
    """The same in words."""
    return tuple(use.text for use in found(seen, policy))


def _blind(probe: str, reading: Unreadable) -> Use:
    return Use(probe, f"{probe} unreadable: {reading.why}", blind=True)


def _run(seen: Seen) -> Iterator[Use]:
    if isinstance(seen.members, Unreadable):
        yield _blind("run", seen.members)
    elif seen.members:
        yield Use("run", "run active")


def _servers(seen: Seen) -> Iterator[Use]:
    for name, count in seen.servers:
        if isinstance(count, Unreadable):
            yield _blind(name, count)
        elif count:
            yield Use(name, f"{name} {count} {'request' if count == 1 else 'requests'} in flight")


def _share(probe: str, share: Reading[float | None], above: float) -> Iterator[Use]:
    if isinstance(share, Unreadable):
        yield _blind(probe, share)
    elif share is not None and share > above:
        yield Use(probe, f"{probe} {100 * share:.0f} %")


def _rate(probe: str, rate: Reading[float | None], above: float) -> Iterator[Use]:
    if isinstance(rate, Unreadable):
        yield _blind(probe, rate)
    elif rate is not None and rate > above:
        yield Use(probe, f"{probe} {rate / 1e6:.1f} MB/s")


def _said(probe: str, reading: Reading[str | None]) -> Iterator[Use]:
    if isinstance(reading, Unreadable):
        yield _blind(probe, reading)
    elif reading is not None:
        yield Use(probe, reading)


def _names(probe: str, reading: Reading[tuple[str, ...]], what: str) -> Iterator[Use]:
    if isinstance(reading, Unreadable):
        yield _blind(probe, reading)
    elif reading:
        yield Use(probe, f"{_listed(reading)} {what}")


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)


def _pending(seen: Seen) -> Iterator[Use]:
    if seen.draining:
        yield Use("notice", "notice pending")


def _keep_alive(seen: Seen) -> Iterator[Use]:
    if isinstance(seen.keep_alive, Unreadable):
        yield _blind("keep-alive", seen.keep_alive)
    elif seen.keep_alive is not None:
        yield Use("keep-alive", "keep-alive")


def _at_work(seen: Seen) -> Iterator[Use]:
    """Agents that say so. boot-resume counts while there is a run that it may bring back: waiting for a person,
    or for nothing, is idle."""
    if isinstance(seen.busy, Unreadable):
        yield _blind("busy files", seen.busy)
        return
    for agent in seen.busy:
        waits = isinstance(seen.guest_hold, str) or seen.complete is True
        if agent != RESUME or not waits:
            yield Use("agents", f"{agent} at work")
