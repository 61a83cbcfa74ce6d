"""The commands that make several releases and compare them: compare, granularity.

Heavy libraries load when a command runs.
"""

from pathlib import Path
from typing import Any, Final

import click

from shoal.cli.options import (
    DURATION,
    PATH,
    config_option,
    input_argument,
    input_options,
    output_options,
    take_reading,
)
from shoal.cli.outcomes import format_value
from shoal.cli.planned import comparison_tasks, count_input, plan_option, print_plan
from shoal.cli.sections import Command
from shoal.cli.terminal import Bars, print_result
from shoal.model.intake import Reading

_NOTES: Final = (
    "each release counts as if it were made, attacked and measured by commands of its own; hold_out, people "
    "and what an earlier run has finished are not taken off",
)


@click.command(
    cls=Command,
    examples=(
        ("shoal compare calls.csv --config study.toml --output study --plan", "how long it would take"),
        (
            "shoal compare calls.csv --config study.toml --output study",
            "every release that the study names, and which to take",
        ),
    ),
)
@input_argument
@click.option(
    "--config",
    "config",
    type=PATH,
    required=True,
    metavar="study.toml",
    help="What to compare: [[runs]], attacks and a [budget].",
)
@click.option(
    "--output",
    type=PATH,
    required=True,
    metavar="DIR",
    help="Folder for everything (secret); an earlier one goes on.",
)
@click.option(
    "--frontier",
    type=click.Choice(("omit-at-most",)),
    help="Also measure what leaving out 0 to 20 % of the samples would buy in each release of GLOVE.",
)
@plan_option
@input_options
@output_options
def compare(
    source: str,
    config: Path,
    output: Path,
    frontier: Any,
    planned: bool,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> int:
    """Make several releases of INPUT, attack and measure them alike, and recommend settings for a budget.

    Writes comparison.html and comparison.json. Run again to continue after an interruption, or after adding
    to the study.
    """
    from dataclasses import replace

    from shoal.comparison.compare import REPORT_FILE
    from shoal.comparison.compare import compare as run_study
    from shoal.comparison.study import read_study
    from shoal.io import read
    from shoal.io.sources.named_files import require_outside
    from shoal.report.pages.comparison import is_anonymity
    from shoal.runtime.run import Run

    reading = take_reading(options)
    study = read_study(config)
    study = study if frontier is None else replace(study, frontier=frontier)
    require_outside(source, output)
    if planned:
        counts = count_input(source, Reading(**reading), quiet=quiet, releases=True)
        work, left_out = comparison_tasks(study, counts.people, Reading(**reading))
        notes = [*_NOTES, *left_out]
        return print_plan("compare", counts, work, target=output, notes=notes, as_json=as_json)
    with Bars(quiet=quiet) as bars:
        run = Run(progress=bars)
        original, given = read(source, run=run, **reading), None
        if any(setting.method.about.publishes == "points" for setting in study.settings):
            given = read(source, run=run, **{**reading, "snap": False, "working_crs": original.crs})
        found = run_study(original, study, output, run, given=given)
    unit = next(
        (
            entry["unit"]
            for result in found.results
            for entry in result["measurements"]
            if entry["name"] == study.budget.utility
        ),
        "1",
    )
    lines = [
        *(
            f"{point.label}: risk {format_value(point.risk, 'share')}, {study.budget.utility} "
            f"{format_value(point.utility, unit)}; strongest adversary {format_value(point.worst, 'share')} "
            f"({point.worst_by})" + ("" if is_anonymity(point.method) else "; no anonymity")
            for point in found.ranking
        ),
        *(f"{label}: no release: {reason}" for label, reason in found.failed.items()),
        f"recommended: {found.recommendation.label or 'none'}",
        *(f"  {reason}" for reason in found.recommendation.reasons),
        f"report: {output / REPORT_FILE}",
    ]
    print_result(as_json, {**found.to_json(), "report": str(output / REPORT_FILE)}, lines)
    return 0


@click.command(
    cls=Command,
    examples=(
        (
            "shoal granularity calls.csv --tau 30min --tau 2h",
            "what kte-hide leaves, where people may be followed for so long",
        ),
    ),
    epilog="Lengths and durations take units: 30min, 1h.",
)
@input_argument
@click.option(
    "--k",
    type=click.IntRange(min=2),
    default=2,
    show_default=True,
    metavar="K",
    help="Records that fit one person.",
)
@click.option(
    "--tau",
    "taus_s",
    type=DURATION,
    multiple=True,
    metavar="DURATION",
    help="How long an attacker may follow; may be repeated; epsilon is the same. [default: 10min, 30min, "
    "1h, 2h and 4h]",
)
@click.option(
    "--output",
    type=PATH,
    metavar="PAGE.html",
    help="Draw the figures on this page, too; it must not exist yet.",
)
@config_option
@input_options
@output_options
def granularity(
    source: str,
    k: int,
    taus_s: tuple[float, ...],
    output: Path | None,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> int:
    """Say what kte-hide leaves of INPUT for several tau.

    Extents in place and time, suppression, and each by time of day.

    A release is made and verified for each tau; none is written. The figures help to choose the --tau of
    `shoal anonymize`.
    """
    from shoal.comparison.granularity import TAUS_S, study_granularity
    from shoal.io import read
    from shoal.runtime.run import Run

    with Bars(quiet=quiet) as bars:
        run = Run(progress=bars)
        found = study_granularity(
            read(source, run=run, **take_reading(options)), k, taus_s or TAUS_S, run, output
        ).to_json()
    lines = [
        f"tau {format_value(one['tau_s'], 's'):>8}: suppressed {format_value(one['suppressed'], 'share')}; "
        f"dx + dy median {format_value(one['space_m']['median'], 'm')}, mean "
        f"{format_value(one['space_m']['mean'], 'm')}; "
        f"duration median {format_value(one['time_s']['median'], 's')}, "
        f"mean {format_value(one['time_s']['mean'], 's')}"
        for one in found["settings"]
    ]
    lines += [f"tau {tau:>8}: no release: {reason}" for tau, reason in found["failed"].items()]
    lines += [] if output is None else [f"report: {output}"]
    print_result(as_json, {**found, "report": None if output is None else str(output)}, lines)
    return 0
