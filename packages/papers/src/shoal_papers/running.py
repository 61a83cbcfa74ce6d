"""Run experiments with several seeds, each on a world of its own."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from shoal.errors import ShoalError
from shoal.model.streets import StreetGraph
from shoal.model.trajectories import Trajectories
from shoal.runtime.run import Run, silent
from shoal_papers.data import Size, World
from shoal_papers.experiment import Experiment, Measured, Outcome, gathered


def reproduce(
    experiments: Sequence[Experiment],
    size: Size,
    run: Run,
    *,
    given: Mapping[str, Trajectories] | None = None,
    streets: StreetGraph | None = None,
    label: str = "reproducing",
) -> list[Outcome]:
    """Each experiment with the seeds of the size, in their order.

    An experiment whose data is missing, or that ends with an error of shoal, is skipped with the reason.
    given: data that somebody handed in, by kind. label: of the progress.
    """
    given = given or {}
    skipped: dict[str, str] = {
        one.figure: f"needs --input {one.needs}=FILE"
        for one in experiments
        if one.needs and one.needs not in given
    }
    measured: dict[str, list[list[Measured]]] = {one.figure: [] for one in experiments}
    shared: dict[object, Any] = {}
    quiet, steps = replace(run, progress=silent), len(experiments) * size.seeds
    for number in range(size.seeds):
        world = World(size=size, seed=number + 1, given=given, streets=streets, run=quiet, shared=shared)
        for place, one in enumerate(experiments):
            run.progress(label, number * len(experiments) + place, steps)
            if one.figure in skipped:
                continue
            try:
                measured[one.figure].append(list(one.function(world)))
            except ShoalError as error:
                skipped[one.figure] = str(error)
    run.progress(label, steps, steps)
    return [
        Outcome(experiment=one, cells=(), skipped=skipped[one.figure])
        if one.figure in skipped
        else gathered(one, measured[one.figure])
        for one in experiments
    ]
