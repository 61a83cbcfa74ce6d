"""``shoal check TABLE --kind ...``: tables made elsewhere."""

from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import click
import pyarrow as pa
from pyarrow import csv

from shoal.cli.options import GIVEN, PATH, OutputOptions, output_options
from shoal.cli.sections import Command
from shoal.cli.terminal import print_result
from shoal.runtime.staging import explain_write_errors, require_absent
from shoal.units import counted
from shoal_tables.hidden_cells.checking import HiddenCells, Told, check_table
from shoal_tables.hidden_cells.reading import Hiding

_SHOWN: Final = 5


def _range(_ctx: click.Context, _param: click.Parameter, text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    low, dash, high = text.partition("-")
    if not (dash and low.isdecimal() and high.isdecimal()):
        raise click.UsageError(f"--hidden-range {text} is no range; write for example 1-9")
    return int(low), int(high)


@click.command(
    "check",
    cls=Command,
    examples=(
        (
            "shoal check flows.csv --kind flows --hidden-range 1-9",
            "which cells below 10 follow from the totals in the same file",
        ),
        (
            "shoal check june.csv --kind presence --earlier may.csv --absent hidden",
            "and what two versions tell of people who were erased in between",
        ),
    ),
    epilog="Exit 0: no hidden cell follows; 1: some follow exactly; 2: bad input; "
    "3: none so far, but --minutes ran out.",
)
@click.argument("table", type=GIVEN, metavar="TABLE")
@click.option(
    "--kind",
    type=click.Choice(("flows", "presence", "dwell", "homes")),
    required=True,
    help="What a cell counts: flows (columns origin, destination), presence (zone), dwell (zone, stay) or "
    "homes (zone); with hour and day if the table has them. A sum has 'total' in a column.",
)
@click.option(
    "--count", metavar="COLUMN", help="The column of counts. [default: recognized, e.g. count, trips]"
)
@click.option(
    "--hidden-range",
    callback=_range,
    metavar="LOW-HIGH",
    help="The counts that were hidden, such as 1-9. [default: any]",
)
@click.option(
    "--absent", type=click.Choice(("zero", "hidden")), help="What a cell without a row is. [default: asks]"
)
@click.option(
    "--rounded-to", type=click.IntRange(min=1), default=1, metavar="N", help="Counts are rounded to N."
)
@click.option("--rounded-at-random", is_flag=True, help="Up or down at random, and not to the nearest.")
@click.option(
    "--nested", type=PATH, metavar="FILE", help="Nested zones: a table with columns zone and parent."
)
@click.option(
    "--earlier",
    type=PATH,
    metavar="FILE",
    help="The same table before people left the data: what the two tell about them.",
)
@click.option("--minutes", type=click.FloatRange(min=0), default=10.0, help="The time to spend.")
@click.option("--output", type=PATH, metavar="FILE.csv", help="Write the range of each hidden cell (secret).")
@output_options
def check(table: Path, output: Path | None, **options: Any) -> int:
    """Find the hidden cells of TABLE, which another tool published, that follow from the cells shown.

    Ranges come from linear programs over all public cells and sums; no raw data are needed.
    """
    settings = OutputOptions.take(options)
    if output is not None:
        require_absent(output)
    hiding = Hiding(*map(options.pop, ("hidden_range", "rounded_to", "rounded_at_random")))
    result = check_table(table, rules=hiding, seconds=60 * options.pop("minutes"), **options)
    if output is not None:
        with explain_write_errors(output):
            csv.write_csv(pa.table(result.rows()), output)
    told = result.told()
    print_result(settings.as_json, asdict(told), _lines(result, told), well=not told.exit_code)
    return told.exit_code


def _lines(result: HiddenCells, told: Told) -> list[str]:
    lines = [
        f"{counted(told.cells, 'cell')}, {told.hidden:,} of them hidden or rounded",
        f"follow exactly: {told.exact:,}; to within 2: {told.within_2:,}; without an upper bound: "
        f"{told.unbounded:,}",
    ]
    if (lost := told.lost) is not None:
        lines.append(
            f"since the earlier version: {counted(lost.certain, 'cell')} certainly lost a count "
            f"({lost.exact:,} exactly known), {lost.at_least:,} in all at least"
        )
    rows = result.rows()
    exact = [
        row for row, (low, high) in enumerate(zip(rows["low"], rows["high"], strict=True)) if low == high
    ]
    for row in exact[:_SHOWN]:
        cell = ", ".join(f"{name} {rows[name][row]}" for name in result.columns)
        lines.append(f"  {cell}: {rows['low'][row]:,}")
    if told.not_proved_tight:
        ranges = counted(told.not_proved_tight, "range")
        lines.append(f"note: {ranges} may be wider than what follows; give --minutes")
    return lines
