"""Decisions about columns, and counts of rows that add up with those of later rows."""

from copy import copy
from typing import Any, Self


class Counting:
    """Holds decisions, and the counts that ``_begin_counts``, a hook of each class, sets to nothing.

    Both ways go into what it holds of this kind. Numbers, arrays, lists and counters are added, sets united;
    of truths and texts the first stays.
    """

    def _begin_counts(self) -> None:
        raise NotImplementedError

    def without_counts(self) -> Self:
        """The same decisions, empty counts."""
        fresh = copy(self)
        for name, value in vars(self).items():
            if isinstance(value, Counting):
                setattr(fresh, name, value.without_counts())
            elif isinstance(value, dict):
                setattr(fresh, name, value.copy())
        fresh._begin_counts()
        return fresh

    def join(self, later: Self) -> None:
        """Add the counts of later rows."""
        for name, value in vars(later).items():
            if isinstance(value, Counting):
                getattr(self, name).join(value)
        empty = object.__new__(type(self))
        empty._begin_counts()
        for name in vars(empty):
            setattr(self, name, _joined(getattr(self, name), getattr(later, name)))


def _joined(value: Any, later: Any) -> Any:
    if isinstance(value, bool | str):
        return value or later
    return value | later if isinstance(value, set) else value + later
