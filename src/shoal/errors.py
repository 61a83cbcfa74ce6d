"""Every error that shoal raises on purpose, under one base class, to catch all of them or exactly one.

A message says in one line what happened, where, and what to do now. It never holds a raw identifier or a
seed.
"""

import re
from typing import Final

_OPTION: Final = re.compile(r"(?<![\w-])--([a-z][a-z-]*)")
_OTHERWISE: Final = {  # options that are no argument of the same name
    "no-snap": "snap=False",
    "pi": "pi_s",
    "row-by-row": "row_order=True",
    "per-day": "per_day=True",
    "streets-nodes": "nodes",
    "streets-edges": "edges",
    "as": "columns",
    "file-crs": "crs",
    "suppress-space": "suppress_space_m",
    "suppress-time": "suppress_time_s",
}


def in_python(message: str) -> str:
    """A message with the arguments of Python in the place of the options of the command line."""
    return _OPTION.sub(lambda found: _OTHERWISE.get(found[1], found[1].replace("-", "_")), message)


class ShoalError(Exception):
    """Base of all errors that are raised on purpose.

    A message names options as the command line spells them (``--time-zone``). ``str`` of an error names the
    arguments of Python in their place (``time_zone``); the command line prints ``as_written``.
    """

    @property
    def as_written(self) -> str:
        """The message with the options of the command line."""
        return super().__str__()

    def __str__(self) -> str:
        return in_python(self.as_written)


class InputError(ShoalError):
    """Data from outside cannot be used: a missing column, a truncated file, a folder that is no release."""


class MisuseError(ShoalError, ValueError):
    """A parameter or call that cannot work: the message gives the value, the bound and the remedy."""


class NothingLeftError(ShoalError):
    """Suppression would leave nobody to publish."""


class OutputError(ShoalError):
    """The result cannot be written: the target exists, is not writable, or the disk is full."""


class InUseError(OutputError):
    """Another command works in the folder at this moment."""


class OtherJobError(InputError):
    """The folder of finished parts holds those of another job, so that this one cannot continue there."""


class ClaimError(ShoalError):
    """A release does not keep its promise and was therefore not written."""


class MissingExtraError(ShoalError):
    """An optional library is not installed; the message names the extra that brings it."""


class EngineError(ShoalError):
    """The workers of an engine cannot be reached, or die again and again."""
