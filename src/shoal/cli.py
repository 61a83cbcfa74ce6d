"""The command line: parse, call, print.

Exit 0: done and holds; 1: a claim does not hold; 2: bad input or usage; 130: interrupted. Results go to standard output,
progress and messages to standard error.
"""

import json
import math
import os
import signal
import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from shoal.cli_collect import collect
from shoal.cli_methods import METHOD_OPTIONS, method_options, take_parameters
from shoal.cli_options import (
    PATH,
    config_option,
    earlier_option,
    input_options,
    output_options,
    street_options,
    take_earlier,
    take_reading,
    take_streets,
)
from shoal.cli_risk import COMMANDS
from shoal.cli_service import COMMANDS as SERVICE_COMMANDS
from shoal.errors import ClaimError, ShoalError
from shoal.terminal import Bars
from shoal.version import __version__

if TYPE_CHECKING:
    from shoal.publication import Publication
    from shoal.scale.publishing import BlockPublication
    from shoal.synthetic import Layout
    from shoal.trace import Trace

HOLDS, FAILS, BAD, INTERRUPTED = 0, 1, 2, 128 + signal.SIGINT

_EPILOG: Final = "Lengths and durations take units: 500m, 2km, 30min, 1h, 100s."


_HELP: Final = """Hide each traveller in the crowd: assess, anonymise and verify movement data.

Start with `shoal demo`, or with your own file:

\b
  shoal inspect calls.csv
  shoal assess calls.csv --output exposure.html
  shoal anonymize calls.csv --method glove --k 2 --output release --linkage linkage.parquet
  shoal verify calls.csv release --linkage linkage.parquet
"""


@click.group(help=_HELP, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(__version__, prog_name="shoal")
def shoal() -> None:
    """Hold the commands; the help of the group is _HELP, whose layout a docstring cannot keep."""


@shoal.command(epilog=_EPILOG)
@click.argument("source", metavar="INPUT")
@input_options
@output_options
def inspect(source: str, as_json: bool, quiet: bool, **options: Any) -> int:
    """Say what is in INPUT (a CSV or Parquet file, a folder of them, or a pattern), and what had to be dropped or repaired."""
    from shoal.io import describe, read

    with Bars(quiet=quiet) as bars:
        description = describe(read(source, run=_run(bars), **take_reading(options)))
    _print(as_json, description.to_json(), description.lines())
    return HOLDS


@shoal.command()
@click.argument("output", type=PATH, metavar="OUTPUT.parquet")
@click.option("--subjects", type=click.IntRange(min=1), required=True, metavar="N", help="How many people.")
@click.option("--days", type=click.IntRange(min=1), default=14, show_default=True, metavar="D", help="How many days.")
@click.option("--seed", type=click.IntRange(min=0), default=1, show_default=True, metavar="S", help="The same seed gives the same data.")
@click.option("--stations", type=PATH, metavar="FILE", help="Positions of base stations: CSV or Parquet with lat and lon columns.")
@click.option(
    "--layout", type=click.Choice(("nation", "city")), default="city", show_default=True, help="What to lay out without --stations."
)
@output_options
def synthesize(
    output: Path, subjects: int, days: int, seed: int, stations: Path | None, layout: "Layout", as_json: bool, quiet: bool
) -> int:
    """Write call-record-like data of people who do not exist, for demonstrations, tests and benchmarks."""
    from shoal.synthetic import read_stations, write_synthetic

    with Bars(quiet=quiet) as bars:
        places = None if stations is None else read_stations(stations)
        counts = write_synthetic(output, subjects, days, seed, layout=layout, stations=places, run=_run(bars))
    left_out = {} if places is None else dict(places.dropped)
    lines = [
        f"{output}: {counts.rows:,} rows of {subjects:,} people over {days} days at {counts.stations:,} stations",
        *(f"stations left out: {count:,}: {reason}" for reason, count in left_out.items()),
    ]
    _print(as_json, {"output": str(output), **asdict(counts), "days": days, "stations_left_out": left_out}, lines)
    return HOLDS


@shoal.command(epilog=_EPILOG)
@click.argument("source", metavar="INPUT")
@click.option("--k", "ks", type=click.IntRange(min=2), multiple=True, metavar="K", help="Crowd sizes to look at. [default: 2 and 5]")
@click.option("--output", type=PATH, metavar="REPORT.html", help="Write the assessment as a report, too.")
@config_option
@input_options
@output_options
def assess(source: str, ks: tuple[int, ...], output: Path | None, as_json: bool, quiet: bool, **options: Any) -> int:
    """Measure how exposed the people in INPUT are before anything is published: k-gap, its parts and its tail."""
    from shoal.publication import assess as assess_people
    from shoal.report import gaps_in_numbers, gaps_in_words

    with Bars(quiet=quiet) as bars:
        original = _read(source, options, bars)
        gaps = assess_people(original, sorted(set(ks)) or [k for k in (2, 5) if k <= max(original.n_subjects, 2)], _run(bars), output)
    lines = [*gaps_in_words(original, gaps), *([] if output is None else [f"report: {output}"])]
    _print(as_json, {**gaps_in_numbers(original, gaps), "report": None if output is None else str(output)}, lines)
    return HOLDS


@shoal.command(epilog=_EPILOG)
@click.argument("source", metavar="INPUT")
@click.option("--method", type=click.Choice(tuple(METHOD_OPTIONS)), default="glove", show_default=True, help="How to anonymise.")
@click.option("--output", type=PATH, required=True, metavar="DIR", help="The release folder to write; it must not exist yet.")
@click.option("--linkage", type=PATH, metavar="FILE.parquet", help="Also write who became which record (secret; outside DIR).")
@click.option("--private-report", type=PATH, metavar="FILE.html", help="Also write a report with an example from the raw data (secret).")
@click.option("--record", type=PATH, metavar="FILE.toml", help="Purpose, recipients, contact ...: what you state in the report (public).")
@click.option(
    "--risk-tries",
    type=click.IntRange(min=0),
    metavar="N",
    help="Victims of each attack that the report shows; from 1000 on more attacks, 0 for none. [default: 200]",
)
@click.option(
    "--research-seed", type=click.IntRange(min=0), metavar="S", help="Repeatable pseudonyms; marks the release as not for publication."
)
@click.option("--resume", is_flag=True, help="Keep finished parts in DIR.parts (secret; removed at the end) and continue from those there.")
@click.option(
    "--blocks",
    type=click.IntRange(min=4),
    metavar="N",
    help="Work in blocks of at most N people, in little memory, and always as with --resume (glove). [default: all at once]",
)
@click.option("--engine", metavar="NAME", help="Who works on the blocks: local, local:N, dask, dask:ADDRESS, threads. [default: local]")
@method_options
@config_option
@input_options
@output_options
def anonymize(
    source: str,
    method: str,
    output: Path,
    linkage: Path | None,
    private_report: Path | None,
    record: Path | None,
    risk_tries: int | None,
    research_seed: int | None,
    resume: bool,
    blocks: int | None,
    engine: str | None,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> int:
    """Write a verified release of INPUT: release.parquet, manifest.json and report.html in a new folder.

    The release is checked before it is written, and not written if it does not keep its promise.
    """
    from shoal.attacks.questions import TRIES
    from shoal.methods import METHODS
    from shoal.methods.glove import Glove
    from shoal.publication import publish
    from shoal.randomness import Randomness
    from shoal.statement import NOTHING_STATED, read_statement
    from shoal.trace import TRACE_FILE

    reading = take_reading(options, but=METHOD_OPTIONS[method])
    if METHODS[method].takes_points:
        if "cell_m" in reading or "slot_s" in reading:
            raise click.UsageError(f"{method} publishes points as they are given; leave out --cell and --slot")
        reading["snap"] = False
    parameters = METHODS[method](**take_parameters(method, options))
    statement = NOTHING_STATED if record is None else read_statement(record)
    rng = Randomness.from_system() if research_seed is None else Randomness.for_research(research_seed)
    if engine is not None and blocks is None:
        raise click.UsageError("--engine works on blocks; say how large with --blocks, for example --blocks 20000")
    if blocks is not None and (not isinstance(parameters, Glove) or private_report is not None or risk_tries is not None):
        raise click.UsageError("--blocks works with --method glove and without --private-report and --risk-tries")
    with Bars(quiet=quiet) as bars, _told_how_to_continue(output, resume=resume or blocks is not None):
        if blocks is not None and isinstance(parameters, Glove):
            from shoal.intake import Reading
            from shoal.scale.engines import engine_of
            from shoal.scale.publishing import publish_in_blocks

            in_blocks = publish_in_blocks(
                source,
                Reading(**reading),
                parameters,
                output,
                rng=rng,
                size=blocks,
                engine=engine_of(engine or "local"),
                run=_run(bars),
                linkage_file=linkage,
                statement=statement,
            )
            bars.say(f"anonymised in {len(in_blocks.blocks)} blocks of {min(in_blocks.blocks):,} to {max(in_blocks.blocks):,} people")
            _print_publication(in_blocks, as_json, {"linkage": linkage})
            return HOLDS
        original = _read(source, reading, bars)
        published = publish(
            original,
            parameters,
            output,
            rng=rng,
            run=_run(bars),
            linkage_file=linkage,
            private_report=private_report,
            resume=resume,
            statement=statement,
            tries=TRIES if risk_tries is None else risk_tries,
        )
    trace = published.linkage.trace
    origin = None if linkage is None or trace is None else linkage.with_name(TRACE_FILE)
    _print_publication(published, as_json, {"linkage": linkage, "origin": origin, "private_report": private_report}, trace)
    return HOLDS


@shoal.command(epilog="Exit 0: the claim holds; 1: it does not, counter-examples are shown; 2: bad input.")
@click.argument("raw", metavar="RAW")
@click.argument("release", type=PATH, metavar="RELEASE")
@click.option("--linkage", type=PATH, metavar="FILE", help="Who became which record; without it only a part can be checked.")
@click.option("--streamed", is_flag=True, help="Check in little memory, with secret scratch files beside RELEASE; needs --linkage.")
@earlier_option
@street_options
@input_options
@output_options
def verify(
    raw: str,
    release: Path,
    linkage: Path | None,
    streamed: bool,
    earlier: tuple[str, ...],
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> int:
    """Check the folder RELEASE against the data RAW that it was made from, trusting nothing that the folder says.

    With --earlier also: are there k people left for everybody when someone holds all these releases?
    """
    from shoal.publication import reveal, stream_against_raw, verify_against_raw
    from shoal.release_folder import read_linkage

    reading = take_reading(options)
    streets = take_streets(options)
    for fixed in ("cell_m", "slot_s", "snap"):
        if fixed in reading:
            raise click.UsageError("the release's manifest says its cell and slot; leave out --cell, --slot and --no-snap")
    if streamed and linkage is None:
        raise click.UsageError("--streamed finds each person's record by the linkage; give it with --linkage, or leave out --streamed")
    others = take_earlier(earlier)
    if others and linkage is None:
        raise click.UsageError("what several releases reveal together needs the linkage of each; give --linkage, too")
    with Bars(quiet=quiet) as bars:
        known = None if linkage is None else read_linkage(linkage)
        if streets is not None and known is not None and known.trace is not None:
            known = replace(known, trace=replace(known.trace, streets=streets))
        if streamed and known is not None:
            verdict = stream_against_raw(raw, release, known, _run(bars), **reading)
        else:
            verdict = verify_against_raw(raw, release, known, _run(bars), **reading)
        together = reveal(raw, release, linkage, others, _run(bars), **reading) if others and linkage is not None else None
    if together is not None:
        verdict = verdict.and_also(together.findings())
    facts = {**verdict.to_json(), **({} if together is None else {"together": together.to_json()})}
    lines = [f"{'HOLDS' if verdict.holds else 'DOES NOT HOLD'}: {verdict.checked:,} records checked"]
    lines += [f"  {finding['kind']}: {finding['message']}" for finding in facts["findings"]]
    lines += [f"  {kind}: {count:,} in all" for kind, count in facts["findings_by_kind"].items() if count > 1]
    if together is not None:
        told = facts["together"]
        lines.append(
            f"  together, {told['releases']} releases, knowing {told['knowledge']}: fewer than {told['k']} people are left for "
            f"{told['people_below_k']:,} of {told['people']:,} (the least: {told['least']}), where each release alone leaves {told['k']}"
        )
    _print(as_json, facts, [*lines, *(f"  note: {note}" for note in verdict.notes)])
    return HOLDS if verdict.holds else FAILS


@shoal.command()
@click.option("--output", type=PATH, default=Path("shoal-demo"), show_default=True, metavar="DIR", help="A new folder for everything.")
@output_options
def demo(output: Path, as_json: bool, quiet: bool) -> int:
    """Do the whole job on a synthetic city of 1,000 phones over 7 days, at k = 2. Takes less than a minute."""
    from shoal.demonstration import demonstrate

    with Bars(quiet=quiet) as bars:
        shown = demonstrate(output, _run(bars))
    beside = {"city": shown.city, "assessment": shown.assessment, "linkage": shown.linkage}
    _print_publication(shown.publication, as_json, beside)
    return HOLDS


for _command in SERVICE_COMMANDS:
    collect.add_command(_command)
for _command in (*COMMANDS, collect):
    shoal.add_command(_command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and leave with its exit code; every error is one line on standard error."""
    signal.signal(signal.SIGTERM, _stop)
    try:
        code = shoal.main(args=None if arguments is None else list(arguments), prog_name="shoal", standalone_mode=False)
    except (KeyboardInterrupt, click.Abort) as stopped:
        told = str(stopped.__cause__ or "")  # click wraps what it meets
        code = _complain(told or "interrupted; nothing half-written is left", INTERRUPTED)
    except click.ClickException as error:
        hint = f" (try '{error.ctx.command_path} --help')" if isinstance(error, click.UsageError) and error.ctx else ""
        code = _complain(error.format_message().rstrip(".").replace("\n", " ") + hint, BAD)
    except ClaimError as error:
        code = _complain(str(error), FAILS)
    except ShoalError as error:
        code = _complain(str(error), BAD)
    except MemoryError:
        code = _complain("out of memory; use fewer people or a machine with more", BAD)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = HOLDS
    except Exception as error:  # the last resort: a person at a terminal gets a line, not a traceback
        if os.environ.get("SHOAL_TRACEBACK"):
            traceback.print_exc()
        code = _complain(f"unexpected {type(error).__name__}, a fault of shoal; run again with SHOAL_TRACEBACK=1 and report it", BAD)
    sys.exit(code if isinstance(code, int) else HOLDS)


@contextmanager
def _told_how_to_continue(output: Path, *, resume: bool) -> Iterator[None]:
    """Let an interruption say what is left and how to go on."""
    from shoal.checkpoint import parts_folder

    try:
        yield
    except KeyboardInterrupt as stopped:
        parts = parts_folder(output)
        if resume and parts.exists():
            told = f"interrupted; finished parts are kept in {parts} (secret): run the same command again to continue, or remove them"
        else:
            told = "interrupted; nothing half-written is left; with --resume finished parts are kept, and the same command continues"
        raise KeyboardInterrupt(told) from stopped


def _stop(_signal: int, _frame: Any) -> None:
    """Treat a request to end like Ctrl-C, so that what was begun is cleaned up."""
    raise KeyboardInterrupt


def _complain(message: str, code: int) -> int:
    line = "".join(char if char.isprintable() else " " for char in message)  # what a file of others brings must not steer the terminal
    click.echo(f"shoal: {line}", err=True)
    return code


def _run(bars: Bars) -> Any:
    from shoal.run import Run

    return Run(progress=bars)


def _read(source: str, options: dict[str, Any], bars: Bars) -> Any:
    """The input, read as the options say; what was dropped, repaired and assumed goes to standard error."""
    from shoal.io import read

    original = read(source, run=_run(bars), **take_reading(options))
    intake = original.intake
    bars.say(
        f"read {original.n_samples:,} samples of {original.n_subjects:,} subjects from {intake.rows_read:,} rows; "
        f"dropped: {_listed(intake.dropped)}; repaired: {_listed(intake.repaired)}"
    )
    for note in intake.notes:
        bars.say(f"note: {note}")
    return original


def _print(as_json: bool, facts: dict[str, Any], lines: Sequence[str]) -> None:
    """One JSON document alone, or the lines for people."""
    if as_json:
        click.echo(json.dumps(facts, indent=2, ensure_ascii=False, allow_nan=False))
    else:
        click.echo("\n".join(lines))


def _print_publication(
    published: "Publication | BlockPublication", as_json: bool, beside: Mapping[str, Path | None], trace: "Trace | None" = None
) -> None:
    """What was published, where it lies, what it lost, and what the trace of a run tells of it."""
    from shoal.release_folder import REPORT_FILE
    from shoal.report.facts import accuracy_rows
    from shoal.report.wording import claim_in_words

    manifest, folder = published.manifest, published.folder
    rows = [] if published.accuracy is None else accuracy_rows(published.accuracy)
    files = {"output": folder, "report": folder / REPORT_FILE, **beside}
    facts = {
        **{name: None if path is None else str(path) for name, path in files.items()},
        **manifest.model_dump(include={"method", "claim", "verdict", "losses", "rows_repaired", "n_records", "n_samples", "publishable"}),
        "accuracy": {row.name: {"raw_samples": _known(row.raw), "published_samples": _known(row.published)} for row in rows},
    }
    run_facts = {} if trace is None else {name: round(value, 3) for name, value in trace.facts.items()}
    facts.update({"run": run_facts} if run_facts else {})
    lost = manifest.losses
    by_reason = f" ({_listed(lost.subjects_by_reason)})" if lost.subjects_by_reason else ""
    lines = [
        f"verified: {manifest.n_records:,} records. {claim_in_words(published.release.claim)}",
        f"protected: {manifest.unit_of_protection}",
        *(["kept, of the raw samples: " + "; ".join(f"{row.words} {row.text(row.raw)}" for row in rows[:5])] if rows else []),
        *(f"{name.replace('_', ' ')}: {value:,}" for name, value in run_facts.items()),
        f"lost: {lost.samples_suppressed:,} samples and {lost.subjects_suppressed:,} subjects suppressed{by_reason}; "
        f"rows dropped on input: {_listed(lost.rows)}; repaired: {_listed(manifest.rows_repaired)}",
        *(f"note: {note}" for note in manifest.verdict["notes"]),
        *([] if manifest.publishable else ["made with a research seed: NOT FOR PUBLICATION"]),
        *(f"{name.replace('_', ' ')}: {path}" for name, path in files.items() if path is not None),
    ]
    _print(as_json, facts, lines)


def _listed(rows: Mapping[str, int]) -> str:
    """Counted rows by reason in one line."""
    return ", ".join(f"{count:,} {reason}" for reason, count in rows.items()) or "none"


def _known(value: float) -> float | None:
    """A number for JSON, which has no nan."""
    return None if math.isnan(value) else value
