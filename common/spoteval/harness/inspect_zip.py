"""Zip files with zstd members (method 93), which Python's own zipfile lists but before 3.14 cannot read."""

import struct
import zipfile
import zlib
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


class Archive:
    """An open zip file. The file may be replaced meanwhile: what was opened stays readable."""

    def __init__(self, path: Path) -> None:
        """Read the central directory; raises OSError or Damaged."""
        self._file = path.open("rb")
        try:
            self._infos = {info.filename: info for info in _directory(self._file)}
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
        return frozenset(self._infos)

    def checksum(self, name: str) -> str:
        """CRC and size of a member, as the directory has them."""
        info = self._infos[name]
        return f"{info.CRC:08x}-{info.file_size}"

    def read(self, name: str) -> bytes:
        """A member, decompressed and checked against its CRC; raises OSError or Damaged."""
        info = self._infos.get(name)
        if info is None:
            raise Damaged(f"{self._path}: holds no {name}")
        try:
            data = self._decompressed(info)
        except _DAMAGE as error:
            raise Damaged(f"{self._path}: {name}: {error}") from error
        if len(data) != info.file_size or zlib.crc32(data) != info.CRC:
            raise Damaged(f"{self._path}: {name}: does not match its checksum")
        return data

    def _decompressed(self, info: zipfile.ZipInfo) -> bytes:
        raw = self._raw(info)
        if info.compress_type == STORED:
            return raw
        if info.compress_type == DEFLATED:
            return zlib.decompress(raw, -zlib.MAX_WBITS)
        if info.compress_type == ZSTANDARD:
            # A large member is written as several frames, one after the other.
            with zstandard.ZstdDecompressor().stream_reader(raw, read_across_frames=True) as reader:
                return b"".join(iter(lambda: reader.read(_CHUNK), b""))
        raise zipfile.BadZipFile(f"compression method {info.compress_type} is not known here")

    def _raw(self, info: zipfile.ZipInfo) -> bytes:
        """The compressed bytes. The local header repeats the name, with an extra field of its own length."""
        self._file.seek(info.header_offset)
        header = self._file.read(_LOCAL_HEADER_BYTES)
        magic, name_bytes, extra_bytes = struct.unpack("<4s22xHH", header)
        if magic != b"PK\x03\x04":
            raise zipfile.BadZipFile("its local header is not there")
        self._file.seek(name_bytes + extra_bytes, 1)
        raw = self._file.read(info.compress_size)
        if len(raw) != info.compress_size:
            raise EOFError("cut short")
        return raw


def _directory(file: BinaryIO) -> list[zipfile.ZipInfo]:
    with zipfile.ZipFile(file) as archive:
        return archive.infolist()
