"""What a manifest states, held against what the table, the page and the raw data show."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Final

from shoal.model.claims import claim_from_json
from shoal.model.intake import OUT_OF_ORDER
from shoal.model.trajectories import Population
from shoal.model.verdicts import Finding, Verdict
from shoal.release_folder.manifest import MANIFEST_FILE, RELEASE_FILE, REPORT_FILE, Manifest
from shoal.release_folder.plain_files import require_plain_file
from shoal.runtime.hashing import sha256_of

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
    by_reason = sum(losses.subjects_by_reason.values())
    if losses.subjects_by_reason and by_reason != losses.subjects_suppressed:
        yield _false("the subjects suppressed by reason are not as many as those suppressed")


def _repaired(counts: Mapping[str, int]) -> dict[str, int]:
    """Rows by reason, but for what the same rows in another order change."""
    return {reason: rows for reason, rows in counts.items() if rows and reason != OUT_OF_ORDER}


def _false(what: str) -> Finding:
    return Finding("false-statement", f"{MANIFEST_FILE}: {what}")
