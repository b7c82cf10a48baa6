"""One part of an attempt: its evidence, wherever it lies, and its name as a record can tell it."""

from spoteval.episode import Part
from spoteval.publication.keys import safe_path
from spoteval_agents.publication_follower.evidence import Evidence, take
from spoteval_agents.publication_follower.sending import Target


def take_part(target: Target, part: Part) -> Evidence:
    """The evidence of one part. Raises what `take` raises."""
    read = None if part.member is None else (lambda: target.read_part(part))
    return take(part.path, target.paths.root, read, target.screen)


def part_name(part: Part) -> str:
    """Its name as text: what cannot stand in a record is percent-encoded, so that it blocks no episode."""
    return as_text(part.name)


def as_text(name: str) -> str:
    """The name, or its safe form where it is no text."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return safe_path(name)
    return name
