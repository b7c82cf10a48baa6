"""From a URL to a store."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

from spoteval.store.contract import Store
from spoteval.store.file import FileStore
from spoteval.store.place import S3Place
from spoteval.store.url import url_error

_ANYWHERE = S3Place()


def open_store(url: str, place: S3Place = _ANYWHERE) -> Store:
    """The store that `url` names; raises ValueError with what is allowed. No request is sent.

    The client of `s3://` stores is loaded here and nowhere else, and whole: nothing is imported by its first request.
    """
    if (why := url_error(url)) is not None:
        raise ValueError(why)
    if url.startswith("s3://"):
        return _s3(url, place)
    return FileStore(Path(unquote(urlsplit(url).path)))


def _s3(url: str, place: S3Place) -> Store:
    try:
        from spoteval.store.s3 import S3Store
    except ImportError as error:
        raise ValueError(f'"{url}": {error.name} is not installed (pip install boto3)') from error
    return S3Store(url, place)
