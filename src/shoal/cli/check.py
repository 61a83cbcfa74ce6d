"""The command for other tools' files."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.folder_kinds import CheckCommand
from shoal.cli.options import PATH, OutputOptions, input_options, output_options, take_reading
from shoal.cli.outcomes import EXIT_CODES, rate_lines
from shoal.cli.terminal import Bars, print_result
from shoal.units import counted

if TYPE_CHECKING:
    from shoal.publishing.checking import Checked


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
@click.argument("file", metavar="FILE")
@click.option(  # read by CheckCommand, which leads to another command
    "--kind",
    expose_value=False,
    metavar="NAME",
    help="FILE is a table of counts: flows, presence, dwell or homes (package shoal-tables); other options "
    "apply, see --kind flows --help.",
)
@click.option("--raw", required=True, metavar="INPUT", help="The raw data that FILE was made from.")
@click.option(
    "--claim",
    metavar="CLAIM",
    help="The claim to verify: k-anonymity:5 or k-anonymity:5,truthful. [default: none; only report]",
)
@click.option(
    "--linkage",
    type=PATH,
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
@click.option(
    "--tries",
    type=click.IntRange(min=0),
    default=200,
    show_default=True,
    metavar="N",
    help="Victims of each attack.",
)
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
    from shoal.report.words.numbers import percent

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
    document = verdict.to_json()
    lines += [f"  {finding['kind']}: {finding['message']}" for finding in document["findings"]]
    lines += [
        f"  {kind}: {count:,} in all" for kind, count in document["findings_by_kind"].items() if count > 1
    ]
    lines += rate_lines(result.rates)
    read = ", ".join(f"{role} from '{column}'" for role, column in result.columns.items())
    return [*lines, f"columns: {read}", *(f"  note: {note}" for note in (*verdict.notes, *result.notes))]
