"""A figure or table: what the paper prints, and a function that measures it."""

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
    """One value of one seed: row, column, value."""

    row: str
    column: str
    value: float


Printed = Mapping[tuple[str, str], float | tuple[float, float]]


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """A figure or table of a paper.

    Parameters
    ----------
    figure
        Its name for ``--figure``, such as "table-4".
    title
        What it shows, with its number in the paper.
    function
        Measures it for one seed.
    printed
        What the paper prints, by row and column: a number, or a range given in words.
    needs
        The kind of data that the user must provide; "" where data can be synthesized.
    note
        How the paper was read, where it is ambiguous.
    spread
        Whether tables also show the minimum and maximum over the seeds.
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
    """One value over all seeds; ``paper``: None where it prints nothing."""

    row: str
    column: str
    paper: float | tuple[float, float] | None
    values: tuple[float, ...]

    @property
    def mean(self) -> float:
        """Over seeds with a number."""
        numbers = [value for value in self.values if not math.isnan(value)]
        return sum(numbers) / len(numbers) if numbers else math.nan

    @property
    def margin(self) -> float:
        """Half the 95 % interval (Student's t); nan for fewer than two seeds."""
        numbers = [value for value in self.values if not math.isnan(value)]
        if len(numbers) < 2:
            return math.nan
        t = _T[len(numbers) - 2] if len(numbers) - 2 < len(_T) else _Z
        return t * statistics.stdev(numbers) / math.sqrt(len(numbers))

    @property
    def ends(self) -> tuple[float, float]:
        """Over seeds with a number."""
        numbers = [value for value in self.values if not math.isnan(value)]
        return min(numbers, default=math.nan), max(numbers, default=math.nan)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A measured experiment; ``skipped``: why there are no values."""

    experiment: Experiment
    cells: tuple[Cell, ...]
    skipped: str = ""

    @property
    def seeds(self) -> int:
        """The number of seeds."""
        return max((len(cell.values) for cell in self.cells), default=0)

    @property
    def rows(self) -> list[str]:
        """In the order of measurement."""
        return list(dict.fromkeys(cell.row for cell in self.cells))

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        return list(dict.fromkeys(cell.column for cell in self.cells))


def collect_outcome(experiment: Experiment, by_seed: list[list[Measured]]) -> Outcome:
    """All seeds' values in cells; nan where one lacks."""
    values_of: dict[tuple[str, str], list[float]] = {}
    for number, measured in enumerate(by_seed):
        for row, column, value in measured:
            values = values_of.setdefault((row, column), [])
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
        for (row, column), values in values_of.items()
    )
    return Outcome(experiment=experiment, cells=cells)


def table(rows: Mapping[str, Iterable[float]], columns: Iterable[str]) -> Printed:
    """What a paper's table prints; nan marks an empty cell."""
    names = list(columns)
    return {
        (row, column): value
        for row, values in rows.items()
        for column, value in zip(names, values, strict=True)
        if not math.isnan(value)
    }
