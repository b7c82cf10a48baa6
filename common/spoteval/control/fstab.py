"""The line that mounts the durable disk. Pure: text in, text out.

Without `nofail` a disk that is missing is emergency mode: no guard, and a node that is billed.
"""

from dataclasses import dataclass
from pathlib import Path

WANTED = ("nofail", "x-systemd.device-timeout=60s")
_TIMEOUT = "x-systemd.device-timeout="
_FIELDS = 6


@dataclass(frozen=True, slots=True)
class Entry:
    """What a mount line says, or would say."""

    source: str
    point: Path
    kind: str

    @property
    def line(self) -> str:
        """The whole line with what spoteval needs of it; only real disks are checked at boot."""
        check = "2" if self.source.startswith(("UUID=", "LABEL=", "/dev/")) else "0"
        return f"{self.source} {_escaped(self.point)} {self.kind} {','.join(WANTED)} 0 {check}"


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the table mounts the disk as it must; `line` is the one it should have, `text` the table with it."""

    ok: bool
    says: str
    line: str
    text: str


def checked(text: str, entry: Entry) -> Verdict:
    """Look for the line of the mount point; the last one counts, as it does for systemd's generator."""
    lines = text.splitlines()
    found = [number for number, line in enumerate(lines) if _point(line) == _escaped(entry.point)]
    if not found:
        end = "" if not text or text.endswith("\n") else "\n"
        missing = f"no line mounts {entry.point}"
        return Verdict(ok=False, says=missing, line=entry.line, text=f"{text}{end}{entry.line}\n")
    number = found[-1]
    wanted = _with_options(lines[number])
    if wanted == lines[number]:
        return Verdict(ok=True, says=" ".join(wanted.split()), line=wanted, text=text)
    lines[number] = wanted
    return Verdict(
        ok=False,
        says=f"line {number + 1} lacks nofail or {WANTED[1]}",
        line=" ".join(wanted.split()),
        text="\n".join(lines) + "\n",
    )


def _point(line: str) -> str | None:
    fields = line.split()
    return fields[1] if len(fields) > 1 and not line.lstrip().startswith("#") else None


def _with_options(line: str) -> str:
    """The line with what it lacks; a timeout of its own stands."""
    fields = line.split()
    options = fields[3].split(",") if len(fields) > 3 else ["defaults"]
    more = [word for word in WANTED if not _has(options, word)]
    if not more:
        return line
    kind = fields[2] if len(fields) > 2 else "auto"
    rest = [*fields[4:_FIELDS], "0", "0"][:2] if len(fields) < _FIELDS else fields[4:_FIELDS]
    return " ".join([fields[0], fields[1], kind, ",".join([*options, *more]), *rest])


def _has(options: list[str], word: str) -> bool:
    if word.startswith(_TIMEOUT):
        return any(option.startswith(_TIMEOUT) for option in options)
    return word in options


def _escaped(point: Path) -> str:
    """As fstab(5) wants blanks."""
    return str(point).replace("\\", "\\134").replace(" ", "\\040").replace("\t", "\\011")
