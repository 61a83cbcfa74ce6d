"""Subjects without their samples: what Trajectories in memory and people on disk have in common."""

from collections.abc import Sequence
from typing import Protocol

from shoal.model.grid import Grid
from shoal.model.intake import Intake
from shoal.runtime.arrays import Integers


class Population(Protocol):
    """Subjects without their samples, in memory or on disk."""

    @property
    def ids(self) -> Sequence[str]:
        """Distinct texts, ascending."""

    @property
    def n_subjects(self) -> int:
        """Number of subjects."""

    @property
    def n_samples(self) -> int:
        """Number of samples."""

    @property
    def lengths(self) -> Integers:
        """[n] samples of each subject."""

    @property
    def input_rank(self) -> Integers | None:
        """Each subject's place in the order of the input."""

    @property
    def crs(self) -> str | None:
        """The plane of x and y, None = local meters."""

    @property
    def intake(self) -> Intake:
        """The account of the reading."""

    def snapped_grid(self) -> Grid:
        """The grid; raises MisuseError for points as given."""
