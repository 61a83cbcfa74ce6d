"""Every error that shoal raises on purpose.

A message says in one line what happened, where, and what to do. It never holds a raw identifier or a seed.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

_OPTION: Final = re.compile(r"(?<![\w-])--([a-z][a-z-]*)")
_OTHERWISE: Final = {  # options that are no argument of the same name
    "no-snap": "snap=False",
    "pi": "pi_s",
    "row-by-row": "layout=shoal.FileLayout(row_order=True)",
    "per-day": "per_day=True",
    "ids-as-they-are": "ids_as_they_are=True",
    "lose-people": "lose_people=True",
    "streets-nodes": "nodes",
    "streets-edges": "edges",
    "as": "columns",
    "file-crs": "crs",
    "suppress-space": "suppress_space_m",
    "suppress-time": "suppress_time_s",
}


_OF_PYDANTIC: Final = (
    ("^Value error, ", ""),
    ("^Field required$", "it is missing"),
    ("^Extra inputs are not permitted$", "there is no such entry"),
    (r".* a valid string\b.*", "must be a text"),
    (r".* a valid integer\b.*", "must be a whole number"),
    (r".* a valid boolean\b.*", "must be true or false"),
    (r".* a valid date\b.*", "must be a date such as 2024-01-31"),
    (r"^\w+ should ", "must "),
    ("greater than or equal to", "at least"),
    ("less than or equal to", "at most"),
)


def mistake_in_words(mistake: Mapping[str, Any]) -> str:
    """A mistake that pydantic reports, for a reader who knows no pydantic."""
    message: str = mistake["msg"]
    for theirs, ours in _OF_PYDANTIC:
        message = re.sub(theirs, ours, message)
    return message


def to_python_names(message: str) -> str:
    """A message with Python arguments instead of options."""
    return _OPTION.sub(lambda match: _OTHERWISE.get(match[1], match[1].replace("-", "_")), message)


class ShoalError(Exception):
    """Base of all errors that are raised on purpose.

    Messages name options as on the command line (``--time-zone``). ``str`` of an error names Python's
    arguments instead (``time_zone``); the command line prints ``cli_message``.
    """

    @property
    def cli_message(self) -> str:
        """The message with command line options."""
        return super().__str__()

    def __str__(self) -> str:
        return to_python_names(self.cli_message)


class InputError(ShoalError):
    """Input cannot be used: a missing column, a truncated file, a folder that is no release."""


class MisuseError(ShoalError, ValueError):
    """A parameter or call that cannot work: the message gives value, bound and remedy."""


class NothingLeftError(ShoalError):
    """Suppression would leave no one to publish."""


class OutputError(ShoalError):
    """The result cannot be written: the target exists, is not writable, or the disk is full."""


class InUseError(OutputError):
    """Another command is using the folder."""


class OtherJobError(InputError):
    """The folder of finished parts belongs to another job, which cannot continue there."""


class ClaimError(ShoalError):
    """A release breaks its promise and was therefore not written."""


class MissingExtraError(ShoalError):
    """An optional library is not installed; the message names the extra that installs it."""


@contextmanager
def requiring_extra(what: str, extra: str, of: str = "shoal") -> Iterator[None]:
    """Raise MissingExtraError where an import in the block fails. what: needs which library."""
    try:
        yield
    except ImportError as error:
        raise MissingExtraError(f"{what}; install it with: pip install '{of}[{extra}]'") from error


class EngineError(ShoalError):
    """An engine's workers cannot be reached, or keep dying."""
