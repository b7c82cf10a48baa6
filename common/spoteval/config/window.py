"""Whether the stop plan that was typed fits into the notice window."""

from spoteval.config.guest import GuestConfig

_RESERVE_S, _RESERVE_SHARE = 10.0, 6.0


def reserve_s(window_s: float) -> float:
    """Seconds of a window that are kept for the machine's own end."""
    return min(_RESERVE_S, max(0.0, window_s) / _RESERVE_SHARE)


def window_error(config: GuestConfig) -> str | None:
    """Why the typed values of [shutdown] do not fit, with the most that would; None where they do.

    Only typed values are looked at: the plan's own shrinks to any window.
    """
    typed = {
        "stop": config.shutdown.stop_s,
        "salvage": config.shutdown.salvage_s,
        "final_pass": config.shutdown.final_pass_s,
    }
    known = {name: value for name, value in typed.items() if value is not None}
    kept_s = reserve_s(config.notice_window_s)
    total_s = sum(known.values()) + kept_s
    if not known or total_s <= config.notice_window_s:
        return None
    last, value = list(known.items())[-1]
    most_s = max(0.0, config.notice_window_s - total_s + value)
    parts = " + ".join(f"{name} {seconds:g}s" for name, seconds in known.items())
    return (
        f'[shutdown] {last} "{value:g}s": {parts} + reserve {kept_s:g}s = {total_s:g}s does not'
        f" fit notice_window {config.notice_window_s:g}s ({config.provider});"
        f' at most "{most_s:g}s"'
    )
