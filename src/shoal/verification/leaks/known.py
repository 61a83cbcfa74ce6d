"""The raw identifiers as all searches for them take them, each form made once."""

import re
from collections.abc import Callable
from itertools import chain
from threading import Lock
from typing import Final, Self

from shoal.model.trajectories import Population
from shoal.verification.leaks.digests import Digests
from shoal.verification.leaks.glued import Kind, kinds_of
from shoal.verification.leaks.identifiers import Names

_DigestsOf = Callable[[tuple[str, ...]], Digests]
_DAY_AT_END: Final = re.compile(r"\W*\d{4}-?\d{2}-?\d{2}$")


class RawIdentifiers:
    """The identifiers of some raw data, for any number of searches; everything here is as secret as they are.

    ids: every subject's, and the person's own where a person's days are the subjects. digests: their hashes.
    """

    def __init__(self, ids: tuple[str, ...], digests_of: _DigestsOf | None = None) -> None:
        self.ids, self.digests = ids, (digests_of or Digests)(ids)
        self._names: Names | None = None
        self._kinds: tuple[Kind, ...] | None = None
        self._lock = Lock()

    @classmethod
    def of(cls, original: Population, digests_of: _DigestsOf | None = None) -> Self:
        """Those of these people; digests_of: makes and compares their hashes."""
        if not original.intake.reading.per_day:
            return cls(original.ids, digests_of)
        people = (_DAY_AT_END.sub("", uid) for uid in original.ids)
        return cls(tuple(dict.fromkeys(chain(original.ids, people))), digests_of)

    @property
    def names(self) -> Names:
        """As whole names and words."""
        with self._lock:  # of two searches at once, one makes them
            if self._names is None:
                self._names = Names.of(self.ids)
            return self._names

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """As pieces of longer words."""
        with self._lock:
            if self._kinds is None:
                self._kinds = kinds_of(self.ids)
            return self._kinds
