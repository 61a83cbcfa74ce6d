"""Wait For Me (Abul, Bonchi, Nanni 2010)."""

from dataclasses import dataclass
from typing import ClassVar, Final, Literal, get_args

import numpy as np

from shoal.errors import MisuseError
from shoal.kernels.co_location import TimedPath, Tolerance, align, edit_distances
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
from shoal.methods.parameters import ABOVE_0, at_least, k_parameter, parameter
from shoal.model.argument_checks import require_method_inputs, require_people
from shoal.model.claims import KDeltaAnonymity
from shoal.model.neighborhoods import bisect_rows, order_by_longest_axis
from shoal.model.release import Released
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run

Distance = Literal["lst", "edr"]
DISTANCE: Final[tuple[str, ...]] = get_args(Distance)

_FRACTIONS: Final = 256  # of a trajectory's life at which LST compares places and times


@dataclass(frozen=True, kw_only=True)
class W4m(DeclaredMethod):
    """(k, delta)-anonymity of trajectories that begin, end and are sampled at different times.

    An optimal edit script aligns every member of a cluster with the pivot's times: samples that match or are
    replaced move, others are created or deleted.

    Parameters
    ----------
    k
        Smallest cluster.
    delta_m
        Diameter of the cylinder in meters. 0 puts a cluster in one place.
    distance
        Similarity of trajectories. "lst": compares whole lives, at constant speed between samples, at equal
        fractions. "edr": the number of edits.
    speed_m_s
        Meters that one second of time difference counts as. Samples match within ``delta_m`` on each axis and
        within ``delta_m / speed_m_s`` in time.
    trash
        Largest share of people left out.
    chunk
        People of one neighborhood clustered together (W4M-LC). 0 = all at once.

    References
    ----------
    Abul, Bonchi and Nanni 2010, "Anonymization of moving objects databases by clustering and perturbation".

    Examples
    --------
    >>> import shoal
    >>> calls = shoal.read(shoal.synthesize(60, 1, 1, layout="city"), snap=False)
    >>> method = shoal.W4m(k=3, delta_m=2000)
    >>> release, linkage = method.anonymize(calls, shoal.Randomness.from_system())
    >>> shoal.verify(calls, release, linkage).holds
    True
    """

    about: ClassVar[About] = About(
        name="w4m",
        title="Wait For Me",
        techniques=(MOVED_TOWARD_THE_MIDDLE,),
        claim=KDeltaAnonymity,
        publishes="points",
        summary="moves points in place and time until people are near one another. An observer who knows "
        "where a person often was finds the record.",
        page="nwa-w4m",
    )

    k: int = k_parameter(meaning=K_OF_CLUSTERS)
    delta_m: float = delta_parameter()
    distance: Distance = parameter(
        default="lst",
        choices=DISTANCE,
        help="Which trajectories count as similar.",
        meaning="which trajectories count as similar: lives at equal fractions (lst), or few edits (edr)",
    )
    speed_m_s: float = parameter(
        default=1.0,
        unit="m/s",
        bound=ABOVE_0,
        help="A second off counts as so many meters off.",
        meaning="how many meters a second too early or too late counts as, when trajectories are compared",
    )
    trash: float = trash_parameter()
    chunk: int = parameter(
        default=1000,
        unit="people",
        bound=at_least(0),
        help="People clustered at once, 0 = all together.",
        meaning="people of one neighborhood who are clustered on their own; 0 = all together",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.chunk and self.chunk < 2 * self.k:
            raise MisuseError(
                f"chunk = {self.chunk} leaves no choice among {self.k} people; choose at least "
                f"{2 * self.k}, or 0 for no chunks"
            )

    def claim(self) -> KDeltaAnonymity:
        """(k, delta)-co-location, which is not k-anonymity of trajectories."""
        return KDeltaAnonymity(k=self.k, delta_m=self.delta_m)

    def anonymize(self, original: Trajectories, rng: Randomness, run: Run | None = None) -> Released:
        """The release and its linkage."""
        require_method_inputs(original, rng)
        clusters = self.clusters(original, run or Run())
        return publish_clusters(self, original, clusters, self.delta_m, rng)

    def clusters(self, original: Trajectories, run: Run) -> list[Cluster]:
        """Clusters on their common time lines, before they are moved."""
        original.require_points_as_given()
        require_people(original.n_subjects, self.k)
        middles = np.stack(
            [
                np.add.reduceat(column, original.offsets[:-1]) / original.lengths
                for column in (original.x, original.y)
            ],
            axis=1,
        )
        people = np.arange(original.n_subjects)
        chunks = list(bisect_rows(people, order_by_longest_axis(middles), most=self.chunk or len(people)))
        groups: list[tuple[int, Integers]] = []
        for done, chunk in enumerate(chunks):
            run.progress("clustering", done, len(chunks))
            pivot_of = greedy_clusters(self.distances(original.keep(chunk), run), self.k, self.trash)
            groups += [
                (int(chunk[pivot]), chunk[pivot_of == pivot]) for pivot in np.unique(pivot_of[pivot_of >= 0])
            ]
        run.progress("clustering", len(chunks), len(chunks))
        return list(run.map(lambda group: self._align_to_pivot(original, *group), groups, label="editing"))

    def distances(self, people: Trajectories, run: Run) -> Floats:
        """[n, n]: meters for LST, edits for EDR."""
        if self.distance == "lst":
            return rms_distances(_sample_lives(people, self.speed_m_s))
        counts = np.zeros((people.n_subjects, people.n_subjects), dtype=np.int64)
        columns = (people.t, people.x, people.y, people.offsets)
        for _ in run.map(
            lambda i: edit_distances(*columns, i, float(self.delta_m), self._match_s, counts[i]),
            range(people.n_subjects),
        ):
            pass
        return np.asarray(counts + counts.T, dtype=np.float64)

    @property
    def _match_s(self) -> float:
        return self.delta_m / self.speed_m_s

    def _align_to_pivot(self, original: Trajectories, pivot: int, members: Integers) -> Cluster:
        times, first = np.unique(original.samples_of(pivot)[0], return_index=True)
        _, at_x, at_y = (column[first] for column in original.samples_of(pivot))
        x, y = np.empty((2, len(members), len(times)))
        source = np.empty((len(members), len(times)), dtype=np.int64)
        for row, member in enumerate(members.tolist()):
            own_t, own_x, own_y = original.samples_of(member)
            path, target = TimedPath(own_t, own_x, own_y), TimedPath(times, at_x, at_y)
            tolerance = Tolerance(float(self.delta_m), self._match_s)
            matches = align(path, target, tolerance, float(self.speed_m_s))
            on_lines_x, on_lines_y = interpolate_places(times, (own_t, own_x, own_y))
            x[row] = np.where(matches >= 0, own_x[matches], on_lines_x)
            y[row] = np.where(matches >= 0, own_y[matches], on_lines_y)
            source[row] = np.where(matches >= 0, original.offsets[member] + matches, -1)
        return Cluster(members=members, t=times, x=x, y=y, source=source)


def _sample_lives(people: Trajectories, speed_m_s: float) -> Floats:
    lives = np.empty((people.n_subjects, _FRACTIONS, 3))
    for row, samples in enumerate(people):
        at = np.linspace(samples[0].min(), samples[0].max(), _FRACTIONS)
        lives[row] = np.stack([*interpolate_places(at, samples), speed_m_s * at], axis=1)
    return lives
