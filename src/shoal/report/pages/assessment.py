"""The page of an assessment."""

from collections.abc import Sequence

from shoal.measures.k_gap import KGap
from shoal.model.trajectories import Trajectories
from shoal.report.facts.exposure import exposure_facts
from shoal.report.figures.curves import cdfs, gap_cdfs
from shoal.report.figures.drawing import Drawing
from shoal.report.pages.frame import page
from shoal.report.words.exposure import exposure_in_words
from shoal.report.words.numbers import rows_by_reason


def assessment_report(original: Trajectories, gaps: Sequence[KGap], remarks: Sequence[str] = ()) -> str:
    """The page of an assessment; raises MisuseError without a k-gap, or with one of other people.

    remarks: further sentences, first on the page.
    """
    facts, intake = exposure_facts(original, gaps), original.intake
    drawings: dict[str, Drawing] = {}
    if any(gap.curve.value for gap in facts.gaps):
        drawings["k-gap"] = gap_cdfs(facts.gaps)
    if facts.time_shares.value:
        named = [(f"k = {facts.gaps[0].k}", facts.time_shares)]
        drawings["time-share"] = cdfs(named, "share of time in the effort", unit_range=True)
    if any(curve.value for _, curve in facts.tail_weights):
        drawings["tail-weight"] = cdfs(facts.tail_weights, "tail weight index")
    return page(
        "assessment.html.j2",
        drawings,
        facts=facts,
        grid=original.snapped_grid(),
        intake=intake,
        dropped=rows_by_reason(intake.dropped, intake.rows_read),
        repaired=rows_by_reason(intake.repaired, intake.rows_read),
        sentences=[*remarks, *exposure_in_words(facts)],
    )
