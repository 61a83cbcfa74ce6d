"""``shoal verify RAW DIR`` where DIR holds a table."""

from pathlib import Path
from typing import Any

import click

from shoal.cli.options import PATH, OutputOptions, input_options, output_options, take_reading
from shoal.cli.outcomes import EXIT_CODES
from shoal.cli.sections import Command
from shoal.cli.terminal import Bars, print_result
from shoal.units import counted


@click.command(
    "verify",
    cls=Command,
    examples=(
        (
            "shoal verify calls.csv flows --secret counts.parquet --ledger ledger.sqlite",
            "recount a table from the raw data, and test its noise",
        ),
    ),
    epilog="Exit 0: the table is what its manifest promises; 1: it is not; 2: bad input; 3: no findings, but "
    "parts were not checked.",
)
@click.argument("raw", metavar="RAW")
@click.argument("folder", type=PATH, metavar="DIR")
@click.option(
    "--secret", type=PATH, metavar="FILE", help="The counts before noise; compared with the recount."
)
@click.option(
    "--ledger", type=PATH, metavar="FILE", help="The ledger; what all tables of the same people cost."
)
@input_options
@output_options
def verify(raw: str, folder: Path, secret: Path | None, ledger: Path | None, **options: Any) -> int:
    """Check the table in the folder DIR against the raw data RAW, without trust in the folder.

    Zones, trips, bound and counts are recomputed; published less recomputed counts must be noise as stated.
    """
    from shoal.runtime.run import Run
    from shoal_tables.verification.checking import verify_table

    output = OutputOptions.take(options)
    reading = take_table_reading(options)
    with Bars(quiet=output.quiet) as bars:
        found = verify_table(raw, folder, secret=secret, ledger=ledger, run=Run(progress=bars), **reading)
    verdict, promise = found.verdict, found.manifest.promise
    lines = [
        f"{verdict.word}: {counted(verdict.checked, 'cell')} checked of {found.manifest.table}, for each "
        f"{found.manifest.unit}, epsilon {promise.epsilon:.4g}, delta {promise.delta:.3g}",
        *(f"  not checked: {part}" for part in verdict.unchecked),
        *(f"  {finding.kind}: {finding.message}" for finding in verdict.findings),
        *(f"  note: {note}" for note in verdict.notes),
    ]
    print_result(output.as_json, found.to_json(), lines, well=verdict.holds)
    return EXIT_CODES[verdict.word]


def take_table_reading(options: dict[str, Any]) -> dict[str, Any]:
    """Settings of reading from the options; the manifest gives cell, slot and plane."""
    reading = take_reading(options)
    fixed = [name for name in ("cell_m", "slot_s", "snap", "working_crs", "time_zone") if name in reading]
    if fixed:
        raise click.UsageError(
            "the manifest of the table gives cell, slot, plane and time zone; leave out --cell, --slot, "
            "--no-snap, --working-crs and --time-zone"
        )
    return reading
