"""Run experiments for several seeds."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from shoal.errors import ShoalError
from shoal.model.streets import StreetGraph
from shoal.model.trajectories import Trajectories
from shoal.runtime.run import Run, silent
from shoal_papers.data import Size, World
from shoal_papers.experiment import Experiment, Measured, Outcome, collect_outcome


def reproduce(
    experiments: Sequence[Experiment],
    size: Size,
    run: Run,
    *,
    inputs: Mapping[str, Trajectories] | None = None,
    streets: StreetGraph | None = None,
    label: str = "reproducing",
) -> list[Outcome]:
    """Run each experiment for every seed of the size, in order.

    Parameters
    ----------
    inputs
        The user's data, by kind.
    label
        Name of the progress bar.

    Returns
    -------
    list of Outcome
        One for each experiment; one whose data is missing, or that ends with a shoal error, is skipped with
        the reason.
    """
    inputs = inputs or {}
    skipped: dict[str, str] = {
        one.figure: f"needs --input {one.needs}=FILE"
        for one in experiments
        if one.needs and one.needs not in inputs
    }
    measured: dict[str, list[list[Measured]]] = {one.figure: [] for one in experiments}
    shared: dict[object, Any] = {}
    quiet, steps = replace(run, progress=silent), len(experiments) * size.seeds
    for number in range(size.seeds):
        world = World(size=size, seed=number + 1, inputs=inputs, streets=streets, run=quiet, shared=shared)
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
        else collect_outcome(one, measured[one.figure])
        for one in experiments
    ]
