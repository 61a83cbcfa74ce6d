"""The commands that make and check a release: anonymize, verify, demo; heavy libraries load when one runs."""

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.methods import MethodCommand, take_settings
from shoal.cli.options import (
    PATH,
    RELEASE,
    UNITS,
    MemorySize,
    config_option,
    earlier_option,
    ground_options,
    input_argument,
    input_options,
    output_options,
    street_options,
    take_earlier,
    take_ground,
    take_reading,
    take_streets,
)
from shoal.cli.outcomes import EXIT_CODES, about, judged, print_publication
from shoal.cli.planned import (
    changed,
    plan_option,
    print_plan,
    publication,
    publication_in_blocks,
)
from shoal.cli.sections import Command
from shoal.cli.terminal import Bars, print_result, read_telling, tell_of_reading
from shoal.errors import InUseError, MisuseError, OtherJobError
from shoal.runtime.json_values import null_for_nan
from shoal.runtime.timings import Timings
from shoal.units import counted

if TYPE_CHECKING:
    from shoal.methods import Method
    from shoal.scale.memory import MemoryBound


@click.command(cls=MethodCommand, epilog=UNITS)
@input_argument
@click.option(
    "--output",
    type=PATH,
    required=True,
    metavar="DIR",
    help="The release folder to write; it must not exist yet.",
)
@click.option(
    "--linkage",
    type=PATH,
    metavar="FILE.parquet",
    help="Also write who became which record (secret; outside DIR).",
)
@click.option(
    "--private-report",
    type=PATH,
    metavar="FILE.html",
    help="Also write a report with an example from the raw data (secret).",
)
@click.option(
    "--record",
    type=PATH,
    metavar="FILE.toml",
    help="Purpose, recipients, contact and so on: what you state in the report (public).",
)
@click.option(
    "--risk-tries",
    type=click.IntRange(min=0),
    metavar="N",
    help="Victims of each attack in the report: 0 plays no attack, 1000 or more play further ones. [default: "
    "200]",
)
@click.option(
    "--research-seed",
    type=click.IntRange(min=0),
    metavar="S",
    help="Draw the same random numbers again; marks the release as not for publication.",
)
@click.option(
    "--resume",
    is_flag=True,
    help="Keep finished parts in DIR.parts (secret; removed at the end), and continue from those there.",
)
@click.option(
    "--blocks",
    type=click.IntRange(min=4),
    metavar="N",
    help="Work in blocks of at most N people, with little memory and as with --resume (glove only). "
    "[default: all at once]",
)
@click.option(
    "--memory",
    type=MemorySize(),
    metavar="SIZE",
    help="What all processes may take together, such as 4GiB: all at once where that is enough, else in "
    "blocks as large as fit (glove only). [default: no bound]",
)
@click.option(
    "--engine",
    metavar="NAME",
    help="What works on the blocks: local, local:N, dask, dask:ADDRESS, spark, spark:MASTER or threads. "
    "[default: local]",
)
@click.option(
    "--exact-figures",
    is_flag=True,
    help="Say the k-gap of everybody in the report, also of more than 2,000 people. [default: of 1,000 drawn "
    "at random, with intervals]",
)
@click.option(
    "--as-published",
    "--paper",
    "as_published",
    is_flag=True,
    help="Run the method as its paper does, where shoal has other defaults; further options still win.",
)
@click.option(
    "--timings",
    "timed",
    is_flag=True,
    help="Also say what each stage took: seconds, CPU seconds, peak memory.",
)
@config_option
@plan_option
@ground_options
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
    memory: int | None,
    engine: str | None,
    exact_figures: bool,
    as_published: bool,
    timed: bool,
    planned: bool,
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> int:
    """Write a verified release of INPUT: release.parquet, manifest.json and report.html in a new folder.

    The release is checked before it is written, and is not written if it does not keep its promise.
    """
    timings = Timings() if timed else None
    from shoal.attacks.questions import TRIES
    from shoal.methods.glove.glove import Glove
    from shoal.model.trace import TRACE_FILE
    from shoal.publishing.ahead import compiled_ahead
    from shoal.publishing.publish import publish, require_targets
    from shoal.release_folder.statement import NOTHING_STATED, read_statement
    from shoal.runtime.randomness import Randomness
    from shoal.runtime.run import Run
    from shoal.runtime.staging import require_absent

    ground = take_ground(options)
    reading, settings, parameters = _asked_for(
        method, options, streets=ground.streets, as_published=as_published
    )
    statement = NOTHING_STATED if record is None else read_statement(record)
    rng = Randomness.from_system() if research_seed is None else Randomness.for_research(research_seed)
    if engine is not None and blocks is None and memory is None:
        raise click.UsageError(
            "--engine works on blocks; say how large with --blocks, for example --blocks 20000"
        )
    if blocks is not None and (
        not isinstance(parameters, Glove) or private_report is not None or exact_figures
    ):
        raise click.UsageError(
            "--blocks works with --method glove and without --private-report and --exact-figures"
        )
    bound = None if memory is None else _bound(memory, parameters, blocks, engine)
    size: int | MemoryBound | None = bound or blocks
    whole = {"--private-report": private_report is not None, "--exact-figures": exact_figures}
    asked = next((option for option, given in whole.items() if given), None)
    if planned:
        require_targets(parameters, output, linkage, private_report)
        return print_plan(
            "anonymize",
            source,
            reading,
            lambda people: publication(parameters, risk_tries, people, reading),
            in_blocks=lambda counts: publication_in_blocks(
                counts, parameters, risk_tries, size, engine or "local", reading, in_one_piece=asked
            ),
            target=output,
            notes=changed(settings),
            as_json=as_json,
            quiet=quiet,
        )
    kept = resume or blocks is not None or memory is not None
    with Bars(quiet=quiet) as bars, _told_what_is_left(bars, output, linkage, private_report, resume=kept):
        require_absent(output)
        run = Run(progress=bars, timings=timings)
        from shoal.model.intake import Reading

        if bound is not None:
            from shoal.publishing.within_memory import bound_of_blocks

            size = bound_of_blocks(source, Reading(**reading), bound, run, in_one_piece=asked)
        if size is not None and isinstance(parameters, Glove):
            from shoal.publishing.in_blocks import publish_in_blocks
            from shoal.scale.engines import engine_of

            in_blocks = publish_in_blocks(
                source,
                Reading(**reading),
                parameters,
                output,
                rng=rng,
                size=size,
                engine=engine_of(engine or "local"),
                run=run,
                linkage_file=linkage,
                statement=statement,
                tries=TRIES if risk_tries is None else risk_tries,
                ground=ground,
                told=lambda people: tell_of_reading(people, bars),
            )
            bars.say(
                f"anonymized in {counted(len(in_blocks.blocks), 'block')} of {min(in_blocks.blocks):,} to "
                f"{max(in_blocks.blocks):,} people"
            )
            print_publication(in_blocks, as_json, {"linkage": linkage}, timings=timings)
            return 0
        original = read_telling(source, reading, bars, run)
        with compiled_ahead(method) if memory is None else nullcontext():  # others would need memory, too
            published = publish(
                original,
                parameters,
                output,
                rng=rng,
                run=run,
                linkage_file=linkage,
                private_report=private_report,
                resume=resume,
                statement=statement,
                tries=TRIES if risk_tries is None else risk_tries,
                exact_figures=exact_figures,
                ground=ground,
            )
    trace = published.linkage.trace
    origin = None if linkage is None or trace is None else linkage.with_name(TRACE_FILE)
    print_publication(
        published,
        as_json,
        {"linkage": linkage, "origin": origin, "private_report": private_report},
        trace,
        timings=timings,
    )
    return 0


def _asked_for(
    method: str, options: dict[str, Any], *, streets: Any, as_published: bool
) -> tuple[dict[str, Any], dict[str, Any], "Method"]:
    """How INPUT is read, the settings that were given or are the paper's, and the method with them."""
    from shoal.methods import method_named
    from shoal.methods.parameters import declared
    from shoal.methods.written import in_options

    reading, settings = take_settings(method, options, streets)
    kind = method_named(method)
    if kind.about.publishes == "points":
        if "cell_m" in reading or "slot_s" in reading:
            raise click.UsageError(
                f"{method} publishes points as they are given; leave out --cell and --slot"
            )
        reading["snap"] = False
    if as_published:
        if not kind.about.as_published:
            raise click.UsageError(f"the defaults of {method} are its paper's; leave out --as-published")
        settings = {**kind.about.as_published, **settings}
    try:
        return reading, settings, kind(**settings)
    except MisuseError as error:  # of a parameter, which is an option here
        raise MisuseError(in_options(error.as_written, declared(kind))) from error


def _bound(memory: int, method: object, blocks: int | None, engine: str | None) -> "MemoryBound":
    """The bound that --memory asks for; a usage error where it cannot be kept."""
    from shoal.methods.glove.glove import Glove
    from shoal.publishing.block_sample import SAMPLE_PEOPLE
    from shoal.scale.engines import workers_here
    from shoal.scale.memory import MemoryBound

    name = (engine or "local").partition(":")[0]
    if blocks is not None or not isinstance(method, Glove) or name != "local":
        raise click.UsageError(
            "--memory works with --method glove, without --blocks (it chooses them), and with --engine local "
            "or local:N"
        )
    return MemoryBound(
        total_bytes=memory,
        workers=workers_here(engine or "local") or 1,
        measured_people=SAMPLE_PEOPLE,
    )


@click.command(
    cls=Command,
    epilog="Exit 0: every part of the claim was checked and holds; 1: it does not hold, counter-examples are "
    "shown; 2: bad input; 3: nothing was found, but parts of the claim were not checked.",
)
@click.argument("raw", metavar="RAW")
@click.argument("release", type=RELEASE, metavar="RELEASE")
@click.option(
    "--linkage",
    type=PATH,
    metavar="FILE",
    help="Who became which record; without it the check is partial (exit 3).",
)
@click.option(
    "--streamed",
    is_flag=True,
    help="Check with little memory and secret scratch files beside RELEASE; needs --linkage.",
)
@click.option(
    "--engine",
    metavar="NAME",
    help="What works on the parts of a --streamed check: local, local:N, dask, dask:ADDRESS, spark, "
    "spark:MASTER or threads. [default: this process, on one part after the other]",
)
@click.option(
    "--claim",
    "claim",
    metavar="CLAIM",
    help="The least that the release must claim, e.g. k-anonymity:5,truthful or "
    "kte-anonymity:5,tau=30min,epsilon=30min. [default: what releases of its method claim]",
)
@earlier_option
@street_options
@input_options
@output_options
def verify(
    raw: str,
    release: Path | str,
    linkage: Path | None,
    streamed: bool,
    engine: str | None,
    claim: str | None,
    earlier: tuple[str, ...],
    as_json: bool,
    quiet: bool,
    **options: Any,
) -> int:
    """Check the folder RELEASE against the data RAW that it was made from, trusting nothing in the folder.

    RELEASE may lie in an object store (s3://BUCKET/FOLDER) or on a server
    (postgresql://USER@HOST/DATABASE#schema.table), and be what `shoal publish` wrote.

    With --earlier, also: does everybody still hide among k people from someone who holds all these releases?
    """
    from shoal.model.claims.expected import Expected
    from shoal.publishing.against_raw import reveal, stream_against_raw, verify_against_raw
    from shoal.publishing.opening import opened_release
    from shoal.release_folder.folder import read_linkage
    from shoal.runtime.run import Run
    from shoal.scale.engines import engine_of

    reading = take_reading(options)
    streets = take_streets(options)
    for fixed in ("cell_m", "slot_s", "snap"):
        if fixed in reading:
            raise click.UsageError(
                "the release's manifest gives the cell and the slot; leave out --cell, --slot and --no-snap"
            )
    if streamed and linkage is None:
        raise click.UsageError(
            "--streamed finds each person's record by the linkage; give it with --linkage, or leave out "
            "--streamed"
        )
    if engine is not None and not streamed:
        raise click.UsageError("--engine works on the parts of a check with --streamed; give both or neither")
    expected = None if claim is None else Expected.parse(claim)
    others = take_earlier(earlier)
    if others and linkage is None:
        raise click.UsageError(
            "what several releases reveal together needs the linkage of each; give --linkage as well"
        )
    with Bars(quiet=quiet) as bars, opened_release(release, as_written=True) as opened:
        run = Run(progress=bars)
        folder = opened.folder
        known = None if linkage is None else read_linkage(linkage)
        if streets is not None and known is not None and known.trace is not None:
            known = replace(known, trace=replace(known.trace, streets=streets))
        if streamed and known is not None:
            workers = None if engine is None else engine_of(engine)
            found = stream_against_raw(raw, folder, known, run, engine=workers, expected=claim, **reading)
        else:
            found = verify_against_raw(raw, folder, known, run, expected=claim, **reading)
        together = (
            reveal(raw, folder, linkage, others, run, **reading) if others and linkage is not None else None
        )
    verdict = replace(found.verdict.and_also(opened.findings), notes=(*found.verdict.notes, *opened.notes))
    if together is not None:
        verdict = verdict.and_also(together.findings())
    facts = {
        **verdict.to_json(),
        "outcome": verdict.word,
        "verified": {**found.to_json(), "expected": None if expected is None else expected.words},
        **({} if together is None else {"together": together.to_json()}),
    }
    lines = judged(verdict)
    lines += [f"  {finding['kind']}: {finding['message']}" for finding in facts["findings"]]
    lines += [f"  {kind}: {count:,} in all" for kind, count in facts["findings_by_kind"].items() if count > 1]
    lines += about(found)
    if together is not None:
        told = facts["together"]
        lines.append(
            f"  together, {told['releases']} releases, knowing {told['knowledge']}: fewer than {told['k']} "
            f"people are left for {told['people_below_k']:,} of {told['people']:,} (the least: "
            f"{told['least']}), where each release alone leaves {told['k']}"
        )
    print_result(as_json, facts, [*lines, *(f"  note: {note}" for note in verdict.notes)], well=verdict.holds)
    return EXIT_CODES[verdict.word]


@click.command(cls=Command)
@click.option(
    "--output",
    type=PATH,
    default=Path("shoal-demo"),
    show_default=True,
    metavar="DIR",
    help="A new folder for everything.",
)
@output_options
def demo(output: Path, as_json: bool, quiet: bool) -> int:
    """Do the whole job on a synthetic city of 1,000 phones over 7 days, at k = 5.

    Shows what k = 2 would keep and give away beside it, and takes less than a minute.
    """
    from shoal.methods.glove.glove import Glove
    from shoal.publishing.ahead import compiled_ahead
    from shoal.publishing.demo import demonstrate, ending
    from shoal.report.facts.release import accuracy_rows
    from shoal.runtime.run import Run

    with Bars(quiet=quiet) as bars, compiled_ahead(Glove.about.name):
        shown = demonstrate(output, Run(progress=bars))
    beside = {"city": shown.city, "assessment": shown.assessment, "linkage": shown.linkage}
    at_k = [
        {
            "k": each.k,
            "kept": {row.name: null_for_nan(row.raw) for row in accuracy_rows(each.accuracy)},
            "attacks": [rate.to_json() for rate in each.rates],
            "cautions": list(each.cautions),
        }
        for each in shown.at_k
    ]
    lines = [
        f"k = {each.k}: "
        + "; ".join(f"{row.words} {row.text(row.raw)}" for row in accuracy_rows(each.accuracy)[:5])
        + "; won by the "
        + ", ".join(f"attack {rate.name} {rate.rate:.1%} of {rate.tries}" for rate in each.rates)
        for each in shown.at_k
    ]
    lines += [f"with k = {each.k}: {caution}" for each in shown.at_k for caution in each.cautions]
    print_publication(
        shown.publication, as_json, beside, also={"at_k": at_k}, lines=lines, ending=ending(output)
    )
    return 0


@contextmanager
def _told_what_is_left(bars: Bars, output: Path, *secrets: Path | None, resume: bool) -> Iterator[None]:
    """Name secret parts that are left behind, with the command that removes them, and how to continue."""
    from shoal.runtime.checkpoint import parts_folder
    from shoal.runtime.staging import explained_write, left_behind

    parts, files = parts_folder(output), (output, *(path for path in secrets if path is not None))
    old = [path for file in files for path in left_behind(file)]
    with explained_write(output):  # a name may be too long to ask for
        if parts.exists() and not resume:
            old.append(parts)
    if old:
        bars.say(
            f"note: parts (secret) lie here of a run that was stopped, or is still running: {_removed(*old)}"
        )
    if resume and os.path.lexists(parts):  # never raises
        bars.say(
            f"note: {parts} lies here of a run that was stopped: what it finished of this is not done again"
        )
    try:
        yield
    except (KeyboardInterrupt, Exception) as stopped:
        kept = resume and os.path.lexists(parts) and not isinstance(stopped, InUseError)  # never raises
        again = "" if isinstance(stopped, OtherJobError) else "run the same command again to continue, or "
        told = f"finished parts are kept in {parts} (secret): {again}remove them: {_removed(parts)}"
        if isinstance(stopped, KeyboardInterrupt):
            nothing = (
                "nothing half-written is left; with --resume finished parts are kept, and the same command "
                "continues"
            )
            raise KeyboardInterrupt(f"interrupted; {told if kept else nothing}") from stopped
        if kept:
            bars.tell(told)
        raise


def _removed(*paths: Path) -> str:
    """The command that removes these paths."""
    return shlex.join(["rm", "-r", *map(str, paths)])
