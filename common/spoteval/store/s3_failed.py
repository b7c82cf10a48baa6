"""What a call raises once it is not tried again, and tries of which the first was made elsewhere."""

from collections.abc import Callable, Mapping

from spoteval.store.contract import Exists, NotThere, Put, StoreError, StoreRefused
from spoteval.store.deadline import Deadline
from spoteval.store.s3_errors import Trouble, Way


def after(failed: Exception, attempt: Callable[[Deadline], Put]) -> Callable[[Deadline], Put]:
    """The same tries, the first of which was made already and failed."""
    left = [failed]

    def tried(deadline: Deadline) -> Put:
        if left:
            raise left.pop()
        return attempt(deadline)

    return tried


class NoCondition(StoreError):
    """The service knows no conditions."""


_KINDS: Mapping[Way, type[StoreError]] = {
    Way.REFUSED: StoreRefused,
    Way.ABSENT: NotThere,
    Way.EXISTS: Exists,
    Way.NO_CONDITION: NoCondition,
}


def failed_call(what: str, trouble: Trouble, tries: int, is_open: bool) -> StoreError:
    """The error of a call whose last try had this trouble; `is_open`: an earlier one may have been done."""
    tried = f" ({tries} tries)" if tries > 1 else ""
    error = _KINDS.get(trouble.way, StoreError)(f"{what}: {trouble.text}{tried}")
    if isinstance(error, Exists):
        error.is_repeated = is_open
    return error
