"""What a manifest states, held against what the table, the page and the raw data show."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from shoal.model.claims import claim_from_json, claim_to_json
from shoal.model.intake import OUT_OF_ORDER, Reading
from shoal.model.omission import REASONS, REASONS_OF_PEOPLE
from shoal.model.trajectories import Population
from shoal.model.verdicts import Finding, Verdict
from shoal.release_folder.files import require_plain_file
from shoal.release_folder.manifest import (
    MANIFEST_FILE,
    RELEASE_FILE,
    REPORT_FILE,
    Manifest,
    manifest_text,
)
from shoal.release_folder.statement import Statement
from shoal.runtime.files import sha256_of

PAGE_NOT_HELD: Final = (
    f"{REPORT_FILE} was not held against the data: it is the page that the manifest names, and its figures "
    "are the publisher's word"
)
_LARGEST_PAGE: Final = 1 << 28


def against_manifest(
    folder: Path, manifest: Manifest, sha256: str, n_records: int, n_samples: int
) -> Iterator[Finding]:
    """Where a table with this digest, and so many records and samples, or the page differ from the manifest.

    Raises InputError when the page is no plain file.
    """
    page = folder / REPORT_FILE
    digest = None
    if page.exists() or page.is_symlink():
        require_plain_file(page, _LARGEST_PAGE)
        digest = sha256_of(page)
    for name, told_digest, found_digest in (
        (RELEASE_FILE, manifest.release_sha256, sha256),
        (REPORT_FILE, manifest.report_sha256, digest),
    ):
        if told_digest != found_digest:
            shown = "there is none" if found_digest is None else f"expected {found_digest[:16]}..."
            yield Finding("wrong-hash", f"{name} has another SHA-256 than the manifest gives; {shown}")
    for what, told, found in (
        ("records", manifest.n_records, n_records),
        ("samples", manifest.n_samples, n_samples),
    ):
        if told != found:
            yield Finding("wrong-count", f"{RELEASE_FILE} holds {found} {what}; the manifest says {told}")
    yield from respelled(folder / MANIFEST_FILE, manifest)


def respelled(path: Path, manifest: Manifest) -> Iterator[Finding]:
    """A manifest that says what it says in other letters than shoal writes.

    Blanks, escapes, the order of entries and the spelling of numbers mean nothing to a reader, so that they
    could carry anything.
    """
    orders: Mapping[str, Iterable[str]] = {
        "claim": claim_to_json(claim_from_json(manifest.claim)),
        "verdict": Verdict.of((), checked=1).to_json(),
        "reading": Reading.__dataclass_fields__,
        "record": Statement.model_fields,
    }
    ordered = {name: _in_order(getattr(manifest, name), order) for name, order in orders.items()}
    text = manifest_text(manifest.model_copy(update=ordered))
    if path.read_bytes() != text.encode("utf-8", "surrogatepass"):
        yield Finding(
            "respelled",
            f"{path.name} is not written as shoal writes it: blanks, escapes, the order of its entries",
        )


def _in_order(entries: Mapping[str, Any], names: Iterable[str]) -> dict[str, Any]:
    """The entries in the order of their names, those that are there."""
    return {name: entries[name] for name in names if name in entries}


def false_statements(
    manifest: Manifest, derived: Verdict, original: Population, *, linked: bool
) -> Iterator[Finding]:
    """What the manifest says and the check derives otherwise.

    derived: the verdict on the claim, which the manifest repeats. linked: whether a linkage was at hand, as
    when the manifest was written; without it the notes are others.
    """
    told, found = manifest.verdict, derived.to_json()
    if derived.holds:
        for name in found:
            if told[name] != found[name] and (linked or name != "notes"):
                yield _false(f"its verdict has other {name} than the check comes to")
    read_and_counted = original.intake.rows_read > 0
    if read_and_counted and _repaired(manifest.rows_repaired) != _repaired(original.intake.repaired):
        yield _false("its rows repaired are not those that reading the raw data repairs")
    claim = asdict(claim_from_json(manifest.claim))
    for name in claim.keys() & manifest.parameters.keys():
        if manifest.parameters[name] != claim[name]:
            yield _false(f"the parameter {name} is not that of the claim")
    losses = manifest.losses
    if manifest.kind == "boxes" and losses.samples_created:
        yield _false("it counts created samples, and areas with intervals have none")
    yield from _empty_reasons(manifest, original)
    by_reason = sum(losses.subjects_by_reason.values())
    if losses.subjects_by_reason and by_reason != losses.subjects_suppressed:
        yield _false("the subjects suppressed by reason are not as many as those suppressed")
    samples_told = losses.samples_by_reason
    if samples_told and sum(samples_told.values()) != losses.samples_suppressed:
        yield _false("the samples suppressed by reason are not as many as those suppressed")


def _empty_reasons(manifest: Manifest, original: Population) -> Iterator[Finding]:
    """Reasons that count nothing or are no words, so that they could say anything else."""
    intake, losses = original.intake, manifest.losses
    known: Mapping[str, tuple[Mapping[str, int], Iterable[str]]] = {
        "losses.rows": (losses.rows, intake.dropped),
        "rows_repaired": (manifest.rows_repaired, (*intake.repaired, OUT_OF_ORDER)),
        "losses.subjects_by_reason": (losses.subjects_by_reason, ()),
    }
    for name, (told, own) in known.items():
        if any(not rows and reason not in own for reason, rows in told.items()):
            yield _false(f"{name} gives a reason that counts nothing")
    if not losses.samples_by_reason.keys() <= set(REASONS) or not all(losses.samples_by_reason.values()):
        yield _false("losses.samples_by_reason gives a reason that no release has, or that counts nothing")
    if not losses.subjects_by_reason.keys() <= set(REASONS_OF_PEOPLE):
        yield _false("losses.subjects_by_reason gives reasons that no method has")


def _repaired(counts: Mapping[str, int]) -> dict[str, int]:
    """Rows by reason, but for what the same rows in another order change."""
    return {reason: rows for reason, rows in counts.items() if rows and reason != OUT_OF_ORDER}


def _false(what: str) -> Finding:
    return Finding("false-statement", f"{MANIFEST_FILE}: {what}")
