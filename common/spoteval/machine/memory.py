"""The memory of this process."""

import ctypes


def give_back(library: object = None) -> bool:
    """Give the system what the imports used and freed, 0.2 MB of a small agent's twelve; whether it was asked.

    Only glibc keeps it, and only glibc can be asked (malloc_trim(3)).
    """
    trim = getattr(ctypes.CDLL(None) if library is None else library, "malloc_trim", None)
    if trim is None:
        return False
    trim(0)
    return True
