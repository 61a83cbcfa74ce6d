"""Wait For Me: clusters of similar trajectories, edited onto one time line and moved into cylinders (Abul, Bonchi and Nanni 2010)."""

from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Final, Literal, get_args

import numpy as np

from shoal.errors import MisuseError
from shoal.kernels.edit import align, edit_distances
from shoal.methods.co_location.clusters import (
    Cluster,
    check_settings,
    greedy_clusters,
    publish_clusters,
    root_mean_square_distances,
)
from shoal.model.claims import KDeltaAnonymity
from shoal.model.neighborhoods import along_longest, bisected
from shoal.model.release import Linkage, PointRelease
from shoal.model.trajectories import Trajectories, require_people
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run

Distance = Literal["lst", "edr"]
DISTANCE: Final[tuple[str, ...]] = get_args(Distance)

_FRACTIONS: Final = 256  # of a trajectory's life at which LST compares places and times


@dataclass(frozen=True, kw_only=True)
class W4m:
    """(k, delta)-anonymity of trajectories that begin, end and are sampled at different times.

    k: smallest cluster. delta_m: diameter of the cylinder. distance: what is similar: "lst", everybody's
    whole life at constant speed between samples, compared at equal fractions of it; "edr", the number of
    edits. Whatever the distance, a member becomes the pivot of its cluster in time by an optimal script of
    edits: samples that match or are replaced move, others are created or deleted. speed_m_s: a second too
    early or too late counts as so many meters; two samples match within delta_m on each axis and within
    delta_m / speed_m_s in time. trash: the share of people that may be left out. chunk: people of one
    neighborhood that are clustered on their own (W4M-LC), 0 = all at once.
    """

    takes_points: ClassVar[bool] = True

    k: int = 2
    delta_m: float = 1_000.0
    distance: Distance = "lst"
    speed_m_s: float = 1.0
    trash: float = 0.1
    chunk: int = 1000

    def __post_init__(self) -> None:
        check_settings(self.k, self.trash)
        self.claim()
        if self.distance not in DISTANCE:
            raise MisuseError(
                f"distance = '{self.distance}' is not known; choose one of {', '.join(DISTANCE)}"
            )
        if not (np.isfinite(self.speed_m_s) and self.speed_m_s > 0):
            raise MisuseError(
                f"speed_m_s = {self.speed_m_s} must be finite and greater than 0, for example 1"
            )
        if self.chunk and self.chunk < 2 * self.k:
            raise MisuseError(
                f"chunk = {self.chunk} leaves no choice among {self.k} people; choose at least "
                f"{2 * self.k}, or 0 for no chunks"
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

        Raises MisuseError with fewer than k people or with snapped samples.
        """
        clusters = self.clusters(original, run or Run())
        return publish_clusters(
            original, clusters, claim=self.claim(), method="w4m", parameters=self.parameters(), rng=rng
        )

    def clusters(self, original: Trajectories, run: Run) -> list[Cluster]:
        """The clusters on their common time lines, before they are moved in space.

        Raises MisuseError with fewer than k people.
        """
        original.require_points_as_given()
        require_people(original.n_subjects, self.k)
        middles = np.stack(
            [
                np.add.reduceat(column, original.offsets[:-1]) / original.lengths
                for column in (original.x, original.y)
            ],
            axis=1,
        )
        everybody = np.arange(original.n_subjects)
        chunks = list(bisected(everybody, along_longest(middles), most=self.chunk or len(everybody)))
        groups: list[tuple[int, Integers]] = []
        for done, chunk in enumerate(chunks):
            run.progress("clustering", done, len(chunks))
            pivot_of = greedy_clusters(self.distances(original.keep(chunk), run), self.k, self.trash)
            groups += [
                (int(chunk[pivot]), chunk[pivot_of == pivot]) for pivot in np.unique(pivot_of[pivot_of >= 0])
            ]
        run.progress("clustering", len(chunks), len(chunks))
        return list(run.map(lambda group: self._edit(original, *group), groups, label="editing"))

    def distances(self, people: Trajectories, run: Run) -> Floats:
        """[n, n] how unlike people are: meters by LST, edits by EDR."""
        if self.distance == "lst":
            return root_mean_square_distances(_lives(people, self.speed_m_s))
        counts = np.zeros((people.n_subjects, people.n_subjects), dtype=np.int64)
        columns = (people.t, people.x, people.y, people.offsets)
        for _ in run.map(
            lambda i: edit_distances(*columns, i, self.delta_m, self._match_s, counts[i]),
            range(people.n_subjects),
        ):
            pass
        return np.asarray(counts + counts.T, dtype=np.float64)

    @property
    def _match_s(self) -> float:
        return self.delta_m / self.speed_m_s

    def _edit(self, original: Trajectories, pivot: int, members: Integers) -> Cluster:
        """Everybody of a cluster at the times of its pivot."""
        times, first = np.unique(original.samples_of(pivot)[0], return_index=True)
        _, at_x, at_y = (column[first] for column in original.samples_of(pivot))
        x, y = np.empty((2, len(members), len(times)))
        source = np.empty((len(members), len(times)), dtype=np.int64)
        for row, member in enumerate(members.tolist()):
            own_t, own_x, own_y = original.samples_of(member)
            taken = align(own_t, own_x, own_y, times, at_x, at_y, self.delta_m, self._match_s, self.speed_m_s)
            moments, start = np.unique(own_t, return_index=True)
            x[row] = np.where(taken >= 0, own_x[taken], np.interp(times, moments, own_x[start]))
            y[row] = np.where(taken >= 0, own_y[taken], np.interp(times, moments, own_y[start]))
            source[row] = np.where(taken >= 0, original.offsets[member] + taken, -1)
        return Cluster(members=members, t=times, x=x, y=y, source=source)


def _lives(people: Trajectories, speed_m_s: float) -> Floats:
    """[n, 256, 3]: x, y and time (in meters) of everybody at equal fractions of the own life, at constant speed between samples."""
    lives = np.empty((people.n_subjects, _FRACTIONS, 3))
    for row, (t, x, y) in enumerate(people):
        moments, first = np.unique(t, return_index=True)
        at = np.linspace(moments[0], moments[-1], _FRACTIONS)
        lives[row] = np.stack(
            [np.interp(at, moments, x[first]), np.interp(at, moments, y[first]), speed_m_s * at], axis=1
        )
    return lives
