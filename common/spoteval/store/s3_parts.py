"""How a large file is cut into parts: known without loading a client."""

PART_BYTES = 8 << 20
"""Of a part: what lies in memory, and what is sent again after an error."""
_MOST_PARTS = 9_000  # the protocol allows 10,000


def part_bytes(size: int) -> int:
    """Bytes of each part but the last: the same whenever it is asked for a file of this size."""
    return max(PART_BYTES, -(-size // _MOST_PARTS))
