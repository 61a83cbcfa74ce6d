"""The next release of a series: who is in which crowd, who waits, and the state after it (docs/series.md)."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import compress, pairwise
from pathlib import Path
from typing import Final, TypeVar

import numpy as np

from shoal.errors import ClaimError, InputError, MisuseError, NothingLeftError
from shoal.methods import Method
from shoal.methods.glove.crowds_of_series import NEWCOMER, WAITING, classes_in_series
from shoal.methods.glove.glove import Glove
from shoal.methods.hulls import publish_classes
from shoal.model.omission import ERASED, TOO_FEW_PRESENT
from shoal.model.people_on_disk import StoredPeople
from shoal.model.population import Population
from shoal.model.release import Release, Released, SeriesPlace
from shoal.model.trajectories import Trajectories
from shoal.runtime.argument_types import typed
from shoal.runtime.arrays import Flags, Integers
from shoal.runtime.checkpoint import parts_folder
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.series.attendance import count_companions, may_appear, with_release
from shoal.series.state import Members, PeriodRelease, SeriesState, forms_in_words
from shoal.units import counted

AnyRelease = TypeVar("AnyRelease", bound=Release)

SPARE: Final = 2
ALL_WAIT: Final = (
    "of no crowd of the series are enough people in this data, so there is nothing to publish; check that "
    "the data is complete, or choose crowds anew with --renew"
)
_SAME_PEOPLE: Final = 0.5  # of the people of the last release, or of the data if they are fewer
_MAY_HOLD_A_RELEASE: Final = 0.5  # of the length of the last one


@typed
@dataclass(frozen=True, kw_only=True)
class SeriesOptions:
    """How a release belongs to a series, in which people stay in their crowds.

    Parameters
    ----------
    state
        The secret folder of the series.
    renew
        Choose all crowds anew; also begins the first series in ``state``.
    spare
        People whom a crowd may lose before the others wait, where crowds are chosen.
    accept_newcomers
        Go on although few of these people were in the series before.

    Examples
    --------
    >>> import shoal, tempfile
    >>> calls = shoal.read(shoal.synthesize(n_subjects=40, days=1, seed=1))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     series = shoal.SeriesOptions(state=f"{folder}/state", renew=True)
    ...     published = shoal.publish(
    ...         calls,
    ...         shoal.Glove(k=2),
    ...         f"{folder}/release",
    ...         rng=shoal.Randomness.from_system(),
    ...         tries=0,
    ...         options=shoal.PublishOptions(series=series),
    ...     )
    >>> published.manifest.series.number
    1
    """

    state: Path
    renew: bool = False
    spare: int = SPARE
    accept_newcomers: bool = False

    @contextmanager
    def open(self, method: Method, output: Path) -> Iterator["SeriesRelease"]:
        """The next release; its state counts if the block succeeds."""
        if not isinstance(method, Glove) or method.generalize != "k-merge" or method.omit_at_most:
            raise MisuseError(
                "--series keeps crowds of --method glove together, with --generalize k-merge and without "
                "--omit-at-most; change these options, or leave --series out"
            )
        places = (output.resolve(), parts_folder(output).resolve())
        if any(self.state.resolve().is_relative_to(place) for place in places):
            raise MisuseError(
                f"{self.state} would lie inside the release folder or its parts; keep the state of a series "
                "apart from what is published"
            )
        if self.spare < 0:
            raise MisuseError(
                f"--spare {self.spare} is below 0; give a number of people, for example {SPARE}"
            )
        with SeriesState.writing(self.state, method.k, renew=self.renew) as state:
            if state.facts.k != method.k:
                raise MisuseError(
                    f"the series in {self.state} has k = {state.facts.k}, and this release k = {method.k}; "
                    f"use --k {state.facts.k}, or begin a new series with --renew"
                )
            yield SeriesRelease(state, self, method, output)


class SeriesRelease:
    """A release of a series while it is made."""

    def __init__(self, state: SeriesState, options: SeriesOptions, method: Glove, output: Path) -> None:
        self.state, self.options, self._method, self._output = state, options, method, output

    @property
    def identity(self) -> dict[str, object]:
        """All of the series that decides this release, for the parts of a stopped run."""
        facts = self.state.facts
        return {"table": facts.table, "releases": len(facts.releases), "spare": self.options.spare,
                "renew": self.options.renew}  # fmt: skip

    @property
    def cautions(self) -> tuple[str, ...]:
        """What to know of the series after this release."""
        told = []
        if self.options.renew and self._place.series > 1:
            before = sum(release.series < self._place.series for release in self.state.facts.releases)
            told.append(
                "a new series begins: the promise does not cover its releases together with "
                f"{counted(before, 'release')} before it, and people can be joined between them"
            )
        if self._gap is not None:
            told.append(
                f"no release of the series covers {_period(*self._gap)}: if data of that time was published, "
                f"{self.options.state} is an old copy. Then do not publish this release, for the promise "
                "does not cover both; restore the latest copy, and make it again"
            )
        if self._erased:
            told.append(
                f"left out because they were erased: {counted(self._erased, 'person', 'people')} of this "
                "data; take them out of the feed"
            )
        return tuple(told)

    def crowds_of(self, people: Population, first_s: float, end_s: float) -> Integers:
        """[n] the crowd of each person, or NEWCOMER or WAITING; InputError where the series cannot go on."""
        members, names = self.state.members, self.state.names_of(people.ids)
        self._period = first_s, end_s
        self._require_later(first_s, end_s)
        self._gap = self._unusual_gap(first_s)
        rows, erased = members.places_of(names), self.state.are_erased(names)
        self._require_same_people(people, (rows >= 0) | erased)
        crowd_of = np.where(erased, WAITING, NEWCOMER)
        before = np.flatnonzero(rows >= 0)
        crowd = members.crowd[rows[before]]
        appears = may_appear(crowd, members.attended[rows[before]], self._method.k)
        crowd_of[before] = np.where(appears, crowd, WAITING)
        self._names, self._rows, self._crowd_of = names, rows, crowd_of
        self._erased = int(np.count_nonzero(erased))
        return crowd_of

    def crowds_on_disk(self, people: StoredPeople) -> Integers:
        """As ``crowds_of``, of people on disk."""
        first, last = people.span()
        return self.crowds_of(people, first * people.grid.slot_s, (last + 1) * people.grid.slot_s)

    def anonymize(self, original: Trajectories, rng: Randomness, run: Run) -> Released:
        """The release and its linkage, in memory."""
        slot_s = original.snapped_grid().slot_s
        crowd_of = self.crowds_of(
            original, int(original.t.min()) * slot_s, (int(original.t.max()) + 1) * slot_s
        )
        classes = classes_in_series(self._method, original, crowd_of, self.options.spare, run)
        if not classes:
            raise NothingLeftError(ALL_WAIT)
        release, linkage = publish_classes(self._method, original, classes, self._method.hull, rng)
        return self.placed(release, [crowd.members for crowd in classes]), linkage

    def placed(self, release: AnyRelease, crowds: Sequence[Integers]) -> AnyRelease:
        """The release with its place in the series; crowds: positions of the people of each."""
        members = self.state.members
        first_number = int(members.crowd.max(initial=-1)) + 1
        crowd = members.crowd.copy()
        appears = np.zeros(len(crowd), dtype=np.bool_)
        names, numbers = [members.names], [crowd]
        newcomers = 0
        for place, people in enumerate(crowds):
            number = int(self._crowd_of[people].max())
            fresh = people[self._rows[people] < 0]
            appears[self._rows[people[self._rows[people] >= 0]]] = True
            names.append(self._names[fresh])
            numbers.append(np.full(len(fresh), first_number + place if number < 0 else number))
            newcomers += len(fresh)
        index = len(self.state.releases)
        attended = np.zeros((len(crowd) + newcomers, members.attended.shape[1]), dtype=np.uint64)
        attended[: len(crowd)] = members.attended
        shown = np.concatenate([appears, np.ones(newcomers, dtype=np.bool_)])
        attended = with_release(attended, shown, index)
        crowd = np.concatenate(numbers)
        # everybody in this release has enough companions; of others, none was lost
        if below := np.count_nonzero(count_companions(crowd[shown], attended[shown]) < self._method.k):
            raise ClaimError(
                "the release does not keep the promise over the series and was not written: for "
                f"{counted(int(below), 'person', 'people')} fewer than {self._method.k} people fit in all of "
                "their releases"
            )
        together = np.concatenate(names)
        order = np.argsort(together, kind="stable")
        self._after = Members(names=together[order], crowd=crowd[order], attended=attended[order])
        waiting = len(self._names) - sum(map(len, crowds)) - self._erased
        self._place = SeriesPlace(
            series=self.state.number,
            number=index + 1,
            waiting=waiting,
            newcomers=newcomers if index else 0,
            crowds=len(crowds),
        )
        reasons = {TOO_FEW_PRESENT: waiting, ERASED: self._erased}
        losses = replace(
            release.losses,
            subjects_by_reason={reason: people for reason, people in reasons.items() if people},
        )
        return replace(release, series=self._place, losses=losses)

    def stage(self, digest: str) -> None:
        """Write the state, which counts once the release has its name."""
        place, people = self._place, len(self._names)
        self.state.stage(
            self._after,
            PeriodRelease(
                series=place.series,
                first_s=float(self._period[0]),
                end_s=float(self._period[1]),
                people=people,
                published=people - place.waiting - self._erased,
                waiting=place.waiting,
                newcomers=place.newcomers,
                crowds=place.crowds,
                digest=digest,
                folder=str(self._output.resolve()),
            ),
        )

    def _require_later(self, first_s: float, end_s: float) -> None:
        for number, release in enumerate(self.state.releases, start=1):
            if release.uncertain or first_s >= release.end_s:
                continue
            how = "is before" if end_s <= release.first_s else "overlaps"
            raise InputError(
                f"this data, {_period(first_s, end_s)}, {how} release {number} of the series, "
                f"{_period(release.first_s, release.end_s)}; give data of a later period, without the time "
                "that was published"
            )

    def _unusual_gap(self, first_s: float) -> tuple[float, float] | None:
        """The time before this data, if a release may lie in it and no such gap was there before."""
        releases = self.state.releases
        if not releases:
            return None
        last = releases[-1]
        gap_s = first_s - last.end_s
        usual_s = max((later.first_s - one.end_s for one, later in pairwise(releases)), default=0.0)
        is_unusual = gap_s > usual_s and gap_s >= _MAY_HOLD_A_RELEASE * (last.end_s - last.first_s)
        return (last.end_s, first_s) if is_unusual else None

    def _require_same_people(self, people: Population, known: Flags) -> None:
        recognized, n = int(np.count_nonzero(known)), people.n_subjects
        forms = self.state.known_otherwise(list(compress(people.ids, ~known)))
        expected = min(n, self.state.releases[-1].people) if self.state.releases else 0
        if recognized < _SAME_PEOPLE * expected and not self.options.accept_newcomers:
            hint = f" Of the others, it knows {forms_in_words(forms)}." if forms else ""
            raise MisuseError(
                f"only {recognized:,} of {n:,} people are in the series in {self.options.state}, so almost "
                f"every crowd would be new.{hint} If ids changed their form or hash, give them as before; if "
                "this is the state of other people, name the right one; if these are truly new people, say "
                "--accept-newcomers"
            )
        if forms and not people.intake.reading.ids_as_they_are:
            raise InputError(
                f"of {counted(n - recognized, 'id')} that the series in {self.options.state} does not know, "
                f"it knows {forms_in_words(forms)}: a person with two ids would be in two crowds. Give ids "
                "as before, or say with --ids-as-they-are that they are other people"
            )


def _period(first_s: float, end_s: float) -> str:
    first, end = (f"{datetime.fromtimestamp(time_s, UTC):%Y-%m-%d %H:%M}" for time_s in (first_s, end_s))
    return f"{first} to {end} UTC"
