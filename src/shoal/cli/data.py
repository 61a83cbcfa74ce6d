"""The commands that come before a release: an example on synthetic data, and those for input data."""

import shlex
from collections.abc import Collection, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.options import (
    PATH,
    UNITS,
    config_option,
    input_argument,
    input_options,
    output_options,
    take_reading,
)
from shoal.cli.outcomes import print_publication
from shoal.cli.planned import assessment_tasks, count_input, plan_option, print_plan
from shoal.cli.sections import Command
from shoal.cli.terminal import Bars, print_result, read_and_report
from shoal.messages import program
from shoal.model.intake import Reading
from shoal.runtime.files import null_for_nan
from shoal.units import counted, percent

if TYPE_CHECKING:
    from shoal.synthetic import Layout


@click.command(
    cls=Command,
    examples=(
        ("shoal inspect calls.csv", "contents of the file, and dropped rows"),
        (
            "shoal inspect calls.csv --id uid --time t --time-zone Europe/Paris",
            "name columns and time zone that are not recognized",
        ),
        ("shoal inspect release", "the statements of a release"),
    ),
    epilog=UNITS,
)
@input_argument
@input_options
@output_options
def inspect(source: str, as_json: bool, quiet: bool, **options: Any) -> int:
    """Describe INPUT, and list dropped and repaired rows.

    INPUT is a file, a folder of files, or a pattern. For a release, print the statements of its manifest.
    """
    from shoal.io import read
    from shoal.measures.description import describe, note_attendance
    from shoal.publishing.opening import facts_of, is_release, open_release
    from shoal.release_folder.folder import read_release
    from shoal.runtime.run import Run

    reading = take_reading(options)
    if is_release(source):
        with open_release(source) as opened:
            facts = facts_of(read_release(opened.folder))
        notes = [f"  note: {remark}" for remark in opened.remarks]
        print_result(as_json, {**facts.to_json(), "notes": list(opened.remarks)}, [*facts.lines(), *notes])
        return 0
    with Bars(quiet=quiet) as bars:
        description = describe(original := read(source, run=Run(progress=bars), **reading))
    if note_attendance(original):
        reading["per_day"] = True
    following = f"{program()} assess {as_typed(source, reading)} --output exposure.html"
    if original.n_subjects < 2 and not description.people_lost:
        following = "add people, or name another column with --id: one person cannot be hidden"
    print_result(
        as_json, {**description.to_json(), "next": following}, [*description.lines(), f"next: {following}"]
    )
    return 0


def as_typed(source: str, reading: Mapping[str, Any], *, without: Collection[str] = ()) -> str:
    """An input and the options of its reading, quoted for a shell. without: fields to leave out."""
    options: list[str] = []
    for parameter in inspect.params:
        value = reading.get(parameter.name or "")
        if value is not None and isinstance(parameter, click.Option) and parameter.name not in without:
            flag = max(parameter.opts, key=len)
            options += [flag] if parameter.is_flag else [flag, _written(parameter, value)]
    input_name = "INPUT" if "://" in source else source  # an address may hold a password
    return shlex.join([input_name, *options])


def _written(parameter: click.Option, value: Any) -> str:
    if parameter.name == "min_active_days" and value == -1:
        return "all"
    unit = {"cell_m": "m", "slot_s": "s"}.get(parameter.name or "", "")
    return f"{value:g}{unit}" if unit or isinstance(value, float) else str(value)


@click.command(
    cls=Command,
    examples=(
        ("shoal synthesize people.parquet --subjects 500 --days 7", "500 synthetic people, over a week"),
        (
            "shoal synthesize nation.parquet --subjects 1000 --days 2 --layout nation --seed 7",
            "across a country; the same seed gives the same data",
        ),
    ),
)
@click.argument("output", type=PATH, metavar="OUTPUT.parquet")
@click.option("--subjects", type=click.IntRange(min=1), required=True, metavar="N", help="Number of people.")
@click.option("--days", type=click.IntRange(min=1), default=14, metavar="D", help="Number of days.")
@click.option(
    "--seed", type=click.IntRange(min=0), default=1, metavar="S", help="The same seed gives the same data."
)
@click.option(
    "--stations",
    type=PATH,
    metavar="FILE",
    help="Positions of base stations: CSV or Parquet with lat and lon columns.",
)
@click.option(
    "--layout",
    type=click.Choice(("nation", "city", "abi", "dak", "shn", "civ", "sen")),
    default="city",
    help="The area to lay out when --stations is not given; the last five have the densities of the kte "
    "paper's data sets.",
)
@output_options
def synthesize(
    output: Path,
    subjects: int,
    days: int,
    seed: int,
    stations: Path | None,
    layout: "Layout",
    as_json: bool,
    quiet: bool,
) -> int:
    """Write phone calls of synthetic people for demonstrations, tests and benchmarks."""
    from shoal.runtime.run import Run
    from shoal.synthetic import read_stations, write_synthetic

    with Bars(quiet=quiet) as bars:
        places = None if stations is None else read_stations(stations)
        counts = write_synthetic(
            output, subjects, days, seed, layout=layout, stations=places, run=Run(progress=bars)
        )
    left_out = {} if places is None else dict(places.dropped)
    lines = [
        f"{output}: {counted(counts.rows, 'row')} of {counted(subjects, 'person', 'people')} over "
        f"{counted(days, 'day')} at {counted(counts.stations, 'station')}",
        *(f"stations left out: {count:,}: {reason}" for reason, count in left_out.items()),
    ]
    print_result(
        as_json, {"output": str(output), **asdict(counts), "days": days, "stations_left_out": left_out}, lines
    )
    return 0


@click.command(
    cls=Command,
    examples=(
        ("shoal assess calls.csv --output exposure.html", "the exposure of the people, as a page"),
        ("shoal assess calls.csv --k 5 --k 10 --json", "for crowds of two sizes, as JSON"),
    ),
    epilog=UNITS,
)
@input_argument
@click.option(
    "--k",
    "ks",
    type=click.IntRange(min=2),
    multiple=True,
    metavar="K",
    help="Sizes of crowds. [default: 2 and 5]",
)
@click.option("--output", type=PATH, metavar="REPORT.html", help="Also write the assessment as a report.")
@click.option(
    "--exact-figures",
    is_flag=True,
    help="Measure everybody, also above 2,000 people. [default: 1,000 drawn at random, with intervals]",
)
@config_option
@plan_option
@input_options
@output_options
def assess(
    source: str,
    ks: tuple[int, ...],
    output: Path | None,
    exact_figures: bool,
    planned: bool,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> int:
    """Measure the exposure of the people in INPUT before you publish: the k-gap, its parts and its tail."""
    from shoal.publishing.estimate import ReleaseEstimate, estimate_releases
    from shoal.publishing.publish import assess as assess_people
    from shoal.report.words.exposure import gaps_in_numbers, gaps_in_words
    from shoal.runtime.run import Run
    from shoal.runtime.staging import require_absent

    typed_reading = take_reading(options)
    reading = Reading(**typed_reading)
    if planned:
        counts = count_input(source, reading, quiet=quiet)
        work = assessment_tasks(ks, counts.people, reading, exact=exact_figures)
        return print_plan("assess", counts, work, target=output, as_json=as_json)
    if output is not None:
        require_absent(output)
    with Bars(quiet=quiet, whole="assessing") as bars:
        run = Run(progress=bars)
        original = read_and_report(source, reading, bars, run)
        sizes = sorted(set(ks)) or [k for k in (2, 5) if k <= max(original.n_subjects, 2)]
        estimates = list[ReleaseEstimate]()
        for k in sizes:
            bars("assessing", len(estimates), len(sizes) + 1)
            estimates += estimate_releases(original, [k], run)
        bars("assessing", len(estimates), len(sizes) + 1)
        remarks = [estimate.in_words() for estimate in estimates]
        gaps = assess_people(original, sizes, run, output, exact_figures=exact_figures, remarks=remarks)
    following = f"{program()} advise {as_typed(source, typed_reading)}"
    lines = [
        *remarks,
        *gaps_in_words(original, gaps),
        *([] if output is None else [f"report: {output}"]),
        f"next: {following}",
    ]
    document = {
        **gaps_in_numbers(original, gaps),
        "estimates": [estimate.to_json() for estimate in estimates],
        "report": None if output is None else str(output),
        "next": following,
    }
    print_result(as_json, document, lines)
    return 0


@click.command(
    cls=Command,
    examples=(("shoal demo", "a synthetic city, anonymized, verified and attacked; all in ./shoal-demo"),),
)
@click.option(
    "--output",
    type=PATH,
    metavar="DIR",
    help="A new folder for all results; without it shoal-demo, or shoal-demo-2 where that exists.",
)
@output_options
def demo(output: Path | None, as_json: bool, quiet: bool) -> int:
    """Anonymize, verify and attack a synthetic city of 1,000 phones over 7 days, at k = 5.

    Compares precision and risk with k = 2, and takes less than a minute.
    """
    from shoal.methods.glove.glove import Glove
    from shoal.publishing.ahead import compile_ahead
    from shoal.publishing.demo import demonstrate, ending
    from shoal.report.facts.release import accuracy_rows
    from shoal.runtime.run import Run

    if output is None:
        names = ("shoal-demo", *(f"shoal-demo-{number}" for number in range(2, 1000)))
        output = next((path for path in map(Path, names) if not path.exists()), Path("shoal-demo"))
    with Bars(quiet=quiet) as bars, compile_ahead(Glove.about.name):
        publication, outcomes = demonstrate(output, Run(progress=bars))
    files = {
        "city": output / "city.parquet",
        "assessment": output / "assessment.html",
        "linkage": output / "linkage.parquet",
    }
    at_k = [
        {
            "k": outcome.k,
            "kept": {row.name: null_for_nan(row.raw) for row in accuracy_rows(outcome.accuracy)},
            "attacks": [rate.to_json() for rate in outcome.rates],
            "cautions": list(outcome.cautions),
        }
        for outcome in outcomes
    ]
    lines = [
        f"k = {outcome.k}: raw samples whose "
        + "; ".join(f"{row.words}: {row.text(row.raw)}" for row in accuracy_rows(outcome.accuracy)[:5])
        + "; won by the "
        + ", ".join(f"attack {rate.name} {percent(rate.rate)} of {rate.tries}" for rate in outcome.rates)
        for outcome in outcomes
    ]
    lines += [f"with k = {outcome.k}: {caution}" for outcome in outcomes for caution in outcome.cautions]
    print_publication(publication, as_json, files, also={"at_k": at_k}, lines=lines, ending=ending(output))
    return 0
