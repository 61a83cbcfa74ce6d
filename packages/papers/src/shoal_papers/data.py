"""The data of an experiment: the user's, or synthetic."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, cast

import numpy as np

from shoal.errors import MisuseError
from shoal.io import read
from shoal.model.release import Linkage, Release
from shoal.model.streets import StreetGraph
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers
from shoal.runtime.run import Run
from shoal.synthetic import synthesize
from shoal.synthetic.stations import DENSITIES, Layout, lay_out_stations
from shoal_papers.town import drives, town

Made = TypeVar("Made")

# people: subscribers; network: objects on a street network; cabs: GPS of vehicles; traces: GPS of people
KINDS: Final = ("people", "network", "cabs", "traces")
KINDS_OF: Final = {
    "glove": ("people",), "kte": ("people",), "swap": ("network", "cabs"), "collect": ("traces",)
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Size:
    """How large an experiment is.

    Parameters
    ----------
    people, days
        Of synthetic subscribers.
    seeds
        Repetitions, each with other people and another seed.
    drives
        Trajectories of the synthetic town.
    queries
        Range queries.
    tuples
        Random groups of people for each k.
    participants
        Participants of the user-centric protocol.
    thin
        Of a wide table, measure one in this many settings, and the first and last one.
    """

    people: int
    days: int
    seeds: int
    drives: int
    queries: int
    tuples: int
    participants: int
    thin: int


TINY: Final = Size(people=40, days=1, seeds=2, drives=60, queries=200, tuples=3, participants=12, thin=6)
QUICK: Final = Size(
    people=500, days=14, seeds=5, drives=400, queries=2_000, tuples=40, participants=60, thin=2
)
FULL: Final = Size(
    people=8_000, days=14, seeds=5, drives=1_000, queries=100_000, tuples=100, participants=182, thin=1
)


@dataclass(frozen=True, eq=False, kw_only=True)
class World:
    """What an experiment may use."""

    size: Size
    seed: int
    inputs: Mapping[str, Trajectories] = field(default_factory=dict)
    streets: StreetGraph | None = None
    run: Run = field(default_factory=Run)
    cache: dict[object, Any] = field(default_factory=dict)
    shared: dict[object, Any] = field(default_factory=dict)

    def once_with(self, kind: str, name: object, make: "Callable[[], Made]") -> "Made":
        """The value under a name, made once for each seed, or for all where the data are the user's."""
        cache = self.shared if kind in self.inputs else self.cache
        if name not in cache:
            cache[name] = make()
        return cast("Made", cache[name])

    def once(self, name: object, make: "Callable[[], Made]") -> "Made":
        """A value that figures of one seed share."""
        if name not in self.cache:
            self.cache[name] = make()
        return cast("Made", self.cache[name])

    @property
    def draw(self) -> np.random.Generator:
        """This seed's generator, at its start."""
        return np.random.default_rng(self.seed)

    def people(
        self, layout: Layout, *, people: int | None = None, days: int | None = None, whole_area: bool = False
    ) -> Trajectories:
        """Subscribers of a layout, or the user's; whole_area: on all of the data set's area and stations."""
        people_given = self.inputs.get("people")
        if people_given is not None:
            return _part(people_given, people, days, self.draw)
        n, length = people or self.size.people, days or self.size.days
        return self.once(
            ("people", layout, n, length, whole_area),
            lambda: read(
                synthesize(
                    n,
                    length,
                    self.seed,
                    layout=layout,
                    stations=lay_out_stations(layout, self.draw, DENSITIES[layout].people)
                    if whole_area
                    else None,
                ),
                run=self.run,
            ),
        )

    def network(self) -> Trajectories:
        """Objects on streets, in units of the map."""
        network_given = self.inputs.get("network")
        if network_given is not None:
            return network_given
        return self.once("network", lambda: drives(self.size.drives, self.draw))

    def network_streets(self) -> StreetGraph:
        """The streets of the network's objects; MisuseError for the user's data without streets."""
        if "network" not in self.inputs:
            return town()
        if self.streets is None:
            raise MisuseError(
                "this figure needs the streets of the data: --streets-nodes and --streets-edges"
            )
        return self.streets

    def user_data(self, kind: str) -> Trajectories:
        """The user's data of a kind that cannot be synthesized."""
        return self.inputs[kind]


def data_words(paper: str, size: Size, inputs: Mapping[str, Trajectories]) -> dict[str, str]:
    """Which data the figures of a paper are measured on, in words, by kind."""
    made_up = {
        "people": f"{size.people:,} made-up people over {size.days} days, others for each seed",
        "network": f"{size.drives:,} made-up objects on the streets of a made-up town, others for each seed",
        "cabs": "none; give --input cabs=FILE",
        "traces": f"{size.participants:,} made-up people of a city, others for each seed",
    }
    return {
        kind: f"{inputs[kind].n_subjects:,} trajectories with {inputs[kind].n_samples:,} points of --input"
        if kind in inputs
        else made_up[kind]
        for kind in KINDS_OF[paper]
    }


def as_points(snapped: Trajectories) -> Trajectories:
    """Seconds and meters, for methods that move points."""
    grid = snapped.snapped_grid()
    ids = np.repeat(np.array(snapped.ids), snapped.lengths).tolist()
    return Trajectories.from_rows(
        ids, snapped.t * grid.slot_s, snapped.x * grid.cell_m, snapped.y * grid.cell_m
    )


def mean_move(original: Trajectories, release: Release, linkage: Linkage) -> tuple[float, float]:
    """Mean meters and seconds from the raw samples that points stand for to these points; nan of none."""
    source, points = cast("Integers", linkage.stands_for), release.points
    kept = source >= 0
    raw = source[kept]
    if not len(raw):
        return math.nan, math.nan
    meters = np.hypot(points.x[kept] - original.x[raw], points.y[kept] - original.y[raw])
    return float(meters.mean()), float(np.abs(points.t[kept] - original.t[raw]).mean())


def _part(
    whole: Trajectories, people: int | None, days: int | None, draw: np.random.Generator
) -> Trajectories:
    part = whole
    if people is not None and people < part.n_subjects:
        part = part.keep(np.sort(draw.choice(part.n_subjects, people, replace=False)))
    if days is None:
        return part
    grid = part.snapped_grid()
    early = (part.t - part.t.min()) * grid.slot_s < days * 86_400
    if early.all():
        return part
    ids = np.repeat(np.array(part.ids), part.lengths)[early].tolist()
    return Trajectories.from_rows(
        ids, part.t[early], part.x[early], part.y[early], grid=grid, crs=part.crs, intake=part.intake
    )
