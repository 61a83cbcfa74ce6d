"""The command that makes a release: anonymize; heavy libraries load when it runs."""

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.into_store import Place
from shoal.cli.methods import MethodCommand, take_settings
from shoal.cli.options import (
    NEW_RELEASE,
    PATH,
    UNITS,
    MemorySize,
    config_option,
    ground_options,
    input_argument,
    input_options,
    output_options,
    take_ground,
)
from shoal.cli.outcomes import print_publication
from shoal.cli.planned import (
    changed,
    count_input,
    plan_option,
    print_plan,
    publication,
    publication_in_blocks,
)
from shoal.cli.terminal import Bars, read_telling, tell_of_reading
from shoal.errors import InUseError, MisuseError, OtherJobError
from shoal.model.intake import Reading
from shoal.runtime.timings import Timings
from shoal.units import counted

if TYPE_CHECKING:
    from shoal.methods import Method
    from shoal.methods.glove.glove import Glove
    from shoal.model.trace import Trace
    from shoal.publishing.in_blocks import BlockPublication
    from shoal.publishing.publish import Publication
    from shoal.runtime.run import Run
    from shoal.scale.memory import MemoryBound


@click.command(
    cls=MethodCommand,
    examples=(
        (
            "shoal anonymize calls.csv --k 5 --output release --linkage linkage.parquet",
            "everybody in a crowd of at least 5, and who became whom (secret)",
        ),
        (
            "shoal anonymize calls.csv --method kte-hide --tau 1h --output followed",
            "against somebody who follows a person for an hour, and no more",
        ),
        (
            "shoal anonymize calls.csv --k 5 --memory 4GiB --output large --plan",
            "what the work would take, in at most 4 GiB; nothing is written",
        ),
    ),
    epilog=UNITS,
)
@input_argument
@click.option(
    "--output",
    type=NEW_RELEASE,
    required=True,
    metavar="DIR",
    help="The release folder to write, which must not exist yet; or a new one in an object store, "
    "s3://BUCKET/FOLDER, for which the release is made in ./FOLDER and then moved.",
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
    help="Look at everybody for the k-gaps and the least extents of the report, in time that grows with the "
    "square of their number. [default: at 1,000 and 100 drawn at random, with intervals]",
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
    output: Path | str,
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
    from shoal.io.named_files import require_outside
    from shoal.methods.glove.glove import Glove
    from shoal.model.trace import TRACE_FILE
    from shoal.publishing.ahead import compiled_ahead
    from shoal.publishing.publish import publish, require_targets
    from shoal.release_folder.statement import NOTHING_STATED, read_statement
    from shoal.runtime.randomness import Randomness
    from shoal.runtime.run import Run

    place = Place.of(output)
    folder = place.folder
    ground = take_ground(options)
    reading, settings, parameters = _asked_for(
        method, options, streets=ground.streets, as_published=as_published
    )
    both: dict[str, Any] = {  # what is published in blocks takes, and what is published at once
        "rng": Randomness.from_system() if research_seed is None else Randomness.for_research(research_seed),
        "linkage_file": linkage,
        "statement": NOTHING_STATED if record is None else read_statement(record),
        "tries": TRIES if risk_tries is None else risk_tries,
        "ground": ground,
    }
    whole = {"--private-report": private_report is not None, "--exact-figures": exact_figures}
    in_one_piece = next((option for option, given in whole.items() if given), None)
    _refuse_blocks_that_cannot_be(parameters, blocks, memory, engine, in_one_piece)
    bound = None if memory is None else _bound(memory, parameters, blocks, engine)
    size: int | MemoryBound | None = bound or blocks
    if planned:
        place.require_free()
        require_outside(source, folder, linkage, private_report)
        require_targets(parameters, folder, linkage, private_report)
        counts = count_input(source, reading, quiet=quiet, releases=True)
        in_parts, work = publication_in_blocks(
            counts, parameters, risk_tries, size, engine or "local", reading, in_one_piece=in_one_piece
        ) or (None, publication(parameters, risk_tries, counts.people, reading))
        return print_plan(
            "anonymize",
            counts,
            work,
            blocks=in_parts,
            target=folder,
            notes=changed(settings),
            as_json=as_json,
        )
    kept = resume or blocks is not None or memory is not None
    beside: dict[str, Path | str | None] = {"linkage": linkage}
    trace: Trace | None = None
    published: BlockPublication | Publication
    with Bars(quiet=quiet) as bars:
        run = Run(progress=bars, timings=timings)
        with _told_what_is_left(bars, folder, linkage, private_report, resume=kept):
            place.require_free()
            require_outside(source, folder, linkage, private_report)
            if bound is not None:
                from shoal.publishing.within_memory import bound_of_blocks

                size = bound_of_blocks(source, Reading(**reading), bound, run, in_one_piece=in_one_piece)
            if size is not None and isinstance(parameters, Glove):
                published = _in_blocks(
                    source, Reading(**reading), parameters, folder, size, engine or "local", run, bars, both
                )
            else:
                original = read_telling(source, reading, bars, run)
                # others would need memory, too
                with compiled_ahead(method) if memory is None else nullcontext():
                    published = publish(
                        original,
                        parameters,
                        folder,
                        run=run,
                        private_report=private_report,
                        resume=resume,
                        exact_figures=exact_figures,
                        **both,
                    )
                trace = published.linkage.trace
                origin = None if linkage is None or trace is None else linkage.with_name(TRACE_FILE)
                beside |= {"origin": origin, "private_report": private_report}
        place.move(run)
    print_publication(published, as_json, {**beside, **place.told}, trace, timings=timings)
    return 0


def _asked_for(
    method: str, options: dict[str, Any], *, streets: Any, as_published: bool
) -> tuple[dict[str, Any], dict[str, Any], "Method"]:
    """How INPUT is read, the settings that were given or are the paper's, and the method with them."""
    from shoal.methods import method_named
    from shoal.methods.parameters import declared_parameters
    from shoal.methods.written import with_option_names

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
        raise MisuseError(with_option_names(error.cli_message, declared_parameters(kind))) from error


def _in_blocks(
    source: str,
    reading: Reading,
    method: "Glove",
    output: Path,
    size: "int | MemoryBound",
    engine: str,
    run: "Run",
    bars: Bars,
    further: dict[str, Any],
) -> "BlockPublication":
    """Publish in blocks, and say how many there were. further: what publishing at once takes, too."""
    from shoal.publishing.in_blocks import publish_in_blocks
    from shoal.scale.engines import engine_of

    published = publish_in_blocks(
        source,
        reading,
        method,
        output,
        size=size,
        engine=engine_of(engine),
        run=run,
        told=lambda people: tell_of_reading(people, bars),
        **further,
    )
    sizes = dict.fromkeys(f"{size:,}" for size in (min(published.blocks), max(published.blocks)))
    bars.say(f"anonymized in {counted(len(published.blocks), 'block')} of {' to '.join(sizes)} people")
    return published


def _refuse_blocks_that_cannot_be(
    method: object, blocks: int | None, memory: int | None, engine: str | None, in_one_piece: str | None
) -> None:
    """Raise a usage error for --engine without blocks, and for --blocks beside what needs all at once."""
    from shoal.methods.glove.glove import Glove

    if engine is not None and blocks is None and memory is None:
        raise click.UsageError(
            "--engine works on blocks; say how large with --blocks, for example --blocks 20000"
        )
    if blocks is not None and (not isinstance(method, Glove) or in_one_piece):
        raise click.UsageError(
            "--blocks works with --method glove and without --private-report and --exact-figures"
        )


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


@contextmanager
def _told_what_is_left(bars: Bars, output: Path, *secrets: Path | None, resume: bool) -> Iterator[None]:
    """Name secret parts that are left behind, with the command that removes them, and how to continue."""
    from shoal.runtime.checkpoint import parts_folder
    from shoal.runtime.staging import explain_write_errors, find_partials

    parts, files = parts_folder(output), (output, *(path for path in secrets if path is not None))
    old = [path for file in files for path in find_partials(file)]
    with explain_write_errors(output):  # a name may be too long to ask for
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
        over = isinstance(stopped, OtherJobError) or os.path.lexists(output)  # the release is whole
        again = "" if over else "run the same command again to continue, or "
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
    if resume and os.path.lexists(parts):  # as where a machine of a cluster still holds a file open
        bars.tell(f"finished parts (secret) still lie here; remove them: {_removed(parts)}")


def _removed(*paths: Path) -> str:
    """The command that removes these paths."""
    return shlex.join(["rm", "-r", *map(str, paths)])
