"""What a form of the desk may name: data that exist, and places where something new can be written."""

from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from shoal.io.sources.named_files import STANDARD_INPUT, files
from shoal.io.sources.servers import is_address
from shoal.local_pages.forms import RefusedError, absolute_path, read_entry


def checked_source(text: str) -> str:
    """The data that somebody named: a path that exists, made absolute, or the address of a database.

    Raises RefusedError for anything else, and for an address that holds a password.
    """
    if not text:
        raise RefusedError("error.no_source")
    if "\n" in text or "\0" in text:
        raise RefusedError("error.signs")
    if is_address(text):
        try:
            address = urlsplit(text.split(maxsplit=1)[0])
            named = [name for name, _ in parse_qsl(address.query, keep_blank_values=True)]
            secret = address.password is not None or any("password" in name.lower() for name in named)
        except ValueError as error:
            raise RefusedError("error.address") from error
        if secret:
            raise RefusedError("error.password")
        if len(text.split()) < 2:
            raise RefusedError("error.no_query")
        return text
    if "://" in text:
        raise RefusedError("error.address")
    if text == STANDARD_INPUT:
        raise RefusedError("error.standard_input")
    path = absolute_path(text)
    try:
        found = read_entry(lambda: next(iter(files(path)), None))
        if found is not None:
            with found.open("rb"):
                pass
    except OSError as error:
        raise RefusedError("error.unreadable", path=text, why=error.strerror or "") from error
    return str(path)


def new_path(text: str, key: str) -> Path:
    """Where something new shall be written; raises RefusedError for a place that cannot be used."""
    if not text or "\n" in text or "\0" in text:
        raise RefusedError(key)
    path = absolute_path(text)
    try:
        taken = path.exists() or path.is_symlink()
        parent = next(one for one in path.parents if one.exists())
    except OSError as error:
        raise RefusedError("error.unwritable", path=text, why=error.strerror or "") from error
    if taken:
        raise RefusedError("error.taken", path=path)
    if not parent.is_dir():
        raise RefusedError("error.not_a_folder", path=parent)
    return path
