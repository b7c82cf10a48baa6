"""The fact that enough episodes are finished: a rule about preemptions ends there, also when no sign of life comes."""

from spoteval.config.grant import Grant
from spoteval.control.boot import Boot
from spoteval.control.facts import finished_fact, put_fact
from spoteval.run import RunRecord
from spoteval.store.contract import Store


def threshold_of(record: RunRecord) -> int | None:
    """How many episodes end the rule of the run, or where it has none, the one that [grant] has by default."""
    rule = record.plan.stop_rules.preemptions_before_episodes
    rule = rule if rule is not None else Grant().preemptions_before_episodes
    return rule[1] if rule is not None else None


class Milestone:
    """Puts the fact once; a new process puts it again, which changes nothing."""

    def __init__(self) -> None:
        self._told: set[tuple[str, int]] = set()

    def reach(self, store: Store, record: RunRecord, finished: int, boot: Boot) -> bool:
        """Put it where it is due; whether it was put. Raises StoreError."""
        threshold = threshold_of(record)
        if threshold is None or finished < threshold or (record.name, threshold) in self._told:
            return False
        name, body = finished_fact(threshold), {"run": record.name}
        put_fact(store, record.instance, boot.seq, boot.session, name, body)
        self._told.add((record.name, threshold))
        return True
