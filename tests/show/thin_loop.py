"""The whole loop, thin and real: what it must show."""

from show.bench_lines import memory
from show.demo_lines import demo_keys, seeds
from show.inspect_lines import logs_and_verdicts
from show.lines import Show
from show.market_lines import same_seed_same_market
from show.program import run
from show.stage import Stage
from show.store_lines import bytes_agree, second_pull
from show.suite_lines import invariants, record_cuts, rows, shape
from show.witness_lines import counted_again


def main(argv: list[str] | None = None) -> int:
    """The exit code of the program."""
    return run("thin-loop", "The whole loop, thin and real.", shows, argv)


def shows(stage: Stage) -> list[Show]:
    """In this order: quick ones first."""
    return [
        Show("same seed, same market", lambda: same_seed_same_market(stage)),
        Show("sizes and import circles", shape),
        Show("rows", lambda: rows(stage)),
        Show("records cut at each byte", lambda: record_cuts(stage)),
        Show("invariants over the cycle", lambda: invariants(stage)),
        Show("memory and marker", lambda: memory(stage)),
        Show("demo, seed 7", lambda: demo_keys(stage.demo(7))),
        Show("the episodes' own witness", lambda: counted_again(stage.demo(7))),
        Show("logs open in Inspect", lambda: logs_and_verdicts(stage, stage.demo(7))),
        Show("store and disk agree", lambda: bytes_agree(stage, stage.demo(7))),
        Show("second pull refused", lambda: second_pull(stage, stage.demo(7))),
        Show("seeds 1 to 5", lambda: seeds(stage)),
    ]
