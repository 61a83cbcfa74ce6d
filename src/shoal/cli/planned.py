"""``--plan``: what a long command would take, said instead of doing it."""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from shoal.cli.sections import RUNNING, Option
from shoal.cli.terminal import Bars, print_result
from shoal.units import counted, show_s

if TYPE_CHECKING:
    from shoal.comparison.study import Study
    from shoal.methods import Method
    from shoal.publishing.planning import Plan, Task

Command = TypeVar("Command", bound=Callable[..., Any])

# how many tries the rows of COSTS are for, as their names say
_RECORD_TRIES: Final = 200
_ATTACK_TRIES: Final = 1000


def plan_option(command: Command) -> Command:
    """Add --plan."""
    return click.option(
        "--plan",
        "planned",
        is_flag=True,
        cls=Option,
        section=RUNNING,
        help="Only count INPUT, and say how much time, memory and disk the work would take.",
    )(command)


def print_plan(
    command: str,
    source: str,
    reading: dict[str, Any],
    tasks: Callable[[int], Sequence["Task"]],
    *,
    target: Path | None = None,
    notes: Sequence[str] = (),
    as_json: bool,
    quiet: bool,
) -> int:
    """Count the input, figure, and print; tasks: those for so many people."""
    from shoal.model.intake import Reading
    from shoal.publishing.costs import FIRST_USE_CPU_S, MACHINE
    from shoal.publishing.planning import count, plan
    from shoal.runtime.run import Run

    with Bars(quiet=quiet) as bars:
        counts = count(source, Reading(**reading), Run(progress=bars))
        found = plan(counts, tasks(counts.people), target)
    told = [
        f"figured from what was measured on {MACHINE}, of people of a synthetic city and default settings; "
        "other sizes of such data took 0.5 to 1.8 times as long, a day of taxis three times, and another "
        "machine has another speed",
        f"the first use on a machine compiles for about {FIRST_USE_CPU_S} s more",
        *notes,
    ]
    document = {"command": command, **found.to_json(), "notes": told}
    print_result(as_json, document, [*_lines(found), *(f"  note: {note}" for note in told)])
    return 0


def publication(method: "Method", tries: int | None, people: int) -> list["Task"]:
    """The work of anonymize."""
    from shoal.attacks.questions import TRIES
    from shoal.publishing.planning import Task

    own = Task(name=method.about.name, k=_k_of(method))
    times = min(TRIES if tries is None else tries, people) / _RECORD_TRIES
    played = Task(name=f"200 tries for the record of {method.about.publishes}", times=times)
    return [own, *([played] if times else [])]


def attacks(knowledge: Collection[str], tries: int, people: int) -> list["Task"]:
    """The work of attack; nobody is a victim twice."""
    from shoal.attacks.knowledge import default_knowledge
    from shoal.publishing.planning import Task

    share = len(knowledge) / len(default_knowledge(None)) if knowledge else 1.0
    times = share * min(tries, people) / _ATTACK_TRIES
    return [Task(name="attack"), Task(name="1000 tries of attack", times=times)]


def measures() -> list["Task"]:
    """The work of measure."""
    from shoal.publishing.planning import Task

    return [Task(name="measure")]


def assessment(ks: int, people: int, *, exact: bool) -> list["Task"]:
    """The work of assess, for so many k."""
    from shoal.measures.k_gap import drawn_people
    from shoal.publishing.planning import Task

    everybody = exact or drawn_people(people) is None
    return [Task(name="assess of everybody" if everybody else "assess of drawn people", times=max(ks, 1))]


def comparison(study: "Study", people: int) -> list["Task"]:
    """The work of compare: each release is made, attacked and measured."""
    return [
        task
        for setting in study.settings
        for task in (
            *publication(setting.method, 0, people),
            *attacks(study.knowledge, study.tries, people),
            *measures(),
        )
    ]


def changed(settings: Collection[str]) -> list[str]:
    """A note on settings of the method that the constants do not know."""
    others = sorted(name for name in settings if name != "k")
    words = ", ".join(name.replace("_", "-") for name in others)
    return [f"what these settings change is not in the figures: {words}"] if others else []


def _k_of(method: "Method") -> int:
    return int(getattr(method, "k", 2))


def _lines(found: "Plan") -> list[str]:
    counts = found.counts
    lines = [
        f"{counted(counts.rows, 'row')}, {counted(counts.samples, 'sample')} of "
        f"{counted(counts.people, 'person', 'people')}",
        f"{'task':34} {'CPU time':>10} {'memory':>10} {'disk':>10}",
        *(_line(step.task, step.cpu_s, step.memory_mb, step.disk_mb) for step in found.steps),
    ]
    if len(found.steps) > 1:
        lines.append(_line("all", found.cpu_s, found.memory_mb, found.disk_mb))
    return [*lines, *(f"this is {what}" for what in found.too_large)]


def _line(task: str, cpu_s: float, memory_mb: float, disk_mb: float) -> str:
    memory = f"{memory_mb:,.0f} MB" if memory_mb else "-"  # of a part of the task before it
    disk = f"{disk_mb:,.1f} MB" if disk_mb else "-"
    return f"{task:34} {show_s(round(cpu_s)):>10} {memory:>10} {disk:>10}"
