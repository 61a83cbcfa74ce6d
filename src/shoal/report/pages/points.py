"""The page that goes with a release of points.

What was promised and checked, what was lost, where the points lie.
"""

from collections.abc import Sequence

import numpy as np

from shoal.measures.k_gap import KGap
from shoal.model.release import Release
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Verdict
from shoal.release_folder.statement import NOTHING_STATED, Statement
from shoal.report import figures
from shoal.report.facts.density import density_map
from shoal.report.facts.evidence import Evidence
from shoal.report.facts.release import gap_facts, span_of
from shoal.report.pages.release import evidence_shown, page, vanished_drawings
from shoal.report.words import claims, numbers, settings


def points_report(
    original: Trajectories,
    release: Release,
    verdict: Verdict,
    gaps: Sequence[KGap],
    snapped: Trajectories,
    *,
    evidence: Evidence | None = None,
    statement: Statement = NOTHING_STATED,
) -> str:
    """The page of a release of points.

    snapped: the original on the grid of the gaps, of the map and of attacks on boxes; evidence: what was
    measured for it, None = nothing; statement: the publisher's.
    """
    grid = snapped.snapped_grid()
    boxes = release.as_boxes(grid).boxes
    density = density_map(boxes)
    shown = tuple(gap_facts(snapped, gap) for gap in gaps)
    drawings = {
        "map": figures.release_map(
            density, boxes.take(np.empty(0, dtype=np.int64)), grid, projected=release.crs is not None
        ),
    }
    if any(gap.curve.value for gap in shown):
        drawings["k-gap"] = figures.gap_cdfs(shown)
    drawings |= vanished_drawings(release, evidence)
    return page(
        "points.html.j2",
        drawings,
        release=release,
        verdict=verdict,
        grid=grid,
        density=density,
        gaps=shown,
        **evidence_shown(evidence),
        span=span_of(boxes.t_start, boxes.t_end, grid.slot_s),
        subjects=original.n_subjects,
        samples=original.n_samples,
        rows_read=original.intake.rows_read,
        settings=settings.settings_of(release),
        dropped=numbers.rows_by_reason(release.losses.rows, original.intake.rows_read),
        repaired=numbers.rows_by_reason(release.rows_repaired, original.intake.rows_read),
        findings=verdict.to_json()["findings_by_kind"],
        statement=statement,
        limits=claims.limits_of(release.claim),
        meaning=claims.vanished_of(release.claim),
    )
