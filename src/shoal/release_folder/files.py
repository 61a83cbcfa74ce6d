"""Checks before others' files are opened, and the mark of whom a page is for."""

import os
import re
import stat
from pathlib import Path
from typing import Final

from shoal.errors import InputError

_USUAL_ATTRIBUTES: Final = ("user.DOSATTRIB", "user.mime", "user.xdg.")
_NAME: Final = "shoal-page"
PUBLIC: Final = f'<meta name="{_NAME}" content="public record">'
PRIVATE: Final = f'<meta name="{_NAME}" content="for the holder of the raw data">'
_ANY: Final = re.compile(rf"<meta[^>]*{_NAME}[^>]*>", re.IGNORECASE)


def require_plain_file(path: Path, most_bytes: int | None = None) -> None:
    """Raise InputError for a link, pipe or device, and for a file too large."""
    try:
        state = path.lstat()
    except FileNotFoundError as error:
        raise InputError(f"{path} does not exist") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    if not stat.S_ISREG(state.st_mode):
        raise InputError(
            f"{path} is no plain file (a folder, a link, a pipe or a device); put the file itself there"
        )
    if most_bytes is not None and state.st_size > most_bytes:
        raise InputError(
            f"{path} has {state.st_size:,} bytes; at most {most_bytes:,} are read, so write the release again"
        )


def has_attributes(path: Path) -> bool:
    """Whether a file carries attributes beside its bytes that no file system or download writes."""
    names: list[str] = os.listxattr(path, follow_symlinks=False) if hasattr(os, "listxattr") else []
    return any(name.startswith("user.") and not name.startswith(_USUAL_ATTRIBUTES) for name in names)


def is_public(page: str) -> bool:
    """Whether a page carries the public mark alone, once."""
    return _ANY.findall(page) == [PUBLIC]
