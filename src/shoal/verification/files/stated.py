"""Compare a manifest with the table, the page and the raw data."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from shoal.model.claims import claim_from_json, claim_to_json
from shoal.model.intake import OUT_OF_ORDER, Intake, Reading
from shoal.model.omission import ERASED, REASONS, REASONS_OF_PEOPLE
from shoal.model.population import Population
from shoal.model.verdicts import Finding, Verdict
from shoal.release_folder.files import require_plain_file
from shoal.release_folder.manifest import (
    MANIFEST_FILE,
    RELEASE_FILE,
    REPORT_FILE,
    Manifest,
    Statement,
    manifest_reading,
    manifest_text,
)
from shoal.runtime.files import sha256_of
from shoal.units import least_of, rounded_up, states_counts

PAGE_NOT_CHECKED: Final = (
    f"{REPORT_FILE} is the page that the manifest names; its figures, and in the manifest the usefulness and "
    "how crowds were searched for, are the publisher's word: measure the release to compare them"
)
_LARGEST_PAGE: Final = 1 << 28


def manifest_mismatches(
    folder: Path, manifest: Manifest, sha256: str, n_records: int, n_samples: int
) -> Iterator[Finding]:
    """Differences in the table's digest, records, samples, or in the page."""
    page = folder / REPORT_FILE
    digest = None
    if page.exists() or page.is_symlink():
        require_plain_file(page, _LARGEST_PAGE)
        digest = sha256_of(page)
    for name, stated_digest, actual_digest in (
        (RELEASE_FILE, manifest.release_sha256, sha256),
        (REPORT_FILE, manifest.report_sha256, digest),
    ):
        if stated_digest != actual_digest:
            hint = "there is none" if actual_digest is None else f"it has {actual_digest[:16]}..."
            yield Finding("wrong-hash", f"{name} has another SHA-256 than the manifest gives; {hint}")
    for what, stated_count, actual_count in (
        ("records", manifest.n_records, n_records),
        ("samples", manifest.n_samples, n_samples),
    ):
        if stated_count != actual_count:
            yield Finding(
                "wrong-count", f"{RELEASE_FILE} holds {actual_count} {what}; the manifest says {stated_count}"
            )
    yield from respelled_manifest(folder / MANIFEST_FILE, manifest)


def respelled_manifest(path: Path, manifest: Manifest) -> Iterator[Finding]:
    """A finding for letters unlike shoal's, which could hold a message."""
    orders: Mapping[str, Iterable[str]] = {
        "verdict": Verdict.of((), checked=1).to_json(),
        "record": Statement.model_fields,
    }
    ordered = {name: _in_order(getattr(manifest, name), order) for name, order in orders.items()}
    ordered["claim"] = claim_to_json(claim_from_json(manifest.claim))
    ordered["reading"] = asdict(manifest_reading(path.parent, manifest))
    text = manifest_text(manifest.model_copy(update=ordered))
    if path.read_bytes() != text.encode("utf-8", "surrogatepass"):
        yield Finding(
            "respelled",
            f"{path.name} is not written as shoal writes it: blanks, escapes, the order of its entries",
        )


def _in_order(entries: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    return {name: entries[name] for name in names if name in entries}


def false_statements(
    manifest: Manifest, derived: Verdict, original: Population, *, linked: bool
) -> Iterator[Finding]:
    """Statements that the check derives differently; without a linkage, notes may differ."""
    stated_verdict, derived_verdict = manifest.verdict, derived.to_json()
    if derived.holds:
        for name in derived_verdict:
            if stated_verdict[name] != derived_verdict[name] and (linked or name != "notes"):
                hint = "; another version of shoal may have: write the release again" * (name == "notes")
                yield _false_statement(f"its verdict has other {name} than the check comes to{hint}")
    if original.intake.rows_read > 0:
        yield from _other_intake(manifest, original.intake)
    claim = asdict(claim_from_json(manifest.claim))
    for name in claim.keys() & manifest.parameters.keys():
        if manifest.parameters[name] != claim[name]:
            yield _false_statement(f"the parameter {name} is not that of the claim")
    losses = manifest.losses
    if manifest.kind == "boxes" and losses.samples_created:
        yield _false_statement("it counts created samples, and areas with intervals have none")
    yield from _empty_reasons(manifest, original)
    by_reason = sum(losses.subjects_by_reason.values())
    if losses.subjects_by_reason and by_reason != losses.subjects_suppressed:
        yield _false_statement("the subjects suppressed by reason are not as many as those suppressed")
    place = manifest.series
    if place is not None and (
        place.waiting + losses.subjects_by_reason.get(ERASED, 0) != losses.subjects_suppressed
        or not 0 < place.crowds * claim.get("k", 1) <= manifest.n_records
        or not place.newcomers <= manifest.n_records
    ):
        yield _false_statement("its place in a series counts other people than the release")
    lost, reasons = losses.samples_suppressed, losses.samples_by_reason.values()
    fits = sum(map(least_of, reasons)) <= lost and least_of(lost) <= sum(reasons)
    if not fits and (manifest.kind == "boxes" or reasons):
        yield _false_statement("the samples suppressed by reason are not as many as those suppressed")


def _other_intake(manifest: Manifest, intake: Intake) -> Iterator[Finding]:
    in_any_order = states_counts(*map(_without_reordering, (manifest.rows_repaired, intake.repaired)))
    if not in_any_order or manifest.rows_repaired.get(OUT_OF_ORDER, 0) > rounded_up(intake.rows_read):
        yield _false_statement("its rows repaired are not those that reading the raw data repairs")
    for name in Reading(**manifest.reading).other_settings(intake.reading):
        yield _false_statement(f"its reading has another {name} than the raw data was read with")


def _empty_reasons(manifest: Manifest, original: Population) -> Iterator[Finding]:
    intake, losses = original.intake, manifest.losses
    counts_by_entry: Mapping[str, tuple[Mapping[str, int], Iterable[str]]] = {
        "losses.rows": (losses.rows, intake.dropped),
        "rows_repaired": (manifest.rows_repaired, (*intake.repaired, OUT_OF_ORDER)),
        "losses.subjects_by_reason": (losses.subjects_by_reason, ()),
    }
    for name, (counts, raw_reasons) in counts_by_entry.items():
        if any(not rows and reason not in raw_reasons for reason, rows in counts.items()):
            yield _false_statement(f"{name} gives a reason that counts nothing")
    if not losses.samples_by_reason.keys() <= set(REASONS) or not all(losses.samples_by_reason.values()):
        yield _false_statement(
            "losses.samples_by_reason gives a reason that no release has, or that counts nothing"
        )
    if not losses.subjects_by_reason.keys() <= set(REASONS_OF_PEOPLE):
        yield _false_statement("losses.subjects_by_reason gives reasons that no method has")


def _without_reordering(counts: Mapping[str, int]) -> dict[str, int]:
    return {reason: rows for reason, rows in counts.items() if rows and reason != OUT_OF_ORDER}


def _false_statement(what: str) -> Finding:
    return Finding("false-statement", f"{MANIFEST_FILE}: {what}")
