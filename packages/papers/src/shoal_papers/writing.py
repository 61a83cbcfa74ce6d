"""Outcomes as text, Markdown, CSV, and plots."""

import csv
import io
import math
from collections.abc import Sequence
from typing import Any, Final

from shoal.cli.terminal import aligned
from shoal.report.figures import axes
from shoal.report.figures.drawing import Drawing, Line, Marks
from shoal.report.pages.frame import page
from shoal_papers.experiment import Cell, Outcome

_NOTHING: Final = 1e-9  # what rounding leaves of a difference
_MANY: Final = 7  # columns of a table; a wider one is turned into lines
FIELDS = ("figure", "row", "column", "paper", "paper_high", "mean", "margin", "seeds")


def digits(value: float) -> str:
    """Three significant digits."""
    if math.isnan(value):
        return "-"
    if abs(value) < _NOTHING or abs(value) >= 100:
        return f"{abs(value) if abs(value) < 1 else value:,.0f}"
    return (
        f"{value:.{max(0, 2 - math.floor(math.log10(abs(value))))}f}"
        if abs(value) >= 0.001
        else f"{value:.1g}"
    )


def paper_words(paper: float | tuple[float, float] | None) -> str:
    """A number, a range, or nothing."""
    if paper is None:
        return ""
    return f"{paper[0]:g} to {paper[1]:g}" if isinstance(paper, tuple) else f"{paper:,.6g}"


def cell_words(cell: Cell, *, spread: bool = False) -> str:
    """Our value with its interval, and the paper's."""
    between = f", {digits(cell.ends[0])} to {digits(cell.ends[1])}" if spread and len(cell.values) > 1 else ""
    return ours_words(cell) + between + (f" ({paper_words(cell.paper)})" if cell.paper is not None else "")


def ours_words(cell: Cell) -> str:
    """The mean and half its interval."""
    return digits(cell.mean) + ("" if math.isnan(cell.margin) else f" ± {digits(cell.margin)}")


def table_rows(outcome: Outcome) -> list[list[str]]:
    """Header first: one row per row of the paper, or one per cell."""
    cell_at = {(cell.row, cell.column): cell for cell in outcome.cells}
    if len(outcome.columns) > _MANY:
        head = ["", "", "ours", "paper"]
        lines = [[cell.row, cell.column, ours_words(cell), paper_words(cell.paper)] for cell in outcome.cells]
        return [head, *lines]
    return [
        ["", *outcome.columns],
        *(
            [
                row,
                *(
                    cell_words(cell_at[row, column], spread=outcome.experiment.spread)
                    if (row, column) in cell_at
                    else ""
                    for column in outcome.columns
                ),
            ]
            for row in outcome.rows
        ),
    ]


def markdown(outcome: Outcome) -> str:
    """Title, table, note."""
    seeds = "" if outcome.skipped else f", {outcome.seeds} seed{'s' if outcome.seeds > 1 else ''}"
    parts = [f"## {outcome.experiment.title}", f"`--figure {outcome.experiment.figure}`{seeds}"]
    if outcome.experiment.note:
        parts.append(outcome.experiment.note)
    if outcome.skipped:
        parts.append(f"Not measured: {outcome.skipped}.")
    else:
        head, *rows = table_rows(outcome)
        lines = [f"| {' | '.join(one)} |" for one in (head, ["---"] * len(head), *rows)]
        parts.append("\n".join(lines).replace("|  |", "| |"))
    return "\n\n".join(parts)


def text_lines(outcome: Outcome) -> list[str]:
    """Title, aligned table and note."""
    lines = ["", outcome.experiment.title]
    if outcome.experiment.note:
        lines.append(f"  ({outcome.experiment.note})")
    if outcome.skipped:
        return [*lines, f"  not measured: {outcome.skipped}"]
    return [*lines, *(f"  {line}" for line in aligned(table_rows(outcome)))]


def csv_text(outcomes: Sequence[Outcome]) -> str:
    """A line per value: the paper's, the mean, half its interval."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(FIELDS)
    for outcome in outcomes:
        for cell in outcome.cells:
            low, high = cell.paper if isinstance(cell.paper, tuple) else (cell.paper, None)
            n_numbers = sum(not math.isnan(value) for value in cell.values)
            numbers = ("" if math.isnan(value) else f"{value:.6g}" for value in (cell.mean, cell.margin))
            writer.writerow(
                [
                    outcome.experiment.figure,
                    cell.row,
                    cell.column,
                    *("" if one is None else one for one in (low, high)),
                    *numbers,
                    n_numbers,
                ]
            )
    return file.getvalue()


def json_of(outcome: Outcome) -> dict[str, Any]:
    """For ``--json``."""
    return {
        "figure": outcome.experiment.figure,
        "title": outcome.experiment.title,
        "note": outcome.experiment.note,
        "skipped": outcome.skipped or None,
        "cells": [
            {
                "row": cell.row,
                "column": cell.column,
                "paper": list(cell.paper) if isinstance(cell.paper, tuple) else cell.paper,
                "mean": cell.mean,
                "margin": cell.margin,
                "values": list(cell.values),
            }
            for cell in outcome.cells
        ],
    }


def plot_page(title: str, outcomes: Sequence[Outcome], measured_on: Sequence[str]) -> str:
    """A drawing for each outcome with values; measured_on: sentences about the data."""
    outcomes_with_cells = [one for one in outcomes if one.cells]
    drawings = {f"figure-{number}": _drawing(one) for number, one in enumerate(outcomes_with_cells)}
    sections = [
        {"name": name, "title": one.experiment.title, "note": one.experiment.note, "rows": table_rows(one)}
        for name, one in zip(drawings, outcomes_with_cells, strict=True)
    ]
    left_out = [(one.experiment.title, one.skipped) for one in outcomes if one.skipped]
    template = "reproduction.html.j2"
    return page(
        template, drawings, title=title, measured_on=measured_on, sections=sections, left_out=left_out
    )


def _drawing(outcome: Outcome) -> Drawing:
    layers: list[Line | Marks] = []
    place = {row: at for at, row in enumerate(outcome.rows)}
    for number, column in enumerate(outcome.columns):
        cells = [cell for cell in outcome.cells if cell.column == column]
        layers.append(
            Line(
                name=column,
                x=[place[cell.row] for cell in cells],
                y=[_plain(cell.mean) for cell in cells],
                margins=[_plain(cell.margin) for cell in cells],
                number=number,
                marked=True,
            )
        )
        printed = [cell for cell in cells if cell.paper is not None]
        if printed:
            middles = [
                sum(cell.paper) / 2 if isinstance(cell.paper, tuple) else cell.paper for cell in printed
            ]
            across = [place[cell.row] for cell in printed]
            layers.append(Marks(name=f"{column}, paper", x=across, y=middles, number=number, symbol="cross"))
    ends = [
        value + sign * margin
        for layer in layers
        if isinstance(layer, Line)
        for value, margin in zip(layer.y, layer.margins, strict=True)
        if value is not None and margin is not None
        for sign in (-1, 1)
    ]
    return Drawing(
        x=axes.of_names("", outcome.rows),
        y=axes.around("", [*ends, *(value for layer in layers for value in layer.y)]),
        layers=layers,
        legend=True,
    )


def _plain(value: float) -> float | None:
    return None if math.isnan(value) else round(value, 6)
