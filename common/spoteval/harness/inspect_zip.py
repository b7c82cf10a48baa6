"""Zip files with zstd members (method 93), which Python's own zipfile lists but before 3.14 cannot read."""

import os
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

import zstandard

STORED, DEFLATED, ZSTANDARD = 0, 8, 93
_LOCAL_HEADER_BYTES = 30
_CHUNK = 1 << 20
_DAMAGE = (
    zipfile.BadZipFile,
    zlib.error,
    zstandard.ZstdError,
    struct.error,
    RuntimeError,  # zipfile's word for encrypted members and, as NotImplementedError, unknown features
    EOFError,
    OverflowError,
    ValueError,
)


class Damaged(ValueError):
    """The archive, or the member asked for, is torn or not what it says."""


@dataclass(frozen=True, slots=True)
class Entry:
    """Where one member lies, and what it has to be: all of it in bytes, but for the method and the CRC."""

    method: int
    offset: int
    stored: int
    size: int
    crc: int


class Archive:
    """An open zip file. The file may be replaced meanwhile: what was opened stays readable."""

    def __init__(self, path: Path, entries: Mapping[str, Entry] | None = None) -> None:
        """Read the central directory, unless it is known (`entries`); raises OSError or Damaged."""
        self._file = path.open("rb")
        try:
            self.entries = _entries(self._file) if entries is None else entries
        except _DAMAGE as error:
            self._file.close()
            raise Damaged(f"{path}: {error}") from error
        self._path = path

    def __enter__(self) -> "Archive":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    @property
    def names(self) -> frozenset[str]:
        """The members. A name that occurs twice counts once: its last entry replaced the others."""
        return frozenset(self.entries)

    @property
    def signature(self) -> tuple[int, int, int]:
        """Equal for two openings of one file that nobody wrote to in between."""
        return signature_of(os.fstat(self._file.fileno()))

    def checksum(self, name: str) -> str:
        """CRC and size of a member, as the directory has them."""
        entry = self.entries[name]
        return f"{entry.crc:08x}-{entry.size}"

    def read(self, name: str) -> bytes:
        """A member, decompressed and checked against its CRC; raises OSError or Damaged."""
        entry = self.entries.get(name)
        if entry is None:
            raise Damaged(f"{self._path}: holds no {name}")
        try:
            data = self._decompressed(entry)
        except _DAMAGE as error:
            raise Damaged(f"{self._path}: {name}: {error}") from error
        if len(data) != entry.size or zlib.crc32(data) != entry.crc:
            raise Damaged(f"{self._path}: {name}: does not match its checksum")
        return data

    def _decompressed(self, entry: Entry) -> bytes:
        raw = self._raw(entry)
        if entry.method == STORED:
            return raw
        if entry.method == DEFLATED:
            return zlib.decompressobj(-zlib.MAX_WBITS).decompress(raw, entry.size + 1)
        if entry.method == ZSTANDARD:
            # A large member is written as several frames, one after the other.
            with zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True) as reader:
                return _read_to(reader, entry.size)
        raise zipfile.BadZipFile(f"compression method {entry.method} is not known here")

    def _raw(self, entry: Entry) -> bytes:
        """The compressed bytes. The local header repeats the name, with an extra field of its own length."""
        self._file.seek(entry.offset)
        header = self._file.read(_LOCAL_HEADER_BYTES)
        magic, name_bytes, extra_bytes = struct.unpack("<4s22xHH", header)
        if magic != b"PK\x03\x04":
            raise zipfile.BadZipFile("its local header is not there")
        self._file.seek(name_bytes + extra_bytes, 1)
        raw = self._file.read(entry.stored)
        if len(raw) != entry.stored:
            raise EOFError("cut short")
        return raw


def _read_to(reader: zstandard.ZstdDecompressionReader, size: int) -> bytes:
    """Everything, but hardly more than the directory promises: a member made to blow up ends here."""
    pieces: list[bytes] = []
    left = size
    while left >= 0 and (piece := reader.read(_CHUNK)):
        pieces.append(piece)
        left -= len(piece)
    return b"".join(pieces)


def signature_of(status: os.stat_result) -> tuple[int, int, int]:
    """Inode, size, time: what tells two contents of a file apart without reading it."""
    return status.st_ino, status.st_size, status.st_mtime_ns


def _entries(file: BinaryIO) -> dict[str, Entry]:
    with zipfile.ZipFile(file) as archive:
        return {info.filename: _entry(info) for info in archive.infolist()}


def _entry(info: zipfile.ZipInfo) -> Entry:
    """The five numbers that are needed: zipfile keeps ten times as much of each member."""
    return Entry(
        info.compress_type, info.header_offset, info.compress_size, info.file_size, info.CRC
    )
