"""Check a folder with a table against the raw data, without trust in the folder."""

from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any, Final

import numpy as np

from shoal.model.intake import Intake, Reading
from shoal.model.verdicts import Verdict
from shoal.runtime.arrays import Integers
from shoal.runtime.run import Run
from shoal.units import percent
from shoal_tables.definition.manifest import NUMBERS, Promise, TableManifest, read_table_manifest
from shoal_tables.verification import files, statements
from shoal_tables.verification.contributions import Recount, added_up, people_on_disk, recount
from shoal_tables.verification.finding_kinds import Finding, FindingKind
from shoal_tables.verification.noise import NoisyCells, noise_findings, shared_findings, totals_findings
from shoal_tables.verification.zones import Cells, Level, read_levels, read_table, read_zones, zone_findings

UNSEEN: Final = (
    "not visible to any check: noise of a weak generator, a publisher who drew several tables and chose one, "
    "or changed numbers within their noise, a bound or zones chosen after a look at the data, the file that "
    "zones come from, a person who is several units, another longest gap, radius or least time of stays that "
    "counts the same, the words of the record beside its numbers and its promise"
)
_SURELY: Final = 3.89  # deviations of a normal number, with one in ten thousand beyond them
_WITHOUT_BOUND: Final = "contributions were added up without the stated bound"
_BY_DAY: Final = "the bound was applied to each day alone"
_UNCOUNTABLE: Final = {"cells-differ", "columns-differ", "days-differ", "granularity-differs"}


@dataclass(frozen=True)
class TableVerification:
    """The verdict on a table, what it states, and the account of reading the raw data."""

    verdict: Verdict
    manifest: TableManifest
    intake: Intake
    units: int  # with a contribution
    units_over: int  # that the bound cut

    def to_json(self) -> dict[str, Any]:
        """As ``shoal verify --json`` prints it."""
        manifest, promise = self.manifest, self.manifest.promise
        return {
            **{name: value for name, value in self.verdict.to_json().items() if name != "findings"},
            "findings": [{"kind": one.kind, "message": one.message} for one in self.verdict.findings[:100]],
            "outcome": self.verdict.word,
            **manifest.model_dump(include={"table", "unit", "unit_of_protection"}),
            **promise.model_dump(include={"epsilon", "delta"}),
            "guesses_right_at_most": statements.guessing_share(promise.epsilon, promise.delta),
            "units": self.units,
            "units_cut": self.units_over,
            "rows_read": self.intake.rows_read,
            "rows_dropped": dict(self.intake.dropped),
        }


def verify_table(
    raw: Any,
    folder: str | Path,
    *,
    secret: str | Path | None = None,
    ledger: str | Path | None = None,
    run: Run | None = None,
    **reading: Any,
) -> TableVerification:
    """Check that a table is what its manifest promises; a true one is refused once in 10,000."""
    folder = Path(folder)
    manifest = read_table_manifest(folder)
    findings = [] if ledger is None else [*statements.ledger_findings(Path(ledger), manifest)]
    findings += [*files.file_findings(folder, manifest), *statements.statement_findings(manifest)]
    zones = read_zones(folder)
    wrong_zones = list(zone_findings(zones, manifest))
    levels = read_levels(folder, manifest, zones)
    table, cells = levels[0].table, levels[0].cells
    findings += wrong_zones
    if not wrong_zones:
        findings += [finding for level in levels for finding in files.cell_findings(level, NUMBERS)]
    with people_on_disk(raw, manifest, run, **reading) as people:
        intake = people.intake
        findings += [
            Finding("reading-differs", f"the raw data was read with another {name} than the manifest states")
            for name in Reading(**manifest.reading).other_settings(intake.reading)
            if name not in reading
        ]
        if intake.unit_of_protection != manifest.unit_of_protection:
            words = f"one unit is {intake.unit_of_protection}, but the manifest states another unit"
            findings.append(Finding("unit-differs", words))
        if wrong_zones or any(finding.kind in _UNCOUNTABLE for finding in findings):
            return TableVerification(Verdict.of(findings, checked=table.num_rows), manifest, intake, 0, 0)
        findings += files.record_findings(folder, manifest, table)
        findings += files.leak_findings(folder, zones, people)
        counted = recount(people, manifest, zones)
    if manifest.zones.kind == "grid" and counted.corner == (manifest.zones.x0, manifest.zones.y0):
        words = "the grid begins at the least x and the least y of the samples"
        findings.append(Finding("zones-from-data", words))
    published, wrong_numbers = files.published_integers(levels, manifest.promise.granularity)
    findings += [*wrong_numbers, *files.column_findings(levels, published, manifest, zones, counted.outer)]
    before = counted.counts
    if secret is not None:
        before, wrong = _secret(Path(secret), folder, cells, counted)
        findings += wrong
    if not any(finding.kind == "no-number" for finding in wrong_numbers):
        findings += _noise(published, before, counted, levels, manifest.promise)
    if (totals := manifest.promise.totals) is not None:
        noise = np.array([totals.before, totals.after], dtype=np.int64) - counted.totals
        findings += totals_findings(noise, totals.sigma, len(levels))
    notes, unchecked = _notes(manifest, cells, counted), []
    if secret is None:
        notes.append("without the secret, a count before noise may differ by as much as noise hides")
    if ledger is None and manifest.ledger is not None:
        unchecked.append("what other tables of the same people cost (needs the ledger)")
    elif ledger is None:
        notes.append("no ledger was used: what other tables of the same people cost adds to this promise")
    verdict = Verdict.of(findings, checked=len(published), notes=notes, unchecked=unchecked)
    return TableVerification(verdict, manifest, intake, counted.units, counted.units_over)


def _secret(path: Path, folder: Path, cells: Cells, counted: Recount) -> tuple[Integers, list[Finding]]:
    findings = []
    if folder.resolve() in path.resolve().parents:
        findings.append(Finding("secret-published", "the counts before noise lie in the folder to publish"))
    table = read_table(path)
    findings += files.cell_findings(Level("the secret file", table, cells, slice(0), 1), ("count",))
    if any(finding.kind in ("cells-differ", "columns-differ") for finding in findings):
        return counted.counts, findings
    before = np.array(table["count"].to_numpy(), dtype=np.int64)
    wrong = int((before != counted.counts).sum())
    if not wrong:
        return before, findings
    kind: FindingKind = "counts-differ"
    words = f"{wrong:,} counts before noise do not follow from the raw data"
    if np.array_equal(before, counted.unbounded):
        kind, words = "bound-not-applied", _WITHOUT_BOUND
    elif np.array_equal(before, counted.bounded_by_day):
        kind, words = "bound-by-day", f"{_BY_DAY}; a person has as many bounds as days"
    elif (before >= counted.counts).all():
        kind = "counts-too-large"
        words = f"{wrong:,} cells count more than bounded contributions, each unit once"
    return before, [*findings, Finding(kind, words)]


def _noise(
    published: Integers, before: Integers, counted: Recount, levels: list[Level], promise: Promise
) -> list[Finding]:
    of_noise = _against(published, before, counted.outer, levels, promise)
    if not of_noise or not np.array_equal(before, counted.counts):
        return of_noise
    unstated: tuple[tuple[FindingKind, Integers, str], ...] = (
        ("bound-not-applied", counted.unbounded, _WITHOUT_BOUND),
        ("bound-by-day", counted.bounded_by_day, _BY_DAY),
    )
    for kind, counts, words in unstated:
        other = not np.array_equal(counts, before)
        if other and not _against(published, counts, counted.outer, levels, promise):
            return [Finding(kind, words)]
    return of_noise


def _against(
    published: Integers, counts: Integers, outer: Integers, levels: list[Level], promise: Promise
) -> list[Finding]:
    """Find noise that is not as stated, were these the counts before it."""
    before = added_up(counts, outer)
    noise = published - before
    tested = []
    for one in levels:
        scale = (promise.sigma * one.noise, promise.granularity, promise.half_width * one.noise)
        tested.append(NoisyCells(before[one.place], noise[one.place], one.cells.keys, *scale))
    findings = [finding for cells in tested for finding in noise_findings(cells, len(levels))]
    return findings if len(levels) == 1 else [*findings, *shared_findings(tested[0], tested[1], outer)]


def _notes(manifest: TableManifest, cells: Cells, counted: Recount) -> list[str]:
    share = statements.guessing_share(manifest.promise.epsilon, manifest.promise.delta)
    notes = [
        f"with everything known about all other units, at most {percent(share)} of guesses whether one unit "
        "is in the data are right; by chance 50 %",
        f"noise in {cells.n:,} cells shows a standard deviation that is wrong by more than about "
        f"{percent(_SURELY / sqrt(2 * cells.n))}",
        UNSEEN,
    ]
    if counted.units:
        notes.insert(1, f"the bound cuts {counted.units_over:,} of {counted.units:,} units")
    if not manifest.publishable:
        notes.append("the noise came from a research seed: not for publication")
    return notes
