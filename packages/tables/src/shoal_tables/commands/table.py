"""The commands that take a folder with a table in place of a release: verify, attack, measure and publish."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import click

from shoal.cli.options import PATH, SOURCE, OutputOptions, input_options, output_options, take_reading
from shoal.cli.outcomes import EXIT_CODES
from shoal.cli.sections import Command
from shoal.cli.terminal import Bars, print_result
from shoal.runtime.files import null_for_nan, sha256_of
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.units import counted, percent
from shoal_tables.attacks.attacking import attack_table
from shoal_tables.definition.manifest import EXPORTED, read_table_manifest
from shoal_tables.making.folder import export_table
from shoal_tables.making.promise import period_of, unit_in_words
from shoal_tables.utility.measuring import measure_table
from shoal_tables.verification.checking import verify_table

_raw: Final = click.argument("raw", type=SOURCE, metavar="RAW")
_folder: Final = click.argument("folder", type=PATH, metavar="DIR")


def _with_raw(work: Callable[..., Any], raw: str, folder: Path, options: dict[str, Any]) -> tuple[Any, bool]:
    """What this work on a folder and the raw data gives, and whether it is asked for as JSON."""
    output, reading = OutputOptions.take(options), take_reading(options)
    if not {"cell_m", "slot_s", "snap", "working_crs", "time_zone"}.isdisjoint(reading):
        raise click.UsageError(
            "the manifest of the table gives cell, slot, plane and time zone; leave out --cell, --slot, "
            "--no-snap, --working-crs and --time-zone"
        )
    with Bars(quiet=output.quiet) as bars:
        return work(raw, folder, run=Run(progress=bars), **options, **reading), output.as_json


def _refuse_linkage(_ctx: click.Context, _param: click.Parameter, linkage: str | None) -> None:
    if linkage is not None:
        raise click.UsageError(
            "--linkage belongs to releases of records; of a table, give the counts before noise with --secret"
        )


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
@_raw
@_folder
@click.option(
    "--secret", type=PATH, metavar="FILE", help="The counts before noise; compared with the recount."
)
@click.option(
    "--ledger", type=PATH, metavar="FILE", help="The ledger; what all tables of the same people cost."
)
@click.option("--linkage", hidden=True, expose_value=False, callback=_refuse_linkage)
@input_options
@output_options
def verify(raw: str, folder: Path, **options: Any) -> int:
    """Check the table in the folder DIR against the raw data RAW, without trust in the folder.

    Zones, trips, bound and counts are recomputed; published less recomputed counts must be noise as stated.
    """
    result, as_json = _with_raw(verify_table, raw, folder, options)
    verdict, manifest, promise = result.verdict, result.manifest, result.manifest.promise
    lines = [
        f"{verdict.word}: {counted(verdict.checked, 'cell')} checked of {manifest.table}, for "
        f"{period_of(manifest.unit)}, epsilon {promise.epsilon:.4g}, delta {promise.delta:.3g}",
        f"  stated: {unit_in_words(manifest.unit_of_protection)}",
        *(f"  not checked: {part}" for part in verdict.unchecked),
        *(f"  {finding.kind}: {finding.message}" for finding in verdict.findings),
        *(f"  note: {note}" for note in verdict.notes),
    ]
    print_result(as_json, result.to_json(), lines, well=verdict.holds)
    return EXIT_CODES[verdict.word]


@click.command(
    "attack",
    cls=Command,
    examples=(
        ("shoal attack calls.csv flows", "is somebody in the table? beside guessing and beside the promise"),
    ),
    epilog="Exit 0: no adversary is right more often than promised; 1: one is; 2: bad input.",
)
@_raw
@_folder
@click.option(
    "--earlier",
    type=PATH,
    metavar="DIR",
    help="An earlier table of the same cells: was somebody erased in between?",
)
@click.option("--tries", type=click.IntRange(min=8), default=1000, metavar="N", help="Victims of each game.")
@click.option(
    "--threshold",
    type=click.IntRange(min=1),
    default=10,
    metavar="K",
    help="Compare with exact counts whose cells below K are hidden.",
)
@click.option("--seed", type=click.IntRange(min=0), metavar="S", help="Draw the same victims again.")
@input_options
@output_options
def attack(raw: str, folder: Path, seed: int | None, **options: Any) -> int:
    """Ask of the table in the folder DIR who is in it, with knowledge from RAW.

    Each adversary is compared with guessing, the promise, and exact counts with small cells hidden.
    """
    options["rng"] = None if seed is None else Randomness.for_research(seed)
    result, as_json = _with_raw(attack_table, raw, folder, options)
    lines, threshold = [], result.threshold
    for game in result.games:
        bound = "nothing is promised" if game.bound is None else f"promised at most {percent(game.bound)}"
        lines += [
            f"{game.name}: {game.words}",
            f"  right {percent(game.success)} ({percent(game.low)} to {percent(game.high)}); guessing 50 %; "
            f"{bound}; shows epsilon {game.epsilon:.3g} or more",
        ]
    told = percent(result.told_by_threshold)
    lines.append(f"with cells below {threshold} hidden, an erasure tells a count of {told} of people")
    of_exact = f"exact counts with cells below {threshold} hidden"
    for counts, paths in (("these counts", result.paths), (of_exact, result.paths_by_threshold)):
        if paths is not None:
            rates = f"right in {percent(paths.right)} of the hours; guessing {percent(paths.guessing)}"
            lines.append(f"paths of people from {counts}: {rates}")
    lines += [f"  note: {note}" for note in result.notes]
    print_result(as_json, asdict(result), lines, well=not result.breaks_promise)
    return int(result.breaks_promise)


@click.command(
    "measure",
    cls=Command,
    examples=(
        ("shoal measure calls.csv flows", "errors by size of cell, common part of trips, rank, total"),
    ),
)
@_raw
@_folder
@input_options
@output_options
def measure(raw: str, folder: Path, **options: Any) -> int:
    """Measure the table in the folder DIR against the exact counts of RAW.

    The output depends on the raw data: it is as secret as they are.
    """
    result, as_json = _with_raw(measure_table, raw, folder, options)
    lines = [
        f"{one.name:20} {'-' if one.value != one.value else format(one.value, '.1%'):>8}  ({one.words}, "
        f"{one.cells:,} cells; {one.better} is better)"
        for one in result
    ]
    figures = null_for_nan([asdict(one) for one in result])
    print_result(as_json, {"table": read_table_manifest(folder).table, "measurements": figures}, lines)
    return 0


@click.command(
    "publish",
    cls=Command,
    examples=(("shoal publish flows --to flows-omx --format omx", "for a model of transport"),),
)
@_folder
@click.option("--to", "target", type=PATH, required=True, metavar="DIR", help="The folder to write.")
@click.option(
    "--format",
    "form",
    type=click.Choice(tuple(EXPORTED)),
    required=True,
    help="csv: the columns, which a data package explains; omx: flows as matrices; geopackage: with zones.",
)
@output_options
def publish(folder: Path, target: Path, form: str, as_json: bool, quiet: bool) -> int:  # noqa: ARG001  (the seam gives it)
    """Write the table in the folder DIR in another format, which shoal verify accepts as well."""
    rows = export_table(folder, target, form)
    files = {path.name: sha256_of(path) for path in sorted(target.iterdir())}
    facts = {"output": str(target), "format": form, "rows": rows, "files": files}
    facts["publishable"] = read_table_manifest(folder).publishable
    print_result(as_json, facts, [f"{rows:,} cells as {form} in {target}, {len(files)} files"])
    return 0


COMMANDS: Final = {str(command.name): command for command in (verify, attack, measure, publish)}
