"""From a URL to a store."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

from spoteval.store.contract import Store
from spoteval.store.file import FileStore
from spoteval.store.url import url_error


def open_store(url: str) -> Store:
    """The store that `url` names; raises ValueError with what is allowed."""
    if (why := url_error(url)) is not None:
        raise ValueError(why)
    return FileStore(Path(unquote(urlsplit(url).path)))
