"""Every error that shoal raises on purpose, under one base class, to catch all of them or exactly one.

A message says in one line what happened, where, and what to do now. It never holds a raw identifier or a
seed.
"""


class ShoalError(Exception):
    """Base of all errors that are raised on purpose."""


class InputError(ShoalError):
    """Data from outside cannot be used: a missing column, a truncated file, a folder that is no release."""


class MisuseError(ShoalError, ValueError):
    """A parameter or call that cannot work: the message gives the value, the bound and the remedy."""


class NothingLeftError(ShoalError):
    """Suppression would leave nobody to publish."""


class OutputError(ShoalError):
    """The result cannot be written: the target exists, is not writable, or the disk is full."""


class ClaimError(ShoalError):
    """A release does not keep its promise and was therefore not written."""


class MissingExtraError(ShoalError):
    """An optional library is not installed; the message names the extra that brings it."""


class EngineError(ShoalError):
    """The workers of an engine cannot be reached, or die again and again."""
