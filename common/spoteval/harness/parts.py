"""The bytes of a part, for those who publish and need not know what a log is made of."""

from spoteval.episode import Part


def read_part(part: Part) -> bytes:
    """The whole of a part: the file, or the one decompressed member of a container.

    Raises OSError where it cannot be read, and ValueError where the container does not hold it undamaged.
    """
    if part.member is None:
        return part.path.read_bytes()
    from spoteval.harness.inspect_zip import Archive

    with Archive(part.path) as archive:
        return archive.read(part.member)
