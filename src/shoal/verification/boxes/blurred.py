"""Boxes that people's own devices drew, against raw data: none is small, each holds a sample of its owner."""

from collections.abc import Iterator

import numpy as np

from shoal.model.claims import Blurred
from shoal.model.release import Release
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Finding
from shoal.runtime.run import Run
from shoal.verification.boxes.records import (
    NOT_COMPARED,
    Records,
    faults_of_single_records,
    malformed,
    off_grid,
    one_per_record,
    own_samples,
    records_of,
)
from shoal.verification.examination import Examination, pseudonyms_used_twice


def examine_blurred(claim: Blurred, case: Examination[Trajectories], _run: Run) -> None:
    """Hold a Blurred claim against the raw data; raises MisuseError when that is not snapped to a grid."""
    original, release = case.original, case.release
    on_other_grid = off_grid(original, release)
    records = records_of(release)
    case.find(pseudonyms_used_twice(release))
    case.find(malformed(records, release))
    case.find(_smaller_than_claimed(claim, records, release))
    case.looked_at("sizes")
    if on_other_grid:
        case.find(on_other_grid)
        case.notes.append(NOT_COMPARED)
        return
    case.compare_accounts()
    links = case.link()
    if links is not None:
        own = own_samples(original, records, links.subject_of, records.offsets[:-1])
        case.find(faults_of_single_records(own, original, records, release, links))
        case.looked_at("own-samples", "lost-samples")
    case.count_subjects(links)


def _smaller_than_claimed(claim: Blurred, records: Records, release: Release) -> Iterator[Finding]:
    """Boxes with a side or a duration below the claim's."""
    grid = release.snapped_grid()
    t_start, t_end, x_min, y_min, x_max, y_max = records.boxes.T
    narrow = np.minimum(x_max - x_min, y_max - y_min) * grid.cell_m < claim.width_m
    short = (t_end - t_start) * grid.slot_s < claim.duration_s
    yield from one_per_record(narrow | short, "small-box", "is smaller than claimed", records, release)
