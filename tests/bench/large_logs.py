"""A real log as it was some flushes ago: the same members byte for byte, fewer of them."""

import copy
import json
import struct
import zipfile
from itertools import pairwise
from pathlib import Path

from spoteval.harness.inspect_zip import Archive

FLUSH = 500
_LOCAL = struct.Struct("<26xHH")


def shortened(
    log: Path, target: Path, samples: int | None, *, news: int, with_news: bool = True
) -> None:
    """Write the first `samples` samples (all of them: None) as a log that still grows.

    Its last `news` samples are a flush of their own, left out without `with_news`.
    """
    with Archive(log) as archive:
        start = archive.read("_journal/start.json")
        summaries = json.loads(archive.read("summaries.json"))[:samples]
    kept = summaries if with_news else summaries[:-news]
    ends = [*range(0, len(summaries) - news, FLUSH), len(summaries) - news, len(kept)]
    with zipfile.ZipFile(log) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as new:
        new.writestr("_journal/start.json", start)
        for number, (first, last) in enumerate(pairwise(ends), start=1):
            for summary in kept[first:last]:
                _copy(old, new, f"samples/{summary['id']}_epoch_{summary['epoch']}.json")
            if last > first:
                new.writestr(f"_journal/summaries/{number}.json", json.dumps(kept[first:last]))


def _copy(old: zipfile.ZipFile, new: zipfile.ZipFile, name: str) -> None:
    """A member as it is, compressed by a method that zipfile does not know."""
    info = copy.copy(old.getinfo(name))
    assert old.fp is not None
    assert new.fp is not None
    old.fp.seek(info.header_offset)
    header = old.fp.read(_LOCAL.size)
    data = header + old.fp.read(sum(_LOCAL.unpack(header)) + info.compress_size)
    info.header_offset = new.fp.tell()
    new.fp.write(data)
    new.filelist.append(info)
    new.NameToInfo[name] = info
    new.start_dir = new.fp.tell()  # type: ignore[attr-defined]
