"""``shoal measure RAW DIR`` where DIR holds a table."""

from pathlib import Path
from typing import Any

import click

from shoal.cli.options import PATH, OutputOptions, input_options, output_options
from shoal.cli.sections import Command
from shoal.cli.terminal import Bars, print_result
from shoal_tables.commands.verification import take_table_reading


@click.command(
    "measure",
    cls=Command,
    examples=(
        ("shoal measure calls.csv flows", "errors by size of cell, common part of trips, rank, total"),
    ),
)
@click.argument("raw", metavar="RAW")
@click.argument("folder", type=PATH, metavar="DIR")
@input_options
@output_options
def measure(raw: str, folder: Path, **options: Any) -> int:
    """Measure the table in the folder DIR against the exact counts of RAW.

    What is printed depends on the raw data: it is as secret as they are.
    """
    from shoal.runtime.run import Run
    from shoal_tables.definition.manifest import read_table_manifest
    from shoal_tables.utility.measuring import measure_table

    output = OutputOptions.take(options)
    reading = take_table_reading(options)
    with Bars(quiet=output.quiet) as bars:
        found = measure_table(raw, folder, run=Run(progress=bars), **reading)
    lines = [
        f"{one.name:20} {'-' if one.value != one.value else format(one.value, '.1%'):>8}  ({one.words}, "
        f"{one.cells:,} cells; {one.better} is better)"
        for one in found
    ]
    document = {"table": read_table_manifest(folder).table, "measurements": [one.to_json() for one in found]}
    print_result(output.as_json, document, lines)
    return 0
