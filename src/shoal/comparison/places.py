"""Where a comparison keeps its releases: names made from the data and the settings."""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from shoal.comparison.study import Setting
from shoal.model.trajectories import Trajectories
from shoal.runtime.staging import staged_file


def place_of(setting: Setting, source: Trajectories, folder: Path) -> Path:
    """Where a release of this setting stands, under a name made from the data and the settings."""
    return (
        folder
        / f"{setting.name}-{digest_of([setting.name, setting.method.parameters(), fingerprint_of(source)])}"
    )


def fingerprint_of(data: Trajectories) -> str:
    """A digest of who was where when."""
    digest = hashlib.sha256(repr((data.grid, data.crs, data.intake.unit_of_protection)).encode())
    for column in (data.offsets, data.t, data.x, data.y):
        digest.update(np.ascontiguousarray(column).tobytes())
    return digest.hexdigest()


def digest_of(parts: Sequence[Any]) -> str:
    """Twelve digits for what JSON can hold."""
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:12]


def write_text(text: str, path: Path) -> None:
    """Write a file of its owner's, complete or not at all; an earlier one is replaced."""
    with staged_file(path, lambda file: file.write(text.encode())):
        pass
