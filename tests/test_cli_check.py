"""`spoteval check` and `spoteval config show`."""

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from cli_hosts import Hosts, guest_file, made_hosts, restarter_file, typed
from fake_provider import PRICE, FakeProvider
from spoteval.clock import read_now
from spoteval.files import held, touch
from spoteval.provider.contract import Price, State
from spoteval.report.check_server import server_checks
from spoteval.shape import Unreadable

SERVER = """
[[server]]
unit = "vllm.service"
model = "m"
credential = "model-key"
"""


@pytest.fixture
def hosts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Hosts:
    """Both hosts, this boot recorded; the clock may be believed, and nobody listens anywhere."""
    monkeypatch.setattr("spoteval.cli.check.read_now", lambda: replace(read_now(), synced=True))
    monkeypatch.setattr(server_checks, "__defaults__", (lambda port: frozenset(),))
    found = made_hosts(tmp_path)
    found.booted()
    return found


def _key(hosts: Hosts, mode: int = 0o600) -> Path:
    path = hosts.base / "node" / "credentials" / "model-key"
    path.parent.mkdir(exist_ok=True)
    path.write_text("k" * 20)
    path.chmod(mode)
    return path


def _rows(hosts: Hosts, host: str, *verdicts: str) -> list[tuple[str, str]]:
    found = getattr(hosts, host)("check", "--json").record["checks"]
    return [(one["name"], one["text"]) for one in found if one["verdict"] in (verdicts or ["fail"])]


def test_a_good_guest(hosts: Hosts) -> None:
    """Every line ok but the agents that do not run yet, with what to type."""
    hosts.configure("node", guest_file(hosts.base, SERVER))
    key = _key(hosts)
    done = hosts.guest("check")
    assert (done.code, done.err) == (0, "")
    boot = hosts.booted()
    assert done.lines == [
        f"config       ok    {hosts.base}/node/config.toml: role guest",
        "shutdown     ok    the stop plan fits 8 s (local)",
        f"credential   ok    {key}",
        f"disk         ok    {hosts.disk.disk}: proved by its sentinel",
        f"boot         ok    number 1, session {boot}",
        f"home         ok    of the harness: {hosts.disk.run('<run>').work}/home",
        "server       ok    policy: http://127.0.0.1:8000 is loopback, unit vllm.service",
        "server       warn  policy: nothing listens at port 8000 yet, so not looked at",
        "run          ok    harness directory, settlement fresh_budget",
        f"store        ok    {hosts.store.url}: put below instances/gpu-1/ works, create-only",
        "clock        ok    synchronised",
        "units        warn  not known here: no systemd runs these directories",
        "agent        warn  shutdown-hook does not run (systemctl enable --now spoteval-shutdown-hook)",
        (
            "agent        warn  publication-follower does not run"
            " (systemctl enable --now spoteval-publication-follower)"
        ),
        "agent        warn  boot-resume does not run (systemctl enable --now spoteval-boot-resume)",
        "agent        warn  idle-guard does not run (systemctl enable --now spoteval-idle-guard)",
        "agent        warn  end-handler does not run (systemctl enable --now spoteval-end-handler)",
    ]


def test_an_agent_that_holds_its_lock_runs(hosts: Hosts) -> None:
    """No line for it."""
    with held(hosts.base / "node" / "run" / "idle-guard.lock"):
        agents = [
            text.split()[0] for name, text in _rows(hosts, "guest", "warn") if name == "agent"
        ]
    assert agents == ["shutdown-hook", "publication-follower", "boot-resume", "end-handler"]


def test_credentials(hosts: Hosts) -> None:
    """The promised line for a mode that is too open, exit 2; absent says how it should be."""
    hosts.configure("node", guest_file(hosts.base, SERVER))
    key = _key(hosts, 0o644)
    done = hosts.guest("check")
    assert done.code == 2
    assert f"credential   fail  {key}: mode 0644, must be 0600 (chmod 600 {key})" in done.lines
    key.unlink()
    assert _rows(hosts, "guest") == [
        ("credential", f"{key}: No such file or directory (one line with the key, mode 0600)")
    ]


def test_a_typed_stop_plan_must_fit(hosts: Hosts) -> None:
    """At the window it fits, a second more does not, and the most that would is named."""
    plan = '[shutdown]\nstop = "2s"\nsalvage = "1s"\nfinal_pass = "{}s"\n'
    text = guest_file(hosts.base, plan).replace(
        'kind = "local"', 'kind = "local"\nnotice_window = "12s"'
    )
    hosts.configure("node", text.replace("{}", "7"))
    assert hosts.guest("check").code == 0
    hosts.configure("node", text.replace("{}", "8"))
    assert _rows(hosts, "guest") == [
        (
            "shutdown",
            (
                f'{hosts.base}/node/config.toml: [shutdown] final_pass "8s": stop 2s + salvage 1s'
                " + final_pass 8s + reserve 2s = 13s does not fit notice_window 12s (local);"
                ' at most "7s"'
            ),
        )
    ]
    assert hosts.guest("check").code == 2


def test_what_fails_on_a_guest(hosts: Hosts) -> None:
    """Disk, store, run and provider table, each in its line; exit 1, or 2 for the configuration."""
    hosts.disk.sentinel.unlink()
    (hosts.base / "store").rmdir()
    hosts.configure("node", guest_file(hosts.base, run='settlement = "none"'))
    assert [name for name, _ in _rows(hosts, "guest")] == ["disk", "run", "store"]
    assert hosts.guest("check").code == 1
    text = guest_file(hosts.base).replace("cloud = ", "# cloud = ")
    hosts.configure("node", text)
    assert _rows(hosts, "guest")[0] == (
        "provider",
        f"{hosts.base}/node/config.toml: [provider] cloud: missing (allowed: an absolute path)",
    )
    assert hosts.guest("check").code == 2


def test_a_home_beside_the_durable_disk_is_said(hosts: Hosts) -> None:
    """The harness gets its own HOME whatever is typed, and a person should know."""
    hosts.configure("node", guest_file(hosts.base, '[run.env]\nHOME = "/root"\n'))
    (text,) = [text for name, text in _rows(hosts, "guest", "warn") if name == "home"]
    assert text.startswith("[run.env] HOME /root: not on the durable disk, so it is not used: ")


def test_checking_twice_puts_one_object(hosts: Hosts) -> None:
    """What it leaves in the store is one small object, and no boot of its own."""
    hosts.guest("check")
    hosts.guest("check")
    assert hosts.stored() == ["instances/gpu-1/boots/000000-check/check.json"]


def test_keys_without_effect_are_named(hosts: Hosts) -> None:
    """Each that is set, in the order of the table of them; none that is not set."""
    more = '[idle]\nlogins_count = true\n[[server]]\nunit = "a"\nmodel = "m"\nweights = "/x"\n'
    hosts.configure(
        "node", guest_file(hosts.base, more, 'settlement = "fresh_budget"\norder = "harness"')
    )
    words = [text for name, text in _rows(hosts, "guest", "warn") if name == "config"]
    assert words == [
        "[run] order has no effect in this version",
    ]
    hosts.configure(
        "restarter",
        restarter_file(hosts.base, 'identity = "instance"', '[monitor]\nspot_every = "1min"\n'),
    )
    words = [text for name, text in _rows(hosts, "restarter", "warn") if name == "config"]
    assert words == [
        "[instance.gpu-1] identity has no effect in this version",
        "[monitor] spot_every has no effect in this version",
    ]


def test_a_good_restarter(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    """Provider, price under the cap, store and holds; a hold that stands is a warning."""
    cap = '[grant]\nprice_cap = { amount = 4.0, currency = "USD", per = "hour" }\n'
    hosts.configure("restarter", restarter_file(hosts.base, more=cap))
    provider = FakeProvider([State.STOPPED])
    monkeypatch.setattr("spoteval.report.check_restarter.open_provider", lambda *_: provider)
    done = hosts.restarter("check")
    assert done.code == 0
    assert done.lines[1:] == [
        "provider     ok    gpu-1 is STOPPED",
        "price        ok    cap 4.00 USD, now 3.21 USD/hour (spot)",
        f"store        ok    {hosts.store.url}: put below instances/gpu-1/ works, create-only",
        "store        ok    list of instances/gpu-1/ works, 0 holds in it",
        "store        ok    get below instances/gpu-1/ works",
        f"holds        ok    {hosts.instance.hold.parent}",
        "clock        ok    synchronised",
        "agent        warn  restarter does not run (systemctl enable --now spoteval-restarter)",
    ]
    touch(hosts.instance.hold, "x")
    provider.priced = Unreadable("timeout:10s")
    assert _rows(hosts, "restarter") == [
        ("price", "a cap is set and the price cannot be read: timeout:10s")
    ]
    assert ("holds", f"{hosts.instance.hold} stands: nothing is started") in _rows(
        hosts, "restarter", "warn"
    )


def _priced(hosts: Hosts, monkeypatch: pytest.MonkeyPatch, price: Price, cap: str = "USD") -> None:
    """A restarter under a cap, whose provider says that price."""
    more = f'[grant]\nprice_cap = {{ amount = 4.0, currency = "{cap}", per = "hour" }}\n'
    hosts.configure("restarter", restarter_file(hosts.base, more=more))
    provider = FakeProvider([State.STOPPED], priced=price)
    monkeypatch.setattr("spoteval.report.check_restarter.open_provider", lambda *_: provider)


@pytest.mark.parametrize(("days", "age"), [(11, "11 days"), (1, "1 day"), (0, "0 days")])
def test_a_price_from_the_file_is_said_with_its_age(
    hosts: Hosts, monkeypatch: pytest.MonkeyPatch, days: int, age: str
) -> None:
    """A cap means nothing without a price, and little with an old one."""
    day = read_now().wall - timedelta(days=days)
    _priced(hosts, monkeypatch, Price(3.0, "USD", "hour", "configured", day))
    line = f"cap set, price comes from this file, dated {day.date().isoformat()} ({age} old)"
    assert ("price", line) in _rows(hosts, "restarter", "warn")


def test_a_price_that_no_cap_can_be_held_against(
    hosts: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another currency: nothing would be started."""
    _priced(hosts, monkeypatch, PRICE, "EUR")
    assert _rows(hosts, "restarter") == [("price", "in USD per hour, the cap is in EUR per hour")]


def test_what_the_grant_forbids_is_known_before_the_first_start(hosts: Hosts) -> None:
    """An instance outside its types and regions, and a grant that is over."""
    grant = '[grant]\ntypes = ["h200"]\nregions = ["eu"]\nuntil = 2020-01-01T00:00:00Z\n'
    hosts.configure("restarter", restarter_file(hosts.base, 'type = "h100"', grant))
    assert [text for name, text in _rows(hosts, "restarter") if name == "grant"] == [
        "[grant] until 2020-01-01T00:00:00.000Z is past: nothing is started",
        "gpu-1: type h100, region unknown: not in types and regions of [grant]",
    ]
    allowed = 'type = "h200"\nregion = "eu"'
    grant = grant.replace("2020", "2999")
    hosts.configure("restarter", restarter_file(hosts.base, allowed, grant))
    assert [text for name, text in _rows(hosts, "restarter") if name == "grant"] == []


def test_a_restarter_without_a_store(hosts: Hosts) -> None:
    """Said once; no line asks for a store."""
    text = restarter_file(hosts.base).replace(
        'role = "restarter"', 'role = "restarter"\nholds = ["local"]'
    )
    url = f'[store]\nurl = "file://{hosts.base / "store"}"\n'
    hosts.configure("restarter", text.replace(url, ""))
    assert [
        text for name, text in _rows(hosts, "restarter", "ok", "warn", "fail") if name == "store"
    ] == ['none, as [host] holds is ["local"]: no fact of a guest is seen']


def test_what_fails_on_a_restarter_host(hosts: Hosts) -> None:
    """No node behind the provider, no holds directory."""
    hosts.instance.hold.parent.rmdir()
    found = _rows(hosts, "restarter")
    assert [name for name, _ in found] == ["provider", "holds"]
    assert found[0][1].endswith(f"no local node is running at {hosts.cloud}")
    assert hosts.restarter("check").code == 1


def test_a_typo_in_the_host_file_is_one_line(hosts: Hosts) -> None:
    """File, table, key and the nearest known one; exit 2."""
    hosts.configure("node", guest_file(hosts.base, run='setlement = "fresh_budget"'))
    for words in (("check",), ("run", "new", "q3"), ("status",)):
        done = hosts.guest(*words)
        assert done.code == 2
        assert done.err == (
            f"{hosts.base}/node/config.toml: [run] setlement: unknown key"
            ' (did you mean "settlement"?)\n'
        )
    hosts.configure("node", guest_file(hosts.base, "[idle]\nafterr = '5min'\n"))
    assert hosts.guest("check").err == (
        f'{hosts.base}/node/config.toml: [idle] afterr: unknown key (did you mean "after"?)\n'
    )


def test_on_a_laptop(hosts: Hosts) -> None:
    """The store alone; without one, exit 2 with what to set."""
    hosts.store.put("runs/q3/record/000001.json", b"{}")
    assert (
        hosts.laptop("check").out == f"store        ok    {hosts.store.url}: 1 run can be listed\n"
    )
    (hosts.base / "store").rename(hosts.base / "away")
    assert hosts.laptop("check").code == 1
    nothing: dict[str, str | None] = {"SPOTEVAL_CONFIG": None, "SPOTEVAL_STORE": None}
    done = typed(("check",), nothing)
    assert (done.code, done.err) == (
        2,
        (
            "/etc/spoteval/config.toml: no such file, and SPOTEVAL_STORE is not set"
            " (on a laptop: SPOTEVAL_STORE=s3://bucket/prefix spoteval …)\n"
        ),
    )
    wrong = typed(("check",), {**nothing, "SPOTEVAL_STORE": "ftp://x"})
    assert (wrong.code, wrong.err) == (
        2,
        'SPOTEVAL_STORE "ftp://x": must be file:///absolute/path or s3://bucket/prefix\n',
    )
    typo = typed(
        ("check",), {**nothing, "SPOTEVAL_STORE": "s3://xyz", "SPOTEVAL_STORE__REGOIN": "x"}
    )
    assert typo.code == 2
    assert typo.err.startswith('SPOTEVAL_STORE__REGOIN: unknown key (did you mean "region"?)')


def _shown(hosts: Hosts, host: str, **env: str) -> dict[str, tuple[str, str]]:
    found = getattr(hosts, host)("config", "show", "--json", **env).record["values"]
    return {one["place"]: (one["value"], one["source"]) for one in found}


def test_config_show_on_a_guest(hosts: Hosts) -> None:
    """Typed, default, and from the environment."""
    hosts.configure("node", guest_file(hosts.base, SERVER + '[idle]\nafter = "90s"\n'))
    values = _shown(hosts, "guest")
    assert values["idle.after"] == ("90s", "file")
    assert values["idle.every"] == ("60s", "default")
    assert values["server.0.ready_within"] == ("75min", "default")
    assert values["server.0.unit"] == ("vllm.service", "file")
    assert values["run.concurrency"] == ("16", "default")
    assert values["run.settlement"] == ("fresh_budget", "file")
    assert _shown(hosts, "guest", SPOTEVAL_STORE="file:///x")["store.url"] == (
        "file:///x",
        "environment",
    )


@pytest.mark.runs("`run new` asks the harness for its version")
def test_a_frozen_run_wins_over_the_file(hosts: Hosts) -> None:
    """Its values are in force, and each difference is a line in the promised words."""
    hosts.guest("run", "new", "q3")
    hosts.guest("run", "start", "q3")
    text = guest_file(hosts.base, run='settlement = "fresh_budget"\nconcurrency = 24')
    hosts.configure("node", text)
    assert _shown(hosts, "guest")["run.concurrency"] == ("16", "run")
    assert hosts.guest("config", "show").lines[-1] == (
        "config differs: run.concurrency 16 (run) 24 (file)"
    )


def test_config_show_elsewhere(hosts: Hosts) -> None:
    """The restarter's own; a laptop has none."""
    values = _shown(hosts, "restarter")
    assert values["poll.every"] == ("1s", "file")
    assert values["poll.grace"] == ("60s", "default")
    assert values["instance.gpu-1.provider"] == ("local", "file")
    assert hosts.laptop("config", "show").code == 3
