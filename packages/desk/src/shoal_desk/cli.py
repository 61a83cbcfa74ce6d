"""The commands of the desk."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.options import (
    GIVEN,
    PATH,
    RELEASE,
    SOURCE,
    OutputOptions,
    ground_options,
    input_options,
    needs_extra,
    output_options,
    page_in_a_browser,
    take_ground,
    take_reading,
)
from shoal.cli.sections import ExampleCommand
from shoal.cli.terminal import Bars, print_result
from shoal.units import counted

if TYPE_CHECKING:
    from shoal_desk.record import RecordOptions


@click.command(
    cls=ExampleCommand,
    examples=(
        ("shoal desk", "opens your browser; the case is stored in ./shoal-desk"),
        ("shoal desk --folder case-7 --port 0 --no-browser", "another case, at any free port"),
    ),
)
@click.option(
    "--folder",
    type=PATH,
    default=Path("shoal-desk"),
    metavar="DIR",
    help="Folder of the case (secret); the desk continues an existing one.",
)
@page_in_a_browser(8450)
def desk(folder: Path, port: int, no_browser: bool) -> int:
    """Lead from a file to a record to sign, on pages in a browser.

    The pages are for you alone, on this machine: nothing is uploaded, and no request goes elsewhere.
    """
    with needs_extra("shoal-desk"):
        from shoal_desk.app import serve_desk
        from shoal_desk.case import CHOICES_FILE
    if (folder / CHOICES_FILE).exists():
        click.echo(f"{folder} holds a case, which goes on; another --folder begins another", err=True)

    def ready(address: str) -> None:
        click.echo(f"desk at {address}")
        sys.stdout.flush()  # whoever starts the desk from a program waits for this line
        click.echo(f"everything of this case lies in {folder}; end the desk with Ctrl-C", err=True)

    serve_desk(folder, port, ready, open_browser=not no_browser)
    return 0


@click.command(
    cls=ExampleCommand,
    examples=(
        (
            "shoal record calls.csv release --linkage linkage.parquet --attacks attacks.json --output "
            "record.html",
            "a page to sign, for a public release",
        ),
        (
            "shoal record calls.csv release --linkage linkage.parquet --attacks attacks.json --recipient "
            "research --language de --output protokoll.html",
            "for a research partner, in German",
        ),
    ),
)
@click.argument("raw", type=SOURCE, metavar="RAW")
@click.argument("release", type=GIVEN, metavar="RELEASE")
@click.option("--linkage", type=GIVEN, required=True, metavar="FILE", help="The person behind each record.")
@click.option(
    "--attacks",
    type=PATH,
    required=True,
    metavar="FILE.json",
    help="The output of `shoal attack --json` on RELEASE.",
)
@click.option(
    "--recipient",
    "recipients",
    multiple=True,
    metavar="NAME[=KNOWLEDGE,...]",
    help="A recipient: public, research, processor or inside, with its usual adversaries or those given. "
    "May be repeated. [default: public]",
)
@click.option(
    "--statement",
    type=PATH,
    metavar="FILE.toml",
    help="Data set, version, purpose, next review and so on. [default: what the release states]",
)
@click.option("--language", type=click.Choice(("en", "de", "fr")), default="en", help="Of the page.")
@click.option(
    "--output", type=PATH, required=True, metavar="RECORD.html", help="The page; it must not exist yet."
)
@click.option("--pdf", type=PATH, metavar="RECORD.pdf", help="Also write it as a PDF; it must not exist yet.")
@ground_options
@input_options
@output_options
def record(
    raw: str,
    release: Path,
    linkage: Path,
    attacks: Path,
    output: Path,
    **options: Any,
) -> int:
    """Write the record to sign of the folder RELEASE, made from RAW.

    The release is verified again. The page names data and release by their digests and shows the strongest
    attack for each recipient. Keep it: it is no part of the release.
    """
    from shoal.report.words.attacks import strongest_in_words
    from shoal.runtime.run import Run
    from shoal_desk.record import sign_off
    from shoal_desk.words import ENGLISH, Words

    printing, content = OutputOptions.take(options), _take_record_options(options, release)
    with Bars(quiet=printing.quiet) as bars:
        signed = sign_off(
            raw,
            release,
            linkage,
            output,
            attacks_file=attacks,
            options=content,
            run=Run(progress=bars),
            **take_reading(options),
        )
    lines = [
        f"record: {output}",
        *([] if content.pdf is None else [f"PDF: {content.pdf}"]),
        f"the claim {'holds' if signed.holds else 'DOES NOT HOLD'}",
        *([] if signed.usefulness is None else [*signed.usefulness.cautions, signed.usefulness.lines()[0]]),
        *([f"not stated: {' and '.join(content.unstated)} (--statement)"] if content.unstated else []),
        *(one.line(Words(ENGLISH)) for one in signed.risks),
        strongest_in_words(signed.strongest, "no attack was played"),
        f"SHA-256 of the release: {signed.release_sha256}",
        f"SHA-256 of the data as read: {signed.data_sha256}",
    ]
    print_result(printing.as_json, signed.to_json(), lines, well=signed.holds)
    return 0 if signed.holds else 1


def _take_record_options(options: dict[str, Any], release: Path) -> "RecordOptions":
    from shoal.release_folder.manifest import Statement, read_manifest, read_statement
    from shoal_desk.record import RecordOptions

    statement = options.pop("statement")
    return RecordOptions(
        recipients=take_recipients(options.pop("recipients")),
        statement=Statement.model_validate(read_manifest(release).record)
        if statement is None
        else read_statement(statement),
        language=options.pop("language"),
        ground=take_ground(options),
        pdf=options.pop("pdf"),
    )


def take_recipients(texts: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Recipients with their adversaries' knowledge."""
    from shoal_desk.recipients import RECIPIENTS, knowledge_of

    chosen = {}
    for text in texts or ("public",):
        name, equals, knowledge_words = text.partition("=")
        if name not in RECIPIENTS:
            raise click.UsageError(f"'{name}' is no recipient; choose from {', '.join(RECIPIENTS)}")
        chosen[name] = knowledge_of(knowledge_words.split(",")) if equals else RECIPIENTS[name].knowledge
    return chosen


@click.command(
    cls=ExampleCommand,
    examples=(
        (
            "shoal find release --at 2026-03-02T08:10,48.85,2.35 --at 2026-03-02T18:40,48.86,2.37",
            "records that match your places in the morning and in the evening",
        ),
    ),
    epilog="Places are degrees, or meters x,y with --planar. A record of areas matches if it holds place and "
    "time, one of points within 200 m and 10 min.",
)
@click.argument("release", type=RELEASE, metavar="RELEASE")
@click.option(
    "--at",
    "sightings",
    multiple=True,
    required=True,
    metavar="TIME,LAT,LON",
    help="A time and a place of a person, e.g. 2026-03-02T08:10,48.85,2.35 (UTC). May be repeated.",
)
@click.option("--planar", is_flag=True, help="Places are x,y in meters of the release's plane.")
@output_options
def find(release: Path | str, sightings: tuple[str, ...], planar: bool, as_json: bool, quiet: bool) -> int:
    """Find yourself: count the records of RELEASE that match a few times and places."""
    from dataclasses import asdict

    from shoal.publishing.opening import open_release
    from shoal.release_folder.folder import read_release
    from shoal_desk.sightings import Sighting, records_that_fit

    with Bars(quiet=quiet) as bars, open_release(release) as opened:
        bars("reading the release", 0, 1)
        parsed = [Sighting.parse(text, planar=planar) for text in sightings]
        fit = records_that_fit(read_release(opened.folder), parsed)
    lines = [
        *(
            f"{text}: {count:,} of {counted(fit.records, 'record')} {'fits' if count == 1 else 'fit'}"
            for text, count in zip(sightings, fit.each, strict=True)
        ),
        f"all together: {counted(fit.together, 'record fits', 'records fit')}, {fit.different:,} of them "
        "different",
    ]
    print_result(as_json, asdict(fit), lines)
    return 0
