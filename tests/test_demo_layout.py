"""What a demo writes before it starts can be read, wherever its directory lies."""

import shlex
from datetime import UTC, datetime
from pathlib import Path

import pytest

from spoteval.cli.demo import _fresh
from spoteval.config.guest import read_guest
from spoteval.config.restarter import read_restarter
from spoteval.control.refused import Refused
from spoteval.demo.layout import DemoPaths, prepare
from spoteval.local.unit_file import load_units
from spoteval.store.open import open_store

AT = datetime(2026, 12, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "name", ["demo", "my project", 'qu"ote', "it's", "back\\slash", "hash#1", "who?", "50%", "dé"]
)
def test_any_directory_will_do(tmp_path: Path, name: str) -> None:
    """Whoever clones into `my project` gets the same demo as everybody."""
    paths = DemoPaths(tmp_path / name)
    prepare(paths, 1234, AT)
    guest = read_guest(paths.node / "config.toml")
    assert guest.disk.path == paths.durable
    assert guest.run is not None
    assert guest.run.env["SPOTEVAL_WITNESS"] == str(paths.witness)
    for store in (guest.store, read_restarter(paths.restarter / "config.toml").store):
        assert store is not None
        open_store(store.url).put("a", b"x")
    assert (paths.store / "a").read_bytes() == b"x"
    (command,) = load_units([paths.node / "units"])["stand-in.service"].commands
    assert command.argv[-1] == str(paths.node / "credentials" / "model-key")
    for line in (paths.root / "env").read_text().splitlines():
        assert len(shlex.split(line)) == 2


@pytest.mark.parametrize("name", ["hash#1", "who?", "a[1]", "new\nline"])
def test_a_directory_in_which_inspect_fails_is_refused(tmp_path: Path, name: str) -> None:
    """Before minutes are spent on it; and nothing is made."""
    with pytest.raises(Refused, match="Inspect cannot read its logs below a name with "):
        _fresh(tmp_path / name)
    assert list(tmp_path.iterdir()) == []
    assert _fresh(tmp_path / "my project").is_dir()
