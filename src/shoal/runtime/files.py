"""Paths, settings in TOML, digests, and JSON without nan and duplicate keys."""

import hashlib
import math
import os
import re
import tomllib
from pathlib import Path
from typing import Any, Final

from shoal.errors import InputError, MisuseError

_ADDRESS: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:/")  # a Path of s3://bucket keeps one slash only


def is_remote(path: object) -> bool:
    """Whether it names a place on another machine."""
    return _ADDRESS.match(str(path)) is not None


def local_path(value: object, what: str) -> Path:
    """A path here; raises MisuseError for an address."""
    if not isinstance(value, (str, os.PathLike)) or not str(value):
        raise MisuseError(f"{what} is needed as a path, not as {value!r}")
    if is_remote(value):
        raise MisuseError(not_local(what))
    return Path(value)


def without_credentials(address: str) -> str:
    """An address without parts that may hold a key: before @, and after a question mark.

    >>> without_credentials("s3://key:secret@bucket/release?region=eu")
    's3://bucket/release'
    >>> without_credentials("abfs://container@account.dfs.core.windows.net/release")
    'abfs://container@account.dfs.core.windows.net/release'
    """
    scheme, _, rest = address.partition("://")
    place, _, settings = rest.partition("?")
    if "@" in settings:  # no way to tell which of them ends a key
        return f"{scheme}://..."
    who, _, where = place.rpartition("@")
    is_container = scheme.startswith("abfs") and who and ":" not in who
    return f"{scheme}://{who}@{where}" if is_container else f"{scheme}://{where}"


def not_local(what: str) -> str:
    """The message for another machine, without the address, which may hold a key."""
    return (
        f"{what} must lie on this machine, not at an address; use a folder here, and copy a finished release "
        "with shoal publish --to"
    )


def read_settings(path: Path | str) -> dict[str, Any]:
    """A TOML file's entries; InputError names the file."""
    path = local_path(path, "a file of settings")
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, RecursionError) as error:  # ValueError: also numbers of thousands of digits
        raise InputError(f"{path} is not valid TOML: {error}") from error


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class NotJsonError(ValueError):
    """A text that lenient readers accept and interpret differently."""


def null_for_nan(value: Any) -> Any:
    """None for every nan, also inside."""
    if isinstance(value, dict):
        return {name: null_for_nan(entry) for name, entry in value.items()}
    if isinstance(value, list | tuple):
        return [null_for_nan(entry) for entry in value]
    return None if isinstance(value, float) and math.isnan(value) else value


def require_unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """As ``object_pairs_hook``; raises NotJsonError for a duplicate key."""
    entries = dict(pairs)
    if len(entries) < len(pairs):
        raise NotJsonError("a key stands there twice")
    return entries
