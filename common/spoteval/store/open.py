"""From a URL to a store."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

from spoteval.store.contract import Store
from spoteval.store.file import FileStore


def url_error(url: str) -> str | None:
    """Why `url` names no store we know, or None."""
    parts = urlsplit(url)
    if parts.scheme == "file" and parts.path.startswith("/") and not parts.netloc:
        return None
    return f'"{url}": must be file:///absolute/path'


def open_store(url: str) -> Store:
    """The store that `url` names; raises ValueError with what is allowed."""
    if (why := url_error(url)) is not None:
        raise ValueError(why)
    return FileStore(Path(unquote(urlsplit(url).path)))
