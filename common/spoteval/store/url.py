"""Which URLs name a store: known without loading any."""

from urllib.parse import urlsplit


def url_error(url: str) -> str | None:
    """Why `url` names no store we know, or None."""
    parts = urlsplit(url)
    if parts.scheme == "file" and parts.path.startswith("/") and not parts.netloc:
        return None
    return f'"{url}": must be file:///absolute/path'
