"""What the episodes themselves witnessed, life by life."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

RUNS = ("begin", "again")
"""`again` is a retry of the harness itself, which begins no new episode."""
Line = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Witnessed:
    """Word, episode and process of each line, in the order of their writing."""

    lines: tuple[Line, ...]

    @property
    def ended(self) -> frozenset[str]:
        """Episodes that came to an end of their own, without an error."""
        return frozenset(key for word, key, _ in self.lines if word == "end")

    @property
    def in_flight(self) -> frozenset[tuple[str, str]]:
        """(episode, process) of those that ran. One that has failed and waits for its retry does not."""
        last = {(key, pid): word for word, key, pid in self.lines}
        return frozenset(both for both, word in last.items() if word in RUNS)

    @property
    def cut(self) -> Counter[str]:
        """How often each episode was cut: it said so itself, or its process went without a word."""
        said = Counter(key for word, key, _ in self.lines if word == "cut")
        return said + Counter(key for key, _ in self.in_flight)

    @property
    def rerun(self) -> frozenset[str]:
        """Episodes that began again after they had ended."""
        return self._again("end")

    @property
    def errors_rerun(self) -> frozenset[str]:
        """Episodes that began again, in another process, after they had failed by themselves."""
        failed = {(key, pid) for word, key, pid in self.lines if word == "error"}
        begun = {(key, pid) for word, key, pid in self.lines if word == "begin"}
        pids = {key: {pid for k, pid in failed if k == key} for key, _ in failed}
        return frozenset(key for key, pid in begun if key in pids and pid not in pids[key])

    def _again(self, word_of_end: str) -> frozenset[str]:
        ended, again = set[str](), set[str]()
        for word, key, _ in self.lines:
            if word == "begin" and key in ended:
                again.add(key)
            if word == word_of_end:
                ended.add(key)
        return frozenset(again)


def witnessed(path: Path) -> Witnessed:
    """Read `word sample epoch pid time`; nothing before the first episode wrote."""
    if not path.exists():
        return Witnessed(())
    words = (line.split() for line in path.read_text().splitlines())
    return Witnessed(tuple((w[0], f"{w[1]}/{w[2]}", w[3]) for w in words if len(w) >= 4))
