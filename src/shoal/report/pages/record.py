"""The record that goes with a release: one assembler for boxes and for points, public or private.

Facts come in, text of one self-contained HTML file goes out. What differs between payloads stands in the
templates ``record_boxes`` and ``record_points``, which fill the blocks of ``record``.
"""

from collections.abc import Sequence
from typing import Any

from shoal.model.release import Release
from shoal.model.verdicts import Verdict
from shoal.release_folder.statement import NOTHING_STATED, Statement
from shoal.report.facts.evidence import (
    Evidence,
    hidden_places,
    may_be_shown,
    places_that_lost_most,
    strongest_shown,
)
from shoal.report.facts.example import Example, typical_crowd
from shoal.report.facts.ground import NOTHING_BEHIND, MapGround
from shoal.report.facts.release import ReleaseFacts, accuracy_rows
from shoal.report.figures.record import Shown, drawings_of
from shoal.report.pages.frame import page
from shoal.report.words.attacks import plainly
from shoal.report.words.numbers import rows_by_reason, show
from shoal.report.words.settings import settings_of
from shoal.report.words.terms import techniques_of
from shoal.utility.vanished import Vanished


def record_page(
    evidence: Evidence,
    verdict: Verdict,
    *,
    statement: Statement = NOTHING_STATED,
    private: bool = False,
    ground: MapGround = NOTHING_BEHIND,
) -> str:
    """The record of a release.

    Parameters
    ----------
    evidence
        Raw data, release and linkage, and what is measured of them.
    verdict
        What the check of the release found.
    statement
        What the publisher states.
    private
        Also show one crowd before and after, and the counts behind shares: for the holder of the raw data
        alone.
    ground
        What the publisher lays behind the map.

    Returns
    -------
    str
        One self-contained HTML file.

    Raises
    ------
    MisuseError
        When a k-gap is of other people, or the linkage tells of other losses than the release.
    """
    facts = evidence.release_facts
    crowds = facts.boxes is not None and facts.boxes.crowds
    return page_of_facts(
        evidence.facts.release,
        verdict,
        facts,
        evidence=evidence,
        vanished=evidence.vanished,
        statement=statement,
        example=typical_crowd(evidence.facts) if private and crowds else None,
        notes=evidence.facts.original.intake.notes if private else (),  # they may name a file
        private=private,
        ground=ground,
    )


def page_of_facts(
    release: Release,
    verdict: Verdict,
    facts: ReleaseFacts,
    *,
    evidence: Evidence | None = None,
    vanished: Vanished | None = None,
    statement: Statement = NOTHING_STATED,
    example: Example | None = None,
    notes: Sequence[str] = (),
    private: bool = False,
    ground: MapGround = NOTHING_BEHIND,
) -> str:
    """The same from the facts alone; the payload of the release is not looked at.

    evidence: None where no attack was played on a release made block by block. vanished: None where it is
    not known, or nobody lost anything.
    """
    omission = None if evidence is None else evidence.omission
    strongest = None if evidence is None else strongest_shown(evidence.assessment)
    shown = Shown(
        release=release,
        facts=facts,
        vanished=vanished if release.losses.samples_suppressed else None,
        example=example,
        omission=omission,
        ground=ground,
    )
    content: dict[str, Any] = {
        "release": release,
        "verdict": verdict,
        "findings": verdict.to_json()["findings_by_kind"],
        "facts": facts,
        "accuracy_rows": [] if facts.boxes is None else accuracy_rows(facts.boxes.accuracy),
        "example": example,
        "private": private,
        "settings": settings_of(release),
        "statement": statement,
        "techniques": techniques_of(release),
        "assessment": None if evidence is None else evidence.assessment,
        "strongest": strongest,
        "plainly": None
        if strongest is None
        else plainly(strongest.release.name, str(strongest.release.asked)),
        "may_be_shown": may_be_shown,
        "sampled": None if evidence is None else evidence.sampled,
        "utility": None if evidence is None else evidence.utility,
        "show": show,
        "vanished": vanished,
        "omission": omission,
        "places": [] if vanished is None else places_that_lost_most(vanished),
        "hidden_places": 0 if vanished is None else hidden_places(vanished),
        "dropped": rows_by_reason(release.losses.rows, facts.rows_read),
        "repaired": rows_by_reason(release.rows_repaired, facts.rows_read),
        "notes": notes,
    }
    return page(f"record_{release.kind}.html.j2", drawings_of(shown), public=not private, **content)
