"""Paths as callers give them: text or a Path, and a sentence for anything else."""

import os
import re
from pathlib import Path
from typing import Final

from shoal.errors import MisuseError

_ADDRESS: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")  # a Path of s3://bucket keeps one slash only


def is_elsewhere(path: object) -> bool:
    """Whether a text or Path names a place on another machine, such as ``s3://bucket/folder``."""
    return _ADDRESS.match(str(path)) is not None


def path_of(value: object, what: str) -> Path:
    """The value as a path on this machine; MisuseError for what is none, or is an address."""
    if not isinstance(value, (str, os.PathLike)) or not str(value):
        raise MisuseError(f"{what} is needed as a path, not as {value!r}")
    if is_elsewhere(value):
        raise MisuseError(elsewhere(what))
    return Path(value)


def without_keys(address: str) -> str:
    """An address without what may hold a key: what stands before @, and what after a question mark.

    Examples
    --------
    >>> without_keys("s3://key:secret@bucket/release?region=eu")
    's3://bucket/release'
    >>> without_keys("abfs://container@account.dfs.core.windows.net/release")
    'abfs://container@account.dfs.core.windows.net/release'
    """
    scheme, _, rest = address.partition("://")
    place, _, settings = rest.partition("?")
    if "@" in settings:  # nobody can tell which of them ends a key
        return f"{scheme}://..."
    who, _, where = place.rpartition("@")
    is_container = scheme.startswith("abfs") and who and ":" not in who
    return f"{scheme}://{who}@{where}" if is_container else f"{scheme}://{where}"


def elsewhere(what: str) -> str:
    """Why a place on another machine is refused; the address is not repeated, for it may hold a key."""
    return (
        f"{what} must lie on this machine, not at an address; use a folder here, and copy a finished release "
        "with shoal publish --to"
    )
