"""``--plan``: print the cost of a command instead of running it."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from shoal.cli.sections import RUNNING, Option
from shoal.cli.terminal import Bars, print_result
from shoal.errors import MisuseError
from shoal.model.intake import Reading
from shoal.units import counted, show_s

if TYPE_CHECKING:
    from shoal.comparison.study import Study
    from shoal.methods import Method
    from shoal.publishing.planning import Blocks, Counts, Plan, Task
    from shoal.scale.blocks import MemoryBound

# the data behind COSTS, and the errors for sizes outside the fit
_OF_A_CITY: Final = (
    "city and default settings; other sizes of such data took 0.5 to 1.8 times as long, a day of taxis three "
    "times"
)
_OF_A_NATION: Final = (
    "nation in blocks of 500 to 5,000 and default settings; other sizes, up to a million people, took 0.9 to "
    "1.3 times as long"
)
_ATTACK_TRIES: Final = 1000  # of the row of COSTS, as its name says


plan_option = click.option(
    "--plan",
    "planned",
    is_flag=True,
    cls=Option,
    section=RUNNING,
    help="Only count INPUT, and say how much time, memory and disk the work would take, in blocks, too.",
)


def count_input(source: str, reading: Reading, *, quiet: bool, releases: bool = False) -> "Counts":
    """Count INPUT; with ``releases``, one that can be released."""
    from shoal.model.argument_checks import require_one_region
    from shoal.publishing.planning import count
    from shoal.runtime.run import Run

    with Bars(quiet=quiet) as bars:
        counts = count(source, reading, Run(progress=bars))
    if releases:
        require_one_region(counts.notes)
    return counts


def print_plan(
    command: str,
    counts: "Counts",
    tasks: Sequence["Task"],
    *,
    blocks: "Blocks | None" = None,
    target: Path | None = None,
    notes: Sequence[str] = (),
    as_json: bool,
) -> int:
    """Print the cost of these tasks."""
    from shoal.publishing.costs import FIRST_USE_CPU_S, MACHINE
    from shoal.publishing.planning import plan

    planned = plan(counts, tasks, target, blocks)
    of_whom = _OF_A_NATION if blocks is not None else _OF_A_CITY
    remarks = [
        f"figured from what was measured on {MACHINE}, of people of a synthetic {of_whom}, and another "
        "machine has another speed",
        f"the first use on a machine compiles for about {FIRST_USE_CPU_S} s more",
        *notes,
    ]
    document = {"command": command, **planned.to_json(), "notes": remarks}
    print_result(as_json, document, [*_lines(planned), *(f"  note: {note}" for note in remarks)])
    return 0


def publication_tasks(method: "Method", tries: int | None, people: int, reading: Reading) -> list["Task"]:
    """The tasks of anonymize; raises MisuseError if it would refuse."""
    from shoal.attacks.questions import TRIES
    from shoal.publishing.planning import RECORD_TRIES, Task, require_possible

    require_possible(method, people, reading)
    method_task = Task(name=method.about.name, k=_k_of(method))
    times = min(TRIES if tries is None else tries, people) / RECORD_TRIES
    attack_task = Task(name=f"200 tries for the record of {method.about.publishes}", times=times)
    return [method_task, *([attack_task] if times else [])]


def block_plan(
    counts: "Counts",
    method: "Method",
    tries: int | None,
    size: "int | MemoryBound | None",
    engine: str,
    reading: Reading,
    *,
    in_one_piece: str | None,
) -> "tuple[Blocks, Sequence[Task]] | None":
    """The blocks and tasks of anonymize; None if everyone is processed at once.

    in_one_piece: an option that needs everyone.
    """
    from shoal.attacks.questions import TRIES
    from shoal.publishing.planning import blocks_of, memory_bound_for, require_possible, tasks_in_blocks
    from shoal.runtime.run import available_cores
    from shoal.scale.engines import workers_here

    k, workers, bound = _k_of(method), workers_here(engine), None
    if size is not None and not isinstance(size, int):
        bound = memory_bound_for(counts, size, in_one_piece)
        size = None if bound is None else bound.people_in_a_block(counts.samples_per_person, k)
    if size is None:
        return None
    require_possible(method, counts.people, reading)
    blocks = blocks_of(
        counts, k, size, workers=workers, cores=available_cores(), only_blocks=bound is not None
    )
    starts = 0 if engine == "threads" else workers or 0
    return blocks, tasks_in_blocks(counts, k, blocks, TRIES if tries is None else tries, starts)


def attack_tasks(knowledge: Collection[str], tries: int, people: int) -> list["Task"]:
    """The tasks of attack; no one is a victim twice."""
    from shoal.attacks.knowledge import default_knowledge
    from shoal.publishing.planning import Task

    share = len(knowledge) / len(default_knowledge(None)) if knowledge else 1.0
    times = share * min(tries, people) / _ATTACK_TRIES
    return [Task(name="attack"), Task(name="1000 tries of attack", times=times)]


def assessment_tasks(ks: Collection[int], people: int, reading: Reading, *, exact: bool) -> list["Task"]:
    """The tasks of assess, for the default two without k."""
    from shoal.measures.k_gap import sample_for_k_gap
    from shoal.model.argument_checks import require_people
    from shoal.publishing.planning import Task, require_snapping

    require_snapping(reading)
    require_people(people, max(ks, default=0))
    everybody = exact or sample_for_k_gap(people) is None
    name = "assess of everybody" if everybody else "assess of drawn people"
    return [Task(name=name, times=len(set(ks)) or 2)]


def comparison_tasks(study: "Study", people: int, reading: Reading) -> tuple[list["Task"], list[str]]:
    """The tasks of compare, and a note for each setting without a release."""
    from shoal.publishing.planning import Task, require_snapping

    require_snapping(reading)
    published, _ = study.held_out(people)
    tasks: list[Task] = []
    left_out: list[str] = []
    for setting in study.settings:
        of_points = setting.method.about.publishes == "points"
        try:
            publication_work = publication_tasks(
                setting.method, 0, published, replace(reading, snap=not of_points)
            )
        except MisuseError as error:
            left_out.append(f"{setting.label}: no release: {error.cli_message}")
        else:
            tasks += [
                *publication_work,
                *attack_tasks(study.knowledge, study.tries, published),
                Task(name="measure"),
            ]
    return tasks, left_out


def notes_on_settings(settings: Collection[str]) -> list[str]:
    """Settings whose effect the plan does not include."""
    others = sorted(name for name in settings if name != "k")
    words = ", ".join(name.replace("_", "-") for name in others)
    return [f"what these settings change is not in the figures: {words}"] if others else []


def _k_of(method: "Method") -> int:
    return int(getattr(method, "k", 2))


def _lines(planned: "Plan") -> list[str]:
    counts = planned.counts
    lines = [
        f"{counted(counts.rows, 'row')}, {counted(counts.samples, 'sample')} of "
        f"{counted(counts.people, 'person', 'people')}",
        f"{'task':34} {'CPU time':>10} {'memory':>10} {'disk':>10}",
        *(_line(step.task, step.cpu_s, step.memory_mb, step.disk_mb) for step in planned.steps),
    ]
    if len(planned.steps) > 1:
        lines.append(_line("all", planned.cpu_s, planned.memory_mb, planned.disk_mb))
    if planned.blocks is not None:
        lines[1:1] = [
            f"{counted(planned.blocks.number, 'block')} of at most {planned.blocks.people:,} people"
        ]
        lines += _clock_lines(planned)
    return [*lines, *(f"this is {what}" for what in planned.too_large)]


def _clock_lines(planned: "Plan") -> list[str]:
    blocks, seconds = planned.blocks, planned.seconds_at_least
    if blocks is None or blocks.workers is None or blocks.at_once is None or seconds is None:
        return [
            "how many workers a cluster has is not known here: no time by the clock is said, and the memory "
            "is that of the process around the blocks; each worker takes its own"
        ]
    return [
        f"by the clock at least {show_s(round(seconds))} with {counted(blocks.workers, 'worker')}"
        + (f" on {counted(blocks.at_once, 'core')}" if blocks.at_once != blocks.workers else ""),
        "memory is that of all processes together",
    ]


def _line(task: str, cpu_s: float, memory_mb: float, disk_mb: float) -> str:
    memory = f"{memory_mb:,.0f} MB" if memory_mb else "-"  # part of the task before it
    disk = f"{disk_mb:,.1f} MB" if disk_mb else "-"
    return f"{task:34} {show_s(round(cpu_s)):>10} {memory:>10} {disk:>10}"
