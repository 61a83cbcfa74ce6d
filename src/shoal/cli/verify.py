"""The commands that check a release, or the file of another tool."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.options import (
    GIVEN,
    RELEASE,
    SOURCE,
    OutputOptions,
    earlier_option,
    input_options,
    output_options,
    place_options,
    street_options,
    take_earlier,
    take_reading,
    take_reading_of_release,
    take_streets,
)
from shoal.cli.outcomes import EXIT_CODES, finding_lines, rate_lines, verdict_lines, verification_lines
from shoal.cli.packages import CheckCommand, FolderCommand
from shoal.cli.terminal import Bars, print_result, rm_command
from shoal.units import counted

if TYPE_CHECKING:
    from shoal.publishing.checking import Checked


@click.command(
    cls=FolderCommand,
    examples=(
        ("shoal verify calls.csv release --linkage linkage.parquet", "verify the claim of the release"),
        (
            "shoal verify calls.csv release --linkage linkage.parquet --claim k-anonymity:5,truthful",
            "and require at least this claim",
        ),
    ),
    epilog="Exit 0: every part of the claim was checked and holds; 1: it does not hold, counter-examples are "
    "output; 2: bad input; 3: no findings, but parts of the claim were not checked.",
)
@click.argument("raw", type=SOURCE, metavar="RAW")
@click.argument("release", type=RELEASE, metavar="RELEASE")
@click.option(
    "--linkage",
    type=GIVEN,
    metavar="FILE",
    help="The person behind each record; without it the check is partial (exit 3).",
)
@click.option(
    "--streamed",
    is_flag=True,
    help="Check with little memory and secret scratch files next to RELEASE, or in the system's temporary "
    "folder where RELEASE lies in a place that is only read; needs --linkage.",
)
@click.option(
    "--engine",
    metavar="NAME",
    help="The workers of a --streamed check: local, local:N, dask, dask:ADDRESS, spark, "
    "spark:MASTER or threads. [default: this process, on one part after the other]",
)
@click.option(
    "--claim",
    "claim",
    metavar="CLAIM",
    help="The least that the release must claim, e.g. k-anonymity:5,truthful,unit=uid (the column of the "
    "people) or kte-anonymity:5,tau=30min,epsilon=30min. [default: the usual claim of its method]",
)
@earlier_option
@street_options
@place_options
@input_options
@output_options
def verify(
    raw: str,
    release: Path | str,
    linkage: Path | None,
    streamed: bool,
    engine: str | None,
    claim: str | None,
    earlier: tuple[str, ...],
    **options: Any,
) -> int:
    """Check the folder RELEASE against the data RAW that it was made from, without trust in the folder.

    RELEASE may lie in an object store (s3://BUCKET/FOLDER) or on a server
    (postgresql://USER@HOST/DATABASE#schema.table), and be what `shoal publish` wrote.

    With --earlier, also check that everybody stays hidden among k people if all these releases are combined.
    """
    from shoal.model.claims.expected import ExpectedClaim
    from shoal.publishing.opening import open_release
    from shoal.publishing.series import EarlierRelease, verify_together
    from shoal.publishing.verifying import leftover_scratch_folders, stream_against_raw, verify_against_raw
    from shoal.release_folder.folder import read_linkage
    from shoal.release_folder.manifest import read_manifest
    from shoal.runtime.run import Run
    from shoal.scale.engines import engine_of

    output = OutputOptions.take(options)
    reading = take_reading_of_release(options)
    streets = take_streets(options)
    if streamed and linkage is None:
        raise click.UsageError(
            "--streamed finds each person's record by the linkage; give it with --linkage, or leave out "
            "--streamed"
        )
    if engine is not None and not streamed:
        raise click.UsageError("--engine works on the parts of a check with --streamed; give both or neither")
    expected = None if claim is None else ExpectedClaim.parse(claim)
    others = take_earlier(earlier)
    with Bars(quiet=output.quiet) as bars, open_release(release, as_written=True) as opened:
        run = Run(progress=bars)
        folder = opened.folder
        for leftover in leftover_scratch_folders(folder) if streamed else ():
            bars.say(
                "note: raw data (secret) lies here of a check that was stopped, or is still running: "
                f"{rm_command(leftover)}"
            )
        if "places" in reading and read_manifest(folder).reading.get("places") is None:
            raise click.UsageError("the release was made without a list of places; leave out --places")
        links = None if linkage is None else read_linkage(linkage)
        if streets is not None and links is not None and links.trace is not None:
            links = replace(links, trace=replace(links.trace, streets=streets))
        if streamed and links is not None:
            workers = None if engine is None else engine_of(engine)
            result = stream_against_raw(raw, folder, links, run, engine=workers, expected=claim, **reading)
        else:
            result = verify_against_raw(raw, folder, links, run, expected=claim, **reading)
        together = (
            verify_together(raw, EarlierRelease(folder, linkage, None), others, run, **reading)
            if others
            else None
        )
    verdict = replace(
        result.verdict.with_findings(opened.findings), notes=(*result.verdict.notes, *opened.notes)
    )
    revealed = None if together is None else together.series or together.composition
    if together is not None:
        verdict = replace(verdict, notes=(*verdict.notes, *together.notes))
        verdict = verdict if together.unchecked is None else verdict.with_unchecked(together.unchecked)
    if revealed is not None:
        verdict = verdict.with_findings(revealed.findings())
    facts = {
        **verdict.to_json(),
        "outcome": verdict.word,
        "verified": {**result.to_json(), "expected": None if expected is None else expected.words},
        **({} if together is None else together.to_json()),
    }
    lines = [*verdict_lines(verdict), *finding_lines(facts), *verification_lines(result)]
    if revealed is not None:
        lines.append(f"  together, {revealed.in_words}")
    print_result(
        output.as_json, facts, [*lines, *(f"  note: {note}" for note in verdict.notes)], well=verdict.holds
    )
    return EXIT_CODES[verdict.word]


@click.command(
    cls=CheckCommand,
    examples=(
        (
            "shoal check published.csv --raw calls.csv --row-by-row",
            "the risk of another tool's file; its rows are in the order of yours",
        ),
        (
            "shoal check published.csv --raw calls.csv --row-by-row --claim k-anonymity:5",
            "verify a claim of k-anonymity (exit 1: it does not hold)",
        ),
    ),
    epilog="Exit 0: the --claim holds, or without a claim there are no findings; 1: it does not hold; "
    "2: bad input; 3: parts of it were not checked. A table of counts with hidden cells: "
    "shoal check TABLE --kind flows --help.",
)
@click.argument("file", type=SOURCE, metavar="FILE")
@click.option(  # read by CheckCommand, which leads to another command
    "--kind",
    expose_value=False,
    metavar="NAME",
    help="FILE is a table of counts: flows, presence, dwell or homes (package shoal-tables); other options "
    "apply, see --kind flows --help.",
)
@click.option(
    "--raw", type=SOURCE, required=True, metavar="INPUT", help="The raw data that FILE was made from."
)
@click.option(
    "--claim",
    metavar="CLAIM",
    help="The claim to verify: k-anonymity:5 or k-anonymity:5,truthful. [default: none; only report]",
)
@click.option(
    "--linkage",
    type=GIVEN,
    metavar="TABLE",
    help="The person behind each record: columns uid and trajectory_id (secret).",
)
@click.option(
    "--row-by-row",
    "row_order",
    is_flag=True,
    help="Row i of FILE was made from row i of INPUT, as of many tools.",
)
@click.option(
    "--as",
    "roles",
    multiple=True,
    metavar="ROLE=COLUMN",
    help="What a column of FILE holds: id, time, time-end, lat, lon, lat-max, lon-max, x, y, x-max, y-max, "
    "cell or geometry. May be repeated. [default: recognized]",
)
@click.option("--file-crs", metavar="CRS", help="System of FILE's planar x and y, e.g. EPSG:2154.")
@click.option("--tries", type=click.IntRange(min=0), default=200, metavar="N", help="Victims of each attack.")
@click.option(
    "--seed", type=click.IntRange(min=0), metavar="S", help="Draw the same victims and samples again."
)
@input_options
@output_options
def check(
    file: str,
    raw: str,
    claim: str | None,
    linkage: Path | None,
    row_order: bool,
    roles: tuple[str, ...],
    file_crs: str | None,
    **options: Any,
) -> int:
    """Check k-anonymity, truthfulness and attack success of FILE, which another tool published.

    FILE may hold points, ranges such as "[48.8, 48.9[", cells (H3, geohash) or shapes, with ids or not.
    """
    from shoal.io.foreign import FileLayout
    from shoal.publishing.checking import check as check_file
    from shoal.runtime.randomness import Randomness
    from shoal.runtime.run import Run

    output, columns = OutputOptions.take(options), _columns(roles)
    seed, tries = options.pop("seed"), options.pop("tries")
    with Bars(quiet=output.quiet) as bars:
        result = check_file(
            file,
            raw,
            claim=claim,
            linkage=linkage,
            layout=FileLayout(columns=columns, crs=file_crs, row_order=row_order),
            tries=tries,
            rng=Randomness.from_system() if seed is None else Randomness.for_research(seed),
            run=Run(progress=bars),
            **take_reading(options),
        )
    print_result(output.as_json, result.to_json(), _lines(result, claim), well=result.verdict.holds)
    return EXIT_CODES[result.verdict.word]


def _columns(roles: Sequence[str]) -> dict[str, str]:
    columns = {}
    for text in roles:
        role, separator, column = text.partition("=")
        if not separator or not column:
            raise click.UsageError(f"--as {text} names no column; write for example --as id=PSEUDONYM")
        columns[role.strip()] = column
    return columns


def _lines(result: "Checked", claim: str | None) -> list[str]:
    from shoal.units import percent

    verdict = result.verdict
    small = f"; in smaller classes: {counted(result.records_below, 'record')}" if claim else ""
    lines = [
        *([f"{verdict.word}: {claim}"] if claim else []),
        *(f"not checked: {part}" for part in verdict.unchecked),
        f"k-anonymity: k = {result.k} over {counted(result.records, 'record')} of "
        f"{counted(result.rows, 'row')}{small}",
        f"true: {percent(result.true_share)} of the rows hold a raw sample",
    ]
    if result.covered_share is not None:
        lines.append(
            f"kept: {percent(result.covered_share)} of the raw samples lie in their own person's record"
        )
    lines += [*finding_lines(verdict.to_json()), *rate_lines(result.rates)]
    read = ", ".join(f"{role} from '{column}'" for role, column in result.columns.items())
    return [*lines, f"columns: {read}", *(f"  note: {note}" for note in (*verdict.notes, *result.notes))]
