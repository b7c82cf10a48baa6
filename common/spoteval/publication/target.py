"""The directory that a run is pulled into: what lies there already counts, what was half done is begun again."""

import hashlib
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from spoteval.files import Taken, held, read_record, remove, write_record, write_whole
from spoteval.files.step import step
from spoteval.publication.manifest import PartEntry
from spoteval.publication.tree import TreeFile, TreeFolder, TreeLink
from spoteval.shape import Unreadable

RECORD = ".spoteval-pull.json"
"""What was pulled, with sizes, digests and modes: `verify` holds the directory to it."""
PULLING = ".spoteval-pulling.json"
"""Present while a pull is under way, or was cut: the same pull goes on."""
LOCK = ".spoteval-pull.lock"
_OURS = re.compile(r"\..+\.[0-9a-f]{8}\.tmp")
"""What a write leaves that was cut."""
_OWNER = 0o700


class PullRefused(Exception):
    """The pull is not begun: the target holds something else, or the store holds no such run. One line; exit 3."""


@dataclass(slots=True)
class Target:
    """The directory during one pull. Files are written side by side; folders' modes and links come last."""

    root: Path
    is_resumed: bool = False
    folders: dict[str, int] = field(default_factory=dict)
    links: dict[str, str] = field(default_factory=dict)
    _umask: int = 0

    def held(self, path: str, part: PartEntry) -> bytes | None:
        """The bytes of a part that an earlier try has pulled whole."""
        if not self.is_resumed:
            return None
        with suppress(OSError):
            data = (self.root / path).read_bytes()
            if len(data) == part.size and hashlib.sha256(data).hexdigest() == part.sha256:
                return data
        return None

    def write(self, item: TreeFile) -> None:
        """One file with its mode. Whole or absent after a kill; after a power cut the pull begins it again."""
        path = self.root / item.path
        if not item.is_held:
            write_whole(path, item.data, item.mode, durable=False)
        if item.is_held or item.mode & self._umask:
            path.chmod(item.mode)

    def note(self, item: TreeFolder | TreeLink) -> None:
        """Remember what is made last: a folder may be closed to writing, and nothing is ever written through a link."""
        if isinstance(item, TreeFolder):
            (self.root / item.path).mkdir(parents=True, exist_ok=True)
            self.folders[item.path] = item.mode
        else:
            self.links[item.path] = item.target

    def link(self) -> list[str]:
        """Make the links; returns where none could be made, since something else lies there."""
        blocked = []
        for path, target in self.links.items():
            try:
                (self.root / path).parent.mkdir(parents=True, exist_ok=True)
                step("symlink", self.root / path)
                (self.root / path).symlink_to(target)
            except FileExistsError:
                blocked.append(path)
        return blocked

    def finish(self, record: dict[str, object]) -> None:
        """Modes of folders from the inside out, then the record.

        Files are not synced one by one, which would take minutes: what a power cut takes, `verify` names.
        """
        for path in sorted(self.folders, reverse=True):
            (self.root / path).chmod(self.folders[path])
        write_record(self.root / RECORD, record)
        for name in (PULLING, LOCK):
            remove(self.root / name)


@contextmanager
def opened(root: Path, run: str, url: str) -> Iterator[Target]:
    """The directory, made where it is absent and locked meanwhile. Raises PullRefused and OSError."""
    is_resumed = is_begun(root, run, url)
    root.mkdir(parents=True, exist_ok=True)
    try:
        with held(root / LOCK):
            if is_resumed:
                _open_up(root)
            write_record(root / PULLING, {"run": run, "store": url})
            umask = os.umask(0)
            os.umask(umask)
            yield Target(root, is_resumed, _umask=umask)
    except Taken:
        raise PullRefused(f'pull: "{root}": another pull is at work there') from None


def is_begun(root: Path, run: str, url: str) -> bool:
    """Whether an earlier try of this very pull was cut there. Raises PullRefused for whatever else lies there."""
    if root.exists() and not root.is_dir():
        raise PullRefused(f'pull: "{root}" is no directory')
    begun = read_record(root / PULLING)
    if isinstance(begun, Unreadable):
        raise PullRefused(f'pull: "{root}": {begun.why} (pull into another directory)')
    if begun is not None and not (root / RECORD).exists():
        found = begun.values.get("run"), begun.values.get("store")
        if found != (run, url):
            raise PullRefused(f'pull: "{root}" holds a pull of "{found[0]}" from {found[1]}')
        return True
    if root.is_dir() and (first := _first(root)) is not None:
        raise PullRefused(
            f'pull: "{root}" is not empty ("{first}"); a pull goes into an empty directory'
        )
    return False


def _first(root: Path) -> str | None:
    """The first thing there but what a pull leaves that was cut before it began."""
    names = sorted(item.name for item in root.iterdir())
    return next((n for n in names if n != LOCK and not n.startswith(f".{PULLING}.")), None)


def _open_up(root: Path) -> None:
    """Make what was begun writable again, without links to write through and without halves of files."""
    for top, folders, names in os.walk(root):
        for name in (*folders, *names):
            path = Path(top) / name
            if path.is_symlink() or (name in names and _OURS.fullmatch(name)):
                remove(path)
            elif name in folders and path.stat().st_mode & _OWNER != _OWNER:
                path.chmod(path.stat().st_mode | _OWNER)


def names_in(root: Path, but: Iterable[str] = ()) -> set[str]:
    """Every file and link below, by its path; `but` are left out."""
    found, left_out = set[str](), set(but)
    stack = [("", str(root))]
    while stack:
        above, folder = stack.pop()
        with os.scandir(folder) as entries:
            for entry in entries:
                path = above + entry.name
                if entry.is_dir(follow_symlinks=False):
                    stack.append((f"{path}/", entry.path))
                elif path not in left_out:
                    found.add(path)
    return found
