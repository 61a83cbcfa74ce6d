"""The report of a release, public or private."""

from typing import Any

from shoal.model.claims import GENERAL_LIMITS
from shoal.model.release import Release
from shoal.model.verdicts import Verdict
from shoal.release_folder.manifest import NOTHING_STATED, Statement
from shoal.report.facts.evidence import (
    PUBLIC_K,
    Evidence,
    hidden_places,
    hour_cautions,
    is_publishable,
    places_that_lost_most,
    strongest_publishable,
    typical_crowd,
)
from shoal.report.facts.ground import NO_GROUND, MapGround
from shoal.report.facts.release import ReleaseFacts, accuracy_rows
from shoal.report.figures.record import FigureInputs, draw_figures
from shoal.report.pages.frame import page
from shoal.report.words.attacks import STRONGEST, attack_in_words
from shoal.report.words.numbers import rows_by_reason, show, two_digits
from shoal.report.words.settings import settings_of, techniques_of
from shoal.units import rounded_up
from shoal.utility.vanished import Vanished


def record_page(
    evidence: Evidence,
    verdict: Verdict,
    *,
    statement: Statement = NOTHING_STATED,
    private: bool = False,
    ground: MapGround = NO_GROUND,
) -> str:
    """The report of a release.

    private: also one crowd before and after, and the counts of shares, for the holder of the raw data
    alone.
    """
    return page_of_facts(
        evidence.facts.release,
        verdict,
        evidence.release_facts,
        evidence=evidence,
        vanished=evidence.vanished,
        statement=statement,
        private=private,
        ground=ground,
    )


def page_of_facts(
    release: Release,
    verdict: Verdict,
    facts: ReleaseFacts,
    *,
    evidence: Evidence,
    vanished: Vanished | None = None,
    statement: Statement = NOTHING_STATED,
    private: bool = False,
    ground: MapGround = NO_GROUND,
) -> str:
    """The record from facts alone. vanished: None if unknown, or without loss."""
    strongest = strongest_publishable(evidence.assessment)
    notes = evidence.facts.original.intake.notes
    crowds = facts.boxes is not None and facts.boxes.crowds
    figure_inputs = FigureInputs(
        release=release,
        facts=facts,
        vanished=vanished if release.losses.samples_suppressed else None,
        example=typical_crowd(evidence.facts) if private and crowds else None,
        omission=evidence.omission,
        ground=ground,
    )
    content: dict[str, Any] = {
        "release": release,
        "public_k": PUBLIC_K,
        "general_limits": GENERAL_LIMITS,
        "verdict": verdict,
        "findings": verdict.to_json()["findings_by_kind"],
        "facts": facts,
        "units": "days of people" if release.reading.per_day else "people",
        "accuracy_rows": [] if facts.boxes is None else accuracy_rows(facts.boxes.accuracy),
        "example": figure_inputs.example,
        "private": private,
        "settings": settings_of(release),
        "statement": statement,
        "techniques": techniques_of(release),
        "assessment": evidence.assessment,
        "strongest": strongest,
        "cautions": (*hour_cautions(notes), *evidence.stations),
        "strongest_title": STRONGEST,
        "plain_words": None
        if strongest is None
        else attack_in_words(strongest.release.name, str(strongest.release.asked)),
        "is_publishable": is_publishable,
        "sampled": evidence.sampled,
        "utility": evidence.utility,
        "usefulness": evidence.usefulness,
        "show": show,
        "vanished": vanished,
        "omission": evidence.omission,
        "places": [] if vanished is None else places_that_lost_most(vanished),
        "hidden_places": 0 if vanished is None else hidden_places(vanished),
        **{
            what: [
                (reason, rounded_up(number), two_digits(share))
                for reason, number, share in rows_by_reason(counts, facts.rows_read)
            ]
            for what, counts in (("dropped", release.losses.rows), ("repaired", release.rows_repaired))
        },
        "notes": notes if private else (),
    }
    return page(f"record_{release.kind}.html.j2", draw_figures(figure_inputs), public=not private, **content)
