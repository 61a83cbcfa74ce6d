"""k-anonymity over a series: releases of the same people, week after week.

Let C_i(p) be the crowd of person p in release i. Whoever knows all of p in some releases is left with the
people who are in every C_i(p). The releases of p taken together leave the fewest, so each person is counted
once: those in p's crowd in every release that holds a record of p. Composition attack: Ganta,
Kasiviswanathan and Smith 2008.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from shoal.errors import InputError
from shoal.model.claims.common import require_k
from shoal.model.names import TextNames
from shoal.model.verdicts import Finding
from shoal.runtime.arrays import Flags, Integers, Numbers
from shoal.runtime.compiled import compiled
from shoal.units import counted, show_s
from shoal.verification.composition.crowds import ReleaseCrowds, SeriesEntry
from shoal.verification.examination import Part
from shoal.verification.leaks.look_alikes import count_look_alikes

SERIES_PART: Final = Part(
    what="that k people remain in all releases of the series together", needs="the linkage of each release"
)
_ENOUGH: Final = 0.5  # share of the people who could be in another release
_ASK: Final = (
    "; every crowd of theirs would be new. Write the ids of all releases alike, or say with "
    "--ids-as-they-are that they are different people"
)


@dataclass(frozen=True, kw_only=True)
class SeriesAnonymity:
    """For each person, at least k people share her crowd in every release that holds a record of her.

    No release carries it: it is about several of them. k: the least k of the releases, at least 2.

    >>> from shoal.verification.composition.series import SeriesAnonymity
    >>> SeriesAnonymity(k=5, releases=8).name
    'k-anonymity over the series, k = 5'
    """

    k: int
    releases: int

    def __post_init__(self) -> None:
        require_k(self.k)

    @property
    def name(self) -> str:
        """Title with its number."""
        return f"k-anonymity over the series, k = {self.k}"

    @property
    def promise(self) -> str:
        """The promise in a sentence."""
        return (
            f"Whatever is known of a person in any of the {self.releases} releases, at least {self.k} people "
            "fit in all of them."
        )


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Series:
    """Who remains in all releases of a series together, for each person with a record in any."""

    releases: Sequence[SeriesEntry]  # the newest first
    remaining: Integers  # int64 [people], who share the person's crowd in each of the person's releases
    in_same: Integers  # [people], those of them who have records in the same releases, and in no others
    n_of: Integers  # [people], the number of the person's releases
    in_newest: int  # how many of the people, the first ones, have a record in the newest release

    @property
    def claim(self) -> SeriesAnonymity:
        """The claim that is checked: the least k of the releases."""
        return SeriesAnonymity(k=min(one.k for one in self.releases), releases=len(self.releases))

    @cached_property
    def below(self) -> Flags:
        """[people]: fewer than k remain."""
        return np.asarray(self.remaining < self.claim.k)

    @property
    def in_words(self) -> str:
        """The result in a line."""
        facts, k = self.to_json(), self.claim.k
        outcome = (
            f"fewer than {k} people remain for {facts['people_below_k']:,} of {facts['people']:,}, nobody "
            f"but the person for {facts['people_alone']:,}"
            if facts["people_below_k"]
            else f"holds for all {facts['people']:,} people: {self.claim.promise.removesuffix('.')}"
        )
        return (
            f"{len(self.releases)} releases: {self.claim.name}: {outcome} (the least: {facts['least']}; the "
            f"mean: {facts['mean']:.1f})"
        )

    def findings(self) -> Iterator[Finding]:
        """One for all people of whom fewer than k remain."""
        if n := int(np.count_nonzero(self.below)):
            message = (
                f"for {n:,} of {counted(len(self.below), 'person', 'people')}, fewer than {self.claim.k} "
                f"people fit in all of their releases together; the least: {int(self.remaining.min())}"
            )
            yield Finding("fewer-than-k-in-series", message)

    def notes(self) -> Iterator[str]:
        """What the check does not cover, and what is unusual about the series."""
        below = int(np.count_nonzero(self.in_same < self.claim.k))
        if below:
            yield (
                f"whoever also knows in which releases a person has no record is left with fewer than "
                f"{self.claim.k} people for {below:,} of {len(self.below):,} (the least: "
                f"{int(self.in_same.min())}); the claim does not cover this"
            )
        if single := int(np.count_nonzero(self.n_of == 1)):
            yield f"{counted(single, 'person is', 'people are')} in one release alone"
        newest = self.releases[0]
        if later := [one.label for one in self.releases[1:] if one.span_s[0] > newest.span_s[0]]:
            yield f"{', '.join(later)}: of a later period than {newest.label}; the order changes no figure"
        for position, one in enumerate(self.releases):
            for other in self.releases[position + 1 :]:
                shared_s = min(one.span_s[1], other.span_s[1]) - max(one.span_s[0], other.span_s[0])
                if shared_s > 0:
                    yield f"{one.label} and {other.label} share {show_s(shared_s)}; the check covers this"

    def newest_to_json(self) -> dict[str, Any]:
        """As ``together`` in ``shoal verify --json``: of the people of the newest release."""
        remaining = self.remaining[: self.in_newest]
        below = int(np.count_nonzero(remaining < self.claim.k))
        return {
            "releases": len(self.releases),
            "k": self.claim.k,
            "people": len(remaining),
            "knowledge": "everything",
            "asked": len(remaining),
            "below_k": below,
            "people_below_k": below,
            "least": int(remaining.min()),
            "mean_chance": float((1 / remaining).mean()),
        }

    def to_json(self) -> dict[str, Any]:
        """As ``series`` in ``shoal verify --json``."""
        return {
            "claim": self.claim.name,
            "promise": self.claim.promise,
            "k": self.claim.k,
            "releases": [one.sha256 for one in self.releases],
            "people": len(self.remaining),
            "people_in_one_release": int(np.count_nonzero(self.n_of == 1)),
            "least": int(self.remaining.min()),
            "mean": float(self.remaining.mean()),
            "mean_chance": float((1 / self.remaining).mean()),
            "people_below_k": int(np.count_nonzero(self.below)),
            "people_alone": int(np.count_nonzero(self.remaining == 1)),
            "least_by_absence": int(self.in_same.min()),
            "people_below_k_by_absence": int(np.count_nonzero(self.in_same < self.claim.k)),
        }


def examine_series(releases: Iterable[ReleaseCrowds], *, ids_as_they_are: bool = False) -> Series:
    """Count who remains for each person; the newest release first. Each is read once and dropped.

    Raises InputError for one release twice, another unit of protection, and ids that seem to have changed,
    unless ``ids_as_they_are``.
    """
    entries: list[SeriesEntry] = []
    columns: list[Integers] = []
    every = pa.array([], pa.string())
    for one in releases:
        _require_comparable(one.about, entries)
        entries.append(one.about)
        place = np.asarray(pc.index_in(one.uids.column, every).fill_null(-1), dtype=np.int64)
        fresh = place < 0
        place[fresh] = len(every) + np.arange(np.count_nonzero(fresh))
        every = pa.concat_arrays([every, one.uids.column.filter(pa.array(fresh))])
        columns.append(np.full(len(every), -1, dtype=np.int32))
        columns[-1][place] = one.crowd
    in_newest = len(columns[0])
    crowds = np.full((len(every), len(columns)), -1, dtype=np.int32)
    for number in range(len(entries)):
        column = columns.pop(0)
        crowds[: len(column), number] = column
    n_of = np.count_nonzero(crowds >= 0, axis=1)
    _require_same_ids(entries, crowds, n_of, TextNames(every), ids_as_they_are=ids_as_they_are)
    remaining, in_same = people_together(crowds)
    return Series(releases=entries, remaining=remaining, in_same=in_same, n_of=n_of, in_newest=in_newest)


def people_together(crowds: Numbers) -> tuple[Integers, Integers]:
    """Who remains, and who of them is in the same releases, int64 [people] each.

    crowds: int32 or int64 [people, releases], -1 = no record. Of equal rows one is counted.
    """
    label = np.zeros(len(crowds), dtype=np.int64)
    for column in crowds.T:
        _, label = np.unique(label * (int(column.max(initial=-1)) + 2) + column + 1, return_inverse=True)
    _, first, in_same = np.unique(label, return_index=True, return_counts=True)
    fewest, column_of = np.full(len(first), len(crowds) + 1), np.zeros(len(first), dtype=np.int64)
    for number, column in enumerate(crowds.T):
        crowd = column[first]
        rows = np.bincount(crowd[crowd >= 0], minlength=1)[crowd]
        better = (crowd >= 0) & (rows < fewest)
        fewest[better], column_of[better] = rows[better], number
    remaining = np.zeros(len(first), dtype=np.int64)
    for number, column in enumerate(crowds.T):
        asked = np.flatnonzero((column_of == number) & (fewest <= len(crowds)))
        crowd = column[first]
        order = np.argsort(crowd, kind="stable")
        starts, ends = (np.searchsorted(crowd[order], crowd[asked], side=side) for side in ("left", "right"))
        count_in_all(crowds, first, in_same, order, asked, starts, ends, remaining)
    return remaining[label], in_same[label]


@compiled
def count_in_all(
    crowds: Numbers,
    first: Integers,
    people: Integers,
    order: Integers,
    asked: Integers,
    starts: Integers,
    ends: Integers,
    remaining: Integers,
) -> None:
    """For each row asked about, sum ``people`` of the rows in the same crowd wherever it has one.

    first: int64 [r], where each row stands in ``crowds``. order: rows, those of one crowd together, and of
    the row asked[a] from starts[a] to ends[a].
    """
    for a in range(len(asked)):
        row, total = first[asked[a]], 0
        for position in range(starts[a], ends[a]):
            other = first[order[position]]
            fits = True
            for release in range(crowds.shape[1]):
                if crowds[row, release] >= 0 and crowds[row, release] != crowds[other, release]:
                    fits = False
                    break
            if fits:
                total += people[order[position]]
        remaining[asked[a]] = total


def _require_comparable(one: SeriesEntry, others: Sequence[SeriesEntry]) -> None:
    for other in others:
        if (one.unit_of_protection, one.per_day) != (other.unit_of_protection, other.per_day):
            raise InputError(
                f"{one.label} protects {one.unit_of_protection}, {other.label} {other.unit_of_protection}; "
                "only releases with the same unit of protection can be put together"
            )
        if one.sha256 == other.sha256:
            raise InputError(
                f"{other.label} and {one.label} are one release, with the same table; name each once"
            )


def _require_same_ids(
    releases: Sequence[SeriesEntry],
    crowds: Numbers,
    n_of: Integers,
    every: TextNames,
    *,
    ids_as_they_are: bool,
) -> None:
    if not ids_as_they_are and len(partly := np.flatnonzero(n_of < len(releases))):
        alike = count_look_alikes(every.take(partly), per_day=releases[0].per_day)
        if alike:
            raise InputError(
                f"{counted(alike, 'id looks', 'ids look')} like another one of the series (100 and 100.0, "
                f"Anna and anna), and none of them is in all releases{_ASK}"
            )
    for number, one in enumerate(releases):
        inside = crowds[:, number] >= 0
        n, shared = int(np.count_nonzero(inside)), int(np.count_nonzero(inside & (n_of > 1)))
        elsewhere = int(np.count_nonzero(n_of - inside > 0))
        if not shared:
            raise InputError(
                f"nobody of {one.label} is in another release of the series; check that all linkages name "
                "the people by the same ids"
            )
        if shared < _ENOUGH * min(n, elsewhere) and not ids_as_they_are:
            raise InputError(
                f"{shared:,} of {counted(n, 'person', 'people')} of {one.label} are in another release of "
                f"the series{_ASK}"
            )
