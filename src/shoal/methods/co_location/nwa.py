"""Never Walk Alone: people of one time span, moved into cylinders of at least k (Abul, Bonchi and Nanni 2008.

Semantics 3.9).
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from math import ceil, floor
from typing import Any, ClassVar

import numpy as np

from shoal.errors import MisuseError, NothingLeftError
from shoal.methods.co_location.clusters import (
    Cluster,
    check_settings,
    greedy_clusters,
    publish_clusters,
    root_mean_square_distances,
)
from shoal.model.claims import KDeltaAnonymity
from shoal.model.release import Linkage, PointRelease
from shoal.model.trajectories import Trajectories, require_people
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.units import show_s


@dataclass(frozen=True, kw_only=True)
class Nwa:
    """(k, delta)-anonymity: whoever is published has k - 1 others within delta_m, the same ones all along.

    k: smallest cluster. delta_m: diameter of the cylinder; 0 gives everybody of a cluster the same average
    trajectory. pi_s: trajectories begin and end at multiples of pi_s only, what lies before and after is cut
    off; people with the same begin and end form a class, and a class below k is left out. step_s: the clock
    of a class, on which everybody is read by linear interpolation; pi_s is a multiple. trash: the share of a
    class that may be left out of clusters.
    """

    takes_points: ClassVar[bool] = True

    k: int = 2
    delta_m: float = 1_000.0
    pi_s: float = 3_600.0
    step_s: float = 600.0
    trash: float = 0.1

    def __post_init__(self) -> None:
        check_settings(self.k, self.trash)
        self.claim()
        for name, value in (("pi", self.pi_s), ("step", self.step_s)):
            if not (np.isfinite(value) and value > 0):
                raise MisuseError(f"{name} = {value} s must be finite and greater than 0, for example 1 h")
        if self.pi_s % self.step_s:
            valid = [
                show_s(self.step_s * count)
                for count in (floor(self.pi_s / self.step_s), ceil(self.pi_s / self.step_s))
                if count
            ]
            raise MisuseError(
                f"pi = {show_s(self.pi_s)} is not a multiple of step = {show_s(self.step_s)}; use "
                f"{' or '.join(valid)}"
            )

    def claim(self) -> KDeltaAnonymity:
        """(k, delta)-co-location; not k-anonymity of trajectories."""
        return KDeltaAnonymity(k=self.k, delta_m=self.delta_m)

    def parameters(self) -> dict[str, Any]:
        """All parameters, as a manifest holds them."""
        return asdict(self)

    def anonymize(
        self, original: Trajectories, rng: Randomness, run: Run | None = None
    ) -> tuple[PointRelease, Linkage]:
        """The release and who became which record.

        Raises MisuseError with fewer than k people or with snapped samples, NothingLeftError when every class
        is smaller than k.
        """
        clusters = list(self.clusters(original, run or Run()))
        if not clusters:
            raise NothingLeftError(
                f"no {self.k} people begin and end at the same multiples of {show_s(self.pi_s)}, so "
                "everybody would be left out; "
                "choose a longer --pi (or a shorter one, if people are there for less than it) or a smaller "
                "--k"
            )
        return publish_clusters(
            original, clusters, claim=self.claim(), method="nwa", parameters=self.parameters(), rng=rng
        )

    def classes(self, original: Trajectories) -> dict[tuple[int, int], list[int]]:
        """The subjects with the same begin and end, in multiples of pi_s.

        Those who end before they begin are in none.
        """
        spans: dict[tuple[int, int], list[int]] = {}
        for subject, (t, _, _) in enumerate(original):
            begin, end = ceil(float(t[0]) / self.pi_s), floor(float(t[-1]) / self.pi_s)
            if begin <= end:
                spans.setdefault((begin, end), []).append(subject)
        return spans

    def clusters(self, original: Trajectories, run: Run) -> Iterator[Cluster]:
        """The clusters of every class of at least k people, before they are moved.

        Raises MisuseError with fewer than k people.
        """
        original.require_points_as_given()
        require_people(original.n_subjects, self.k)
        large = [
            (span, np.array(members))
            for span, members in self.classes(original).items()
            if len(members) >= self.k
        ]

        def cluster(part: tuple[tuple[int, int], Integers]) -> list[Cluster]:
            (begin, end), members = part
            steps = round(self.pi_s / self.step_s)
            t = np.arange(begin * steps, end * steps + 1).astype(np.float64) * self.step_s
            x, y, source = _read_at(original, members, t)
            pivot_of = greedy_clusters(
                root_mean_square_distances(np.stack([x, y], axis=2)), self.k, self.trash
            )
            chosen = (pivot_of == pivot for pivot in np.unique(pivot_of[pivot_of >= 0]))
            return [
                Cluster(members=members[own], t=t, x=x[own], y=y[own], source=source[own]) for own in chosen
            ]

        for clusters in run.map(cluster, large, label="clustering classes"):
            yield from clusters


def _read_at(original: Trajectories, members: Integers, t: Floats) -> tuple[Floats, Floats, Integers]:
    """Everybody's place [n, s] at the times t, on straight lines between samples, and the raw sample of that very time or -1.

    Of several places at one moment the first counts.
    """
    x, y = np.empty((2, len(members), len(t)))
    source = np.empty((len(members), len(t)), dtype=np.int64)
    for row, member in enumerate(members.tolist()):
        own_t, own_x, own_y = original.samples_of(member)
        times, first = np.unique(own_t, return_index=True)
        x[row], y[row] = np.interp(t, times, own_x[first]), np.interp(t, times, own_y[first])
        at = np.minimum(np.searchsorted(times, t), len(times) - 1)
        source[row] = np.where(times[at] == t, original.offsets[member] + first[at], -1)
    return x, y, source
