"""The command that makes a release."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from shoal.cli.into_store import OutputPlace
from shoal.cli.methods import MethodCommand, make_method, take_settings
from shoal.cli.options import (
    MEMORY,
    NEW_RELEASE,
    PATH,
    UNITS,
    CommandOptions,
    config_option,
    ground_options,
    input_argument,
    input_options,
    output_options,
    place_options,
    refuse_unused,
    take_ground,
    take_reading,
)
from shoal.cli.outcomes import print_publication
from shoal.cli.planned import (
    block_plan,
    count_input,
    notes_on_settings,
    plan_option,
    print_plan,
    publication_tasks,
)
from shoal.cli.terminal import Bars, read_and_report, report_reading, rm_command
from shoal.errors import InUseError, OtherJobError
from shoal.model.intake import Reading
from shoal.runtime.timings import Timings
from shoal.units import counted

if TYPE_CHECKING:
    from shoal.methods import Method
    from shoal.model.trace import Trace
    from shoal.model.trajectories import Trajectories
    from shoal.publishing.in_series import SeriesOptions
    from shoal.scale.blocks import MemoryBound
    from shoal.utility.usefulness import Usefulness


@click.command(
    cls=MethodCommand,
    examples=(
        (
            "shoal anonymize calls.csv --k 5 --output release --linkage linkage.parquet",
            "crowds of at least 5 people, and the secret linkage of people to records",
        ),
        (
            "shoal anonymize calls.csv --method kte-hide --tau 1h --output followed",
            "against an observer who follows a person for up to an hour",
        ),
        (
            "shoal anonymize calls.csv --k 5 --memory 4GiB --output large --plan",
            "the cost in at most 4 GiB; nothing is written",
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
    help="Also write the person behind each record (secret; outside DIR).",
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
    help="Your statements for the report: purpose, recipients, contact and more (public).",
)
@click.option(
    "--risk-tries",
    type=click.IntRange(min=0),
    metavar="N",
    help="Victims of each attack in the report: 0 for no attacks, 1000 or more for further ones. [default: "
    "200]",
)
@click.option(
    "--research-seed",
    type=click.IntRange(min=0),
    metavar="S",
    help="Draw the same random numbers again; marks the release as not for publication.",
)
@click.option(
    "--series",
    "series_state",
    type=PATH,
    metavar="STATE",
    help="The secret folder of a series: people stay in their crowds, so that all its releases together keep "
    "the promise (glove only).",
)
@click.option(
    "--renew", is_flag=True, help="Choose the crowds of the series anew; begins a series in a new STATE, too."
)
@click.option(
    "--spare",
    type=click.IntRange(min=0),
    metavar="N",
    help="People whom a crowd of the series may lose before others must wait, when crowds are chosen. "
    "[default: 2]",
)
@click.option(
    "--accept-newcomers", is_flag=True, help="Go on although most people were not in the series before."
)
@click.option(
    "--resume",
    is_flag=True,
    help="Keep finished parts in DIR.parts (secret; removed at the end), and continue from existing ones.",
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
    type=MEMORY,
    metavar="SIZE",
    help="Memory for all processes together, such as 4GiB: all at once if that is enough, else in the "
    "largest blocks that fit (glove only). [default: no bound]",
)
@click.option(
    "--engine",
    metavar="NAME",
    help="The workers of the blocks: local, local:N, dask, dask:ADDRESS, spark, spark:MASTER or threads. "
    "[default: local]",
)
@click.option(
    "--exact-figures",
    is_flag=True,
    help="Measure everybody for the k-gaps and the least extents of the report, in time that grows with the "
    "square of their number. [default: 1,000 and 100 drawn at random, with intervals]",
)
@click.option(
    "--as-published",
    "--paper",
    "as_published",
    is_flag=True,
    help="Use the defaults of the paper of the method; further options still win.",
)
@click.option(
    "--timings",
    "timed",
    is_flag=True,
    help="Also print the cost of each stage: seconds, CPU seconds, peak memory.",
)
@click.option(
    "--leaves",
    metavar="N[:SHARE]",
    help="Boxes of whole leaves of --places with N places each, as --hull leaves:N; SHARE: of the use of a "
    "leaf in one place, at most (2/N where the list says how busy places are; 1 for no bound).",
)
@config_option
@plan_option
@ground_options
@place_options
@input_options
@output_options
def anonymize(source: str, method: str, output: Path | str, **options: Any) -> int:
    """Write a verified release of INPUT: release.parquet, manifest.json and report.html in a new folder.

    The release is checked first, and not written if it does not keep its promise.
    """
    chosen = AnonymizeOptions.take(options)
    timings = Timings() if chosen.timed else None
    from shoal.attacks.questions import TRIES
    from shoal.model.claims.hull import GRID_AUTO, TIGHT
    from shoal.publishing.ahead import FEWEST_SAMPLES, compile_ahead
    from shoal.publishing.in_blocks import InBlocks
    from shoal.publishing.publish import publish
    from shoal.publishing.writing import PublishOptions
    from shoal.release_folder.manifest import NOTHING_STATED, read_statement
    from shoal.runtime.randomness import Randomness
    from shoal.runtime.run import Run
    from shoal.scale.engines import engine_of

    place, ground = OutputPlace.of(output), take_ground(options)
    settings = take_settings(method, options, ground.streets, as_published=chosen.as_published)
    chooses_grid = settings.get("hull") == GRID_AUTO
    anonymizer = make_method(method, {**settings, "hull": TIGHT} if chooses_grid else settings)
    reading = Reading(**take_reading(options))
    if anonymizer.about.publishes == "points":
        reading = replace(reading, snap=False)
    seed, record = chosen.research_seed, chosen.record
    rng = Randomness.from_system() if seed is None else Randomness.for_research(seed)
    publish_options = PublishOptions(
        statement=NOTHING_STATED if record is None else read_statement(record),
        ground=ground,
        private_report=chosen.private_report,
        exact_figures=chosen.exact_figures,
        resume=chosen.resume,
        series=chosen.series,
        accept=lambda usefulness: _confirm(usefulness, bars, asks=not (chosen.as_json or chosen.quiet)),
    )
    size = chosen.block_size(anonymizer, chooses_grid=chooses_grid)
    if chosen.planned:
        return _print_plan(source, reading, anonymizer, settings, place, size, chosen)
    with Bars(quiet=chosen.quiet) as bars:
        run = Run(progress=bars, timings=timings)
        with _report_leftovers(bars, place.folder, *chosen.secrets, resume=chosen.keeps_parts):
            chosen.require_targets(source, place, anonymizer, bars.say)
            if size is not None and not isinstance(size, int):
                from shoal.publishing.planning import count, memory_bound_for

                size = memory_bound_for(count(source, reading, run), size, chosen.needs_everyone)
            people: InBlocks | Trajectories
            if size is None:
                people = in_memory = read_and_report(source, reading, bars, run)
                if chooses_grid:
                    from shoal.comparison.grid_width import choose_grid

                    anonymizer = choose_grid(in_memory, anonymizer, run, bars.say)
            else:
                people = InBlocks(
                    source=source,
                    reading=reading,
                    size=size,
                    engine=engine_of(chosen.engine or "local"),
                    on_read=lambda stored: report_reading(stored, bars),
                )
            # compiling in other processes would need memory, too
            few = isinstance(people, InBlocks) or people.n_samples < FEWEST_SAMPLES
            with nullcontext() if few or chosen.memory is not None else compile_ahead(method):
                published = publish(
                    people,
                    anonymizer,
                    place.folder,
                    rng=rng,
                    run=run,
                    linkage_file=chosen.linkage,
                    tries=TRIES if chosen.risk_tries is None else chosen.risk_tries,
                    options=publish_options,
                )
            if size is not None:
                sizes = published.block_sizes
                ends = " to ".join(dict.fromkeys(f"{size:,}" for size in (min(sizes), max(sizes))))
                bars.say(f"anonymized in {counted(len(sizes), 'block')} of {ends} people")
        place.move(run)
    files = {"linkage": chosen.linkage} if size else chosen.files_at_once(published.linkage.trace)
    print_publication(published, chosen.as_json, {**files, **place.addresses}, timings=timings)
    return 0


def _confirm(usefulness: "Usefulness", bars: Bars, *, asks: bool) -> None:
    """On a terminal, ask whether to write a release that is good for nothing; raises Abort on a no."""
    if usefulness.is_useful or not (asks and bars.can_ask):
        return
    for line in (*usefulness.cautions, *usefulness.lines()[1:]):
        bars.say(line)
    if not bars.ask("write the release all the same?"):
        raise click.Abort


@dataclass(frozen=True, kw_only=True)
class AnonymizeOptions(CommandOptions):
    """The options of ``anonymize`` alone."""

    linkage: Path | None
    private_report: Path | None
    record: Path | None
    risk_tries: int | None
    research_seed: int | None
    series_state: Path | None
    renew: bool
    spare: int | None
    accept_newcomers: bool
    resume: bool
    blocks: int | None
    memory: int | None
    engine: str | None
    exact_figures: bool
    as_published: bool
    timed: bool
    planned: bool
    as_json: bool
    quiet: bool

    @property
    def series(self) -> "SeriesOptions | None":
        """The series that the release belongs to."""
        from shoal.publishing.in_series import SPARE, SeriesOptions

        if self.series_state is None:
            refuse_unused("without --series", "renew", "spare", "accept_newcomers")
            return None
        return SeriesOptions(
            state=self.series_state,
            renew=self.renew,
            spare=SPARE if self.spare is None else self.spare,
            accept_newcomers=self.accept_newcomers,
        )

    @property
    def secrets(self) -> tuple[Path | None, Path | None]:
        """The secret files to write."""
        return self.linkage, self.private_report

    @property
    def keeps_parts(self) -> bool:
        """Whether parts outlast an interrupted run."""
        return self.resume or self.blocks is not None or self.memory is not None

    @property
    def needs_everyone(self) -> str | None:
        """An option that blocks do not allow."""
        if self.private_report is not None:
            return "--private-report"
        return "--exact-figures" if self.exact_figures else None

    def require_targets(
        self, source: str, place: OutputPlace, method: "Method", tell: Callable[[str], None]
    ) -> None:
        """Raise OutputError unless the release can be written, outside INPUT; tell of a missing linkage."""
        from shoal.io.sources.named_files import require_outside
        from shoal.publishing.publish import require_targets

        place.require_free()
        require_outside(source, place.folder, *self.secrets, self.series_state)
        if self.series_state is not None and not self.renew:
            from shoal.series.state import require_series

            require_series(self.series_state)
        require_targets(method, place.folder, *self.secrets)
        if self.linkage is None:
            tell("note: no --linkage FILE keeps who became which record: no later check can be full")

    def block_size(self, method: "Method", *, chooses_grid: bool) -> "int | MemoryBound | None":
        """The size of blocks, or the memory that decides it; None for everyone at once."""
        from shoal.methods.glove.glove import Glove

        if self.engine is not None and self.blocks is None and self.memory is None:
            raise click.UsageError(
                "--engine works on blocks; say how large with --blocks, for example --blocks 20000"
            )
        if self.blocks is not None and (not isinstance(method, Glove) or self.needs_everyone):
            raise click.UsageError(
                "--blocks works with --method glove and without --private-report and --exact-figures"
            )
        if chooses_grid and not (self.blocks is None and self.memory is None):
            raise click.UsageError(
                "--hull grid:auto works without --blocks and --memory; with them, give a width"
            )
        if self.memory is None:
            return self.blocks
        from shoal.publishing.block_facts import SAMPLE_PEOPLE
        from shoal.scale.blocks import MemoryBound
        from shoal.scale.engines import workers_here

        engine = self.engine or "local"
        if self.blocks is not None or not isinstance(method, Glove) or engine.partition(":")[0] != "local":
            raise click.UsageError(
                "--memory works with --method glove, without --blocks (it chooses them), and with --engine "
                "local or local:N"
            )
        return MemoryBound(
            total_bytes=self.memory, workers=workers_here(engine) or 1, measured_people=SAMPLE_PEOPLE
        )

    def files_at_once(self, trace: "Trace | None") -> dict[str, Path | str | None]:
        """The secret files of a release made at once."""
        from shoal.model.trace import trace_path

        origin = None if self.linkage is None or trace is None else trace_path(self.linkage)
        return {"linkage": self.linkage, "origin": origin, "private_report": self.private_report}


def _print_plan(
    source: str,
    reading: Reading,
    method: "Method",
    settings: dict[str, Any],
    place: OutputPlace,
    size: "int | MemoryBound | None",
    chosen: AnonymizeOptions,
) -> int:
    chosen.require_targets(source, place, method, lambda _: None)  # the work tells
    counts = count_input(source, reading, quiet=chosen.quiet, releases=True)
    blocks, work = block_plan(
        counts,
        method,
        chosen.risk_tries,
        size,
        chosen.engine or "local",
        reading,
        in_one_piece=chosen.needs_everyone,
    ) or (None, publication_tasks(method, chosen.risk_tries, counts.people, reading))
    return print_plan(
        "anonymize",
        counts,
        work,
        blocks=blocks,
        target=place.folder,
        notes=notes_on_settings(settings),
        as_json=chosen.as_json,
    )


@contextmanager
def _report_leftovers(bars: Bars, output: Path, *secrets: Path | None, resume: bool) -> Iterator[None]:
    """Name the parts of stopped runs, and say how to continue."""
    from shoal.runtime.checkpoint import parts_folder
    from shoal.runtime.staging import explain_write_errors, report_partials

    parts, files = parts_folder(output), (output, *(path for path in secrets if path is not None))
    with explain_write_errors(output):  # a name may be too long to ask for
        report_partials(*files, also=[parts] * (parts.exists() and not resume))
    if resume and os.path.lexists(parts):  # never raises
        bars.say(
            f"note: {parts} lies here of a run that was stopped: what it finished of this is not done again"
        )
    try:
        yield
    except (KeyboardInterrupt, Exception) as stopped:
        parts_kept = resume and os.path.lexists(parts) and not isinstance(stopped, InUseError)  # never raises
        over = isinstance(stopped, OtherJobError) or os.path.lexists(output)  # the release is whole
        continue_hint = "" if over else "run the same command again to continue, or "
        message = (
            f"finished parts are kept in {parts} (secret): {continue_hint}remove them: {rm_command(parts)}"
        )
        if isinstance(stopped, KeyboardInterrupt):
            nothing = "nothing half-written is left; start with --resume next time to keep finished parts"
            raise KeyboardInterrupt(f"interrupted; {message if parts_kept else nothing}") from stopped
        if parts_kept:
            bars.tell(message)
        raise
    if resume and os.path.lexists(parts):  # a machine of a cluster may still hold a file open
        bars.tell(f"finished parts (secret) still lie here; remove them: {rm_command(parts)}")
