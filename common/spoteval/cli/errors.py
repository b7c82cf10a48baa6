"""From an error to one line and an exit code: 1 failed, 2 configuration or command line, 3 refused."""

import os
import sys
from contextlib import suppress
from typing import Any

import click

from spoteval.line import flat as plain

FAILED, WRONG, REFUSED = 1, 2, 3

# A group called without a verb. Before click 8.2 it prints its help itself and there is no such class.
_HELP: Any = getattr(click.exceptions, "NoArgsIsHelpError", ())


def said(error: BaseException, verb: str) -> int:
    """Say the error in one line on stderr; returns the exit code. Nobody but a person ends a line with ^C."""
    if isinstance(error, SystemExit):
        return error.code if isinstance(error.code, int) else FAILED
    if isinstance(error, click.UsageError) and isinstance(error, _HELP):
        sys.stderr.write(f"{error.format_message()}\n")
        return WRONG
    if isinstance(error, BrokenPipeError):
        return _unread()
    code, line = line_of(error, verb)
    if line:
        sys.stderr.write(line + "\n")
    return code


def line_of(error: BaseException, verb: str) -> tuple[int, str]:
    """Exit code and line of an error that a verb raised."""
    from spoteval.config.shared import ConfigError
    from spoteval.control.refused import Refused

    match error:
        case click.exceptions.Exit():
            return error.exit_code, ""
        case click.exceptions.Abort() | KeyboardInterrupt():
            return 130, _line(verb, "stopped by the keyboard")
        case click.UsageError():
            return WRONG, _line(verb, error.format_message() + _hint(verb))
        case ConfigError():
            return WRONG, flat(str(error))
        case Refused():
            return REFUSED, _line(verb if error.subject is None else error.subject, str(error))
        case OSError():
            return FAILED, _line(verb, os_text(error))
        case _:
            return FAILED, _line(verb, _text(error))


def os_text(error: OSError) -> str:
    """Path and reason, without errno and quotes."""
    place = f"{error.filename}: " if error.filename is not None else ""
    return f"{place}{error.strerror or error}"


def flat(text: str) -> str:
    """One line, whatever was in it, and nothing that steers a terminal."""
    return " ".join(plain(text).split())


def _unread() -> int:
    """Whoever read our output has seen enough (`| head`): nothing to say, and nothing left to flush."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return FAILED


def _text(error: BaseException) -> str:
    """What a known failure says; an unknown one is a defect, named as such."""
    from spoteval.control.refused import Failed
    from spoteval.files import Taken
    from spoteval.store.contract import StoreError

    if isinstance(error, Failed | StoreError | Taken | click.ClickException):
        return str(error)
    return f"{type(error).__name__}: {error} (a defect; --debug shows where)"


def _hint(verb: str) -> str:
    return f" (spoteval {verb} --help)" if verb else " (spoteval --help)"


def _line(subject: str, text: str) -> str:
    return flat(f"{subject or 'spoteval'}: {text}")
