"""Any program whose episodes are directories: `work/episodes/<key>/`, with `episode.json` written last.

The program finds `work` in $SPOTEVAL_WORK. A directory without `episode.json`, or with an empty one, is an episode
that began; after a stop it is moved to `work/cut/<key>/<n>/`, so that the next attempt begins with an empty one.
Files that the program changes in place (a database, its own progress) may lie directly in `work/state/`.
`episode.json` is a JSON object that may say `outcome`, `verdict`, `limit`, `error`, `input_tokens`, `output_tokens`,
`started`, `ended`.
"""

import json
import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG

from spoteval.episode import Attempt, Extra, Outcome, Part, Usage
from spoteval.files import sync_directory
from spoteval.files.step import step
from spoteval.harness.contract import Command, StopStep, Survey
from spoteval.harness.plans import stop_steps
from spoteval.run import RunRecord
from spoteval.shape import Reading, ShapeError, Table, Unreadable

DONE, STATE = "episode.json", "state"
MOST_STATE = 64
_BESIDE = ("-wal", "-shm", "-journal")
_REFUSED = {
    "remaining_budget": "nothing tells what a cut episode has spent",
    "none": 'the program begins cut episodes again (use "fresh_budget")',
}


@dataclass(frozen=True)
class Directory:
    """The adapter `directory`."""

    name: str = "directory"
    stop_steps: tuple[StopStep, ...] = stop_steps("directory")

    def refuses(self, run: RunRecord) -> str | None:
        """No program, no way to know the episodes, or a settlement that only the program could honour."""
        plan = run.plan
        why = _REFUSED.get(plan.settlement)
        if why is not None:
            return f'settlement "{plan.settlement}" cannot be honoured by harness directory: {why}'
        if plan.errors != "keep":
            return f'errors "{plan.errors}" cannot be honoured by harness directory (use "keep")'
        if not plan.executable:
            return "harness directory: executable is missing: the program that runs the episodes"
        return None

    def prepare(self, run: RunRecord, work: Path) -> tuple[str, ...]:
        """Move what a stop cut out of the way, unless the program goes on inside it ("continued")."""
        if run.plan.settlement == "continued":
            return ()
        return tuple(_moved(path, work / "cut" / path.name) for path in _not_ended(work))

    def command(
        self,
        run: RunRecord,
        work: Path,
        closed: Collection[str] = frozenset(),  # noqa: ARG002
    ) -> Command:
        """The program itself, which resumes by leaving out what has its `episode.json`."""
        plan = run.plan
        return Command(
            argv=(plan.executable, *plan.args),
            env={**plan.env, "SPOTEVAL_WORK": str(work)},
            cwd=Path(plan.directory),
        )

    def survey(self, run: RunRecord, work: Path) -> Survey:
        """One attempt a directory: those set aside were cut, those with `episode.json` ended."""
        wrong: list[str] = []
        attempts = list(_set_aside(work))
        running: list[Attempt] = []
        for path in directories(work / "episodes"):
            attempt = attempt_in(path, 1 + len(directories(work / "cut" / path.name)))
            if isinstance(attempt, Unreadable):
                wrong.append(attempt.why)
            else:
                (attempts if attempt.outcome else running).append(attempt)
        intended = intended_of(run, work)
        if isinstance(intended, Unreadable):
            wrong.append(intended.why)
        return Survey(
            intended=None if isinstance(intended, Unreadable) else intended,
            attempts=tuple(attempts),
            in_flight=tuple(running),
            unreadable=tuple(wrong),
            state_files=state_files(work),
        )

    def salvage(self, run: RunRecord, work: Path) -> tuple[Path, ...]:  # noqa: ARG002
        """Every file of the episodes that have not ended."""
        return tuple(file for path in _not_ended(work) for file in _files(path))


def state_files(work: Path) -> tuple[Path, ...]:
    """What changes in place: the header, and the files directly in `state/`, without what SQLite keeps beside its own.

    Of very many the first by name, so that a pass stays bounded.
    """
    found = (work / STATE).iterdir() if (work / STATE).is_dir() else ()
    own = sorted(path for path in found if not path.name.endswith(_BESIDE))
    return tuple(
        path for path in (work / "intended.json", *own[:MOST_STATE]) if _is_plain_file(path)
    )


def _is_plain_file(path: Path) -> bool:
    return path.is_file() and not path.is_symlink()


def _not_ended(work: Path) -> list[Path]:
    """Directories of episodes that began and did not end, or whose end nobody can read."""
    found = [(path, attempt_in(path, 0)) for path in directories(work / "episodes")]
    return [path for path, item in found if isinstance(item, Unreadable) or not item.outcome]


def attempt_in(path: Path, number: int) -> Reading[Attempt]:
    """The attempt in an episode's directory; its outcome is None while nothing stands in `episode.json`."""
    key = path.name
    done = path / DONE
    try:
        data = _plain(done)
        if not data:  # a program that writes it in place makes it empty first
            return Attempt(key, native_of(key, number), None, number, parts=_parts(path))
        value = json.loads(data)
        if not isinstance(value, dict):
            return Unreadable(f"{done}: not a JSON object")
        return _ended(key, number, Table(value, str(done)), *contents(path))
    except OSError as error:
        return Unreadable(f"{done}: {error.strerror}")
    except (ShapeError, ValueError) as error:
        return Unreadable(f"{done}: {error}")


def _ended(
    key: str, number: int, table: Table, parts: tuple[Part, ...], extras: tuple[Extra, ...]
) -> Attempt:
    allowed = [outcome.value for outcome in Outcome if outcome.by_itself]
    return Attempt(
        key=key,
        native_id=native_of(key, number),
        outcome=Outcome(table.choice("outcome", allowed, Outcome.COMPLETED.value)),
        number=number,
        verdict=table.maybe_text("verdict"),
        limit=table.maybe_text("limit"),
        error=table.maybe_text("error"),
        usage=Usage(table.whole("input_tokens", 0), table.whole("output_tokens", 0)),
        started=table.maybe_moment("started"),
        ended=table.maybe_moment("ended"),
        parts=parts,
        extras=extras,
    )


def _set_aside(work: Path) -> Iterator[Attempt]:
    for episode in directories(work / "cut"):
        for number, path in enumerate(directories(episode), start=1):
            native = native_of(episode.name, number)
            cut = Outcome.PREEMPTION_INTERRUPTED
            yield Attempt(episode.name, native, cut, number, parts=_parts(path))


def _plain(path: Path) -> bytes | None:
    """What is in a file, None where it is absent. An episode may have made a pipe: to open it would block."""
    try:
        is_plain = S_ISREG(path.lstat().st_mode)
    except FileNotFoundError:
        return None
    if not is_plain:
        raise ValueError("not a plain file")
    return path.read_bytes()


def intended_of(run: RunRecord, work: Path) -> Reading[tuple[str, ...] | None]:
    """The keys in `work/intended.json`; without it, `expected = 24` means the directories `1` to `24`."""
    path = work / "intended.json"
    try:
        data = _plain(path)
        keys = json.loads(data) if data is not None else None
    except (OSError, ValueError) as error:
        return Unreadable(f"{path}: {error}")
    if data is None:
        count = run.plan.expected
        return None if count is None else tuple(str(number) for number in range(1, count + 1))
    if not isinstance(keys, list) or not all(isinstance(key, str) for key in keys):
        return Unreadable(f"{path}: not a list of keys")
    return tuple(keys)


def _moved(path: Path, cuts: Path) -> str:
    target = cuts / f"{1 + len(directories(cuts)):04d}"
    cuts.mkdir(parents=True, exist_ok=True)
    step("rename", path)
    path.rename(target)
    step("renamed", path)
    sync_directory(cuts)
    sync_directory(path.parent)
    return f"{path.name} was cut: moved to {target}"


def native_of(key: str, number: int) -> str:
    """What tells an attempt from others of its episode."""
    return f"{key}#{number}"


def _parts(path: Path) -> tuple[Part, ...]:
    return contents(path)[0]


def contents(path: Path) -> tuple[tuple[Part, ...], tuple[Extra, ...]]:
    """Plain files at any depth, and beside them folders, links and special files: none of those is entered or opened.

    Raises OSError.
    """
    parts, extras = list[Part](), list[Extra]()
    folders = [("", os.fspath(path))]
    while folders:
        above, folder = folders.pop()
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    _file_away(entry, above, parts, extras, folders)
        except OSError:
            if not above:
                raise
            extras.append(Extra(above.rstrip("/"), "unreadable"))
    parts.sort(key=lambda part: part.name)
    extras.sort(key=lambda extra: extra.name)
    return tuple(parts), tuple(extras)


def _file_away(
    entry: "os.DirEntry[str]",
    above: str,
    parts: list[Part],
    extras: list[Extra],
    folders: list[tuple[str, str]],
) -> None:
    name = above + entry.name
    if entry.is_symlink():
        target = os.readlink(entry.path)  # noqa: PTH115 - a Path would tidy it up
        extras.append(Extra(name, "link", target=target))
    elif entry.is_dir(follow_symlinks=False):
        mode = entry.stat(follow_symlinks=False).st_mode & 0o777
        extras.append(Extra(name, "folder", mode))
        folders.append((f"{name}/", entry.path))
    elif entry.is_file(follow_symlinks=False):
        parts.append(Part(name, Path(entry.path)))
    else:
        extras.append(Extra(name, "special"))


def _files(path: Path) -> list[Path]:
    """Plain files at any depth. Never a link: an episode must not be able to publish what it points at."""
    return [part.path for part in contents(path)[0]]


def directories(path: Path) -> list[Path]:
    """Those in a directory; none in a link to one, which the run could lay to what it may not read itself."""
    if path.is_symlink() or not path.is_dir():
        return []
    return sorted(item for item in path.iterdir() if item.is_dir() and not item.is_symlink())
