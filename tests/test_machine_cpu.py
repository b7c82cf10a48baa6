"""machine.cpu: the share of the processors, from two readings of the kernel's counters."""

from pathlib import Path

import pytest

from spoteval.machine.cpu import CpuTimes, cpu_share, cpu_times
from spoteval.shape import Unreadable


def stat(tmp_path: Path, first: str) -> Path:
    """The kernel's file with this first line."""
    path = tmp_path / "stat"
    path.write_text(f"{first}\ncpu0 1 2 3 4\nintr 5\n")
    return path


def test_idle_and_waiting_for_disks_is_not_busy(tmp_path: Path) -> None:
    """Guest time is in user time already and is not counted twice."""
    found = cpu_times(stat(tmp_path, "cpu  100 5 20 800 40 3 2 30 77 66"))
    assert found == CpuTimes(total=1000, busy=160)


@pytest.mark.parametrize("first", ["", "cpu", "cpu 1 2 3 4", "cpu a b c d e", "intr 1 2 3 4 5 6"])
def test_what_is_no_counter_is_unreadable(tmp_path: Path, first: str) -> None:
    """Never zero."""
    assert isinstance(cpu_times(stat(tmp_path, first)), Unreadable)


def test_no_file_is_unreadable(tmp_path: Path) -> None:
    """The same."""
    assert isinstance(cpu_times(tmp_path / "none"), Unreadable)


@pytest.mark.parametrize(
    ("after", "share"),
    [(CpuTimes(1100, 110), 0.1), (CpuTimes(1100, 200), 1.0), (CpuTimes(1100, 100), 0.0)],
)
def test_the_share_between_two_readings(after: CpuTimes, share: float) -> None:
    """Ticks that ran something, of all that passed."""
    assert cpu_share(CpuTimes(1000, 100), after) == pytest.approx(share)


def test_counters_that_run_backwards_stay_in_bounds() -> None:
    """iowait may shrink (proc(5)): the share is still one."""
    assert cpu_share(CpuTimes(1000, 100), CpuTimes(1010, 90)) == 0.0
    assert cpu_share(CpuTimes(1000, 100), CpuTimes(1010, 130)) == 1.0


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (Unreadable("x"), CpuTimes(1, 1)),
        (CpuTimes(1, 1), Unreadable("x")),
        (CpuTimes(5, 1), CpuTimes(5, 1)),
    ],
)
def test_without_two_different_readings_there_is_no_share(
    before: CpuTimes | Unreadable, after: CpuTimes | Unreadable
) -> None:
    """Unreadable, never idle."""
    assert isinstance(cpu_share(before, after), Unreadable)


def test_this_machine_has_counters() -> None:
    """The real file is understood."""
    found = cpu_times()
    assert isinstance(found, CpuTimes)
    assert 0 < found.busy <= found.total
