"""The metadata addresses of the clouds, closed to one user by the kernel's routing rules.

`IPAddressDeny=` in the run's unit says the same of a control group, but systemd enforces it by a BPF program on unified
control groups only, and is silent about it elsewhere. A rule for a user id works on each kernel since 4.10.
"""

from spoteval.machine import process
from spoteval.machine.process import NOT_FOUND, Run
from spoteval.shape import Reading, Unreadable

METADATA = ("169.254.169.254", "169.254.170.2", "fd00:ec2::254")
"""Instance metadata of all clouds; AWS's credentials of containers; AWS's metadata over IPv6."""
PRIORITY = 90
"""After the table of this machine's own addresses (0), before all others."""
WITHIN_S = 5.0


def close_to(uid: int, run: Run = process.run) -> Reading[tuple[str, ...]]:
    """Close the addresses to a user until the next boot; returns those that stay open to it. For root.

    What is closed already is left as it is. Unreadable without the program `ip`, and where root may not change rules
    (a container): no route now is no promise for later.
    """
    user = ["uidrange", f"{uid}-{uid}"]
    for address in METADATA:
        rule = ["rule", "add", "pref", str(PRIORITY), "to", address, *user, "prohibit"]
        done = run([*_ip(address), *rule], WITHIN_S)
        if done.code == NOT_FOUND:
            return Unreadable(f"{done.err.strip()} (apt install iproute2)")
        if "not permitted" in done.err:
            return Unreadable(f"ip rule add: {done.err.strip()}")
    return open_to(uid, run)


def open_to(uid: int, run: Run = process.run) -> Reading[tuple[str, ...]]:
    """The addresses to which the kernel would route a packet of this user."""
    found = []
    for address in METADATA:
        done = run([*_ip(address), "route", "get", address, "uid", str(uid)], WITHIN_S)
        if done.code == NOT_FOUND or done.timed_out:
            return Unreadable(done.err.strip() or f"ip: timeout:{WITHIN_S:g}s")
        if done.ok:
            found.append(address)
    return tuple(found)


def _ip(address: str) -> list[str]:
    return ["ip", "-6" if ":" in address else "-4"]
