"""The arithmetic of machines that are taken away at random: reads inputs, prints results, touches no cloud.

    python3 -I spot_math.py [--json] episode|restart|tokens ...

One file, standard library only, Python 3.10 and later; `spoteval math` is the same file. Lives are exponential with
mean tau: an episode of D hours is interrupted with probability 1 - exp(-D/tau), whatever the age of the machine.
"""

import argparse
import json
import math
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, localcontext
from typing import NamedTuple, NoReturn

_UNITS_H = {"ms": 1 / 3.6e6, "s": 1 / 3600, "min": 1 / 60, "h": 1.0, "d": 24.0}
_SIZES_GB = {"MB": 1e-3, "GB": 1.0, "TB": 1e3}
_NUMBER = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z/]*)")
_MOST_BUDGETS = 1000  # a series with one term for each duration that fits into the budget
_HOUR_S, _MILLION = 3600.0, 1e6

Row = tuple[str, float, str]
"""Key with its unit, value, what it is in words."""


class Rerun(NamedTuple):
    """An episode that starts over until nothing cuts it: means, of one slot, from a ready machine."""

    attempts: float
    billed_h: float
    preemptions: float
    overhead_factor: float


class Limited(NamedTuple):
    """An episode with a limit: probability that it ends by itself, mean attempts, mean useful slot-hours."""

    completed: float
    attempts: float
    slot_h: float


def duration_h(text: str) -> float:
    """Hours of a duration such as "20min", "2h" or "1d"; raises ValueError otherwise, also for none at all."""
    return _with_unit(text, _UNITS_H, 'a duration such as "20min" or "2h"')


def size_gb(text: str) -> float:
    """Gigabytes (powers of ten) of a size such as "700GB"; raises ValueError otherwise."""
    return _with_unit(text, _SIZES_GB, 'a size such as "700GB"')


def speed_gb_per_s(text: str) -> float:
    """Gigabytes a second of a speed such as "2GB/s"; raises ValueError otherwise."""
    speeds = {f"{unit}/s": factor for unit, factor in _SIZES_GB.items()}
    return _with_unit(text, speeds, 'a speed such as "2GB/s"')


def interrupted_share(duration_h: float, tau_h: float) -> float:
    """Probability that an episode of this duration is cut: 1 - exp(-D/tau)."""
    return -math.expm1(-duration_h / tau_h)


def finished_per_preemption(slots: float, duration_h: float, tau_h: float) -> float:
    """Episodes of slots that are refilled at once that end between two preemptions: N / (exp(D/tau) - 1)."""
    return slots / _expm1(duration_h / tau_h)


def rerun_fresh(duration_h: float, restart_h: float, tau_h: float) -> Rerun:
    """Run again from scratch, each time with the whole budget.

    Billed from ready R = tau exp(S/tau) (exp(D/tau) - 1), from the pair R = tau p + p G and
    G = tau (1 - exp(-S/tau)) + exp(-S/tau) R + (1 - exp(-S/tau)) G; preemptions are R/tau.
    """
    growth = _expm1(duration_h / tau_h)
    billed_h = tau_h * _exp(restart_h / tau_h) * growth
    return Rerun(1 + growth, billed_h, billed_h / tau_h, billed_h / duration_h)


def remaining_budget(duration_h: float, budget_h: float, tau_h: float) -> Limited:
    """Run again with what the cut attempts left of the budget B; attempts are not known in closed form (nan).

    With s = B - D the probability h(s) of an end by itself obeys h(s) = q + int_0^min(s,D) exp(-a/tau)/tau h(s-a) da;
    its Laplace transform gives the sum over j below. Terms alternate and cancel: hence decimals.
    Raises ValueError for a budget above 1000 durations, or below one.
    """
    if not duration_h <= budget_h <= _MOST_BUDGETS * duration_h:
        raise ValueError(f"the budget must be 1 to {_MOST_BUDGETS} durations")
    q = math.exp(-duration_h / tau_h)
    spare = (budget_h - duration_h) / tau_h
    with localcontext() as context:
        context.prec = 40 + int(spare)  # the largest term is below exp(spare)
        step, left = Decimal(duration_h) / Decimal(tau_h), Decimal(spare)
        done, spent = _series(step, left, Decimal(q))
    return Limited(float(done), math.nan, tau_h * (duration_h / tau_h + spare - float(spent)))


def _series(step: Decimal, left: Decimal, q: Decimal) -> tuple[Decimal, Decimal]:
    """h(s) and int_0^s h, time in units of tau."""
    done = spent = Decimal(0)
    sign = q
    for j in range(int(left / step) + 1):
        rest = left - j * step
        # rest^j/j! before the next two powers of it
        power = rest**j / math.factorial(j) if j or rest else Decimal(1)
        second = power * rest / (j + 1)
        third = second * rest / (j + 2)
        done += sign * (power + second)
        spent += sign * (second + third)
        sign *= -q
    return done, spent


def useful_share(restart_h: float, tau_h: float) -> float:
    """Share of billed time after the server is ready, when a machine may die before it is: exp(-S/tau)."""
    return math.exp(-restart_h / tau_h)


def overhead_over_useful(restart_h: float, useful_h: float) -> float:
    """Restart time by useful time, S/P: 20 min on 60 are a third."""
    return restart_h / useful_h


def overhead_of_billed(restart_h: float, useful_h: float) -> float:
    """Restart time by billed time, S/(S+P): 20 min on 60 are a quarter."""
    return restart_h / (restart_h + useful_h)


def load_min(weights_gb: float, gb_per_s: float) -> float:
    """Minutes to read weights from a disk, past the page cache."""
    return weights_gb / gb_per_s / 60


class Mix(NamedTuple):
    """Tokens of one episode, and prices in USD per million tokens."""

    input_tokens: float
    output_tokens: float
    cached_share: float
    input_usd: float
    cached_usd: float
    output_usd: float

    @property
    def episode_usd(self) -> float:
        """What an API asks for one episode."""
        cached = self.cached_share * self.input_tokens
        fresh = self.input_tokens - cached
        usd = fresh * self.input_usd + cached * self.cached_usd
        return (usd + self.output_tokens * self.output_usd) / _MILLION

    @property
    def usd_per_mtok(self) -> float:
        """Blended over input and output: [(1-h) I p_in + h I p_cached + O p_out] / (I + O)."""
        return self.episode_usd * _MILLION / (self.input_tokens + self.output_tokens)


def self_hosted_usd_per_mtok(
    node_usd_per_h: float, tokens_per_s: float, factor: float = 1
) -> float:
    """A node's price by its tokens; `factor` is billed by useful time (`Rerun.overhead_factor`)."""
    return node_usd_per_h * _MILLION / (tokens_per_s * _HOUR_S) * factor


def _exp(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def _expm1(x: float) -> float:
    try:
        return math.expm1(x)
    except OverflowError:
        return math.inf


def _with_unit(text: str, units: Mapping[str, float], what: str) -> float:
    found = _NUMBER.fullmatch(text.strip())
    value = float(found[1]) * units[found[2]] if found and found[2] in units else 0.0
    if not 0 < value < 1e12:
        raise ValueError(f'"{text}" is not {what} above 0')
    return value


def episode_rows(told: argparse.Namespace) -> list[Row]:
    """What `episode` prints."""
    d, tau, slots = told.duration, told.tau, told.slots
    rerun = rerun_fresh(d, told.restart, tau)
    rows = [
        ("interrupted_share", interrupted_share(d, tau), "of episodes are cut, 1 - exp(-D/tau)"),
        ("interrupted_per_preemption", slots, "in flight, all cut by one preemption"),
        ("finished_per_preemption", finished_per_preemption(slots, d, tau), "between two"),
        ("attempts_per_completed", rerun.attempts, "each with a fresh budget"),
        ("preemptions_per_completed", rerun.preemptions, "seen by one slot"),
        ("slot_h_per_completed", rerun.billed_h, "billed, restarts included"),
        ("node_h_per_completed", rerun.billed_h / slots, "the same over all slots"),
        ("billed_over_useful", rerun.overhead_factor, "against never being cut"),
    ]
    if told.budget is not None:
        rest = remaining_budget(d, told.budget, tau)
        rows += [
            ("completed_share_with_remaining_budget", rest.completed, "end by themselves"),
            ("slot_h_with_remaining_budget", rest.slot_h, "useful, cut attempts included"),
        ]
    return rows


def restart_rows(told: argparse.Namespace) -> list[Row]:
    """What `restart` prints."""
    s = told.restart
    rows = [
        ("overhead_over_useful", overhead_over_useful(s, told.useful), "restart by useful, S/P"),
        ("overhead_of_billed", overhead_of_billed(s, told.useful), "restart by billed, S/(S+P)"),
    ]
    if told.tau is not None:
        dead, share = interrupted_share(s, told.tau), useful_share(s, told.tau)
        rows += [
            ("dead_before_ready_share", dead, "of starts, 1 - exp(-S/tau)"),
            ("useful_of_billed", share, "exp(-S/tau)"),
        ]
    if told.weights is not None:
        rows.append(("load_min", load_min(told.weights, told.read), "weights from the disk, cold"))
    return rows


def tokens_rows(told: argparse.Namespace) -> list[Row]:
    """What `tokens` prints."""
    mix = Mix(
        told.input,
        told.output,
        told.cached_share,
        told.price_input,
        told.price_input if told.price_cached is None else told.price_cached,
        told.price_output,
    )
    rows = [
        ("blended_usd_per_mtok", mix.usd_per_mtok, "over input and output, by the API"),
        ("api_usd_per_episode", mix.episode_usd, "by the API"),
    ]
    return rows if told.node_price is None else rows + _hosted(told, mix)


def _hosted(told: argparse.Namespace, mix: Mix) -> list[Row]:
    ideal = self_hosted_usd_per_mtok(told.node_price, told.tokens_per_s)
    rows = [("self_hosted_usd_per_mtok", ideal, "node price by tokens, nothing cut")]
    if told.tau is None:
        return rows
    rerun = rerun_fresh(told.duration, told.restart, told.tau)
    whole, least = ideal * rerun.overhead_factor, mix.usd_per_mtok
    slots = told.node_price * rerun.billed_h / mix.episode_usd if mix.episode_usd else math.inf
    return [
        *rows,
        ("self_hosted_spot_usd_per_mtok", whole, "with restarts and cut episodes"),
        ("self_hosted_over_api", whole / least if least else math.inf, "below 1: host it"),
        ("break_even_slots", slots, "as many in flight cost what the API does"),
    ]


class _Parser(argparse.ArgumentParser):
    """Errors in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {' '.join(message.split())} ({self.prog} --help)\n")


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = _Parser(prog=prog, description="The arithmetic of machines that are taken away.")
    parser.add_argument("--json", action="store_true", help="one JSON object; before the verb")
    verbs = parser.add_subparsers(dest="verb", required=True, metavar="episode|restart|tokens")
    _episode(_verb(verbs, "episode", "what interruptions do to an episode", EPISODE))
    _restart(_verb(verbs, "restart", "what a restart costs", RESTART))
    _tokens(_verb(verbs, "tokens", "prices of tokens, API and own node", TOKENS))
    return parser


EPISODE = "episode --duration 30min --tau 2h --slots 16   22.1 % are cut, up to 16 at once"
RESTART = "restart --restart 20min --useful 60min   33.3 % of useful, 25 % of billed time"
TOKENS = (
    "tokens --input 90000 --output 6000 --cached-share 0.8 --price-input 3 --price-cached 0.3"
    " --price-output 15   1.725 USD per million tokens"
)


def _verb(
    verbs: "argparse._SubParsersAction[_Parser]", name: str, about: str, example: str
) -> _Parser:
    return verbs.add_parser(name, help=about, description=about, epilog=f"Example: {example}")


def _episode(parser: argparse.ArgumentParser) -> None:
    hours = _typed(duration_h)
    parser.add_argument("--duration", type=hours, required=True, help="D, of an episode: 30min")
    parser.add_argument("--tau", type=hours, required=True, help="mean life of a machine: 2h")
    parser.add_argument("--slots", type=_count, default=1, help="episodes in flight (1)")
    parser.add_argument("--restart", type=hours, default=0.0, help="S, until it serves: 20min")
    parser.add_argument("--budget", type=hours, help="for all attempts together: 4h")


def _restart(parser: argparse.ArgumentParser) -> None:
    hours = _typed(duration_h)
    parser.add_argument("--restart", type=hours, required=True, help="S, until it serves: 20min")
    parser.add_argument("--useful", type=hours, required=True, help="P, useful time: 60min")
    parser.add_argument("--tau", type=hours, help="mean life of a machine: 2h")
    parser.add_argument("--weights", type=_typed(size_gb), help="of the model: 700GB")
    parser.add_argument("--read", type=_typed(speed_gb_per_s), default=1.0, help="2GB/s (1GB/s)")


def _tokens(parser: argparse.ArgumentParser) -> None:
    hours, usd = _typed(duration_h), _number
    parser.add_argument("--input", type=usd, required=True, help="tokens of an episode")
    parser.add_argument("--output", type=usd, required=True, help="tokens of an episode")
    parser.add_argument("--cached-share", type=_share, default=0.0, help="of the input: 0.8")
    parser.add_argument("--price-input", type=usd, required=True, help="USD per million")
    parser.add_argument("--price-cached", type=usd, help="USD per million (as input)")
    parser.add_argument("--price-output", type=usd, required=True, help="USD per million")
    parser.add_argument("--node-price", type=usd, help="USD per hour of an own node")
    parser.add_argument("--tokens-per-s", type=usd, help="of that node, all slots")
    parser.add_argument("--tau", type=hours, help="its mean life where it is spot: 2h")
    parser.add_argument("--duration", type=hours, default=0.5, help="D, with --tau (30min)")
    parser.add_argument("--restart", type=hours, default=1 / 3, help="S, with --tau (20min)")


def _typed(read: Callable[[str], float]) -> Callable[[str], float]:
    """argparse shows the text of ArgumentTypeError alone."""

    def typed(text: str) -> float:
        try:
            return read(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return typed


def _number(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not 0 <= value < 1e15:
        raise argparse.ArgumentTypeError(f'"{text}" is not a number from 0')
    return value


def _share(text: str) -> float:
    if (value := _number(text)) > 1:
        raise argparse.ArgumentTypeError(f'"{text}" is not a share from 0 to 1')
    return value


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 1e9):
        raise argparse.ArgumentTypeError(f'"{text}" is not a whole number from 1')
    return int(text)


def _checked(told: argparse.Namespace) -> None:
    """What no option can see alone; raises ValueError."""
    if told.verb == "tokens" and not told.input + told.output:
        raise ValueError("--input and --output are both 0: no tokens to price")
    if told.verb == "tokens" and (told.node_price is None) != (not told.tokens_per_s):
        raise ValueError("--node-price and --tokens-per-s (above 0) go together")
    if told.verb == "episode" and told.budget is not None and told.budget < told.duration:
        raise ValueError("--budget is below --duration: no episode ends by itself")


def shown(value: float) -> str:
    """Six significant digits, and the word where no number is left."""
    if math.isinf(value):
        return "unbounded"
    return f"{value:.6g}" if abs(value) < _MILLION else f"{value:.4e}"


def main(argv: Sequence[str] | None = None, prog: str = "spot_math.py") -> int:
    """The program: 0 done; exits with 2 and one line where an input is wrong."""
    parser = _parser(prog)
    told = parser.parse_args(argv)
    make = {"episode": episode_rows, "restart": restart_rows, "tokens": tokens_rows}[told.verb]
    try:
        _checked(told)
        rows = make(told)
    except ValueError as error:
        parser.error(f"{told.verb}: {error}")
    if told.json:
        finite = {key: None if math.isinf(value) else value for key, value, _ in rows}
        print(json.dumps(finite))
        return 0
    wide = max(len(key) for key, _, _ in rows)
    for key, value, words in rows:
        print(f"{key:<{wide}}  {shown(value):>10}  {words}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
