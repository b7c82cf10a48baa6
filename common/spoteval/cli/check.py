"""`spoteval check`."""

from collections.abc import Iterator, Sequence

import click

from spoteval.cli.common import Host, maybe_store, store_of, this_host
from spoteval.cli.output import json_option, on_terminal, painted, say, say_json
from spoteval.clock import read_now
from spoteval.config.described import without_effect
from spoteval.config.host import read_host
from spoteval.config.shared import ConfigError
from spoteval.report.check import FAIL, OK, WARN, Check, exit_code, fail, lines, ok, warn
from spoteval.store.contract import Store, StoreError

_COLOURS = {OK: "green", WARN: "yellow", FAIL: "red"}


@click.command()
@json_option
def check(as_json: bool) -> int:
    """Is this host ready? Every line ok, or what to do.

    Strict about the whole host file. Changes three things alone: one small object is put into the store to see whether
    it may be (two where the store looks at no digest), what the store did is noted on this host, and on a guest root
    closes the clouds' metadata addresses to the run's user, as the run's start does.
    """
    host = this_host()
    found = list(checks_of(host))
    if as_json:
        say_json({"role": host.role, "checks": [one.record() for one in found]})
    else:
        say_checks(found)
    return exit_code(found)


def say_checks(found: Sequence[Check]) -> None:
    """One line each, in colours where a person looks."""
    for one, line in zip(found, lines(found), strict=True):
        say(painted(line, _COLOURS[one.verdict], on_terminal()))


def checks_of(host: Host) -> Iterator[Check]:
    """Everything that is looked at on such a host. Raises ConfigError."""
    if host.guest is None and host.restarter is None:
        yield _laptop(store_of(host))
        return
    file = read_host(host.paths.config)
    yield ok("config", f"{host.paths.config}: role {file.role}")
    for place, variable in file.environment.items():
        yield warn("config", f"{place} is set by {variable}: only for what is started with it")
    for place in without_effect(file):
        yield warn("config", f"{place} has no effect in this version")
    store = None
    try:
        store = maybe_store(host)
    except ConfigError as error:
        yield fail("store", str(error), 2)
    if host.guest is not None:
        from spoteval.report.check_guest import guest_checks

        yield from guest_checks(host.guest, host.paths, store, read_now())
    if host.restarter is not None:
        from spoteval.report.check_restarter import restarter_checks

        yield from restarter_checks(host.restarter, host.paths, store, read_now())


def _laptop(store: Store) -> Check:
    try:
        runs = {item.key.split("/")[1] for item in store.list("runs/")}
    except StoreError as error:
        return fail("store", str(error))
    noun = "run" if len(runs) == 1 else "runs"
    return ok("store", f"{store.url}: {len(runs)} {noun} can be listed")
