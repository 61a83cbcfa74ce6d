"""The commands ``shoal reproduce`` and ``shoal granularity``."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from shoal.cli.options import (
    DURATION,
    PATH,
    UNITS,
    config_option,
    input_argument,
    input_options,
    output_options,
    street_options,
    take_reading,
    take_streets,
)
from shoal.cli.outcomes import format_value
from shoal.cli.sections import Command
from shoal.cli.terminal import Bars, print_result

if TYPE_CHECKING:
    from shoal.model.trajectories import Trajectories

_PAPERS: Final = ("glove", "kte", "swap", "collect")
_KINDS: Final = ("people", "network", "cabs", "traces")
_AS_GIVEN: Final = ("network", "cabs", "traces")
_KIND_OF: Final = {"glove": "people", "kte": "people", "swap": "network", "collect": "traces"}


@click.command(
    cls=Command,
    examples=(
        ("shoal reproduce glove --figure 3a", "one figure, beside what the paper prints; minutes"),
        ("shoal reproduce all --output figures", "every paper, with plots; longer"),
    ),
    epilog=UNITS,
)
@click.argument("paper", type=click.Choice((*_PAPERS, "all")))
@click.option(
    "--figure",
    "figures",
    multiple=True,
    metavar="F",
    help="One figure or table, e.g. 3, 3a or table-2; may be repeated. [default: all]",
)
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="[KIND=]FILE",
    help="Data of your own in the place of made-up data. KIND: people (call records), network (objects on "
    "streets), cabs (a day of GPS), traces (people's GPS). [default: what the paper is about]",
)
@click.option("--full", is_flag=True, help="As many people, settings and queries as the paper: hours.")
@click.option("--quick", is_flag=True, help="Few of everything: minutes. This is the default.")
@click.option("--seeds", type=click.IntRange(min=1), metavar="N", help="Repetitions. [default: 5]")
@click.option(
    "--output",
    type=PATH,
    metavar="DIR",
    help="Also write CSV, Markdown and a page of plots into a new folder.",
)
@street_options
@input_options
@output_options
def reproduce(
    paper: str,
    figures: tuple[str, ...],
    inputs: tuple[str, ...],
    full: bool,
    quick: bool,
    seeds: int | None,
    output: Path | None,
    **options: Any,
) -> int:
    """Measure the figures and tables of a PAPER, and compare them with the printed values.

    Each number is the mean of several seeds, with its 95 % interval.
    """
    from dataclasses import replace

    from shoal.errors import OutputError
    from shoal.runtime.files import null_for_nan
    from shoal.runtime.run import Run
    from shoal_papers.data import FULL, QUICK, data_words
    from shoal_papers.folder import write_outcomes
    from shoal_papers.running import reproduce as run_experiments
    from shoal_papers.table import experiments_of, papers, titles
    from shoal_papers.writing import json_of, text_lines

    if full and quick:
        raise click.UsageError("give either --quick or --full")
    if paper == "all" and figures:
        raise click.UsageError("--figure needs one paper; name it instead of 'all'")
    if output is not None and output.exists():
        raise OutputError(f"{output} exists; choose another --output or remove it first")
    size = FULL if full else QUICK
    size = size if seeds is None else replace(size, seeds=seeds)
    asked = {one: experiments_of(one, figures) for one in (papers() if paper == "all" else (paper,))}
    with Bars(quiet=options["quiet"]) as bars:
        run = Run(progress=bars)
        streets = take_streets(options)
        inputs_by_kind = _read_inputs(inputs, None if paper == "all" else paper, take_reading(options), run)
        outcomes = {
            one: run_experiments(
                asked[one], size, run, inputs=inputs_by_kind, streets=streets, label=f"reproducing {one}"
            )
            for one in asked
        }
        data = {one: data_words(one, size, inputs_by_kind) for one in asked}
        if output is not None:
            write_outcomes(outcomes, output, data)
    lines = []
    for one, results in outcomes.items():
        lines += ["", titles()[one], *(f"data, {kind}: {words}" for kind, words in data[one].items())]
        lines += [line for outcome in results for line in text_lines(outcome)]
    document = {one: [json_of(outcome) for outcome in results] for one, results in outcomes.items()}
    written = [] if output is None else [f"written: {output}"]
    print_result(
        options["as_json"],
        {
            "size": "full" if full else "quick",
            "seeds": size.seeds,
            "data": data,
            "papers": null_for_nan(document),
        },
        [*lines[1:], *written],
    )
    return 0


def _read_inputs(
    inputs: tuple[str, ...], paper: str | None, reading: dict[str, Any], run: Any
) -> "dict[str, Trajectories]":
    from shoal.io import read

    inputs_by_kind: dict[str, Trajectories] = {}
    for text in inputs:
        kind, equals, file = text.partition("=")
        if not equals or kind not in _KINDS:
            if paper is None:
                raise click.UsageError(
                    f"--input {text} says no kind; write one of {', '.join(f'{one}=FILE' for one in _KINDS)}"
                )
            kind, file = _KIND_OF[paper], text
        if kind in inputs_by_kind:
            raise click.UsageError(f"--input names two files of {kind}; give one")
        settings = {**reading, "snap": False} if kind in _AS_GIVEN else reading
        inputs_by_kind[kind] = read(file, run=run, **settings)
    return inputs_by_kind


@click.command(
    cls=Command,
    examples=(
        (
            "shoal granularity calls.csv --tau 30min --tau 2h",
            "the precision of kte-hide if an observer may follow people for 30 min or 2 h",
        ),
    ),
    epilog=UNITS,
)
@input_argument
@click.option(
    "--k", type=click.IntRange(min=2), default=2, metavar="K", help="Records that match every observation."
)
@click.option(
    "--tau",
    "taus_s",
    type=DURATION,
    multiple=True,
    metavar="DURATION",
    help="How long an observer may follow a person; may be repeated; epsilon is the same. "
    "[default: 10min, 30min, 1h, 2h and 4h]",
)
@click.option(
    "--output",
    type=PATH,
    metavar="PAGE.html",
    help="Also write the figures as this page; it must not exist yet.",
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
    """Compare the precision of kte-hide for several values of tau.

    Prints extents in place and time and suppression, also by time of day. A release is made and verified for
    each tau; none is written. The figures help to choose the --tau of `shoal anonymize`.
    """
    from shoal.io import read
    from shoal.runtime.run import Run
    from shoal_papers.granularity import TAUS_S, study_granularity

    with Bars(quiet=quiet) as bars:
        run = Run(progress=bars)
        study = study_granularity(
            read(source, run=run, **take_reading(options)), k, taus_s or TAUS_S, run, output
        ).to_json()
    lines = [
        f"tau {format_value(setting['tau_s'], 's'):>8}: "
        f"suppressed {format_value(setting['suppressed'], 'share')}; "
        f"dx + dy median {format_value(setting['space_m']['median'], 'm')}, "
        f"mean {format_value(setting['space_m']['mean'], 'm')}; "
        f"duration median {format_value(setting['time_s']['median'], 's')}, "
        f"mean {format_value(setting['time_s']['mean'], 's')}"
        for setting in study["settings"]
    ]
    lines += [f"tau {tau:>8}: no release: {reason}" for tau, reason in study["failed"].items()]
    lines += [] if output is None else [f"report: {output}"]
    print_result(as_json, {**study, "report": None if output is None else str(output)}, lines)
    return 0
