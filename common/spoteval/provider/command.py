"""Provider `command`: the operator's own programs, each asked one thing and answering with one JSON object."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from spoteval.clock import Now, read_now
from spoteval.machine.process import NOT_EXECUTABLE, NOT_FOUND, Finished, inherited, run
from spoteval.provider.answer import answer_table, observation_from, price_from, reply_from
from spoteval.provider.configured import DATED_RATE, configured
from spoteval.provider.contract import Observation, Price, Provider, Reply, Unanswered, unanswered
from spoteval.settings.keys import Kind, key, settings_in
from spoteval.settings.kinds import ARGV, DURATION, FLAG, RATE_PER_HOUR
from spoteval.settings.money import Money
from spoteval.shape import Reading, Table, Unreadable

T = TypeVar("T")
MOST_BYTES = 64 * 1024


def _price(table: Table, name: str) -> object:
    """A list is a program that is asked, a table is what a person looked up."""
    if isinstance(table.values.get(name), Mapping):
        return DATED_RATE.read(table, name)
    return ARGV.read(table, name)


PRICE = Kind(
    _price,
    lambda value: value.record() if isinstance(value, Money) else list(value),
    {"anyOf": [RATE_PER_HOUR.schema, ARGV.schema]},
    "program and arguments, or amount per hour",
)


@dataclass(frozen=True, slots=True)
class CommandSettings:
    """What `[instance.NAME]` says of one's own programs. `{id}` and `{instance}` in an argument are replaced."""

    observe: tuple[str, ...] = field(metadata=key(ARGV, "program that prints the state"))
    start: tuple[str, ...] = field(metadata=key(ARGV, "program that asks for one start"))
    stop: tuple[str, ...] = field(metadata=key(ARGV, "program that asks for one stop"))
    price: tuple[str, ...] | Money | None = field(
        default=None,
        metadata=key(PRICE, "program that prints the price, or the price with its day"),
    )
    deadline_s: float = field(
        default=20.0,
        metadata=key(DURATION, "longest answer; asking for state or price ends at 10s"),
    )
    cancels: bool = field(
        default=True, metadata=key(FLAG, "whether a stop ends a start that is still under way")
    )


class CommandProvider:
    """One instance behind the operator's own programs; each question is one process, ended at its deadline."""

    def __init__(
        self,
        instance: str,
        provider_id: str,
        settings: CommandSettings,
        clock: Callable[[], Now] = read_now,
    ) -> None:
        self._instance = instance
        self._id = provider_id
        self._settings = settings
        self._clock = clock

    @property
    def cancels(self) -> bool:
        """As typed."""
        return self._settings.cancels

    def observe(self, deadline_s: float) -> Reading[Observation]:
        """What `observe` prints; Unreadable where it fails, is late, or is not understood."""
        answer = self._asked("observe", self._settings.observe, deadline_s)
        return _read("observe", answer, observation_from)

    def start(self, deadline_s: float) -> Reply:
        """`start` is run once, and is over within `deadline_s`."""
        return self._call("start", self._settings.start, deadline_s)

    def stop(self, deadline_s: float) -> Reply:
        """`stop` is run once, and is over within `deadline_s`."""
        return self._call("stop", self._settings.stop, deadline_s)

    def price(self, deadline_s: float) -> Reading[Price]:
        """What `price` prints, or the price that was typed, with the day from which it is."""
        source = self._settings.price
        if source is None:
            return Unreadable(f"no price: set price in [instance.{self._instance}]")
        if isinstance(source, Money):
            return configured(source)
        answer = self._asked("price", source, deadline_s)
        return _read("price", answer, lambda table: price_from(table, self._clock()))

    def _call(self, verb: str, argv: Sequence[str], deadline_s: float) -> Reply:
        """Whatever went wrong, the request may have arrived: that is `unknown`, and nobody asks again."""
        answer = self._asked(verb, argv, deadline_s)
        if isinstance(answer, Unreadable):
            return Reply(ok=False, kind="unknown", detail=answer.why)
        return reply_from(answer)

    def _asked(self, verb: str, argv: Sequence[str], deadline_s: float) -> Reading[Table]:
        limit_s = min(deadline_s, self._settings.deadline_s)
        words = [argv[0], *(self._filled(word) for word in argv[1:])]
        done = run(words, limit_s, env=self._environment(verb, limit_s), most_bytes=MOST_BYTES)
        if done.timed_out:
            return unanswered("timeout", f"{limit_s:g}s")
        why = _failure(done)
        return answer_table(done.out, verb) if why is None else Unreadable(why)

    def _filled(self, word: str) -> str:
        return word.replace("{instance}", self._instance).replace("{id}", self._id)

    def _environment(self, verb: str, limit_s: float) -> dict[str, str]:
        return {
            **inherited(),
            "SPOTEVAL_ASKED": verb,
            "SPOTEVAL_INSTANCE": self._instance,
            "SPOTEVAL_INSTANCE_ID": self._id,
            "SPOTEVAL_DEADLINE_S": f"{limit_s:g}",
        }


def command_provider(table: Table) -> Provider:
    """The provider of a table [instance.NAME]; raises ShapeError where a key is wrong or missing."""
    instance = table.place.rpartition(".")[2]
    return CommandProvider(instance, table.text("id"), settings_in(CommandSettings, table))


def _failure(done: Finished) -> str | None:
    """Why the answer is none. What the program wrote stays out of it: it could hold a secret."""
    if done.too_much:
        return f"more than {MOST_BYTES // 1024} kB of output"
    if done.code in (NOT_FOUND, NOT_EXECUTABLE):
        return f"exit {done.code} (is the program there, and executable?)"
    if done.code < 0:
        return f"ended by signal {-done.code}"
    return f"exit {done.code}" if done.code else None


def _read(verb: str, answer: Reading[Table], parse: Callable[[Table], Reading[T]]) -> Reading[T]:
    found = answer if isinstance(answer, Unreadable) else parse(answer)
    if isinstance(found, Unreadable) and not isinstance(found, Unanswered):
        return Unreadable(f"{verb}: {found.why}")
    return found
