"""The one place that every effect on a file passes."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def step(what: str, path: Path) -> None:
    """Announce an effect, before it and after it, as the audit event `spoteval.files`.

    Tests hang a hook on the event (PEP 578) and cut the process at the n-th one; without a hook it costs nothing.
    """
    sys.audit("spoteval.files", what, str(path))


@contextmanager
def about(path: Path) -> Iterator[None]:
    """Errors name the file that was meant: a temporary one has another name each time, a write(2) names none."""
    try:
        yield
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from error
