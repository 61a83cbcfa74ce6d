"""Two pages: of a release, and of an assessment.

Numbers come in, text of one self-contained HTML file goes out.

A page states no time of making, no path, no seed, no raw identifier and no pseudonym. Its content security
policy allows the two scripts it carries, by their hashes, and no request at all.
"""

import base64
import hashlib
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

from shoal.measures.k_gap import KGap
from shoal.model.claims import KAnonymity
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Verdict
from shoal.release_folder.statement import NOTHING_STATED, Statement
from shoal.report import figures
from shoal.report.facts.evidence import (
    Evidence,
    gather_evidence,
    hidden_places,
    may_be_shown,
    places_that_lost_most,
)
from shoal.report.facts.example import Example, typical_crowd
from shoal.report.facts.exposure import exposure_facts
from shoal.report.facts.release import ReleaseFacts, accuracy_rows, release_facts
from shoal.report.words import claims, numbers, settings
from shoal.report.words.claims import model_of
from shoal.report.words.exposure import exposure_in_words
from shoal.report.words.numbers import show
from shoal.report.words.terms import techniques_of
from shoal.units import show_s

if TYPE_CHECKING:
    from jinja2 import Environment
    from plotly.graph_objects import Figure

DRAW = """
const draw = () => document.querySelectorAll('script[data-figure]').forEach(source => {
  const spec = JSON.parse(source.textContent);
  Plotly.newPlot(source.dataset.figure, spec.data, spec.layout, {responsive: true, displayModeBar: false, displaylogo: false});
});
const fit = () => document.querySelectorAll('.plot').forEach(plot => Plotly.Plots.resize(plot));
window.addEventListener('beforeprint', fit);
window.addEventListener('afterprint', fit);
draw();
"""


def release_report(
    original: Trajectories,
    release: Release,
    linkage: Linkage,
    verdict: Verdict,
    gaps: Sequence[KGap],
    *,
    evidence: Evidence | None = None,
    statement: Statement = NOTHING_STATED,
    private: bool = False,
) -> str:
    """The record that goes with a release.

    private: also one crowd before and after, and the counts behind shares, for the holder of the raw data
    alone. evidence: what was measured for it, None = no attack is played, the rest is measured now.
    statement: what the publisher says. Raises MisuseError when the parts do not belong together.
    """
    facts = release_facts(original, release, linkage, gaps)
    example = (
        typical_crowd(original, release, linkage)
        if private and isinstance(release.claim, KAnonymity)
        else None
    )
    notes = original.intake.notes if private else ()  # they may name a file
    found = evidence or gather_evidence(original, release, linkage, tries=0)
    return release_page(
        release,
        verdict,
        facts,
        evidence=found,
        statement=statement,
        example=example,
        notes=notes,
        private=private,
    )


def release_page(
    release: Release,
    verdict: Verdict,
    facts: ReleaseFacts,
    *,
    evidence: Evidence | None = None,
    statement: Statement = NOTHING_STATED,
    example: Example | None = None,
    notes: Sequence[str] = (),
    private: bool = False,
) -> str:
    """The same page from the facts alone; the boxes of the release are not looked at."""
    crowds = isinstance(release.claim, KAnonymity)
    drawings: dict[str, Figure] = {
        "spatial-accuracy": figures.spatial_accuracy(facts),
        "temporal-accuracy": figures.temporal_accuracy(facts),
        "map": figures.release_map(
            facts.density, facts.outlines, release.snapped_grid(), projected=release.crs is not None
        ),
    }
    if crowds:
        drawings["crowd-sizes"] = figures.crowd_sizes(facts)
    if any(gap.curve.value for gap in facts.gaps):
        drawings["k-gap"] = figures.gap_cdfs(facts.gaps)
    drawings |= vanished_drawings(release, evidence)
    if example is not None:
        drawings["example-space"] = figures.example_in_space(example, release.snapped_grid())
        drawings["example-time"] = figures.example_in_time(example, release.snapped_grid())
    return page(
        "release.html.j2",
        drawings,
        release=release,
        verdict=verdict,
        facts=facts,
        accuracy_rows=accuracy_rows(facts.accuracy),
        example=example,
        private=private,
        settings=settings.settings_of(release),
        statement=statement,
        techniques=techniques_of(release),
        model=model_of(release.claim),
        **evidence_shown(evidence),
        dropped=numbers.rows_by_reason(release.losses.rows, facts.rows_read),
        repaired=numbers.rows_by_reason(release.rows_repaired, facts.rows_read),
        notes=notes,
        findings=verdict.to_json()["findings_by_kind"],
    )


def vanished_drawings(release: Release, evidence: Evidence | None) -> "dict[str, Figure]":
    """Where and when samples vanished; nothing where none did, or nobody looked."""
    if evidence is None or evidence.vanished is None or not release.losses.samples_suppressed:
        return {}
    return {
        "vanished-place": figures.vanished_by_place(evidence.vanished),
        "vanished-hour": figures.vanished_by_hour(evidence.vanished),
    }


def evidence_shown(evidence: Evidence | None) -> dict[str, Any]:
    """What the parts of a record on risks, on utility and on who vanished are filled with."""
    vanished = None if evidence is None else evidence.vanished
    return {
        "assessment": None if evidence is None else evidence.assessment,
        "may_be_shown": may_be_shown,
        "utility": None if evidence is None else evidence.utility,
        "show": show,
        "vanished": vanished,
        "places": [] if vanished is None else places_that_lost_most(vanished),
        "hidden_places": 0 if vanished is None else hidden_places(vanished),
    }


def assessment_report(original: Trajectories, gaps: Sequence[KGap]) -> str:
    """The page of an assessment.

    The k-gap for each k, its parts, its tail, and what they mean in plain words.

    Raises MisuseError without a k-gap, or with one of other people.
    """
    facts = exposure_facts(original, gaps)
    drawings: dict[str, Figure] = {}
    if any(gap.curve.value for gap in facts.gaps):
        drawings["k-gap"] = figures.gap_cdfs(facts.gaps)
    if facts.time_shares.value:
        drawings["time-share"] = figures.cdfs(
            [(f"k = {facts.gaps[0].k}", facts.time_shares)],
            "share of time in the effort",
            "share of people",
            unit_range=True,
        )
    if any(curve.value for _, curve in facts.tail_weights):
        drawings["tail-weight"] = figures.cdfs(facts.tail_weights, "tail weight index", "share of people")
    return page(
        "assessment.html.j2",
        drawings,
        facts=facts,
        grid=original.snapped_grid(),
        intake=original.intake,
        dropped=numbers.rows_by_reason(original.intake.dropped, original.intake.rows_read),
        repaired=numbers.rows_by_reason(original.intake.repaired, original.intake.rows_read),
        sentences=exposure_in_words(facts),
    )


def page(template: str, drawings: "dict[str, Figure]", **content: Any) -> str:
    """A template filled in, with the drawing library and the drawings as data beside it."""
    from markupsafe import Markup
    from plotly.offline import get_plotlyjs

    library = get_plotlyjs()
    policy = (
        f"default-src 'none'; script-src '{_hash(library)}' '{_hash(DRAW)}'; style-src 'unsafe-inline'; "
        "img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    # no tag can end the script
    specs = {name: Markup(figure.to_json().replace("<", "\\u003c")) for name, figure in drawings.items()}  # noqa: S704
    # both are our own text, and must stay as they are
    trusted = {"library": Markup(library), "draw": Markup(DRAW)}  # noqa: S704
    return _templates().get_template(template).render(policy=policy, drawings=specs, **trusted, **content)


def _hash(script: str) -> str:
    """As a content security policy names a script it allows."""
    return "sha256-" + base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()


@cache
def _templates() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    templates = Environment(
        loader=PackageLoader("shoal.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    shown: tuple[Callable[..., Any], ...] = (
        claims.claim_in_words,
        claims.claim_name,
        show_s,
        numbers.count,
        numbers.exact,
        settings.method_name,
        numbers.meters,
        numbers.number,
        numbers.percent,
        numbers.seconds,
    )
    for function in shown:
        templates.filters[function.__name__] = function
    return templates
