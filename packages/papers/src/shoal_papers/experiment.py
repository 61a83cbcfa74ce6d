"""What an experiment is: a figure or table of a paper, what the paper prints, and a function of one seed."""

import math
import statistics
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

from shoal.errors import MisuseError

if TYPE_CHECKING:
    from shoal_papers.data import World

# 97.5 % quantiles of Student's t for 1 to 9 degrees of freedom; beyond, the normal one is near enough
_T: Final = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
_Z: Final = 1.96


class Measured(NamedTuple):
    """One figure of one seed: the row and the column of the table, and the value in the column's unit."""

    row: str
    column: str
    value: float


Printed = Mapping[tuple[str, str], float | tuple[float, float]]


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A row of EXPERIMENTS.

    Parameters
    ----------
    figure
        How ``--figure`` names it, such as "table-4".
    title
        What it shows, with its number in the paper.
    function
        Measures it on the data of a world with the world's seed.
    printed
        What the paper prints, by row and column: a number, or a range that its words give.
    needs
        The kind of data that somebody must hand in; "" where data can be made.
    note
        How the paper was read, where it can be read in more than one way.
    spread
        Whether tables also show the least and the greatest value of all seeds.
    """

    figure: str
    title: str
    function: "Callable[[World], Iterable[Measured]]"
    printed: Printed = field(default_factory=dict)
    needs: str = ""
    note: str = ""
    spread: bool = False


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One figure over all seeds. paper: what the paper prints, None where it prints nothing."""

    row: str
    column: str
    paper: float | tuple[float, float] | None
    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Over the seeds that gave a number; nan where none did."""
        known = [value for value in self.values if not math.isnan(value)]
        return sum(known) / len(known) if known else math.nan

    @property
    def margin(self) -> float:
        """Half the 95 % interval of the mean (Student's t); nan for fewer than two seeds."""
        known = [value for value in self.values if not math.isnan(value)]
        if len(known) < 2:
            return math.nan
        t = _T[len(known) - 2] if len(known) - 2 < len(_T) else _Z
        return t * statistics.stdev(known) / math.sqrt(len(known))

    @property
    def ends(self) -> tuple[float, float]:
        """The least and the greatest value of all seeds that gave a number; nan where none did."""
        known = [value for value in self.values if not math.isnan(value)]
        return min(known, default=math.nan), max(known, default=math.nan)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """An experiment with its figures. skipped: why there are none."""

    experiment: Experiment
    cells: tuple[Cell, ...]
    skipped: str = ""

    @property
    def seeds(self) -> int:
        """How many were run."""
        return max((len(cell.values) for cell in self.cells), default=0)

    @property
    def rows(self) -> list[str]:
        """The names of the rows, in the order in which they were measured."""
        return list(dict.fromkeys(cell.row for cell in self.cells))

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(dict.fromkeys(cell.column for cell in self.cells))


def gathered(experiment: Experiment, by_seed: list[list[Measured]]) -> Outcome:
    """The cells of an experiment from what each seed measured; a figure that a seed lacks is nan."""
    found: dict[tuple[str, str], list[float]] = {}
    for number, measured in enumerate(by_seed):
        for row, column, value in measured:
            values = found.setdefault((row, column), [])
            if len(values) > number:
                raise MisuseError(f"{experiment.figure} measures '{row}', '{column}' twice")
            values += [math.nan] * (number - len(values)) + [value]
    cells = tuple(
        Cell(
            row=row,
            column=column,
            paper=experiment.printed.get((row, column)),
            values=tuple(values + [math.nan] * (len(by_seed) - len(values))),
        )
        for (row, column), values in found.items()
    )
    return Outcome(experiment=experiment, cells=cells)


def table(rows: Mapping[str, Iterable[float]], columns: Iterable[str]) -> Printed:
    """What a paper's table prints, from its rows; nan where a place is empty."""
    names = list(columns)
    return {
        (row, column): value
        for row, values in rows.items()
        for column, value in zip(names, values, strict=True)
        if not math.isnan(value)
    }
