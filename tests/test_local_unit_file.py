"""local.unit_file: systemd's syntax, as far as a local node obeys it."""

import signal
from pathlib import Path

import pytest

from spoteval.local.unit_file import (
    Command,
    UnitError,
    load_units,
    parse_settings,
    parse_unit,
    span_s,
    start_order,
)


def test_a_bare_service_has_systemds_defaults() -> None:
    """What is not written is what systemd would do."""
    unit = parse_unit("a.service", ["[Service]\nExecStart=true\n"])
    assert (unit.type, unit.restart, unit.kill_mode) == ("simple", "no", "control-group")
    assert (unit.start_timeout_s, unit.stop_timeout_s, unit.watchdog_s) == (90, 90, None)
    assert unit.kill_signal == signal.SIGTERM
    assert unit.success == {0, -1, -2, -13, -15}
    assert unit.enabled_by == ()


def test_a_oneshot_may_start_for_ever() -> None:
    """Unlike a daemon, whose start is bounded."""
    text = "[Service]\nType=oneshot\nExecStart=true\n"
    assert parse_unit("a.service", [text]).start_timeout_s is None


def test_every_setting_that_the_node_obeys() -> None:
    """One file with all of them."""
    text = """
    # a comment
    [Unit]
    After=b.service c.service
    After=d.target
    Before=e.service
    ConditionPathExists=!/run/spoteval/draining
    [Service]
    Type=notify
    ExecStartPre=-rm -f /run/spoteval/x
    ExecStart=prog "two words" \\
        --flag
    Environment=A=1 "B=2 3"
    KillSignal=SIGINT
    KillMode=mixed
    TimeoutStartSec=1min 30s
    TimeoutStopSec=infinity
    WatchdogSec=2.5
    SuccessExitStatus=75 SIGKILL
    RestartPreventExitStatus=2 SIGABRT
    Restart=always
    RestartSec=250ms
    [Install]
    WantedBy=multi-user.target
    """
    unit = parse_unit("a.service", [text])
    assert unit.after == {"b.service", "c.service", "d.target"}
    assert unit.before == {"e.service"}
    assert [(str(c.path), c.there) for c in unit.conditions] == [("/run/spoteval/draining", False)]
    assert unit.commands == (
        Command(("rm", "-f", "/run/spoteval/x"), may_fail=True),
        Command(("prog", "two words", "--flag")),
    )
    assert unit.environment == {"A": "1", "B": "2 3"}
    assert (unit.kill_signal, unit.kill_mode) == (2, "mixed")
    assert (unit.start_timeout_s, unit.stop_timeout_s, unit.watchdog_s) == (90, None, 2.5)
    assert {75, -9} <= unit.success
    assert unit.no_restart == {2, -6}
    assert (unit.restart, unit.restart_s) == ("always", 0.25)
    assert unit.enabled_by == ("multi-user.target",)


def test_a_path_unit_starts_the_service_of_its_name_unless_told() -> None:
    """Unit= names another one."""
    text = "[Path]\nPathExists=/run/spoteval/x\n"
    unit = parse_unit("a.path", [text])
    assert (unit.is_path, str(unit.path_exists), unit.starts) == (
        True,
        "/run/spoteval/x",
        "a.service",
    )
    assert parse_unit("a.path", [text + "Unit=b.service\n"]).starts == "b.service"


@pytest.mark.parametrize(
    ("restart", "after_failure", "after_success"),
    [("no", False, False), ("on-failure", True, False), ("always", True, True)],
)
def test_when_a_unit_comes_back(restart: str, after_failure: bool, after_success: bool) -> None:
    """The three policies that we use."""
    unit = parse_unit("a.service", [f"[Service]\nExecStart=x\nRestart={restart}\n"])
    assert unit.restarts_after(1, clean=False) is after_failure
    assert unit.restarts_after(0, clean=True) is after_success


def test_an_empty_value_forgets_and_a_drop_in_adds() -> None:
    """The last word wins for single values, lists grow, and `Key=` begins them anew."""
    base = "[Unit]\nAfter=a\n[Service]\nExecStart=old\nKillMode=mixed\n"
    more = "[Unit]\nAfter=b\n[Service]\nExecStart=\nExecStart=new\nKillMode=process\n"
    unit = parse_unit("a.service", [base, more])
    assert unit.after == {"a", "b"}
    assert unit.commands == (Command(("new",)),)
    assert unit.kill_mode == "process"


def test_later_directories_replace_files_and_all_drop_ins_count(tmp_path: Path) -> None:
    """As /etc does for /usr/lib: a file of the same name hides the first, drop-ins sort by their names."""
    one, two = tmp_path / "one", tmp_path / "two"
    for directory in (one, two):
        directory.mkdir()
    (one / "a.service").write_text("[Service]\nExecStart=first\n")
    (one / "b.service").write_text("[Service]\nExecStart=only\n")
    (two / "a.service").write_text("[Service]\nExecStart=second\n")
    (two / "b.service.d").mkdir()
    (two / "b.service.d" / "20.conf").write_text("[Service]\nKillMode=mixed\n")
    (two / "b.service.d" / "10.conf").write_text("[Service]\nKillMode=process\nType=exec\n")
    units = load_units([one, two])
    assert units["a.service"].commands == (Command(("second",)),)
    assert (units["b.service"].kill_mode, units["b.service"].type) == ("mixed", "exec")


def test_order_counts_from_both_ends() -> None:
    """After= here and Before= there are the same order."""
    units = {
        "a": parse_unit("a", ["[Unit]\nAfter=b\n"]),
        "b": parse_unit("b", ["[Unit]\nAfter=gone\n"]),
        "c": parse_unit("c", ["[Unit]\nBefore=b\n"]),
    }
    assert start_order(units) == ("c", "b", "a")


def test_a_circle_is_refused_by_name() -> None:
    """systemd would drop one of them and say so in the journal; a file of ours must not get that far."""
    units = {
        "a": parse_unit("a", ["[Unit]\nAfter=b\n"]),
        "b": parse_unit("b", ["[Unit]\nAfter=a\n"]),
    }
    with pytest.raises(UnitError, match=r"circle: [ab] after [ab]"):
        start_order(units)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("15s", 15), ("2min", 120), ("1min 30s", 90), ("250ms", 0.25), ("1h", 3600)],
)
def test_time_spans(text: str, seconds: float) -> None:
    """The spellings of systemd.time(7)."""
    assert span_s(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "5 parsecs", "-3s", "10s later"])
def test_what_is_no_time_span_is_refused(text: str) -> None:
    """With the file and the value."""
    with pytest.raises(ValueError, match="no time span"):
        span_s(text)
    if text:
        with pytest.raises(UnitError, match=r"a\.service: .*no time span"):
            parse_unit("a.service", [f"[Service]\nRestartSec={text}\n"])


def test_an_unknown_signal_is_refused() -> None:
    """A stop that nobody hears is found when the file is read."""
    with pytest.raises(UnitError, match="SIGSTOPP"):
        parse_unit("a.service", ["[Service]\nKillSignal=SIGSTOPP\n"])


def test_comments_and_continued_lines() -> None:
    """A comment inside a continued line is skipped, as systemd does."""
    text = "[S]\n; no\nA=1 \\\n# skipped\n2\nB=3\\"
    assert parse_settings([text]) == {("S", "A"): ["1  2"], ("S", "B"): ["3"]}
