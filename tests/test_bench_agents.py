"""The guest's small agents, started for real: their size, and that nothing is imported after READY."""

from pathlib import Path

import pytest

from bench.measure import AGENTS, INTERRUPTION_PATH, PRIVATE_KB, RSS_KB, measured

pytestmark = [
    pytest.mark.bench,
    pytest.mark.runs("memory is that of a real process"),
]


@pytest.mark.parametrize("name", AGENTS)
def test_an_agent_stays_small_and_whole(name: str, tmp_path: Path) -> None:
    """Rss and Private_Dirty within their limits; the modules at exit are those at READY."""
    found = measured(tmp_path, AGENTS[name], after_s=1.5)
    assert found.rss_kb <= RSS_KB
    assert found.private_dirty_kb <= PRIVATE_KB
    assert found.late == ()
    if name in INTERRUPTION_PATH:
        assert found.forbidden == ()
