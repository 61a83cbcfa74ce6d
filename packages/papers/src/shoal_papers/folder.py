"""Outcomes as CSV, Markdown and plots."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from shoal.runtime.staging import staged_folder
from shoal_papers.experiment import Outcome
from shoal_papers.table import titles
from shoal_papers.writing import csv_text, markdown, plot_page


def write_outcomes(
    outcomes: Mapping[str, Sequence[Outcome]], output: Path, data: Mapping[str, Mapping[str, str]]
) -> None:
    """Write all outcomes, complete or absent; data: what they were measured on, by paper and kind."""
    with staged_folder(output) as folder:
        for paper, results in outcomes.items():
            measured_on = [f"Data, {kind}: {words}." for kind, words in data[paper].items()]
            (folder / f"{paper}.csv").write_text(csv_text(results), encoding="utf-8")
            sections = "\n\n".join([*measured_on, *(markdown(one) for one in results)])
            (folder / f"{paper}.md").write_text(f"# {titles()[paper]}\n\n{sections}\n", encoding="utf-8")
            (folder / f"{paper}.html").write_text(
                plot_page(titles()[paper], results, measured_on), encoding="utf-8"
            )
