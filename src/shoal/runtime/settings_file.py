"""Settings that people write in TOML: one reader, one set of messages."""

import tomllib
from pathlib import Path
from typing import Any

from shoal.errors import InputError
from shoal.runtime.paths import path_of


def read_settings(path: Path | str) -> dict[str, Any]:
    """The entries of a TOML file; raises InputError, naming the file, when it cannot be read as such."""
    path = path_of(path, "a file of settings")
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not valid TOML: {error}") from error
