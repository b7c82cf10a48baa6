"""The real restarter over days of virtual time: market, guest, people, faults and crashes, all from one seed."""

from dataclasses import dataclass, field, replace
from datetime import timedelta
from pathlib import Path

from restarter_story import NOON
from sim.checks_request import AtRequest
from sim.checks_step import OVER_S, AfterStep, Stepped
from sim.cutting import Points
from sim.fault_plan import FaultPlan, Faults
from sim.figures import Figures, lives_s
from sim.in_force import InForce
from sim.rows_seen import RowsSeen, rows_there
from sim.scene import OTHER_TYPE, TYPE, Scene
from sim.truth import LATE_S, Truth, Violated
from sim.virtual_clock import JUMP_S, VirtualClock
from sim.virtual_cloud import VirtualCloud
from sim.virtual_guest import VirtualGuest
from sim.virtual_host import VirtualHost
from sim.virtual_people import People
from sim.virtual_provider import Check, VirtualProvider
from sim.virtual_store import DiskStore, Shelf, VirtualStore
from spoteval.decision import Decision
from spoteval.files import read_lines
from spoteval.local.market import Market, drawn
from spoteval.run import StopRules
from spoteval.settings.money import Money

RARE = frozenset([2, 4, 5, 6, 10, 11, 12, 14, 16, 17])
"""Rows that few cycles reach: faults strike more often around them, or they would never meet."""
BOOST, RARE_BOOST = 7.0, 10.0
SILENT_S = 2700.0
SPOILING = ("timeout", "slow", "lie", "no-price", "hold-at-price", "slow-disk")
"""Faults after which a start or stop may rightly come a poll later."""


@dataclass
class Sim:
    """One history. `run` goes on until enough was preempted; it raises Violated."""

    root: Path
    scene: Scene
    points: Points
    seconds: float = 0.0
    dear_until_s: float = 0.0
    trace: list[tuple[float, str, str]] = field(default_factory=list)
    figures: Figures = field(default_factory=Figures)

    def __post_init__(self) -> None:
        scene, calm = self.scene, self.scene.rough == 0
        self.plan = FaultPlan(scene.seed, scene.rough, scene.only)
        self.rows = RowsSeen()
        self.faults = Faults()
        self.shelf = Shelf(lambda: self.seconds, self._told)
        self.people = People(self.shelf)
        self.people.until_s = 3600.0 * scene.until_h
        self.guest = VirtualGuest(self.people, scene.seed, calm, idle=scene.idle and not calm)
        market = Market(scene.seed, scene.weather)
        self.cloud = VirtualCloud(market, self.guest.changed, calm=calm)
        rows = frozenset(rows_there())
        self.truth = Truth(self.people, self.cloud, self.guest, scene.poll, rows)
        self.at_request, self.after_step = AtRequest(self.truth), AfterStep(self.truth)
        self._assign()
        self.hosts = [self._host(name) for name in (("a", "b") if scene.two else ("a",))]
        self._stepped_s = {host.name: 0.0 for host in self.hosts}
        self._last_seen: dict[str, object] = dict.fromkeys(self._stepped_s)
        self._in_force = {host.name: InForce() for host in self.hosts}

    def run(self, preemptions: int, cycles: int = 1_000_000) -> Figures:
        """Until so many preemptions, or cycles, have been."""
        with self.rows.watching():
            while self.cloud.preempted < preemptions and self.figures.cycles < cycles:
                self._step()
        self._check_events()
        self._sum_up()
        return self.figures

    # One step

    def _step(self) -> None:
        host = min(self.hosts, key=lambda one: one.due_s)
        self._pass(host.due_s - self.seconds)
        if host.down:
            host.open()
        self.faults = self.plan.next(self._boost(host))
        self._world_fails(host)
        starts, stops = host.provider.starts, host.provider.stops
        self.at_request.starts_in_cycle = 0
        decision = host.cycle(self.faults)
        started, stopped = host.provider.starts > starts, host.provider.stops > stops
        word = decision.word if decision is not None else "crash"
        self.trace.append((self.seconds, host.name, word))
        self._count(host, asked=started or stopped)
        self._heard(host, started=started)
        self._judge(host, decision, started=started)
        dies = "power-cut" in self.faults or "unsynced" in self.faults
        alive = decision is not None and not dies
        pause_s = host.pause_s(decision) if alive and decision else self._die(host)
        host.due_s = self.seconds + pause_s
        self._between()

    def _boost(self, host: VirtualHost) -> float:
        """More goes wrong where something has just changed, so that it will be written, and around rare rows."""
        people = self.people
        world = (self.cloud.state, self.cloud.began_s, people.touched, len(people.placed))
        changed = self.cloud.spell is not None or world != self._last_seen[host.name]
        self._last_seen[host.name] = world
        if self._rare_soon():
            return RARE_BOOST
        return BOOST if changed or self.rows.last in RARE else 1.0

    def _rare_soon(self) -> bool:
        """Whether a row that few cycles reach is due in these looks, or was just now: it must come all the same."""
        cloud, poll, seconds = self.cloud, self.scene.poll, self.seconds
        if cloud.state == "STARTING":
            return seconds - cloud.began_s >= poll.start_window_s - 4 * poll.in_motion_s
        if cloud.state != "RUNNING" or self.people.held:
            return False
        assert cloud.last_start_s is not None
        up_s = seconds - cloud.last_start_s
        over_s = seconds - self.people.over_from_s if self.people.over else 0.0
        dues = [OVER_S - min(up_s, over_s)]
        if self.guest.silent(cloud.boot):
            dues += [SILENT_S - up_s, 2 * SILENT_S - up_s]
        return any(abs(due_s) <= 3 * poll.every_s for due_s in dues)

    def _world_fails(self, host: VirtualHost) -> None:
        faults, seconds = self.faults, self.seconds
        self.shelf.late_s = faults.within("late-list", 0.0, LATE_S)
        if (share := faults.kinds.get("store-away")) is not None:
            host.away_until_s = seconds + (30.0 + 600.0 * share if share < 0.97 else 7200.0 * share)
        host.store.away = seconds < host.away_until_s
        if (share := faults.kinds.get("clock-jump")) is not None:
            host.clock.jump(JUMP_S if share < 0.5 else -JUMP_S, 60.0 + 3600.0 * share)
        if (share := faults.kinds.get("unsynced")) is not None:
            for_s = 60.0 + 2000.0 * share if share < 0.8 else 9000.0 + 54_000.0 * (share - 0.8)
            host.clock.jump(-3600.0 * share, for_s)
        if "dear" in faults:
            self.dear_until_s = seconds + faults.within("dear", 30.0, 900.0)
        for one in self.hosts:
            one.provider.dear = seconds < self.dear_until_s

    def _count(self, host: VirtualHost, *, asked: bool) -> None:
        row, figures = self.rows.last, self.figures
        figures.cycles += 1
        figures.rows[row] += 1
        for kind in self._in_force[host.name].kinds(host, self.faults, asked=asked):
            figures.cells[row, kind] += 1
        if self.scene.two:
            figures.cells[row, "two"] += 1

    def _heard(self, host: VirtualHost, *, started: bool) -> None:
        asked = self.truth.asked
        if asked is None:
            return
        if started:  # what was refused is not open, whether who asked lived to hear it or not
            asked.reply = host.provider.reply
        elif self.cloud.state not in ("STARTING", "RUNNING"):
            asked.polls += 1
        elif self.cloud.state == "RUNNING" and not self.faults.kinds.keys() & {"timeout", "lie"}:
            asked.seen_on = True

    def _judge(self, host: VirtualHost, decision: Decision | None, *, started: bool) -> None:
        spent_s = self.seconds - self._stepped_s[host.name]
        self._stepped_s[host.name] = self.seconds
        if "lie" in self.faults:
            host.confused_s = self.seconds
        credit_s = self._credit_s(host, decision)
        step = Stepped(host, self.rows.last, decision, started, spent_s, credit_s)
        self.after_step.judge(step)

    def _credit_s(self, host: VirtualHost, decision: Decision | None) -> float:
        """What the faults of this cycle excuse."""
        poll = self.scene.poll
        if "lie" in self.faults:
            return poll.grace_s + poll.every_s
        spoilt = host.store.away or host.provider.dear or host.store.lost_now
        spoilt = spoilt or any(kind in self.faults for kind in SPOILING)
        return poll.every_s if decision is None or spoilt else 0.0

    def _die(self, host: VirtualHost) -> float:
        """The process is gone; sometimes its host was too, and a power cut may leave zeros where its memory was."""
        self.figures.crashes += 1
        self.people.deaths += 1
        host.down = True
        cut = self.faults.kinds.get("power-cut")
        if cut is not None or "unsynced" in self.faults:
            host.clock.reboot()
            self.after_step.anew()
        if cut is not None and cut < 0.5:
            host.power_cut()
            host.confused_s = self.seconds
        return 1.0 + 59.0 * self.faults.pause

    def _between(self) -> None:
        """People and the guest act some time before the next cycle."""
        until_s = min(host.due_s for host in self.hosts)
        self._pass((until_s - self.seconds) * self.faults.moment)
        self.guest.acts(self.cloud)
        self._people_act()

    def _people_act(self) -> None:
        people, faults = self.people, self.faults
        if "touch" in faults:
            people.touch()
        if "hold" in faults or "hold-stop" in faults:
            people.place("operator", ensure_stopped="hold-stop" in faults)
        if "console-stop" in faults:
            people.console_stop(self.cloud)
        if people.held and "lift" in faults:
            people.lift(faults.kinds["lift"])
        if "adopt" in faults and self.scene.two:
            self._adopt(faults.kinds["adopt"])
        if "console-start" in faults and (people.over or self._unanswered):
            people.console_start(self.cloud)
        self._edit_grant()
        people.insist()
        if people.over and faults.kinds.get("next-run", 1.0) < self._next_run_share:
            self._assign()

    @property
    def _next_run_share(self) -> float:
        """Of the moments at which a run could follow: few while its machine is on, or nobody thinks of it."""
        if self.cloud.state == "RUNNING":
            return 0.0 if self.guest.silent(self.cloud.boot) else 0.03  # it is typed on the guest
        return 0.15 if self.scene.idle else 1.0

    @property
    def _unanswered(self) -> bool:
        """Whether the last start has had no answer."""
        asked = self.truth.asked
        return asked is not None and asked.reply is not None and asked.reply.kind == "unknown"

    def _edit_grant(self) -> None:
        """Somebody edits the host file, and every restarter is restarted with it."""
        people, faults = self.people, self.faults
        if "misfit" in faults and people.fits:
            people.misfit()
        elif "config" not in faults or not people.mend(3600.0 + 36000.0 * faults.kinds["config"]):
            return
        until = NOON + timedelta(seconds=people.until_s)
        grant = replace(self.scene.grant, until=until, types=(TYPE if people.fits else OTHER_TYPE,))
        for host in self.hosts:
            host.policy, host.down = replace(host.policy, grant=grant), True

    def _adopt(self, share: float) -> None:
        host = self.hosts[int(share * len(self.hosts))]
        self.people.adopt(host.identity, host.name)

    def _assign(self) -> None:
        draw = drawn(self.scene.seed, "run", self.people.run)
        work_s = draw.uniform(*((0.3, 1.5) if self.scene.idle else (2.0, 10.0))) * 3600.0
        late = self.scene.rough > 0 and draw.random() < 0.15
        deadline_s = self.seconds + work_s * draw.uniform(0.5, 1.5) if late else None
        rules = StopRules(failed_starts_s=1800.0, spend=Money(9.0, "USD"))
        tight = draw.random() < 0.2
        self.people.next_run(self.cloud.boot, work_s, deadline_s, rules if tight else StopRules())

    # The parts

    def _host(self, name: str) -> VirtualHost:
        root = self.root / name
        provider = VirtualProvider(
            self.cloud, self.points, self._check(name), self._pass, self._at_price
        )
        clock = VirtualClock(name, lambda: self.seconds)
        scene, store = self.scene, self._store(name)
        host = VirtualHost(
            name, root, clock, provider, store, scene.poll, scene.grant, self._pass, self.points
        )
        self.people.hosts.append(host.paths)
        return host

    def _store(self, name: str) -> VirtualStore | DiskStore:
        if not self.scene.disk:
            return VirtualStore(self.shelf, name)
        (self.root / "store").mkdir(parents=True, exist_ok=True)
        return DiskStore(self.shelf, name, self.root / "store")

    def _check(self, name: str) -> Check:
        def check(verb: str) -> None:
            host = next(one for one in self.hosts if one.name == name)
            if verb == "start":
                self.at_request.start(host, self.faults)
            elif verb == "stop":
                self.at_request.stop(host)
            else:
                self.at_request.price(host)

        return check

    def _at_price(self) -> None:
        self.people.place("operator", ensure_stopped=self.faults.kinds["hold-at-price"] < 0.5)

    def _told(self, key: str, data: bytes, by: str) -> None:
        hold = self.people.told(key, data, by)
        if hold is not None:
            self.after_step.own_hold(hold, by, lied="lie" in self.faults)

    def _pass(self, seconds: float) -> None:
        self.seconds += max(0.0, seconds)
        self.cloud.advance(self.seconds)

    # The end

    def _check_events(self) -> None:
        """Nothing is told twice and nothing is left out, whatever was cut: each life begins and ends once."""
        for host in self.hosts:
            kinds = [record.get("kind") for record in read_lines(host.paths.events).records]
            self.figures.capacity_failures += kinds.count("capacity-failure")
            began, ended = kinds.count("running"), kinds.count("stopped")
            if ended not in (began, began - 1):
                raise Violated("I9", f"{began} lives began and {ended} ended in the events")
            if kinds.count("start-asked") < host.provider.starts:
                raise Violated("I9", "more start requests went out than events tell")

    def _sum_up(self) -> None:
        figures, hosts = self.figures, self.hosts
        figures.histories, figures.days = 1, self.seconds / 86400
        figures.preemptions, figures.runs = self.cloud.preempted, self.people.run
        figures.starts = sum(host.provider.starts for host in hosts)
        figures.stops = sum(host.provider.stops for host in hosts)
        figures.answers_lost = sum(host.provider.answers_lost for host in hosts)
        figures.holds, figures.releases = len(self.people.placed), self.people.releases
        figures.lives_s = lives_s(self.cloud.history)
