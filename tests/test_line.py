"""Decision lines: text for people that programs can read."""

from hypothesis import given
from hypothesis import strategies as st

from spoteval.decision import Decision, kept
from spoteval.line import Value, parse, render

KEYS = st.from_regex(r"[a-z_]{1,12}", fullmatch=True)
PRINTABLE = st.text(st.characters(categories=("L", "N", "P", "S", "Zs")))


def test_a_line_reads_like_the_journal_shows_it() -> None:
    """Order kept, absent values left out, text with blanks quoted, numbers short."""
    pairs: dict[str, Value] = {
        "decision": "grace",
        "state": "STOPPED",
        "stopped_s": 41.0,
        "gone": None,
    }
    assert render({**pairs, "price": 11.6, "billed": False, "why": "starting in 19 s"}) == (
        'decision=grace state=STOPPED stopped_s=41 price=11.6 billed=no why="starting in 19 s"'
    )


@given(st.dictionaries(KEYS, PRINTABLE))
def test_what_is_rendered_can_be_parsed(pairs: dict[str, str]) -> None:
    """Quotes, equals signs and backslashes in a reason do not break a line."""
    flat = {
        key: "".join(c if c.isprintable() else " " for c in text) for key, text in pairs.items()
    }
    assert parse(render(dict(pairs))) == flat


@given(st.text())
def test_a_line_is_one_line(text: str) -> None:
    """Whatever a person or a server wrote, a newline or escape sequence never gets into the journal."""
    line = render({"hold_reason": text})
    assert line.isprintable()


def test_the_sentence_comes_last() -> None:
    """Who, the decision, its facts, and last the sentence for people."""
    decision = Decision("wait", {"stage": "guest-hold"}, why="rm it", agent="boot-resume")
    assert decision.line() == 'agent=boot-resume decision=wait stage=guest-hold why="rm it"'


def test_the_file_keeps_changes_and_one_line_an_hour() -> None:
    """Equal words are kept again at one hour, not one second before."""
    assert kept(None, "running", None)
    assert kept("running", "grace", 1.0)
    assert not kept("running", "running", 3599.9)
    assert kept("running", "running", 3600.0)
