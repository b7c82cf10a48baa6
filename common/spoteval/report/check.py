"""One line a check: what it is, how it stands, what to do."""

from collections.abc import Iterable
from dataclasses import dataclass

OK, WARN, FAIL = "ok", "warn", "fail"


@dataclass(frozen=True, slots=True)
class Check:
    """One line. `code` is the exit code that a failure asks for: 1, or 2 for the configuration."""

    name: str
    verdict: str
    text: str
    code: int = 0

    def record(self) -> dict[str, object]:
        """As JSON."""
        return {"name": self.name, "verdict": self.verdict, "text": self.text}


def ok(name: str, text: str) -> Check:
    """As it should be."""
    return Check(name, OK, text)


def warn(name: str, text: str) -> Check:
    """Works, and a person should know."""
    return Check(name, WARN, text)


def fail(name: str, text: str, code: int = 1) -> Check:
    """Will not work."""
    return Check(name, FAIL, text, code)


def exit_code(checks: Iterable[Check]) -> int:
    """The gravest: 2 where the configuration is wrong, 1 where something else fails."""
    return max((check.code for check in checks), default=0)


def lines(checks: Iterable[Check]) -> list[str]:
    """Name, verdict, text in columns."""
    return [f"{check.name:<12} {check.verdict:<5} {check.text}" for check in checks]
