"""One part of an attempt: its evidence, wherever it lies."""

from spoteval.episode import Part
from spoteval_agents.publication_follower.evidence import Evidence, take
from spoteval_agents.publication_follower.sending import Target


def take_part(target: Target, part: Part) -> Evidence:
    """The evidence of one part. Raises what `take` raises."""
    read = None if part.member is None else (lambda: target.read_part(part))
    return take(part.path, target.paths.root, read, target.screen)
