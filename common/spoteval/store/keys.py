"""The key of an S3 store."""

from spoteval.settings.access_keys import AccessKeys, parse_keys

__all__ = ["AccessKeys", "parse_keys"]
