"""Never Walk Alone (Abul, Bonchi, Nanni 2008)."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil, floor
from typing import ClassVar

import numpy as np

from shoal.errors import MisuseError, NothingLeftError
from shoal.methods.co_location.clusters import (
    K_OF_CLUSTERS,
    MOVED_TOWARD_THE_MIDDLE,
    Cluster,
    delta_parameter,
    greedy_clusters,
    interpolate_places,
    publish_clusters,
    rms_distances,
    trash_parameter,
)
from shoal.methods.method import About, DeclaredMethod
from shoal.methods.parameters import ABOVE_0, k_parameter, parameter
from shoal.model.argument_checks import require_method_inputs, require_people
from shoal.model.claims import KDeltaAnonymity
from shoal.model.release import Released
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.units import show_s


@dataclass(frozen=True, kw_only=True)
class Nwa(DeclaredMethod):
    """(k, delta)-anonymity: the same k - 1 others are within ``delta_m`` of a record at every time.

    People with the same begin and end form a class; classes below k are left out. A class is interpolated
    onto one clock and clustered; each cluster is moved into its cylinder.

    Parameters
    ----------
    k
        Smallest cluster.
    delta_m
        Diameter of the cylinder in meters. 0 gives a cluster one average trajectory.
    pi_s
        Trajectories begin and end only at multiples of this many seconds; the rest is cut off.
    step_s
        Step of the clock in seconds; ``pi_s`` is a multiple.
    trash
        Largest share of a class that is left out.

    References
    ----------
    Abul, Bonchi and Nanni 2008, "Never Walk Alone"; Domingo-Ferrer and Trujillo-Rasua 2012, Sec. 7.

    Examples
    --------
    >>> import shoal
    >>> calls = shoal.read(shoal.synthesize(60, 1, 1, layout="city"), snap=False)
    >>> method = shoal.Nwa(k=2, delta_m=2000, pi_s=4 * 3600)
    >>> release, linkage = method.anonymize(calls, shoal.Randomness.from_system())
    >>> shoal.verify(calls, release, linkage).holds
    True
    """

    about: ClassVar[About] = About(
        name="nwa",
        title="Never Walk Alone",
        techniques=(MOVED_TOWARD_THE_MIDDLE,),
        claim=KDeltaAnonymity,
        publishes="points",
        summary="moves points of people who travel at the same times until they are near one another. An "
        "observer who knows where a person often was finds the record.",
        page="nwa-w4m",
    )

    k: int = k_parameter(meaning=K_OF_CLUSTERS)
    delta_m: float = delta_parameter()
    pi_s: float = parameter(
        default=3_600.0,
        unit="s",
        bound=ABOVE_0,
        help="Records begin and end at multiples of this only.",
        meaning="records begin and end at multiples of this, so that people have time spans in common",
    )
    step_s: float = parameter(
        default=600.0,
        unit="s",
        bound=ABOVE_0,
        help="Everybody is published at multiples of this.",
        meaning="the clock at which everybody is published, on straight lines between raw samples",
    )
    trash: float = trash_parameter()

    def __post_init__(self) -> None:
        super().__post_init__()
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
        """(k, delta)-co-location, which is not k-anonymity of trajectories."""
        return KDeltaAnonymity(k=self.k, delta_m=self.delta_m)

    def anonymize(self, original: Trajectories, rng: Randomness, run: Run | None = None) -> Released:
        """The release and its linkage.

        NothingLeftError when every class is below k.
        """
        require_method_inputs(original, rng)
        clusters = list(self.clusters(original, run or Run()))
        if not clusters:
            raise NothingLeftError(
                f"no {self.k} people begin and end at the same multiples of {show_s(self.pi_s)}, so "
                "everybody would be left out; choose a longer --pi (or a shorter one, if people are there "
                "for less than it) or a smaller --k"
            )
        return publish_clusters(self, original, clusters, self.delta_m, rng)

    def classes(self, original: Trajectories) -> dict[tuple[int, int], list[int]]:
        """Subjects by begin and end in multiples of pi_s."""
        spans: dict[tuple[int, int], list[int]] = {}
        for subject, (t, _, _) in enumerate(original):
            begin, end = ceil(float(t[0]) / self.pi_s), floor(float(t[-1]) / self.pi_s)
            if begin <= end:
                spans.setdefault((begin, end), []).append(subject)
        return spans

    def clusters(self, original: Trajectories, run: Run) -> Iterator[Cluster]:
        """Clusters of every class of at least k people, before they are moved."""
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
            x, y, source = _interpolate(original, members, t)
            pivot_of = greedy_clusters(rms_distances(np.stack([x, y], axis=2)), self.k, self.trash)
            chosen = (pivot_of == pivot for pivot in np.unique(pivot_of[pivot_of >= 0]))
            return [
                Cluster(members=members[rows], t=t, x=x[rows], y=y[rows], source=source[rows])
                for rows in chosen
            ]

        for clusters in run.map(cluster, large, label="clustering classes"):
            yield from clusters


def _interpolate(original: Trajectories, members: Integers, t: Floats) -> tuple[Floats, Floats, Integers]:
    """x, y and the row of the sample at that moment (-1 = between samples), each [members, t]."""
    x, y = np.empty((2, len(members), len(t)))
    source = np.empty((len(members), len(t)), dtype=np.int64)
    for row, member in enumerate(members.tolist()):
        samples = original.samples_of(member)
        x[row], y[row] = interpolate_places(t, samples)
        times, first = np.unique(samples[0], return_index=True)
        at = np.minimum(np.searchsorted(times, t), len(times) - 1)
        source[row] = np.where(times[at] == t, original.offsets[member] + first[at], -1)
    return x, y, source
