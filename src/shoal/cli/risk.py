"""The commands that judge a release: attack, measure; heavy libraries load when one runs."""

from pathlib import Path
from typing import Any, Final

import click

from shoal.cli.options import (
    PATH,
    RELEASE,
    earlier_option,
    input_options,
    output_options,
    take_earlier,
    take_reading,
)
from shoal.cli.outcomes import format_value, rate_lines
from shoal.cli.planned import attack_tasks, count_input, measure_tasks, plan_option, print_plan
from shoal.cli.sections import Command
from shoal.cli.terminal import Bars, print_result
from shoal.model.intake import Reading

_GRID: Final = ("cell_m", "slot_s", "snap")
_ATTACK_NOTES: Final = (
    "each kind of knowledge counts the same here; noisy takes about half of the default selection, and "
    "--earlier and --control come on top",
)


class _KnowledgeOption(click.Option):
    """Says in its help what the table of attacks holds, which loads only then."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        from shoal.attacks.knowledge import forms_in_words

        self.help = f"What the attacker knows; may be repeated. {forms_in_words()}. [default: a selection]"
        return super().get_help_record(ctx)


@click.command(
    cls=Command,
    examples=(
        (
            "shoal attack calls.csv release --linkage linkage.parquet --json > attacks.json",
            "a selection of adversaries, kept for the record to sign",
        ),
        (
            "shoal attack calls.csv release --linkage linkage.parquet --knowledge points:4 --knowledge "
            "home-work",
            "who knows four times and places, and who knows which record it is",
        ),
    ),
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

    from shoal.attacks import AttackScope
    from shoal.attacks import attack as evaluate
    from shoal.attacks.knowledge import require_played
    from shoal.attacks.together import attack_together
    from shoal.publishing.against_raw import read_issued_releases
    from shoal.publishing.opening import open_release
    from shoal.release_folder.folder import read_linkage, read_release
    from shoal.release_folder.manifest import RELEASE_FILE
    from shoal.runtime.files import sha256_of
    from shoal.runtime.randomness import Randomness
    from shoal.runtime.run import Run
    from shoal.verification.composition.several import reveal_together

    before = take_earlier(earlier)
    require_played(knowledge, series=bool(before))
    reading = _take_reading(options)
    if planned:
        counts = count_input(raw, Reading(**reading), quiet=quiet)
        work = attack_tasks(knowledge, tries, counts.people)
        return print_plan("attack", counts, work, notes=_ATTACK_NOTES, as_json=as_json)
    with Bars(quiet=quiet) as bars, open_release(release) as opened:
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
            scope=AttackScope(control=others, earlier=last[0] if last else None, like=like),
            run=run,
        )
        if before and set(knowledge) != {"series"}:
            issued = read_issued_releases(raw, folder, linkage, before, run, **reading)
            reveal_together(issued[0], issued[1:])  # refuses what does not belong or fails its own claim
            joint = attack_together([(one.original, one.release, one.linkage) for one in issued])
            found = replace(found, rates=(*found.rates, *joint))
        digest = sha256_of(folder / RELEASE_FILE)
    document = {**found.to_json(), "release_sha256": digest}
    document["notes"] = [*found.notes, *opened.remarks]
    print_result(
        as_json, document, [*rate_lines(found.rates), *(f"  note: {note}" for note in document["notes"])]
    )
    return 0


@click.command(
    cls=Command,
    examples=(
        (
            "shoal measure calls.csv release --linkage linkage.parquet",
            "what analysts still find, metric by metric",
        ),
    ),
)
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
    from shoal.publishing.opening import open_release
    from shoal.release_folder.folder import read_linkage
    from shoal.utility import measure as compute

    reading = _take_reading(options)
    if planned:
        return print_plan(
            "measure", count_input(raw, Reading(**reading), quiet=quiet), measure_tasks(), as_json=as_json
        )
    with Bars(quiet=quiet) as bars, open_release(release) as opened:
        given, known = _read_as_given(raw, opened.folder, reading, bars), read_linkage(linkage)
        document = compute(given, _read_release(opened.folder, given), known).to_json()
    for told in opened.remarks:
        bars.say(f"note: {told}")
    facts, points = document["measurements"], document.get("points", {})
    lines = [
        f"{fact['name']:20} {format_value(fact['value'], fact['unit']):>10}  "
        f"{_bounds(fact)}({fact['words']}; {fact['better']} is better)"
        for fact in facts
    ]
    lines = [*(f"{name.replace('_', '-'):20} {value:>10.6g}" for name, value in points.items()), *lines]
    print_result(as_json, document, lines)
    return 0


def _bounds(fact: dict[str, Any]) -> str:
    """What the boxes leave open of a value."""
    if "low" not in fact or "high" not in fact:
        return ""
    return (
        f"between {format_value(fact['low'], fact['unit'])} and {format_value(fact['high'], fact['unit'])} "
    )


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
    from shoal.release_folder.folder import raw_reading
    from shoal.runtime.run import Run

    return read_with(raw, raw_reading(release, **reading), Run(progress=bars))


def _read_release(folder: Path, original: Any) -> Any:
    """The release in a folder, when it can be one of this raw data."""
    from shoal.model.linkage_checks import require_boxes_near_data
    from shoal.release_folder.folder import read_release

    release = read_release(folder)
    require_boxes_near_data(original, release)
    return release
