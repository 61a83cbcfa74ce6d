"""Files of a folder that somebody else made: looked at before they are opened."""

import stat
from pathlib import Path

from shoal.errors import InputError


def require_plain_file(path: Path, most_bytes: int | None = None) -> None:
    """Raise InputError unless the file can be read to its end: no link, pipe or device, and not too large."""
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
