"""The block that the demo ends with, as people read it."""

from dataclasses import replace

from spoteval.placement.spend import Spend
from spoteval.report.summary import Summary, render
from spoteval.report.timeline import Strip

PROMISED = """\
 24 of 24 finished · 0 lost · 0 run twice (independent witness)    3 min 12 s
 node      ██████×·▒████×·!·▒▒×·▒████████×·▒█████■
                             ^ while resuming
           █ work  ▒ restart  · off  × preempted  ! no capacity  ■ ended, held
 restart   stopped→start 1.2 s · running 2.0 · serving 0.9 · healthy 2.8
           · episodes running 1.4                     (medians of 5, S2 to S6)
 episodes  completed 24 (12 right, 12 wrong) · every other class 0    = 24
 attempts  ended 24 · preemption-interrupted 11                       = 35
 price     0.31–0.36 USD over 6 starts at 3.10–3.60 USD/h
           0.013–0.015 USD per completed episode
 look      spoteval events · spoteval decisions · inspect view demo/pulled/work
 next      docs/first-real-run.md"""

VALUES = Summary(
    intended=24,
    finished=24,
    lost=0,
    run_twice=0,
    duration_s=192.4,
    strip=Strip("██████×·▒████×·!·▒▒×·▒████████×·▒█████■", (18,)),
    stages={"S2": 1.2, "S3": 2.0, "S4": 0.9, "S5": 2.8, "S6": 1.4},
    restarts=5,
    classes={"completed": 24, "model_failure": 0, "not_run": 0},
    right=12,
    wrong=12,
    attempts={"completed": 24, "preemption_interrupted": 11},
    spend=Spend(0.31, 0.36, "USD", 6, 3.10, 3.60),
    look=("spoteval events", "spoteval decisions", "inspect view demo/pulled/work"),
    next="docs/first-real-run.md",
)


def test_the_promised_block() -> None:
    """The whole block, to the character, and no line above 80 columns."""
    assert "\n".join(render(VALUES)) == PROMISED
    assert max(map(len, render(VALUES))) <= 80


def test_other_classes_are_named() -> None:
    """Each class that is not empty stands with its count, and the sum is the intended episodes."""
    classes = {"completed": 21, "preemption_interrupted": 2, "harness_error": 1}
    attempts = {"completed": 21, "harness_error": 1, "operator_stopped": 4}
    lines = render(replace(VALUES, classes=classes, attempts=attempts))
    assert lines[6:9] == [
        " episodes  completed 21 (12 right, 12 wrong) · preemption-interrupted 2",
        "           · harness error 1                                          = 24",
        " attempts  ended 22 · operator-stopped 4                              = 26",
    ]


def test_a_demo_without_restarts_or_prices_says_so() -> None:
    """No figure is invented."""
    lines = render(replace(VALUES, stages={}, restarts=0, spend=None, strip=Strip("███■")))
    assert lines[1:4] == [
        " node      ███■",
        "           █ work  ▒ restart  · off  × preempted  ! no capacity  ■ ended, held",
        " restart   none",
    ]
    assert " price     no start has a price" in lines


def test_stages_that_nothing_reached_are_left_out() -> None:
    """A node that never came back to its episodes has fewer stages."""
    lines = render(replace(VALUES, stages={"S2": 1.0, "S3": 2.0}, restarts=1))
    assert lines[4] == (
        " restart   stopped→start 1.0 s · running 2.0          (medians of 1, S2 to S6)"
    )


def test_nothing_completed_has_no_price_each() -> None:
    """Nothing is divided by nothing."""
    lines = render(replace(VALUES, classes={"not_run": 24}))
    assert not any("per completed episode" in line for line in lines)
