"""The data of an experiment: what somebody handed in, or people who do not exist, as many as asked for."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, TypeVar, cast

import numpy as np

from shoal.errors import MisuseError
from shoal.io import read
from shoal.model.streets import StreetGraph
from shoal.model.trajectories import Trajectories
from shoal.runtime.run import Run
from shoal.synthetic import synthesize
from shoal.synthetic.stations import Layout
from shoal_papers.town import drives, town

Made = TypeVar("Made")

# people: subscribers; network: objects on a street network; cabs: GPS of vehicles; traces: GPS of people
KINDS: Final = ("people", "network", "cabs", "traces")


@dataclass(frozen=True, kw_only=True)
class Size:
    """How much an experiment takes.

    Parameters
    ----------
    people, days
        Of made-up subscribers.
    seeds
        How often everything is done, with other people and other chance.
    drives
        Trajectories of the made-up town.
    queries
        Range queries.
    tuples
        Random groups of people for each k.
    participants
        Of the user-centric protocol.
    thin
        One in how many settings of a wide table is measured, beside its first and last one.
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
    """What an experiment may use: how much, with which seed, and data that somebody handed in."""

    size: Size
    seed: int
    given: Mapping[str, Trajectories] = field(default_factory=dict)
    streets: StreetGraph | None = None
    run: Run = field(default_factory=Run)
    kept: dict[object, Any] = field(default_factory=dict)
    shared: dict[object, Any] = field(default_factory=dict)

    def once_with(self, kind: str, name: object, make: "Callable[[], Made]") -> "Made":
        """What depends on nothing but data of this kind: for all seeds, where the data were handed in."""
        cache = self.shared if kind in self.given else self.kept
        if name not in cache:
            cache[name] = make()
        return cast("Made", cache[name])

    def once(self, name: object, make: "Callable[[], Made]") -> "Made":
        """What several figures of one seed share, made when it is first asked for."""
        if name not in self.kept:
            self.kept[name] = make()
        return cast("Made", self.kept[name])

    @property
    def draw(self) -> np.random.Generator:
        """The chance of this seed, from its beginning."""
        return np.random.default_rng(self.seed)

    def people(self, layout: Layout, *, people: int | None = None, days: int | None = None) -> Trajectories:
        """Subscribers of a layout, or those that were handed in (then fewer people or days, where asked)."""
        given = self.given.get("people")
        if given is not None:
            return _part(given, people, days, self.draw)
        n, length = people or self.size.people, days or self.size.days
        return self.once(
            ("people", layout, n, length),
            lambda: read(synthesize(n, length, self.seed, layout=layout), run=self.run),
        )

    def network(self) -> Trajectories:
        """Objects on a street network, in units of its map."""
        given = self.given.get("network")
        if given is not None:
            return given
        return self.once("network", lambda: drives(self.size.drives, self.draw))

    def network_streets(self) -> StreetGraph:
        """Their streets; raises MisuseError when data were handed in without."""
        if "network" not in self.given:
            return town()
        if self.streets is None:
            raise MisuseError(
                "this figure needs the streets of the data: --streets-nodes and --streets-edges"
            )
        return self.streets

    def handed_in(self, kind: str) -> Trajectories:
        """Data of a kind that cannot be made."""
        return self.given[kind]


def as_points(snapped: Trajectories) -> Trajectories:
    """Slots and cells as seconds and meters, for methods that move points."""
    grid = snapped.snapped_grid()
    ids = np.repeat(np.array(snapped.ids), snapped.lengths).tolist()
    return Trajectories.from_rows(
        ids, snapped.t * grid.slot_s, snapped.x * grid.cell_m, snapped.y * grid.cell_m
    )


def _part(
    given: Trajectories, people: int | None, days: int | None, draw: np.random.Generator
) -> Trajectories:
    """At most so many people, drawn, of the first so many days."""
    part = given
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
