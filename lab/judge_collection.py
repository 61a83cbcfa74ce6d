"""What a collection's releases tell an adversary who joins those of each person: boxes, with a verdict.

Usage: python lab/judge_collection.py RAW --database sqlite:///collect.sqlite --owners owners.csv
       --output boxes --linkage linkage.parquet

Only who knows the raw data of the participants can judge, for example because their devices are one's own.
All releases of a person become one record, as the collector can join them by their tag. owners.csv has the
columns uid and identifier (from the authority); it is as secret as RAW and the linkage that is written.
``shoal verify``, ``attack`` and ``measure`` take RAW, the boxes and the linkage.
"""

import argparse
import csv
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from shoal.errors import InputError
from shoal.io import read
from shoal.model.release import Linkage, Losses, Release
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Verdict
from shoal.release_folder.folder import check_linkage_path, staged_linkage
from shoal.runtime.staging import staged_folder
from shoal.verification import verify
from shoal_collect.collected.folder import CELLS, Records, boxes_of, plane_of, write_boxes
from shoal_collect.matching.cylinders import Cylinder
from shoal_collect.storage.database import Database
from shoal_collect.storage.days import ReleaseRow, StoredReleases


def by_owner(
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


def account_for_losses(release: Release, original: Trajectories, linkage: Linkage) -> Release:
    """Account for raw data that the release leaves out."""
    record_at = {name: place for place, name in enumerate(release.trajectory_ids)}
    covered = 0
    for uid, name in zip(linkage.uids, linkage.trajectory_ids, strict=True):
        t, x, y = original.samples_of(original.ids.index(uid))
        inside = np.zeros(len(t), dtype=np.bool_)
        for t_start, t_end, x_min, y_min, x_max, y_max in zip(
            *release.record(record_at[name]).columns(), strict=True
        ):
            inside |= (t >= t_start) & (t < t_end) & (x >= x_min) & (x < x_max) & (y >= y_min) & (y < y_max)
        covered += int(inside.sum())
    losses = Losses(
        rows=dict(original.intake.dropped),
        samples_suppressed=original.n_samples - covered,
        subjects_suppressed=original.n_subjects - len(linkage.uids),
    )
    return replace(
        release,
        losses=losses,
        rows_repaired=dict(original.intake.repaired),
        unit_of_protection=original.intake.unit_of_protection,
        reading=original.intake.reading,
    )


def judge(raw: str, database: str, owners: Path, output: Path, linkage_file: Path) -> Verdict:
    """Write boxes and linkage; the verdict on them."""
    with owners.open(newline="") as stream:
        owner_of = {row["identifier"]: row["uid"] for row in csv.DictReader(stream)}
    with Database(database) as opened:
        stored = StoredReleases(opened).all()
    check_linkage_path(linkage_file, output)
    plane = plane_of([(entry.identifier, entry.points) for entry in stored])
    original = read(raw, working_crs=plane, cell_m=CELLS.cell_m, slot_s=CELLS.slot_s)
    if unknown := set(owner_of.values()) - set(map(str, original.ids)):
        raise InputError(f"{len(unknown)} people in {owners} are not in the raw data")
    records, linkage = by_owner(stored, owner_of, lambda: secrets.token_hex(8))
    release = account_for_losses(boxes_of(records, plane, CELLS), original, linkage)
    verdict = verify(original, release, linkage)
    with staged_folder(output) as folder, staged_linkage(linkage, linkage_file, output):
        write_boxes(folder / "boxes", release, verdict)
    return verdict


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("raw")
    parser.add_argument("--database", required=True)
    for name in ("--owners", "--output", "--linkage"):
        parser.add_argument(name, type=Path, required=True)
    asked = parser.parse_args(arguments)
    print(judge(asked.raw, asked.database, asked.owners, asked.output, asked.linkage).word)


if __name__ == "__main__":
    main()
