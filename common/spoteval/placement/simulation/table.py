"""All policies against many windows: cost by what nobody can beat, deadlines missed, cost by on demand."""

import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import NamedTuple

from spoteval.placement.policies import POLICIES, Order, Policy
from spoteval.placement.simulation.bound import bound, clairvoyant
from spoteval.placement.simulation.engine import Job, Outcome, play
from spoteval.placement.simulation.market import Market, Weather

BASIS = "on-demand, first come"
"""What a run costs that thinks of nothing: every ratio to on demand is to it."""
NOISE = 0.3
"""Standard deviation of the logarithm of what is believed of a duration, around the truth."""


@dataclass(frozen=True, slots=True)
class Task:
    """What is to be done: lognormal durations, hours of work with all slots busy, and the prices."""

    median_h: float
    sigma: float
    work_h: float
    slots: int
    deadline_h: float
    restart_h: float
    price: float
    on_demand: float = 1.0

    def job(self, random: Random) -> Job:
        """Episodes until the work is full, and what is believed of them."""
        durations: list[float] = []
        left = self.work_h * self.slots
        while left > 0:
            duration = self.median_h * math.exp(random.gauss(0, self.sigma))
            durations.append(duration)
            left -= duration
        return Job(
            durations=durations,
            estimates=[duration * math.exp(random.gauss(0, NOISE)) for duration in durations],
            slots=self.slots,
            restart_h=self.restart_h,
            deadline_h=self.deadline_h,
            spot_price=self.price,
            on_demand_price=self.on_demand,
        )


class Sample(NamedTuple):
    """One policy in one window."""

    cost: float
    least: float
    missed: bool
    over_on_demand: float
    cut_per_episode: float


@dataclass(frozen=True, slots=True)
class Row:
    """One policy over all windows: its costs by their bounds, sum by sum, and the mean of single windows.

    The sums are what a person pays; a window whose bound is small weighs as much as any other in the mean.
    """

    sums: float
    mean: float
    least: float
    most: float
    missed: float
    over_on_demand: float
    cut_per_episode: float


@dataclass(frozen=True, slots=True)
class Played:
    """All policies in one window, and the feasible plan that knows all, by the bound."""

    samples: Mapping[str, Sample]
    clairvoyant: float


def windows(market: Market, task: Task, samples: int, random: Random) -> Iterator[Market]:
    """Stretches of recorded traces, as long as the deadline, that begin at random; raises ValueError if none fits."""
    low = max(zone.begin_h for zone in market)
    high = min(zone.end_h for zone in market) - task.deadline_h
    if high <= low:
        raise ValueError(
            f"the traces share {max(0.0, high + task.deadline_h - low):.1f} h: shorter than the deadline"
        )
    for _ in range(samples):
        begin = random.uniform(low, high)
        yield [zone.window(begin, task.deadline_h) for zone in market]


def drawn(weather: Weather, task: Task, starts: int, seed: int) -> Iterator[Market]:
    """Starts in one generated trace, one deadline apart each, so that none shares a spell with another's window."""
    random = Random(seed)
    whole = weather.zone(random, task.deadline_h * starts)
    for index in range(starts):
        yield [whole.window(index * task.deadline_h, task.deadline_h)]


Policies = Mapping[str, tuple[Policy, Order]]


def played(task: Task, market: Market, random: Random, policies: Policies = POLICIES) -> Played:
    """Each policy on the same episodes in the same window; the basis must be among them."""
    job = task.job(random)
    least = bound(job, market)
    found = {name: play(job, market, policy, order) for name, (policy, order) in policies.items()}
    basis = _whole(found[BASIS], job)
    samples = {name: _sample(one, job, least, basis) for name, one in found.items()}
    return Played(samples, clairvoyant(job, market) / least)


def sampled(market: Market, task: Task, samples: int, seed: int) -> list[Played]:
    """Every policy from so many starts at random in recorded traces; raises ValueError as `windows`."""
    random = Random(seed)
    return [played(task, one, random) for one in windows(market, task, samples, random)]


def rows(found: Iterable[Played]) -> dict[str, Row]:
    """Means over windows; least and most of a single one."""
    by_name: dict[str, list[Sample]] = {}
    for one in found:
        for name, sample in one.samples.items():
            by_name.setdefault(name, []).append(sample)
    return {name: _row(samples) for name, samples in by_name.items()}


def over_cells(cells: Sequence[Mapping[str, Row]]) -> dict[str, Row]:
    """The mean over the cells of a table; least and most of the cells' sums."""

    def mean(name: str, of: Callable[[Row], float]) -> float:
        return statistics.fmean(of(cell[name]) for cell in cells)

    return {
        name: Row(
            sums=mean(name, lambda row: row.sums),
            mean=mean(name, lambda row: row.mean),
            least=min(cell[name].sums for cell in cells),
            most=max(cell[name].sums for cell in cells),
            missed=mean(name, lambda row: row.missed),
            over_on_demand=mean(name, lambda row: row.over_on_demand),
            cut_per_episode=mean(name, lambda row: row.cut_per_episode),
        )
        for name in cells[0]
    }


def _sample(one: Outcome, job: Job, least: float, basis: float) -> Sample:
    cost = _whole(one, job)
    return Sample(cost, least, one.missed, cost / basis, one.cut / len(job.durations))


def _whole(one: Outcome, job: Job) -> float:
    """The cost, as if what was never finished had cost as much as the rest."""
    return one.cost * len(job.durations) / one.finished if one.finished else one.cost


def _row(samples: Sequence[Sample]) -> Row:
    ratios = [sample.cost / sample.least for sample in samples]
    whole = math.fsum(sample.cost for sample in samples)
    return Row(
        sums=whole / math.fsum(sample.least for sample in samples),
        mean=statistics.fmean(ratios),
        least=min(ratios),
        most=max(ratios),
        missed=statistics.fmean(sample.missed for sample in samples),
        over_on_demand=statistics.fmean(sample.over_on_demand for sample in samples),
        cut_per_episode=statistics.fmean(sample.cut_per_episode for sample in samples),
    )
