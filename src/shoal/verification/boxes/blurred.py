"""Check boxes that people's own devices drew."""

from collections.abc import Iterator

import numpy as np

from shoal.model.claims import Blurred
from shoal.model.release import Release
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Finding
from shoal.runtime.run import Run
from shoal.verification.boxes.records import (
    Records,
    classify_records,
    findings_per_record,
    malformed_boxes,
    match_own_samples,
    on_one_grid,
    single_record_faults,
)
from shoal.verification.examination import Examination, duplicate_pseudonyms


def examine_blurred(claim: Blurred, case: Examination[Trajectories], _run: Run) -> None:
    """Check that no box is too small, and that each holds a sample of its person."""
    original, release = case.original, case.release
    records = classify_records(release)
    case.add(duplicate_pseudonyms(release))
    case.add(malformed_boxes(records, release))
    case.add(_smaller_than_claimed(claim, records, release))
    case.mark_checked("sizes")
    if not on_one_grid(case):
        return
    case.compare_accounts()
    links = case.link()
    if links is not None:
        matches = match_own_samples(original, records, links.subject_of, records.offsets[:-1])
        case.add(single_record_faults(matches, original, records, release, links))
        case.mark_checked("own-samples", "lost-samples")
    case.count_subjects(links)


def _smaller_than_claimed(claim: Blurred, records: Records, release: Release) -> Iterator[Finding]:
    grid = release.snapped_grid()
    t_start, t_end, x_min, y_min, x_max, y_max = records.boxes.T
    narrow = np.minimum(x_max - x_min, y_max - y_min) * grid.cell_m < claim.width_m
    short = (t_end - t_start) * grid.slot_s < claim.duration_s
    yield from findings_per_record(narrow | short, "small-box", "is smaller than claimed", records, release)
