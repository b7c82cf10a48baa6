"""What the package brings besides the program: completions, and scripts that leave a run alone."""

import re
import runpy
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from spoteval.cli.root import root
from spoteval.cli.verbs import VERBS
from unit_figures import UNITS

PACKAGING = UNITS.parent / "packaging"


def completed(args: list[str], incomplete: str = "") -> list[str]:
    """What a shell would offer next."""
    shell = ShellComplete(root, {}, "spoteval", "_SPOTEVAL_COMPLETE")
    return [item.value for item in shell.get_completions(args, incomplete)]


def test_only_what_people_type_is_completed() -> None:
    """The verbs of the help, not those that our own processes call."""
    people = {words for words, verb in VERBS.items() if verb.block is not None}
    assert set(completed([])) == {words.split()[0] for words in people}
    below = {words.split()[1] for words in people if words.startswith("run ")}
    assert set(completed(["run"])) == below
    assert "exec" not in below
    assert completed(["run"], "st") == ["start", "stop"]
    assert "--reason" in completed(["run", "set"], "--")


def test_completions_are_written_for_three_shells(tmp_path: Path) -> None:
    """Under the names by which the shells find them; in fish what is said of a verb may hold a comma."""
    runpy.run_path(str(PACKAGING / "completions.py"))["main"](tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"spoteval", "_spoteval", "spoteval.fish"}
    assert "_SPOTEVAL_COMPLETE=bash_complete" in (tmp_path / "spoteval").read_text()
    assert (tmp_path / "_spoteval").read_text().startswith("#compdef spoteval")
    assert 'string split --max 1 "," $completion' in (tmp_path / "spoteval.fish").read_text()


@pytest.mark.parametrize("script", ["postinst", "prerm"])
def test_the_hook_is_told_before_the_package_stops_it(script: str) -> None:
    """Where it cannot ask systemd, it takes its stop for a shutdown unless the file is there."""
    text = (PACKAGING / "debian" / f"spoteval.{script}").read_text()
    told = text.index(': >"$restarting"')
    assert told < text.index("#DEBHELPER#")
    assert "trap 'rm -f \"$restarting\"' EXIT" in text
    if script == "prerm":
        assert told < text.index("deb-systemd-invoke stop #UNITS#") < text.index("#DEBHELPER#")


def test_the_package_restarts_agents_and_never_the_run() -> None:
    """Nothing is enabled or started by it; an upgrade without the restart would leave all agents stopped."""
    rules = (PACKAGING / "debian" / "rules").read_text()
    assert "dh_installsystemd --no-enable --no-start --restart-after-upgrade" in rules
    agents = re.search(r"AGENTS = ((?:.*\\\n)*.*)\n", rules)
    assert agents is not None
    named = set(re.findall(r"spoteval-[a-z-]+\.service", agents[1]))
    static = {path.name for path in UNITS.glob("*.service") if "[Install]" not in path.read_text()}
    every = {path.name for path in UNITS.glob("*.service") if "@" not in path.name}
    assert named == every - static
    prerm = (PACKAGING / "debian" / "spoteval.prerm").read_text()
    for template in UNITS.glob("*@.service"):
        assert f"stop #UNITS# '{template.stem}*.service'" in prerm
