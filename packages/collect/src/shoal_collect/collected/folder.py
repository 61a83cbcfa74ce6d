"""The folder that an export writes: circles, points, density, flow, boxes with a manifest, and the terms."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from shoal.model.release import Linkage
from shoal.model.trajectories import Grid as CellGrid
from shoal.model.trajectories import Trajectories
from shoal.release_folder.folder import check_linkage_path, staged_linkage
from shoal.runtime.staging import staged_folder
from shoal_collect.collected.boxes import Laboratory, boxes_of, fill, in_laboratory, plane_of
from shoal_collect.collected.tables import Records, write_circles, write_points
from shoal_collect.collected.zones import Grid, density, flow, write_density, write_flow
from shoal_collect.matching.cylinders import Cylinder
from shoal_collect.roles.consent import date_of
from shoal_collect.storage.stored import Stored

CELLS: Final = CellGrid()
BOXES: Final = "boxes"


@dataclass(frozen=True, kw_only=True)
class ExportResult:
    """What an export wrote.

    Attributes
    ----------
    releases, circles, of_nobody
        How many releases and circles, and how many of the releases are records of nobody.
    days
        The first and the last day on which one was stored, as dates.
    terms
        Under which terms of rounds they were collected.
    verdict
        What a check found: a laboratory's, else that nobody could check.
    """

    releases: int
    circles: int
    of_nobody: int
    days: tuple[str, str]
    terms: Sequence[Mapping[str, Any]] = field(default_factory=tuple)
    verdict: str = "NOT CHECKED"

    def to_json(self) -> dict[str, Any]:
        """Return a JSON document."""
        return {
            "releases": self.releases,
            "circles": self.circles,
            "of_nobody": self.of_nobody,
            "first_day": self.days[0],
            "last_day": self.days[1],
            "verdict": self.verdict,
            "terms": list(self.terms),
        }


@dataclass(frozen=True)
class Owners:
    """For a laboratory: who owns which identifier, a reader of the raw data, and where the linkage goes.

    Attributes
    ----------
    of
        The person behind each identifier, as in the raw data.
    read
        Reads the raw data in a plane.
    linkage_file
        Where who became which record is written.
    """

    of: Mapping[str, str]
    read: Callable[[str], Trajectories]
    linkage_file: Path


def export(
    stored: Sequence[Stored],
    terms: Sequence[Mapping[str, Any]],
    output: Path,
    grid: Grid,
    draw_name: Callable[[], str],
    owners: Owners | None = None,
) -> ExportResult:
    """Write a new folder with everything that is stored, complete or not at all.

    Parameters
    ----------
    stored
        The releases.
    terms
        The terms of the rounds that they come from.
    output
        The folder; it must not exist.
    grid
        Zones and slots of density and flow.
    draw_name
        Draws a fresh pseudonym; identifiers and tags go into no table.
    owners
        A laboratory's knowledge. All releases of a person then become one record of boxes, as whoever can
        join them would see it.

    Raises
    ------
    InputError
        If nothing is stored, or the circles fit into no plane.
    OutputError
        If the folder exists or cannot be written.
    """
    named = sorted(((draw_name(), one) for one in stored), key=lambda pair: pair[0])
    records: Records = [(name, one.points) for name, one in named]
    plane = plane_of(records)
    release, lab = boxes_of(records, plane, CELLS), None
    if owners is not None:
        check_linkage_path(owners.linkage_file, output)
        joined, linkage = _by_owner(stored, owners.of, draw_name)
        lab = Laboratory(owners.read(plane), linkage)
        release = in_laboratory(boxes_of(joined, plane, CELLS), lab)
    days = [one.day for one in stored]
    with ExitStack() as files:
        folder = files.enter_context(staged_folder(output))
        if owners is not None and lab is not None:
            files.enter_context(staged_linkage(lab.linkage, owners.linkage_file, output))
        write_circles(records, folder / "circles.parquet")
        write_points(records, folder / "points.parquet")
        write_density(density(records, grid), grid, folder / "density.parquet")
        write_flow(flow(records, grid), grid, folder / "flow.parquet")
        boxes = folder / BOXES
        boxes.mkdir()
        verdict = fill(boxes, release, lab)
        found = ExportResult(
            releases=len(stored),
            circles=sum(len(one.points) for one in stored),
            of_nobody=sum(one.identifier is None for one in stored),
            days=(date_of(min(days)), date_of(max(days))),
            terms=terms,
            verdict=verdict.word,
        )
        (folder / "terms.json").write_text(json.dumps(found.to_json(), indent=2) + "\n")
    return found


def _by_owner(
    stored: Sequence[Stored], owner_of: Mapping[str, str], draw_name: Callable[[], str]
) -> tuple[Records, Linkage]:
    """All releases of each known owner as one record; those of nobody known are left out."""
    points: dict[str, list[Cylinder]] = {}
    for one in stored:
        if one.identifier in owner_of:
            points.setdefault(owner_of[str(one.identifier)], []).extend(one.points)
    names = {owner: draw_name() for owner in points}
    records = [(names[owner], sorted(set(own))) for owner, own in points.items()]
    return records, Linkage(tuple(names), tuple(names.values()))
