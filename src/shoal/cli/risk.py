"""The commands that judge and use a release: attack, measure, compare, convert.

Heavy libraries load when a command runs.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from shoal.cli.options import (
    DURATION,
    PATH,
    RELEASE,
    config_option,
    earlier_option,
    input_argument,
    input_options,
    output_options,
    take_earlier,
    take_reading,
)
from shoal.cli.planned import attacks, comparison, count_input, measures, plan_option, print_plan
from shoal.cli.sections import Command
from shoal.cli.terminal import Bars, print_result
from shoal.errors import MisuseError
from shoal.units import counted

if TYPE_CHECKING:
    from shoal.model.release import Release

_GRID: Final = ("cell_m", "slot_s", "snap")
_ATTACK_NOTES: Final = (
    "each kind of knowledge counts the same here; noisy takes about half of the default selection, and "
    "--earlier and --control come on top",
)
_COMPARE_NOTES: Final = (
    "each release counts as if it were made, attacked and measured by commands of its own; hold_out, people "
    "and what an earlier run has finished are not taken off",
)


class _KnowledgeOption(click.Option):
    """Says in its help what the table of attacks holds, which loads only then."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        from shoal.attacks.knowledge import forms_in_words

        self.help = f"What the attacker knows; may be repeated. {forms_in_words()}. [default: a selection]"
        return super().get_help_record(ctx)


@click.command(
    cls=Command,
    epilog="A tie among c equally good answers counts 1/c. Rates are fractions with 95 % intervals.",
)
@click.argument("raw", metavar="RAW")
@click.argument("release", type=RELEASE, metavar="RELEASE")
@click.option(
    "--linkage",
    type=PATH,
    required=True,
    metavar="FILE",
    help="Who became which record: tells who was right.",
)
@click.option(
    "--knowledge",
    cls=_KnowledgeOption,
    multiple=True,
    metavar="WHAT",
)
@click.option(
    "--tries",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    metavar="N",
    help="Victims drawn for each attack.",
)
@click.option(
    "--control",
    metavar="INPUT",
    help="Raw data of people who are not in RELEASE. [default: its suppressed subjects]",
)
@click.option(
    "--like",
    metavar="TRAJECTORY_ID",
    help="Take as victims only the people whose records equal this one. [default: everybody]",
)
@earlier_option
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    metavar="S",
    help="Draw the same victims and samples again; nothing is published here.",
)
@plan_option
@input_options
@output_options
def attack(
    raw: str,
    release: Path | str,
    linkage: Path,
    knowledge: tuple[str, ...],
    tries: int,
    control: str | None,
    like: str | None,
    earlier: tuple[str, ...],
    seed: int | None,
    planned: bool,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> int:
    """Play adversaries with knowledge from RAW against the folder RELEASE, and say how often they win.

    Each is also played against RAW itself (what publishing it as it is would risk) and with people who are
    not in RELEASE (control). With --earlier the records of both releases are joined, and who could be whom is
    intersected. Releases of other raw data, such as another week, are only joined: ask --knowledge series.
    """
    from dataclasses import replace

    from shoal.attacks import attack as evaluate
    from shoal.attacks.knowledge import require_played
    from shoal.attacks.together import attack_together
    from shoal.publishing.against_raw import issued_releases
    from shoal.publishing.opening import opened_release
    from shoal.release_folder.folder import read_linkage, read_release
    from shoal.release_folder.manifest import RELEASE_FILE
    from shoal.report.words.numbers import percent
    from shoal.runtime.hashing import sha256_of
    from shoal.runtime.randomness import Randomness
    from shoal.runtime.run import Run
    from shoal.verification.composition.several import reveal_together

    before = take_earlier(earlier)
    require_played(knowledge, series=bool(before))
    reading = _take_reading(options)
    if planned:
        counts = count_input(raw, reading, quiet=quiet)
        work = attacks(knowledge, tries, counts.people)
        return print_plan("attack", counts, work, notes=_ATTACK_NOTES, as_json=as_json)
    with Bars(quiet=quiet) as bars, opened_release(release) as opened:
        folder = opened.folder
        given, known = _read_as_given(raw, folder, reading, bars), read_linkage(linkage)
        published = _read_release(folder, given)
        others = None if control is None else _read_as_given(control, folder, reading, bars)
        rng = Randomness.from_system() if seed is None else Randomness.for_research(seed)
        run = Run(progress=bars)
        last = [(read_release(earlier_folder), read_linkage(file)) for earlier_folder, file in before[:1]]
        found = evaluate(
            given,
            published,
            known,
            knowledge=knowledge or None,
            rng=rng,
            tries=tries,
            control=others,
            earlier=last[0] if last else None,
            like=like,
            run=run,
        )
        if before and set(knowledge) != {"series"}:
            issued = issued_releases(raw, folder, linkage, before, run, **reading)
            reveal_together(issued[0], issued[1:])  # refuses what does not belong or fails its own claim
            joint = attack_together([(one.original, one.release, one.linkage) for one in issued])
            found = replace(found, rates=(*found.rates, *joint))
        digest = sha256_of(folder / RELEASE_FILE)
    lines = [
        f"{rate.name:18} {rate.target:8} {percent(rate.rate):>8}  ({percent(rate.low)} to "
        f"{percent(rate.high)}; guessing {percent(rate.baseline)}; {counted(rate.tries, 'try', 'tries')}; "
        f"{rate.knowledge})"
        for rate in found.rates
    ]
    document = {**found.to_json(), "release_sha256": digest}
    document["notes"] = [*found.notes, *opened.told]
    print_result(as_json, document, [*lines, *_noted(document["notes"])])
    return 0


@click.command(cls=Command)
@click.argument("raw", metavar="RAW")
@click.argument("release", type=RELEASE, metavar="RELEASE")
@click.option("--linkage", type=PATH, required=True, metavar="FILE", help="Who became which record.")
@plan_option
@input_options
@output_options
def measure(
    raw: str, release: Path | str, linkage: Path, planned: bool, as_json: bool, quiet: bool, **options: Any
) -> int:
    """Say what the folder RELEASE is still good for, compared with RAW.

    Each metric with its unit and the direction that is better.
    """
    from shoal.publishing.opening import opened_release
    from shoal.release_folder.folder import read_linkage
    from shoal.utility import measure as compute

    reading = _take_reading(options)
    if planned:
        return print_plan("measure", count_input(raw, reading, quiet=quiet), measures(), as_json=as_json)
    with Bars(quiet=quiet) as bars, opened_release(release) as opened:
        given, known = _read_as_given(raw, opened.folder, reading, bars), read_linkage(linkage)
        document = compute(given, _read_release(opened.folder, given), known).to_json()
    for told in opened.told:
        bars.say(f"note: {told}")
    facts, points = document["measurements"], document.get("points", {})
    lines = [
        f"{fact['name']:20} {_shown(fact['value'], fact['unit']):>10}  {_bounds(fact)}({fact['words']}; "
        f"{fact['better']} is better)"
        for fact in facts
    ]
    lines = [*(f"{name.replace('_', '-'):20} {value:>10.6g}" for name, value in points.items()), *lines]
    print_result(as_json, document, lines)
    return 0


@click.command(cls=Command)
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
    from shoal.io.sources import require_outside
    from shoal.report.pages.comparison import is_anonymity
    from shoal.runtime.run import Run

    reading = take_reading(options)
    study = read_study(config)
    study = study if frontier is None else replace(study, frontier=frontier)
    require_outside(source, output)
    if planned:
        counts = count_input(source, reading, quiet=quiet)
        work, left_out = comparison(study, counts.people, reading)
        notes = [*_COMPARE_NOTES, *left_out]
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
            f"{point.label}: risk {_shown(point.risk, 'share')}, {study.budget.utility} "
            f"{_shown(point.utility, unit)}; strongest adversary {_shown(point.worst, 'share')} "
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


@click.command(cls=Command, epilog="Lengths and durations take units: 30min, 1h.")
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
        f"tau {_shown(one['tau_s'], 's'):>8}: suppressed {_shown(one['suppressed'], 'share')}; "
        f"dx + dy median {_shown(one['space_m']['median'], 'm')}, mean "
        f"{_shown(one['space_m']['mean'], 'm')}; "
        f"duration median {_shown(one['time_s']['median'], 's')}, mean {_shown(one['time_s']['mean'], 's')}"
        for one in found["settings"]
    ]
    lines += [f"tau {tau:>8}: no release: {reason}" for tau, reason in found["failed"].items()]
    lines += [] if output is None else [f"report: {output}"]
    print_result(as_json, {**found, "report": None if output is None else str(output)}, lines)
    return 0


@click.command(cls=Command)
@click.argument("release", type=RELEASE, metavar="RELEASE")
@click.argument("output", type=PATH, metavar="DIR")
@click.option(
    "--to",
    "how",
    type=click.Choice(("gpx", "plt")),
    default="gpx",
    show_default=True,
    help="Files that other tools read.",
)
@click.option(
    "--box-as",
    type=click.Choice(("center", "first-corner")),
    help="Which point stands for an area and interval; must be said.",
)
@output_options
def convert(release: Path | str, output: Path, how: Any, box_as: Any, as_json: bool, quiet: bool) -> int:
    """Write the folder RELEASE as point files, one for each record, into a new folder DIR.

    A release of areas and intervals is converted only when --box-as says which point stands for a box: points
    look exact where boxes were honest. Points stay as they are. Tools that read GeoParquet (QGIS, GeoPandas,
    DuckDB) open release.parquet as it is.
    """
    from shoal.io.point_files import write_points
    from shoal.publishing.opening import opened_release
    from shoal.release_folder.folder import read_release

    with Bars(quiet=quiet) as bars, opened_release(release) as opened:
        bars("reading the release", 0, 1)
        files = write_points(_told(read_release(opened.folder), box_as), output, how, box_as=box_as)
    lines = [f"{counted(files, f'{how.upper()} file')} in {output}"]
    if box_as:
        lines.append(
            f"  note: each point stands for an area and an interval ({box_as}); say so wherever these files "
            "go"
        )
    print_result(as_json, {"output": str(output), "files": files, "to": how, "box_as": box_as}, lines)
    return 0


def _told(release: "Release", box_as: str | None) -> "Release":
    """The release, when --box-as says what it needs; raises MisuseError in the words of the options."""
    if release.payload.kind == "boxes" and box_as is None:
        raise MisuseError(
            "this release holds areas and intervals, and points would look exact where it is not; say how "
            "with --box-as center or --box-as first-corner"
        )
    if release.payload.kind == "points" and box_as is not None:
        raise MisuseError("this release holds points and no boxes; leave out --box-as")
    return release


def _bounds(fact: dict[str, Any]) -> str:
    """What the boxes leave open of a value."""
    if "low" not in fact or "high" not in fact:
        return ""
    return f"between {_shown(fact['low'], fact['unit'])} and {_shown(fact['high'], fact['unit'])} "


def _shown(value: float | None, unit: str) -> str:
    """A value as people write it."""
    from shoal.report.words.numbers import meters, percent, seconds

    if value is None:
        return "unknown"
    return {"share": percent, "m": meters, "s": seconds}.get(unit, "{:.3f}".format)(value)


def _take_reading(options: dict[str, Any]) -> dict[str, Any]:
    """The reading's options, which may name columns anew; a usage error for a grid, which a manifest says."""
    given = take_reading(options)
    if any(name in given for name in _GRID):
        raise click.UsageError(
            "the release's manifest says its cell and slot; leave out --cell, --slot and --no-snap"
        )
    return given


def _read_as_given(raw: str, release: Path, reading: dict[str, Any], bars: Bars) -> Any:
    """The raw data, read as the release's manifest says (points: as they are)."""
    from shoal.io import read_with
    from shoal.release_folder.folder import reading_of_raw
    from shoal.runtime.run import Run

    return read_with(raw, reading_of_raw(release, **reading), Run(progress=bars))


def _read_release(folder: Path, original: Any) -> Any:
    """The release in a folder, when it can be one of this raw data."""
    from shoal.model.linked import require_possible_boxes
    from shoal.release_folder.folder import read_release

    release = read_release(folder)
    require_possible_boxes(original, release)
    return release


def _noted(notes: Sequence[str]) -> list[str]:
    return [f"  note: {note}" for note in notes]
