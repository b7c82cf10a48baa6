"""The restarter's host file: defaults, units, bounds, and the exact line of each error."""

from pathlib import Path

import pytest

from spoteval.config.restarter import RestarterConfig, read_restarter
from spoteval.config.shared import ConfigError

HEAD = """
[host]
role = "restarter"
[store]
url = "file:///srv/store"
[instance.gpu-1]
provider = "local"
id = "i-1"
cloud = "/srv/cloud/gpu-1"
"""
CAP = '{ amount = 14.0, currency = "USD", per = "hour" }'


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A host file."""
    return tmp_path / "config.toml"


def read(path: Path, more: str = "", head: str = HEAD) -> RestarterConfig:
    """The configuration of that file."""
    path.write_text(head + more)
    return read_restarter(path)


def error(path: Path, more: str = "", head: str = HEAD) -> str:
    """Its error, without the file's name."""
    with pytest.raises(ConfigError) as caught:
        read(path, more, head)
    text = str(caught.value)
    assert text.startswith(f"{path}: ")
    assert "\n" not in text
    return text.removeprefix(f"{path}: ")


def test_the_defaults_are_the_documented_ones(path: Path) -> None:
    """Limits without a default are absent; rules have one."""
    config = read(path)
    poll, grant = config.poll, config.grant
    assert (poll.every_s, poll.in_motion_s, poll.grace_s) == (60, 10, 60)
    assert (poll.start_window_s, poll.backoff_max_s, poll.short_run_s) == (900, 1200, 600)
    assert poll.loop_guard == 5
    assert (grant.price_cap, grant.spend, grant.starts, grant.until) == (None, None, None, None)
    assert (grant.regions, grant.types) == ((), ())
    assert grant.failed_starts_s == 2700
    assert (grant.preemptions_before_healthy, grant.preemptions_before_episodes) == (2, (3, 20))
    assert (config.monitor.spot_every_s, config.monitor.stall_after) == (60, "3 intervals")
    assert config.holds == ("local", "store")
    assert config.warnings == ()


@pytest.mark.parametrize(
    ("more", "line"),
    [
        (
            "[poll]\nevery = 60",
            '[poll] every 60: must be a duration such as "60s", "15min" or "2h"',
        ),
        (
            '[poll]\nevery = "60"',
            '[poll] every "60" is not a duration such as "60s", "15min" or "2h"',
        ),
        ('[poll]\nevery = "0s"', '[poll] every "0s": must be a duration above 0'),
        ('[poll]\nevery = "-5s"', '[poll] every "-5s" is not a duration such as'),
        ("[poll]\nloop_guard = 1", "[poll] loop_guard 1: must be a whole number, 2 or more"),
        ("[poll]\nloop_guard = true", "[poll] loop_guard true: must be a whole number"),
        ('[poll]\nevry = "60s"', '[poll] evry: unknown key (did you mean "every"?)'),
        ('[pol]\nevery = "60s"', 'pol: unknown key (did you mean "poll"?)'),
        (
            "[grant]\nprice_cap = 14.0",
            "[grant] price_cap 14.0: must be a table",
        ),
        (
            '[grant]\nprice_cap = { amount = 14.0, currency = "USD" }',
            "[grant.price_cap] per: missing",
        ),
        (
            '[grant]\nprice_cap = { amount = 14.0, currency = "USD", per = "month" }',
            '[grant.price_cap] per "month": must be hour',
        ),
        (
            '[grant]\nprice_cap = { amount = -1, currency = "USD", per = "hour" }',
            "[grant.price_cap] amount -1: must be 0 or more",
        ),
        (
            '[grant]\nprice_cap = { amount = nan, currency = "USD", per = "hour" }',
            "[grant.price_cap] amount nan: must be a number",
        ),
        (
            '[grant]\nspend = { amount = inf, currency = "USD" }',
            "[grant.spend] amount inf: must be a number",
        ),
        (
            '[grant]\nspend = { amount = 5, currency = "usd" }',
            '[grant.spend] currency "usd": must be three capital letters such as "USD"',
        ),
        (
            '[grant]\nspend = { amount = 5, currency = "USD", per = "hour" }',
            "[grant.spend] per: unknown key (known: amount, currency)",
        ),
        ("[grant]\nstarts = 0", "[grant] starts 0: must be a whole number, 1 or more"),
        (
            '[grant]\nuntil = "tomorrow"',
            '[grant] until "tomorrow": must be a time with its zone such as 2026-12-04T08:00:00Z',
        ),
        (
            "[grant]\nuntil = 2026-12-31T00:00:00",
            "[grant] until 2026-12-31 00:00:00: must be a time with its zone such as 2026-12-04T08:00:00Z",
        ),
        ('[grant]\nregions = "eu"', '[grant] regions "eu": must be a list of strings'),
        (
            '[grant]\nfailed_starts = "never"',
            '[grant] failed_starts "never" is not a duration such as "60s", "15min" or "2h", or "off"',
        ),
        (
            "[grant]\npreemptions_before_healthy = 0",
            '[grant] preemptions_before_healthy 0: must be a whole number, 1 or more, or "off"',
        ),
        (
            "[grant]\npreemptions_before_episodes = { preemptions = 3 }",
            '[grant.preemptions_before_episodes] episodes: missing, or "off"',
        ),
        (
            '[monitor]\nstall_after = "3"',
            '[monitor] stall_after "3": must be a number of intervals such as "3 intervals"',
        ),
        (
            '[alerts]\nneeds_you = ["slack:x"]',
            '[alerts] needs_you ["slack:x"]: must be a list of "ntfy:https://…" and "mail:name@host"',
        ),
        (
            '[alerts]\ndigest = "8 am"',
            '[alerts] digest "8 am": must be a time of day with its zone such as "08:00 Europe/Berlin"',
        ),
        (
            "[instance.gpu-2]\nprovider = 'local'\nid = 'i'",
            "[instance.gpu-2] cloud: missing",
        ),
        (
            "[instance.gpu-2]\nprovider = 'local'\nid = 'i'\ncloud = 'x'",
            '[instance.gpu-2] cloud "x": must be an absolute path',
        ),
        (
            "[instance.gpu-2]\nprovider = 'command'\nid = 'i'\nobserve = ['a']\nstart = ['b']",
            "[instance.gpu-2] stop: missing",
        ),
        (
            "[instance.gpu-2]\nprovider = 'local'\nid = ''\ncloud = '/x'",
            '[instance.gpu-2] id "": must be a text that is not empty',
        ),
        (
            "[instance.gpu-2]\nprovider = 'local'\nid = 'i'\ncloud = '/x'\nobserve = ['a']",
            "[instance.gpu-2] observe: unknown key",
        ),
        (
            "[instance.'a b']\nprovider = 'local'",
            '[instance] "a b": an instance name is 1 to 64 of a-z A-Z 0-9 - _',
        ),
        ("[instance.gpu-2]", "[instance.gpu-2] provider: missing"),
    ],
)
def test_an_error_is_one_line_that_says_what_is_allowed(path: Path, more: str, line: str) -> None:
    """Table, key, value as written, what is allowed, the nearest key."""
    assert error(path, more).startswith(line)


@pytest.mark.parametrize(
    ("more", "found"),
    [
        ('[poll]\nevery = "1ms"', 0.001),
        ('[poll]\nevery = "1.5h"', 5400.0),
        ('[poll]\nevery = " 2 min "', 120.0),
        ('[poll]\nevery = "1d"', 86400.0),
    ],
)
def test_durations_have_every_unit(path: Path, more: str, found: float) -> None:
    """From milliseconds to days."""
    assert read(path, more).poll.every_s == found


def test_a_rule_can_be_switched_off(path: Path) -> None:
    """Off is not zero: there is no such rule."""
    more = '[grant]\nfailed_starts = "off"\npreemptions_before_healthy = "off"\n'
    grant = read(path, more + 'preemptions_before_episodes = "off"').grant
    assert grant.failed_starts_s is None
    assert (grant.preemptions_before_healthy, grant.preemptions_before_episodes) == (None, None)


def test_types_and_regions_of_the_grant(path: Path) -> None:
    """An empty list allows all; in a list, an instance that does not say what it is is not."""
    assert read(path).grant.allows(None, None)
    grant = read(path, "[grant]\ntypes = ['h200']\nregions = ['eu', 'us']").grant
    assert grant.allows("h200", "eu")
    assert grant.allows("h200", "us")
    assert not grant.allows("h100", "eu")
    assert not grant.allows("h200", "asia")
    assert not grant.allows(None, "eu")
    assert not grant.allows("h200", None)


def test_without_a_store(path: Path) -> None:
    """holds = ["local"]: no [store]; whoever asks for it all the same gets one line."""
    head = HEAD.replace('role = "restarter"', 'role = "restarter"\nholds = ["local"]')
    bare = head.replace('[store]\nurl = "file:///srv/store"\n', "")
    config = read(path, head=bare)
    assert (config.holds, config.shared_store) == (("local",), None)
    with pytest.raises(ConfigError) as caught:
        _ = config.store
    assert str(caught.value) == f'{path}: [store]: missing, as [host] holds is ["local"]'
    assert error(path, head=head) == (
        '[host] holds ["local"]: a [store] is set whose holds nobody would read'
        ' (add "store", or remove [store])'
    )
    assert error(path, head=HEAD.replace('[store]\nurl = "file:///srv/store"\n', "")) == (
        'store: missing (or [host] holds = ["local"])'
    )


@pytest.mark.parametrize("holds", ['"local"', "[]", '["local", "local"]', '["cloud"]'])
def test_holds_are_read_from_known_places(path: Path, holds: str) -> None:
    """A list, not empty, of words that are known, none twice."""
    head = HEAD.replace('role = "restarter"', f'role = "restarter"\nholds = {holds}')
    found = holds.replace("'", '"')
    assert error(path, head=head) == (
        f"[host] holds {found}: must be a list of one or more of local | store"
    )


def test_a_price_that_is_asked_for_is_not_a_price(path: Path) -> None:
    """With provider `command`, `price` may be a program: then no price is configured."""
    head = HEAD.replace(
        'cloud = "/srv/cloud/gpu-1"', "observe = ['a']\nstart = ['b']\nstop = ['c']"
    )
    head = head.replace('"local"', '"command"')
    assert read(path, "price = ['p']\n", head).instances[0].price is None
    typed = 'price = { amount = 2, currency = "USD", per = "hour", as_of = 2026-11-20 }\n'
    price = read(path, typed, head).instances[0].price
    assert price is not None
    assert (price.amount, price.as_of) == (2, "2026-11-20")
    assert error(path, typed.replace(", as_of = 2026-11-20", ""), head).startswith(
        "[instance.gpu-1.price] as_of: missing"
    )


@pytest.mark.parametrize("day", ["2026-11-31", "20 Nov"])
def test_a_day_is_a_day(path: Path, day: str) -> None:
    """Text in the place of a TOML date is read, if it is one."""
    more = f'stopped_price = {{ amount = 1, currency = "USD", per = "hour", as_of = "{day}" }}'
    assert error(path, more) == (
        f'[instance.gpu-1.stopped_price] as_of "{day}": must be a day such as 2026-11-20'
    )
