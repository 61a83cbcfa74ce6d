"""The folder of an export."""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from shoal.model.grid import Grid
from shoal.model.release import Linkage
from shoal.model.trajectories import Trajectories
from shoal.release_folder.folder import check_linkage_path, staged_linkage
from shoal.runtime.staging import staged_folder
from shoal_collect.collected.boxes import Laboratory, account_for_losses, boxes_of, fill, plane_of
from shoal_collect.collected.tables import Records, write_circles
from shoal_collect.matching.cylinders import Cylinder
from shoal_collect.roles.consent import date_of
from shoal_collect.storage.stored import ReleaseRow

CELLS: Final = Grid()
BOXES: Final = "boxes"


@dataclass(frozen=True, kw_only=True)
class ExportResult:
    """The result of an export.

    ``releases``, ``circles``: how many. ``first_day``, ``last_day``: of storage, as dates. ``questions``: how
    many all groups have asked, and how many of these the collector did not answer. ``verdict``: A
    laboratory's, else that no check was possible. ``terms``: the terms of their rounds.
    """

    releases: int
    circles: int
    first_day: str
    last_day: str
    questions: int
    questions_not_answered: int
    verdict: str
    terms: Sequence[Mapping[str, Any]]

    def to_json(self) -> dict[str, Any]:
        """A JSON document."""
        return asdict(self)


@dataclass(frozen=True)
class LaboratoryInputs:
    """A laboratory's knowledge.

    ``of``: each identifier's person; ``read``: raw data in a plane; ``linkage_file``: to write.
    """

    of: Mapping[str, str]
    read: Callable[[str], Trajectories]
    linkage_file: Path


def export(
    stored: Sequence[ReleaseRow],
    terms: Sequence[Mapping[str, Any]],
    questions: tuple[int, int],
    output: Path,
    draw_name: Callable[[], str],
    owners: LaboratoryInputs | None = None,
) -> ExportResult:
    """Write a new folder with all stored releases, complete or not at all.

    ``stored``: the releases. ``terms``, ``questions``: as in the result. ``output``: the folder; it must not
    exist. ``draw_name``: draws a fresh pseudonym; identifiers and tags go into no table. ``owners``: a
    laboratory's knowledge. All releases of a person then become one record of boxes, as seen by an adversary
    who can join them. InputError if nothing is stored, or the circles fit into no plane. OutputError if the
    folder exists or cannot be written.
    """
    named = sorted(((draw_name(), entry) for entry in stored), key=lambda pair: pair[0])
    records: Records = [(name, entry.points) for name, entry in named]
    plane = plane_of(records)
    release, lab = boxes_of(records, plane, CELLS), None
    if owners is not None:
        check_linkage_path(owners.linkage_file, output)
        joined, linkage = _by_owner(stored, owners.of, draw_name)
        lab = Laboratory(owners.read(plane), linkage)
        release = account_for_losses(boxes_of(joined, plane, CELLS), lab)
    days = [entry.day for entry in stored]
    with ExitStack() as files:
        folder = files.enter_context(staged_folder(output))
        if owners is not None and lab is not None:
            files.enter_context(staged_linkage(lab.linkage, owners.linkage_file, output))
        write_circles(records, folder / "circles.parquet")
        boxes = folder / BOXES
        boxes.mkdir()
        verdict = fill(boxes, release, lab)
        result = ExportResult(
            releases=len(stored),
            circles=sum(len(entry.points) for entry in stored),
            first_day=date_of(min(days)),
            last_day=date_of(max(days)),
            questions=questions[0],
            questions_not_answered=questions[1],
            verdict=verdict.word,
            terms=list(terms),
        )
        (folder / "terms.json").write_text(json.dumps(result.to_json(), indent=2) + "\n")
    return result


def _by_owner(
    stored: Sequence[ReleaseRow], owner_of: Mapping[str, str], draw_name: Callable[[], str]
) -> tuple[Records, Linkage]:
    """All releases of an owner are one record; those without a known owner are left out."""
    points: dict[str, list[Cylinder]] = {}
    for entry in stored:
        if entry.identifier in owner_of:
            points.setdefault(owner_of[entry.identifier], []).extend(entry.points)
    names = {owner: draw_name() for owner in points}
    records = [(names[owner], sorted(set(cylinders))) for owner, cylinders in points.items()]
    return records, Linkage(tuple(names), tuple(names.values()))
