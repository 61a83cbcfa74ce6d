"""The commands that compare releases."""

import math
from pathlib import Path
from typing import Any, Final

import click

from shoal.cli.data import as_typed
from shoal.cli.options import (
    PATH,
    config_option,
    input_argument,
    input_options,
    output_options,
    place_options,
    take_reading,
)
from shoal.cli.outcomes import format_value
from shoal.cli.planned import comparison_tasks, count_input, plan_option, print_plan
from shoal.cli.sections import Command
from shoal.cli.terminal import Bars, print_result, read_and_report
from shoal.model.intake import Reading

_NOT_OF_TABLES: Final = ("cell_m", "slot_s", "snap", "per_day", "min_samples_per_day", "min_active_days")
_NOTES: Final = (
    "each release counts as if made, attacked and measured by separate commands; hold_out, people and the "
    "finished parts of an earlier run are not subtracted",
)


@click.command(
    cls=Command,
    examples=(
        (
            "shoal compare calls.csv --output study",
            "nine releases by GLOVE, a recommendation, and study/study.toml to change",
        ),
        ("shoal compare calls.csv --config study.toml --output study --plan", "how long a study would take"),
    ),
)
@input_argument
@click.option(
    "--config",
    "config",
    type=PATH,
    metavar="study.toml",
    help="What to compare: [[runs]], attacks and a [budget]. [default: GLOVE on a sample with k = 2, 5 and "
    "10, written to DIR/study.toml]",
)
@click.option(
    "--output",
    type=PATH,
    required=True,
    metavar="DIR",
    help="Folder for all results (secret); an existing study continues.",
)
@click.option(
    "--frontier",
    type=click.Choice(("omit-at-most",)),
    help="Also measure the gain from omitting 0 to 20 % of the samples in each release of GLOVE.",
)
@plan_option
@place_options
@input_options
@output_options
def compare(
    source: str,
    config: Path | None,
    output: Path,
    frontier: Any,
    planned: bool,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> int:
    """Make several releases of INPUT, attack and measure all, and recommend settings for a budget.

    Writes comparison.html and comparison.json. Run again to continue after an interruption, or after adding
    to the study.
    """
    from dataclasses import replace

    from shoal.comparison.advice import KS
    from shoal.comparison.compare import REPORT_FILE
    from shoal.comparison.compare import compare as run_study
    from shoal.comparison.study import default_study, read_study
    from shoal.io import read
    from shoal.io.sources.named_files import require_outside
    from shoal.publishing.estimate import LARGEST_SAMPLE, size_of_sample
    from shoal.report.pages.comparison import is_anonymity
    from shoal.runtime.run import Run

    reading = take_reading(options)
    study, text = (read_study(config), None) if config is not None else default_study(LARGEST_SAMPLE)
    study = study if frontier is None else replace(study, frontier=frontier)
    require_outside(source, output)
    if planned:
        counts = count_input(source, Reading(**reading), quiet=quiet, releases=True)
        work, left_out = comparison_tasks(study, counts.people, Reading(**reading))
        notes = [*_NOTES, *left_out]
        return print_plan("compare", counts, work, target=output, notes=notes, as_json=as_json)
    with Bars(quiet=quiet) as bars:
        run = Run(progress=bars)
        original, as_given = read(source, run=run, **reading), None
        if text is not None:  # of fewer people where each has many samples
            sampled, text = default_study(size_of_sample(original, max(KS)))
            study = replace(study, people=sampled.people)
        if any(setting.method.about.publishes == "points" for setting in study.settings):
            as_given = read(source, run=run, **{**reading, "snap": False, "working_crs": original.crs})
        comparison = run_study(original, study, output, run, given=as_given)
    if text is not None:
        (output / "study.toml").write_text(text, encoding="utf-8")
    unit = next(
        (
            entry["unit"]
            for result in comparison.results
            for entry in result["measurements"]
            if entry["name"] == study.budget.utility
        ),
        "1",
    )
    lines = [
        *(
            f"{point.label}: risk {format_value(point.risk, 'share')} (up to "
            f"{format_value(point.risk_high, 'share')}), {study.budget.utility} "
            f"{format_value(point.utility, unit)}; strongest adversary {format_value(point.worst, 'share')} "
            f"({point.worst_by})" + ("" if is_anonymity(point.method) else "; no anonymity")
            for point in comparison.ranking
        ),
        *(f"{label}: no release: {reason}" for label, reason in comparison.failed.items()),
        *(f"note: {note}" for note in comparison.not_played),
        f"recommended: {comparison.recommendation.label or 'none'}",
        *(f"  {reason}" for reason in comparison.recommendation.reasons),
        f"report: {output / REPORT_FILE}",
        *(
            []
            if text is None
            else [f"study: {output / 'study.toml'}", *(f"  {line}" for line in text.split("\n"))]
        ),
    ]
    print_result(as_json, {**comparison.to_json(), "report": str(output / REPORT_FILE)}, lines)
    return 0


@click.command(
    cls=Command,
    examples=(
        ("shoal advise calls.csv --for flows", "which release to make for a study of trips"),
        ("shoal advise calls.csv --for areas --for presence --json", "for two uses at once, as JSON"),
    ),
    epilog="Trial releases of up to 1,000 people; with everyone, boxes are smaller.",
)
@input_argument
@click.option(
    "--for",
    "purposes",
    type=click.Choice(("areas", "presence", "flows", "routes", "models")),
    multiple=True,
    metavar="USE",
    help="The use: areas (busy areas), presence (people in a place by hour), flows (trips from zone to "
    "zone), routes, or models (of movement). May be repeated. [default: a proposal for each]",
)
@config_option
@input_options
@output_options
def advise(source: str, purposes: tuple[str, ...], as_json: bool, quiet: bool, **options: Any) -> int:
    """Propose a release of INPUT for a use.

    Makes trial releases of a sample of the people and of their days, and says what each is good for and what
    the strongest attack on it wins. Nothing is written.
    """
    from shoal.comparison.advice import DAYS_APIECE, PURPOSES, TRYING, advice_for, table_command, try_releases
    from shoal.io import read
    from shoal.runtime.run import Run

    reading = take_reading(options)
    with Bars(quiet=quiet, whole=TRYING) as bars:
        run = Run(progress=bars)
        people = read_and_report(source, Reading(**reading), bars, run)
        days = (
            None if people.intake.reading.per_day else read(source, run=run, **{**reading, "per_day": True})
        )
        if days is not None and days.n_subjects <= DAYS_APIECE * people.n_subjects:
            days = None
        wanted = [purposes] if purposes else [(one,) for one in PURPOSES]
        trials = try_releases(people, days, run, wanted=wanted, tell=lambda one: bars.say(f"tried {one}"))
    advice = [advice_for(trials, chosen) for chosen in wanted]
    zone_m = trials.trials[0].usefulness.zone_m if trials.trials else math.nan
    given, for_tables = (as_typed(source, reading, without=fields) for fields in ((), _NOT_OF_TABLES))
    tables = [
        (None, "") if math.isnan(zone_m) else table_command(people, for_tables, one.uses, zone_m)
        for one in advice
    ]
    proposals = list(zip(advice, tables, strict=True))
    listed = [{**one.to_json(), "table": table} for one, (table, _) in proposals]
    document = {**trials.to_json(), "advice": listed}
    lines = [*trials.lines(), *(line for one, table in proposals for line in one.lines(given, *table))]
    print_result(as_json, document, lines)
    return 0
