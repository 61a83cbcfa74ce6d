"""How far long work has come, in a file that another process reads.

Whoever starts a command sets ``SHOAL_PROGRESS_FILE`` in its environment; the command then keeps the file up
to date, whole at every moment.
"""

import json
import os
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from shoal.runtime.pace import Pace

ENVIRONMENT: Final = "SHOAL_PROGRESS_FILE"
_EVERY_S: Final = 0.25


@dataclass(frozen=True, kw_only=True)
class Seen:
    """The piece of work under way: so many parts of it are done; seconds left, None when nothing tells."""

    label: str
    done: int
    total: int
    left_s: float | None


class ProgressFile:
    """Progress for a Run, written to a file a few times a second; where that fails, the work goes on.

    Parameters
    ----------
    path
        The file; its folder must exist.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._partial = path.with_name(f".{path.name}.partial-{os.getpid()}")
        self._label, self._pace, self._last = "", Pace(0, 0.0), 0.0

    def __call__(self, label: str, done: int, total: int) -> None:
        """Write how far a piece of work has come, unless the file is fresh."""
        now = time.monotonic()
        if label != self._label:
            self._label, self._pace = label, Pace(done, now)
        elif not self._pace.go_on(done, now) and now - self._last < _EVERY_S and done < total:
            return
        self._last = now
        seen = Seen(label=label, done=done, total=total, left_s=self._pace.left_s(total, now))
        with suppress(OSError):  # the disk is full, or whoever wanted to know is gone
            self._partial.write_text(json.dumps(asdict(seen)), encoding="utf-8")
            self._partial.replace(self._path)


def wanted_progress_file() -> ProgressFile | None:
    """The file that the environment asks for, None when nobody does."""
    named = os.environ.get(ENVIRONMENT)
    return ProgressFile(Path(named)) if named else None


def read_progress(path: Path) -> Seen | None:
    """What stands in the file; None when there is none yet."""
    try:
        return Seen(**json.loads(path.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return None
