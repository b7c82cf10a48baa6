"""What the providers of one process share, with their keys from the credentials directory."""

from pathlib import Path

from spoteval.control.secrets import read_credential
from spoteval.provider.shared import Shared


def shared_of(credentials: Path) -> Shared:
    """For `open_provider`; a credential file that is absent or open to others raises ConfigError there."""
    return Shared(lambda name: read_credential(credentials, name))
