"""The commands that measure a release."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import click

from shoal.cli.options import (
    GIVEN,
    RELEASE,
    SOURCE,
    CommandOptions,
    earlier_option,
    input_options,
    output_options,
    place_options,
    street_options,
    take_earlier,
    take_reading_of_release,
    take_streets,
)
from shoal.cli.outcomes import format_value, rate_lines
from shoal.cli.packages import FolderCommand
from shoal.cli.planned import attack_tasks, count_input, plan_option, print_plan
from shoal.cli.terminal import Bars, print_result
from shoal.model.intake import Reading

_ATTACK_NOTES: Final = (
    "every kind of knowledge counts the same here; noisy takes about half of the default selection; "
    "--earlier and --control are not included",
)


class _KnowledgeOption(click.Option):
    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        from shoal.attacks.knowledge import forms_in_words

        self.help = f"What the attacker knows; may be repeated. {forms_in_words()}. [default: a selection]"
        return super().get_help_record(ctx)


@dataclass(frozen=True, kw_only=True)
class AttackOptions(CommandOptions):
    """The options of ``attack`` alone."""

    knowledge: tuple[str, ...]
    tries: int
    control: str | None
    like: str | None
    earlier: tuple[str, ...]
    seed: int | None
    planned: bool
    as_json: bool
    quiet: bool


@click.command(
    cls=FolderCommand,
    examples=(
        (
            "shoal attack calls.csv release --linkage linkage.parquet --json > attacks.json",
            "a selection of adversaries, for the record to sign",
        ),
        (
            "shoal attack calls.csv release --linkage linkage.parquet --knowledge points:4 --knowledge "
            "home-work",
            "attackers who know four times and places, or home and work",
        ),
    ),
    epilog="Ties of c answers count 1/c; rates have 95 % intervals. Exit 3: some knowledge was not played.",
)
@click.argument("raw", type=SOURCE, metavar="RAW")
@click.argument("release", type=RELEASE, metavar="RELEASE")
@click.option(
    "--linkage",
    type=GIVEN,
    required=True,
    metavar="FILE",
    help="The person behind each record, to count successes.",
)
@click.option("--knowledge", cls=_KnowledgeOption, multiple=True, metavar="WHAT")
@click.option(
    "--tries", type=click.IntRange(min=1), default=1000, metavar="N", help="Number of victims of each attack."
)
@click.option(
    "--control",
    type=SOURCE,
    metavar="INPUT",
    help="Raw data of people who are not in RELEASE. [default: its suppressed subjects]",
)
@click.option(
    "--like", metavar="TRAJECTORY_ID", help="Only victims whose records equal this one. [default: everybody]"
)
@earlier_option
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    metavar="S",
    help="Draw other victims, and other samples that are known of them. [default: those of the report; with "
    "as many --tries, the figures are the same]",
)
@plan_option
@place_options
@street_options
@input_options
@output_options
def attack(raw: str, release: Path | str, linkage: Path, **options: Any) -> int:
    """Attack the folder RELEASE with knowledge from RAW, and print success rates.

    Each attack is repeated against RAW itself (the risk of publishing it unchanged) and with people who are
    not in RELEASE (control). With --earlier, also against the joined records of all releases, with as much
    known of each, and candidates are intersected; --knowledge series joins two releases by their boxes alone.
    Name the raw data of a release that is not of RAW: FOLDER=LINKAGE=RAW.
    """
    from dataclasses import replace

    from shoal.attacks import AttackScope
    from shoal.attacks import attack as evaluate
    from shoal.attacks.knowledge import default_knowledge, require_played
    from shoal.attacks.questions import DRAW
    from shoal.io.columns.public_places import read_public_places
    from shoal.publishing.opening import open_release
    from shoal.publishing.series import EarlierRelease, attack_series_of
    from shoal.release_folder.folder import read_linkage, read_release
    from shoal.release_folder.manifest import RELEASE_FILE
    from shoal.runtime.files import sha256_of
    from shoal.runtime.randomness import Randomness
    from shoal.runtime.run import Run

    chosen = AttackOptions.take(options)
    knowledge, quiet, as_json = chosen.knowledge, chosen.quiet, chosen.as_json
    before = take_earlier(chosen.earlier, linked=True)
    require_played(knowledge, series=bool(before))
    streets = take_streets(options)
    reading = take_reading_of_release(options)
    if chosen.planned:
        counts = count_input(raw, Reading(**reading), quiet=quiet)
        work = attack_tasks(knowledge, chosen.tries, counts.people)
        return print_plan("attack", counts, work, notes=_ATTACK_NOTES, as_json=as_json)
    with Bars(quiet=quiet) as bars, open_release(release) as opened:
        folder = opened.folder
        original, links = _read_as_given(raw, folder, reading, bars), read_linkage(linkage)
        published = _read_release(folder, original)
        others = None if chosen.control is None else _read_as_given(chosen.control, folder, reading, bars)
        seed = DRAW if chosen.seed is None else chosen.seed
        rng = Randomness.for_research(seed)
        run = Run(progress=bars)
        last = [(read_release(one.folder), read_linkage(one.linkage)) for one in before[:1] if one.linkage]
        result = evaluate(
            original,
            published,
            links,
            knowledge=knowledge or None,
            rng=rng,
            tries=chosen.tries,
            scope=AttackScope(
                control=others,
                earlier=last[0] if last else None,
                like=chosen.like,
                places=None if "places" not in reading else read_public_places(reading["places"]),
                streets=streets,
            ),
            run=run,
        )
        together = None
        if before and set(knowledge) != {"series"}:
            played = knowledge or default_knowledge(published, series=True)
            newest = EarlierRelease(folder, linkage, None)
            together = attack_series_of(
                raw,
                newest,
                before,
                played,
                rng=rng,
                tries=chosen.tries,
                run=run,
                original=original,
                **reading,
            )
            result = replace(
                result, rates=(*result.rates, *together.intersection), notes=(*result.notes, *together.notes)
            )
        digest = sha256_of(folder / RELEASE_FILE)
    command = {"tries": chosen.tries, "seed": seed, "like": chosen.like, "earlier": len(before)}
    document = {**result.to_json(), "release_sha256": digest, "command": command}
    document["notes"] = [*result.notes, *opened.remarks]
    lines = rate_lines(result.rates)
    if together is not None:
        document["together"] = together.to_json()
        lines += together.in_words(result.rates)
    missing = set(knowledge) - {rate.asked for rate in result.rates if rate.target == "release"}
    lines += (f"  note: {note}" for note in document["notes"])
    print_result(as_json, document, lines, well=not missing)
    return 3 if missing else 0


@click.command(
    cls=FolderCommand,
    examples=(
        (
            "shoal measure calls.csv release --linkage linkage.parquet",
            "the utility for analysts, metric by metric",
        ),
    ),
)
@click.argument("raw", type=SOURCE, metavar="RAW")
@click.argument("release", type=RELEASE, metavar="RELEASE")
@click.option("--linkage", type=GIVEN, required=True, metavar="FILE", help="The person behind each record.")
@plan_option
@place_options
@input_options
@output_options
def measure(
    raw: str, release: Path | str, linkage: Path, planned: bool, as_json: bool, quiet: bool, **options: Any
) -> int:
    """Measure the utility of the folder RELEASE, compared with RAW.

    Prints what the release is good for, and each metric with its unit and the better direction.
    """
    from shoal.publishing.opening import open_release
    from shoal.publishing.planning import Task
    from shoal.release_folder.folder import read_linkage
    from shoal.utility import Facts, measure_facts
    from shoal.utility.usefulness import usefulness_of

    reading = take_reading_of_release(options)
    if planned:
        counts = count_input(raw, Reading(**reading), quiet=quiet)
        return print_plan("measure", counts, [Task(name="measure")], as_json=as_json)
    with Bars(quiet=quiet) as bars, open_release(release) as opened:
        original, links = _read_as_given(raw, opened.folder, reading, bars), read_linkage(linkage)
        compared = Facts(original, _read_release(opened.folder, original), links)
        usefulness = usefulness_of(compared)
        document = {"usefulness": usefulness.to_json(), **measure_facts(compared).to_json()}
    for remark in opened.remarks:
        bars.say(f"note: {remark}")
    facts, points = document["measurements"], document.get("points", {})
    lines = [
        f"{fact['name']:20} {format_value(fact['value'], fact['unit']):>10}  "
        f"{_bounds(fact)}({fact['words']}; {fact['better']} is better)"
        for fact in facts
    ]
    lines = [*(f"{name.replace('_', '-'):20} {value:>10.6g}" for name, value in points.items()), *lines]
    print_result(as_json, document, [*usefulness.lines(), *lines])
    return 0


def _bounds(fact: dict[str, Any]) -> str:
    if "low" not in fact or "high" not in fact:
        return ""
    return (
        f"between {format_value(fact['low'], fact['unit'])} and {format_value(fact['high'], fact['unit'])} "
    )


def _read_as_given(raw: str, release: Path, reading: dict[str, Any], bars: Bars) -> Any:
    """Read RAW as the manifest says; for points, unrounded."""
    from shoal.io import read_with
    from shoal.release_folder.folder import raw_reading
    from shoal.runtime.run import Run

    return read_with(raw, raw_reading(release, **reading), Run(progress=bars))


def _read_release(folder: Path, original: Any) -> Any:
    from shoal.model.linkage_checks import require_boxes_near_data
    from shoal.release_folder.folder import read_release

    release = read_release(folder)
    require_boxes_near_data(original, release)
    return release
