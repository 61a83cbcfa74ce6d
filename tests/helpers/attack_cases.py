"""Evaluations made by hand, for tests of single attacks."""

from typing import TypeVar

import numpy as np

from shoal.attacks.evaluation import Evaluation
from shoal.attacks.rate import TargetName
from shoal.attacks.target import BoxTarget, PointTarget
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers
from shoal.runtime.run import Run

Target = TypeVar("Target", BoxTarget, PointTarget)


def evaluation_of(
    known: Trajectories, target: Target, own: Integers, *, label: TargetName = "raw"
) -> Evaluation[Target]:
    """Everybody of ``known`` is looked for; own: the record of each."""
    return Evaluation(
        people=known,
        target=target,
        victims=np.arange(known.n_subjects),
        records=own,
        label=label,
        start=float(known.t.min()),
        run=Run(),
    )
