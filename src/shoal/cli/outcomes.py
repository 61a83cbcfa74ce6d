"""Printed results of releases."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from shoal.cli.terminal import aligned, listed, print_result
from shoal.runtime.files import null_for_nan
from shoal.runtime.timings import Cost, Timings, format_costs
from shoal.units import counted, show_m, show_s

if TYPE_CHECKING:
    from shoal.attacks.rate import Rate
    from shoal.model.claims import Claim
    from shoal.model.verdicts import Verdict
    from shoal.publishing.publish import Publication
    from shoal.publishing.verifying import VerificationResult

EXIT_CODES: Final = {"HOLDS": 0, "DOES NOT HOLD": 1, "NOT CHECKED": 3}


def verdict_lines(verdict: "Verdict") -> list[str]:
    """The outcome, and each unchecked part."""
    records = f"{counted(verdict.checked, 'record')} checked"
    if verdict.word == "NOT CHECKED":
        return [
            *(f"NOT CHECKED: {part}" for part in verdict.unchecked),
            f"{records}, and nothing found in the other parts of the claim",
        ]
    unchecked_lines = [f"  not checked: {part}" for part in verdict.unchecked]
    return [f"{verdict.word}: {records}", *unchecked_lines]


def finding_lines(document: Mapping[str, Any]) -> list[str]:
    """The findings of a verdict's JSON document, and how many there are of each kind."""
    kinds = dict(document["findings_by_kind"])
    lines = []
    if "unknown-record" in kinds and kinds.get("record-without-subject") == document["checked"]:
        lines.append(
            "  unknown-record: no record of this release is in the linkage; it belongs to another release"
        )
        del kinds["unknown-record"], kinds["record-without-subject"]
    return [
        *lines,
        *(
            f"  {finding['kind']}: {finding['message']}{_of_record(finding)}"
            for finding in document["findings"]
            if finding["kind"] in kinds
        ),
        *(f"  {kind}: {count:,} in all" for kind, count in kinds.items() if count > 1),
    ]


def _of_record(finding: Mapping[str, Any]) -> str:
    from shoal.model.names import PSEUDONYM

    name = finding["trajectory_id"] or ""  # any other could be a raw identifier, or steer a terminal
    return f" (record {name})" if PSEUDONYM.fullmatch(name) else ""


def no_anonymity_lines(claim: "Claim") -> list[str]:
    """A warning for claims without anonymity."""
    return [f"this is no anonymity: {claim.no_anonymity}"] if claim.no_anonymity else []


def verification_lines(result: "VerificationResult") -> list[str]:
    """The claim, its unit of protection, and the reading of RAW."""
    from shoal.model.claims.expected import numbers_in_words

    grid, intake = result.manifest.grid, result.intake
    cells = "none: points as given" if grid is None else f"{show_m(grid.cell_m)} and {show_s(grid.slot_s)}"
    columns = ", ".join(f"{name} from '{column}'" for name, column in result.columns.items())
    lines = [
        f"claim: {result.claim.name} ({numbers_in_words(result.claim)})",
        f"it promises: {result.claim.promise}",
        *no_anonymity_lines(result.claim),
        f"protected: {intake.unit_of_protection}",
        f"plane: {result.manifest.crs or 'none: local meters'}",
        f"cell and slot: {cells}",
        f"columns read: {columns or 'none'}",
        f"rows: {intake.rows_read:,} read; dropped: {listed(intake.dropped)}; repaired: "
        f"{listed(intake.repaired)}",
        *(f"SHA-256 of {name}: {digest}" for name, digest in result.sha256.items()),
    ]
    return [f"  {line}" for line in lines]


def rate_lines(attack_rates: "Sequence[Rate]") -> list[str]:
    """A table with a row for each rate; empty without rates."""
    from shoal.units import percent

    rows = [
        (
            rate.name,
            rate.target,
            percent(rate.rate),
            f"{percent(rate.low)} to {percent(rate.high)}",
            percent(rate.baseline),
            percent(rate.baseline if rate.chance is None else rate.chance),
            f"{rate.tries:,}",
            rate.knowledge,
        )
        for rate in attack_rates
    ]
    header = (
        "attack",
        "on",
        "rate",
        "95 % interval",
        "by guessing",
        "by chance",
        "tries",
        "the attacker knows",
    )
    return aligned([header, *rows]) if rows else []


def _for_anybody(claim: "Claim") -> list[str]:
    """Whether crowds are as large as precedents of public data ask, as the first page of the report says."""
    from shoal.report.facts.evidence import PUBLIC_K

    if not claim.in_classes:
        return []
    answer = "kept" if claim.k >= PUBLIC_K else "exceeded, so for recipients who are known"
    return [f"for anybody, precedents ask for k = {PUBLIC_K}, naming at most 1 in {PUBLIC_K}: {answer}"]


def _weaker(published: "Publication") -> list[str]:
    """What to do where the strongest attack wins more often than a record may be named."""
    from shoal.utility.usefulness import ways_out

    useful, reading = published.usefulness, published.release.reading
    if useful is None or not published.is_beaten:
        return []
    stations = bool(published.stations or reading.places or reading.cells)
    ways = ways_out(for_risk=True, made_with=useful.made_with, stations=stations)
    return [
        f"it wins more often than 1 in {published.release.claim.k}, which k bounds for naming a record "
        "alone; against it:",
        *(f"  {way.words}{f': {way.option}' if way.option else ''}" for way in ways),
    ]


def format_value(value: float | None, unit: str) -> str:
    """A value with its unit."""
    from shoal.report.words.numbers import BY_UNIT

    return "unknown" if value is None else BY_UNIT.get(unit, "{:.3f}".format)(value)


def print_publication(
    published: "Publication",
    as_json: bool,
    other_files: Mapping[str, Path | str | None],
    *,
    also: Mapping[str, Any] | None = None,
    lines: Sequence[str] = (),
    timings: Timings | None = None,
    ending: Sequence[str] = (),
) -> None:
    """Print what was published and where, losses, and costs.

    other_files: further files by name, and places if they moved. also, lines: further entries of the
    document, and lines. ending: lines in place of those that name the files.
    """
    from shoal.release_folder.manifest import REPORT_FILE

    files = {"output": published.folder, "report": published.folder / REPORT_FILE, **other_files}
    costs = [] if timings is None else timings.costs()
    table = format_costs(costs) if costs else ()
    none = "none; --linkage FILE keeps who is in which record, for a full check"
    told = [(name, path or none) for name, path in files.items() if path or name == "linkage"]
    named = [f"{name.replace('_', ' ')}: {path}" for name, path in told]
    print_result(
        as_json,
        {
            **{name: None if path is None else str(path) for name, path in files.items()},
            **_document_of(published, costs),
            **(also or {}),
        },
        [*_lines_of(published), *lines, *(ending or named), *table],
        cautions=(*published.cautions, *table),  # the table was asked for: --quiet leaves it, too
    )


def _document_of(published: "Publication", costs: Sequence[Cost]) -> dict[str, Any]:
    from shoal.report.facts.release import accuracy_rows

    manifest, accuracy = published.manifest, published.accuracy
    run_facts, place = _run_facts(published), manifest.series
    return {
        **manifest.model_dump(
            include={
                "method",
                "claim",
                "verdict",
                "losses",
                "rows_repaired",
                "n_records",
                "n_samples",
                "publishable",
            }
        ),
        "usefulness": None if published.usefulness is None else published.usefulness.to_json(),
        "strongest_attack": None if published.strongest is None else published.strongest.to_json(),
        "cautions": list(published.cautions),
        "accuracy": {
            row.name: {"raw_samples": null_for_nan(row.raw), "published_samples": null_for_nan(row.published)}
            for row in ([] if accuracy is None else accuracy_rows(accuracy))
        },
        **({"run": run_facts} if run_facts else {}),
        **({"timings": [cost.to_json() for cost in costs]} if costs else {}),
        **({} if place is None else {"series": place.model_dump()}),
    }


def _run_facts(published: "Publication") -> dict[str, float]:
    trace = published.linkage.trace
    return {} if trace is None else {name: round(value, 3) for name, value in trace.facts.items()}


_MEASURED_BY: Final = {"stations.no_list": " --places FILE (or --cells FILE) measures it."}


def _lines_of(published: "Publication") -> list[str]:
    from shoal.report.facts.release import accuracy_rows
    from shoal.report.words.attacks import strongest_in_words

    manifest, claim, useful = published.manifest, published.release.claim, published.usefulness
    strongest, place = published.strongest, manifest.series
    lost = published.release.losses  # exact here; rounded in files and in --json
    by_reason = f" ({listed(lost.subjects_by_reason)})" if lost.subjects_by_reason else ""
    why = f" ({listed(lost.samples_by_reason)})" if lost.samples_by_reason else ""
    lines = [
        *published.of_use,
        f"verified: {counted(manifest.n_records, 'record')}. {claim.promise}",
        *no_anonymity_lines(claim),
        *([] if useful is None else useful.lines()),
        strongest_in_words(
            None if strongest is None else strongest.to_json(), "none was measured; shoal attack plays them"
        ),
        *_for_anybody(claim),
        *_weaker(published),
        *(one + _MEASURED_BY.get(one.identifier, "") for one in published.stations),
    ]
    if place is not None:
        lines.append(
            f"release {place.number} of series {place.series}: {counted(place.crowds, 'crowd')}, "
            f"{counted(place.newcomers, 'newcomer')}, {counted(place.waiting, 'person', 'people')} waiting"
        )
    lines += [*published.of_series, f"protected: {manifest.unit_of_protection}"]
    if published.accuracy is not None:
        rows = accuracy_rows(published.accuracy)[:5]
        lines.append("raw samples whose " + "; ".join(f"{row.words}: {row.text(row.raw)}" for row in rows))
    lines += [
        *(f"{name.replace('_', ' ')}: {value:,}" for name, value in _run_facts(published).items()),
        f"lost: {counted(lost.samples_suppressed, 'sample')}{why} and "
        f"{counted(lost.subjects_suppressed, 'subject')} suppressed{by_reason}; "
        f"rows dropped on input: {listed(lost.rows)}; repaired: {listed(published.release.rows_repaired)}",
        *(f"note: {note}" for note in (*manifest.verdict["notes"], *claim.cautions)),
    ]
    return lines if manifest.publishable else [*lines, "made with a research seed: NOT FOR PUBLICATION"]
