"""`spoteval status`, `events`, `decisions`, `pull`, `verify`, each where it is typed."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import click
import pytest

from cli_hosts import Hosts, made_hosts, restarter_file
from spoteval.clock import read_now, stamp
from spoteval.control.eventlog import DecisionLog, log_event
from spoteval.decision import Decision
from spoteval.episode import Attempt, Outcome
from spoteval.event import NEEDS_YOU, Event
from spoteval.files import append_line, encoded, held, touch, write_record
from spoteval.loop import Waiting, Wake
from spoteval.publication.keys import (
    heartbeat_key,
    manifest_key,
    record_key,
    segment_key,
    state_key,
)
from spoteval.run import RunPlan, RunRecord, StopRules
from spoteval.settings.money import Money

RECORD = RunRecord("q3", "gpu-1", 1, read_now().wall, RunPlan("directory", "fresh_budget"))


@pytest.fixture
def hosts(tmp_path: Path) -> Iterator[Hosts]:
    """Both hosts, an agent at work; a run of four episodes is active, one finished, one cut."""
    found = made_hosts(tmp_path)
    session = found.booted()
    run = found.disk.run("q3")
    write_record(run.record, RECORD.record())
    write_record(run.intended, {"episodes": [f"e/{n}" for n in range(4)]})
    append_line(run.finished, Attempt("e/0", "a", Outcome.COMPLETED, 1, verdict="right").record())
    cut = Attempt("e/1", "b", Outcome.PREEMPTION_INTERRUPTED, 1).record()
    append_line(run.settlement, {"interruption": "i1", **cut})
    touch(found.disk.active, "q3\n")
    for minutes, kind in ((30, "booted"), (28, "resume-began"), (20, "first-episode")):
        log_event(run.events, event(minutes, kind, "boot-resume", session))
    with held(tmp_path / "node" / "run" / "boot-resume.lock"):
        yield found


def event(
    minutes: float,
    kind: str,
    source: str,
    session: str | None = None,
    reason: str | None = None,
) -> Event:
    """An event so many minutes ago."""
    at = read_now().wall - timedelta(minutes=minutes)
    price = {"amount": 6.0, "currency": "USD", "per": "hour", "kind": "spot"}
    paid = price if kind == "start-asked" else None
    return Event(at, kind, source, "gpu-1", session=session, reason=reason, price=paid)


def publish(hosts: Hosts, age_s: float = 5.0) -> None:
    """What the follower would have put, and the assignment."""
    run = hosts.disk.run("q3")
    hosts.store.put(record_key("q3", 1), run.record.read_bytes())
    hosts.store.put(state_key("q3", "intended.json", 1, 1), run.intended.read_bytes())
    for path in (run.events, run.finished, run.settlement):
        data = path.read_bytes()
        half = len(data) // 2
        for at, piece in ((0, data[:half]), (half, data[half:])):
            hosts.store.put(segment_key("q3", "gpu-1", path.name, 1, at, len(piece)), piece)
    beat = {
        "finished": 1,
        "in_flight": 2,
        "intended": 4,
        "stage": "first-episode",
        "withheld": 1,
        "at": stamp(read_now().wall - timedelta(seconds=age_s)),
    }
    hosts.store.put(heartbeat_key("q3", "s1", 1), encoded(beat))
    hosts.store.put("instances/gpu-1/boots/000001-s1/run-q3-1.json", encoded({}))


def restarter_knows(hosts: Hosts, word: str = "RUNNING") -> None:
    """The restarter's own files."""
    own = hosts.instance
    for minutes, kind in ((40, "start-asked"), (35, "capacity-failure"), (33, "start-asked")):
        log_event(own.events, event(minutes, kind, "restarter"))
    log_event(own.events, event(31, "running", "restarter"))
    write_record(own.state, {"word": word, "since": read_now().mark.record()})
    log = DecisionLog(own.decisions)
    log.write(Decision("running", {"instance": "gpu-1", "state": word}), read_now())


def _plain(lines: list[str]) -> list[str]:
    return [" ".join(line.split()) for line in lines]


def test_on_the_guest_by_its_own_files(hosts: Hosts) -> None:
    """Progress from the disk; the store, which this guest's key may list here, knows nothing yet."""
    done = hosts.guest("status")
    lines = _plain(done.lines)
    assert (done.code, done.err) == (0, "")
    assert lines[0].startswith("q3 exploratory gpu-1 RUNNING 30 min ")
    assert lines[1] == "ok, nothing needs you facts: guest here, restarter not seen"
    assert lines[3] == "episodes 1 finished · 3 to go 25 % of 4"
    assert lines[5:7] == [
        "classes completed 1 · model failure 0 · harness error 0 · interrupted 1",
        "attempts 1 ended · 1 cut (50 %) · fresh budget",
    ]
    assert lines[-3:] == [
        "holds guest none · keep-alive none · kill switch none",
        "· not seen here: restarter",
        "rules the restarter counts: not seen from here",
    ]


def test_on_the_restarter_host_from_its_files_and_the_store(hosts: Hosts) -> None:
    """Both hosts' facts in one screen, with ages; spent and capacity failures are the restarter's."""
    publish(hosts)
    restarter_knows(hosts)
    found = hosts.restarter("status", "--json").record
    assert (found["run"], found["state"], found["over"]) == ("q3", "RUNNING", False)
    assert found["episodes"] == {"finished": 1, "in_flight": 2, "intended": 4}
    assert found["facts"]["guest"]["age_s"] == pytest.approx(5.0, abs=3.0)
    assert found["facts"]["restarter"]["here"] is False
    assert found["restarts"]["capacity_failures"] == 1
    assert found["spent"]["starts"] == 1
    assert found["spent"]["low"] == pytest.approx(31 / 60 * 6.0, abs=0.02)
    assert found["spent"]["high"] == pytest.approx(33 / 60 * 6.0, abs=0.02)
    assert found["published"]["withheld"] == 1
    assert found["published"]["last_pass_s"] == pytest.approx(5.0, abs=3.0)
    assert found["done"]["unknown"] == "not before 10 episodes are finished"
    assert [piece["cell"] for piece in found["night"]] == ["·", "!", "·", "▒", "█"]


def test_the_rules_are_counted_on_the_restarter_host(hosts: Hosts) -> None:
    """From its memory and its grant, tightened by the run's own; with the run that the instance is for."""
    more = '[grant]\nspend = { amount = 40, currency = "USD" }\nstarts = 9\n'
    hosts.configure("restarter", restarter_file(hosts.base, more=more))
    tight = StopRules(spend=Money(22, "USD"), failed_starts_s=1200.0)
    plan = replace(RECORD.plan, stop_rules=tight)
    write_record(hosts.disk.run("q3").record, replace(RECORD, plan=plan).record())
    publish(hosts)
    restarter_knows(hosts)
    counts = {"unhealthy": 1, "starts_from": 2}
    since = replace(read_now().mark, mono_s=read_now().mono_s - 600)
    memory = {"word": "RUNNING", "counts": counts, "starts": 5, "failing_since": since.record()}
    write_record(hosts.instance.state, memory)
    lines = _plain(hosts.restarter("status").lines)
    assert lines[-3:] == [
        "rules failed starts 10 of 20 min · before healthy 1 of 2 · spend 15 %",
        "grant no price cap · starts 3 of 9",
        "assigned q3, generation 1",
    ]
    assert any(line.startswith("spent 3.1") and " of 22 USD · " in line for line in lines)
    found = hosts.restarter("status", "--json").record
    assert found["rules"]["preemptions_before_healthy"] == {"seen": 1, "limit": 2}
    assert found["assigned"] == {"run": "q3", "generation": 1}


def test_what_came_before_the_run_is_not_its_own(hosts: Hosts) -> None:
    """Spend, preemptions and failures count from the moment in which the instance was assigned to it."""
    publish(hosts)
    restarter_knows(hosts)
    log_event(hosts.instance.events, event(95, "stopped", "restarter", reason="preempted"))
    assigned = replace(event(30, "run-assigned", "restarter"), detail={"run": "q3"})
    log_event(hosts.instance.events, assigned)
    found = hosts.restarter("status", "--json").record
    assert (found["restarts"]["capacity_failures"], found["attempts"]["preemptions"]) == (0, 0)
    assert found["spent"]["high"] == pytest.approx(30 / 60 * 6.0, abs=0.02)


def test_more_than_three_instances_are_a_line_each(hosts: Hosts) -> None:
    """A screen each up to three; by name the whole one."""
    text = (hosts.base / "restarter" / "config.toml").read_text()
    for number in (2, 3):
        table = f'provider = "local"\nid = "{number}"\ncloud = "/nowhere"\n'
        text += f"\n[instance.gpu-{number}]\n{table}"
    hosts.configure("restarter", text)
    assert sum("gpu-" in line for line in hosts.restarter("status").lines) == 3
    hosts.configure("restarter", f"{text}\n[instance.gpu-4]\n{table}")
    many = hosts.restarter("status")
    assert (many.code, len(many.lines)) == (1, 5)
    assert many.lines[0] == "4 instances, 4 need you  (spoteval status NAME shows one)"
    assert len(hosts.restarter("status", "gpu-4").lines) > 5
    assert len(hosts.restarter("status", "--json").lines) == 4


def test_only_finished_episodes_that_are_intended_count_as_published(hosts: Hosts) -> None:
    """A start that named more has left others in the store: they are not so many of these."""
    publish(hosts)
    for number in (0, 7, 8):
        hosts.store.put(manifest_key("q3", f"e/{number}", 1), encoded({}))
    lines = _plain(hosts.laptop("status").lines)
    assert "published 1 of 1 · last pass 5 s ago · withheld 1" in lines


def test_on_a_laptop_from_the_store_alone(hosts: Hosts) -> None:
    """The newest run by itself; the state is the restarter's and not seen."""
    publish(hosts)
    lines = _plain(hosts.laptop("status").lines)
    assert lines[0].startswith("q3 exploratory gpu-1 state not seen ")
    assert lines[3] == "episodes 1 finished · 2 in flight · 1 to go 25 % of 4"
    assert "published 0 of 1 · last pass 5 s ago · withheld 1" in lines
    assert hosts.laptop("status", "q4").err.startswith('status: "q4": no such run in file://')


def test_a_living_restarter_is_the_present(hosts: Hosts) -> None:
    """While it holds its lock its facts have no age."""
    restarter_knows(hosts)
    with held(hosts.instance.state_root / "restarter.lock"):
        found = hosts.restarter("status", "--json").record
    assert found["facts"]["restarter"] == {"age_s": 0.0, "here": True, "stale": False}
    assert found["run"] is None


def test_an_old_heartbeat_is_stale(hosts: Hosts) -> None:
    """More than two heartbeats late: said, never shown as the present."""
    publish(hosts, age_s=7200)
    lines = _plain(hosts.laptop("status").lines)
    assert "facts: guest STALE, 2 h old, restarter not seen" in (lines[1], lines[2])[0]


def test_a_guest_that_is_silent_is_waited_for(hosts: Hosts) -> None:
    """A machine that is on and says nothing is not "ok"; one that is off has nothing to say."""
    publish(hosts, age_s=7200)
    for word, second in (
        ("RUNNING", "waiting: no word from the guest for 2 h"),
        ("STOPPED", "ok, nothing needs you"),
    ):
        restarter_knows(hosts, word)
        with held(hosts.instance.state_root / "restarter.lock"):
            found = hosts.restarter("status", "--json").record
        assert found["second_line"] == second
    assert hosts.laptop("status", "--json").record["second_line"] == "ok, nothing needs you"


def test_what_needs_a_person_is_the_exit_code(hosts: Hosts) -> None:
    """Exit 1 while it is open, 0 once the guest went on."""
    events = hosts.disk.run("q3").events
    log_event(events, event(2, NEEDS_YOU, "boot-resume", "s", "GPU changed H200 -> H100"))
    done = hosts.guest("status")
    assert done.code == 1
    assert done.lines[1] == "  needs you: GPU changed H200 -> H100 → spoteval events"
    assert hosts.guest("status", "--json").code == 1
    log_event(events, event(1, "run-started", "boot-resume", "s"))
    assert hosts.guest("status").code == 0


def test_a_damaged_record_needs_a_person(hosts: Hosts) -> None:
    """It is never taken for another one."""
    hosts.disk.run("q3").record.write_bytes(b'{"format": 1, "na')
    done = hosts.guest("status")
    assert done.code == 1
    assert "run.json: damaged" in " ".join(" ".join(done.lines[1:4]).split())


def test_a_guest_without_agents_needs_a_person(tmp_path: Path) -> None:
    """Nobody would resume, publish or stop: said, unless the run is over."""
    hosts = made_hosts(tmp_path)
    write_record(hosts.disk.run("q3").record, RECORD.record())
    touch(hosts.disk.active, "q3\n")
    done = hosts.guest("status")
    assert done.code == 1
    assert done.lines[1] == "  needs you: no agent of spoteval runs here → spoteval check"
    write_record(hosts.disk.run("q3").end, {"reason": "complete"})
    assert hosts.guest("status").code == 0


@pytest.mark.parametrize(
    ("pairs", "text"),
    [
        ({"stage": "server", "name": "policy", "saw": "loading"}, "server policy: loading"),
        ({"stage": "guest-hold", "hold_reason": "tp 4 -> 8"}, "guest-hold: tp 4 -> 8"),
        ({"stage": "running"}, None),
    ],
)
def test_what_the_guest_waits_for(hosts: Hosts, pairs: dict[str, str], text: str | None) -> None:
    """boot-resume's last line in words; running is no waiting."""
    log = DecisionLog(hosts.disk.root / "decisions" / "boot-resume.jsonl")
    log.write(Decision("wait", pairs, agent="boot-resume"), read_now())
    second = hosts.guest("status", "--json").record["second_line"]
    assert second == (f"waiting: {text}" if text else "ok, nothing needs you")


@pytest.mark.parametrize(
    ("stage", "second"),
    [
        ("healthy", "waiting: the guest resumes: healthy"),
        ("interrupted", "waiting: the guest stops: interrupted"),
        ("first-episode", "ok, nothing needs you"),
    ],
)
def test_what_the_guest_is_at(hosts: Hosts, stage: str, second: str) -> None:
    """By its last heartbeat, while the machine is on."""
    publish(hosts)
    beat = {"finished": 1, "in_flight": 0, "intended": 4, "stage": stage}
    later = stamp(read_now().wall)
    hosts.store.put(heartbeat_key("q3", "s1", 2), encoded({**beat, "at": later}))
    restarter_knows(hosts)
    with held(hosts.instance.state_root / "restarter.lock"):
        found = hosts.restarter("status", "--json").record
    assert found["second_line"] == second


def test_what_the_restarter_waits_for(hosts: Hosts) -> None:
    """Its decision and its sentence."""
    log = DecisionLog(hosts.instance.decisions)
    log.write(Decision("backoff", {"instance": "gpu-1"}, "no capacity twice"), read_now())
    with held(hosts.instance.state_root / "restarter.lock"):
        found = hosts.restarter("status", "--json")
    assert found.record["second_line"] == "waiting: backoff: no capacity twice"
    assert found.code == 0


def test_a_restarter_that_does_not_run_needs_a_person(hosts: Hosts) -> None:
    """On its host nothing is started without it, whatever its files say; elsewhere nobody can know."""
    restarter_knows(hosts)
    publish(hosts)
    done = hosts.restarter("status")
    assert done.code == 1
    assert " ".join(" ".join(done.lines[1:3]).split()) == (
        "needs you: the restarter does not run here: nothing is started"
        " → systemctl enable --now spoteval-restarter"
    )
    assert hosts.laptop("status").code == 0


def test_a_rule_that_holds_needs_a_person(hosts: Hosts) -> None:
    """Nothing goes on until somebody lifts it; a person's own hold is only waited under."""
    with held(hosts.instance.state_root / "restarter.lock"):
        hosts.laptop("hold", "place", "gpu-1", "--reason", "tp 4 -> 8")
        assert hosts.restarter("status").code == 0
        words = ("--reason", "45 min of failed starts", "--by", "restarter", "--id", "rule-1")
        hosts.laptop("hold", "place", "gpu-1", *words)
        found = hosts.restarter("status", "--json")
    assert (found.code, found.record["second_line"]) == (
        1,
        "needs you: held by rule: 45 min of failed starts → spoteval hold release gpu-1",
    )


def test_the_provider_is_never_asked(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not by status, wherever it is typed."""
    publish(hosts)
    restarter_knows(hosts)

    def asked(kind: str, table: object) -> None:
        raise AssertionError(f"{kind} was opened")

    monkeypatch.setattr("spoteval.provider.open.open_provider", asked)
    for host in (hosts.guest, hosts.restarter, hosts.laptop):
        assert host("status").out


def test_a_store_that_is_away_leaves_gaps(hosts: Hosts) -> None:
    """The guest's own figures stand; holds in the store are not readable."""
    (hosts.base / "store").rmdir()
    done = hosts.guest("status")
    assert done.code == 0
    assert _plain(done.lines)[3] == "episodes 1 finished · 3 to go 25 % of 4"
    assert "store not readable here: file://" in " ".join(" ".join(done.lines[-4:]).split())


def test_events_of_both_hosts_in_one_order(hosts: Hosts) -> None:
    """The restarter's own and the guest's published ones, oldest first, each once."""
    publish(hosts)
    restarter_knows(hosts)
    done = hosts.restarter("events")
    kinds = [line.split()[3] for line in done.lines[1:]]
    assert kinds == [
        "start-asked",
        "capacity-failure",
        "start-asked",
        "running",
        "booted",
        "resume-began",
        "first-episode",
    ]
    assert done.lines[0].split("  ")[0] == "AT (UTC)"
    assert done.lines[1].endswith("restarter    6.00 USD/hour spot")
    first = json.loads(hosts.restarter("events", "--json").lines[0])
    assert (first["kind"], first["price"]["amount"]) == ("start-asked", 6.0)


def test_an_event_says_nothing_twice(hosts: Hosts) -> None:
    """What the event itself says is left out of its detail, as are flags that are not set."""
    hold = {"id": "h", "instance": "gpu-1", "reason": "x", "at": "now", "no_resume": False}
    story = (
        Event(read_now().wall, "hold-seen", "restarter", "gpu-1", reason="x", detail=hold),
        Event(
            read_now().wall, "start-answered", "restarter", "gpu-1", None, "accepted", "accepted"
        ),
    )
    for one in story:
        log_event(hosts.instance.events, one)
    assert [line.split("restarter  ")[1] for line in hosts.restarter("events").lines[1:]] == [
        "x id=h",
        "accepted",
    ]


def test_no_events_yet(tmp_path: Path) -> None:
    """An empty table is a sentence."""
    assert made_hosts(tmp_path).restarter("events").out == "no events yet\n"


def test_decisions_on_both_hosts(hosts: Hosts) -> None:
    """What was kept, oldest first, by agent where one is asked for."""
    restarter_knows(hosts)
    line = hosts.restarter("decisions").lines[0]
    assert line.split(" ", 1)[1] == "decision=running instance=gpu-1 state=RUNNING"
    assert json.loads(hosts.restarter("decisions", "--json").out)["state"] == "RUNNING"
    for agent in ("idle-guard", "boot-resume"):
        log = DecisionLog(hosts.disk.root / "decisions" / f"{agent}.jsonl")
        log.write(Decision("wait", {"stage": "x"}, agent=agent), read_now())
    assert len(hosts.guest("decisions").lines) == 2
    only = hosts.guest("decisions", "--agent", "idle-guard", "--json")
    assert json.loads(only.out)["agent"] == "idle-guard"
    assert hosts.laptop("decisions").code == 3


class _Story:
    """A waiting in which something happens, and that ^C ends."""

    def __init__(self, *acts: object) -> None:
        self.acts = list(acts)

    def wait(self, timeout_s: float) -> Wake:
        """The next act; after the last one, ^C."""
        if not self.acts:
            raise click.Abort
        act = self.acts.pop(0)
        assert callable(act)
        act()
        return Wake("time")


def _following(monkeypatch: pytest.MonkeyPatch, *acts: object) -> None:
    @contextmanager
    def patience() -> Iterator[Waiting]:
        yield _Story(*acts)

    monkeypatch.setattr("spoteval.cli.follow.patience", patience)


def test_following_prints_what_is_new(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each event and decision once, as it comes; ^C is the good end."""
    own = hosts.instance
    log = DecisionLog(own.decisions)
    log.write(Decision("grace", {"instance": "gpu-1"}), read_now())
    log_event(own.events, event(5, "stopped", "restarter", reason="preempted"))
    _following(
        monkeypatch,
        lambda: log_event(own.events, event(1, "running", "restarter")),
        lambda: log.write(Decision("running", {"instance": "gpu-1"}), read_now()),
    )
    done = hosts.restarter("events", "-f")
    assert (done.code, [line.split()[3] for line in done.lines[1:]]) == (0, ["stopped", "running"])
    _following(monkeypatch, lambda: log.write(Decision("held", {}), read_now()))
    assert [line.split()[1] for line in hosts.restarter("decisions", "-f").lines] == [
        "decision=grace",
        "decision=running",
        "decision=held",
    ]


def test_following_the_status_prints_changes(hosts: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not on a terminal: the passing of time alone is no news."""
    finished = Attempt("e/2", "c", Outcome.COMPLETED, 1).record()
    _following(
        monkeypatch,
        lambda: None,
        lambda: append_line(hosts.disk.run("q3").finished, finished),
    )
    done = hosts.guest("status", "-f", "--json")
    counts = [json.loads(line)["episodes"]["finished"] for line in done.lines]
    assert (done.code, counts) == (0, [1, 2])


def test_pull_and_verify(hosts: Hosts) -> None:
    """Into an empty directory, verified; again refused; a changed byte is found."""
    publish(hosts)
    target = hosts.base / "pulled"
    done = hosts.laptop("pull", "q3", str(target))
    assert done.code == 0
    assert done.out.endswith(f" into {target}, every byte verified\n")
    assert (target / "events.jsonl").read_bytes() == hosts.disk.run("q3").events.read_bytes()
    again = hosts.laptop("pull", "q3", str(target))
    assert again.code == 3
    assert again.err.startswith(f'pull: "{target}" is not empty (')
    assert hosts.laptop("verify", str(target)).code == 0
    (target / "events.jsonl").write_text("x")
    wrong = hosts.laptop("verify", str(target), "--json")
    assert (wrong.code, wrong.record["verified"]) == (1, False)
    assert wrong.err.splitlines()[-1] == "verify: 1 of 5 files differ"
    assert wrong.record["differences"] == ["events.jsonl: differs: 1 bytes, pulled were 379"]
    read = hosts.laptop("verify", str(target))
    assert read.err.startswith("differs: events.jsonl: differs: 1 bytes")


def test_pull_and_verify_refuse(hosts: Hosts) -> None:
    """No such run, no name, no pulled directory: exit 3, one line."""
    target = str(hosts.base / "pulled")
    assert hosts.laptop("pull", "q4", target).err == (
        f'pull: "q4": no such run in {hosts.store.url} (spoteval run list)\n'
    )
    assert hosts.laptop("pull", "../q4", target).code == 3
    assert hosts.laptop("verify", target).err == (
        f'verify: "{target}": no .spoteval-pull.json (not made by spoteval pull)\n'
    )
