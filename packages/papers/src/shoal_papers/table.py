"""The papers and their experiments."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import entry_points
from typing import Any, Final

from shoal.errors import MissingExtraError, MisuseError
from shoal_papers import (
    glove_accuracy,
    glove_gap,
    kte_tau,
    kte_tuples,
    swap_cabs,
    swap_network,
)
from shoal_papers.experiment import Experiment

_OWN: Final[dict[str, tuple[Experiment, ...]]] = {
    "glove": (*glove_gap.EXPERIMENTS, *glove_accuracy.EXPERIMENTS),
    "kte": (*kte_tuples.EXPERIMENTS, *kte_tau.EXPERIMENTS),
    "swap": (*swap_network.EXPERIMENTS, *swap_cabs.EXPERIMENTS),
}
_TITLES: Final = {
    "glove": "Gramaglia and Fiore 2015, Hiding Mobile Traffic Fingerprints with GLOVE",
    "kte": "Gramaglia, Fiore, Tarable and Banchs 2017, k^(tau,epsilon)-anonymity",
    "swap": "Domingo-Ferrer and Trujillo-Rasua 2012, Microaggregation- and permutation-based anonymization",
}
_OF_OTHER_PACKAGES: Final = {"collect": "shoal-collect"}


@cache
def papers() -> Mapping[str, tuple[Experiment, ...]]:
    """Experiments by paper, with those of the entry point ``shoal.experiments``."""
    theirs = {
        name: tuple(Experiment(**row) for row in paper["experiments"]) for name, paper in _others().items()
    }
    return _OWN | theirs


@cache
def titles() -> Mapping[str, str]:
    """Authors, year and title of each paper."""
    return _TITLES | {name: paper["title"] for name, paper in _others().items()}


@cache
def _others() -> Mapping[str, Mapping[str, Any]]:
    return {entry.name: entry.load() for entry in entry_points(group="shoal.experiments")}


def experiments_of(paper: str, figures: Sequence[str]) -> list[Experiment]:
    """The experiments of a paper that match the given figures, all if none is given.

    "3" stands for figure-3 and its parts, such as figure-3a.

    Raises
    ------
    MisuseError
        For a figure that the paper does not have.
    MissingExtraError
        When the paper's package is not installed.
    """
    if paper not in papers():
        package = _OF_OTHER_PACKAGES[paper]
        raise MissingExtraError(
            f"the experiments of {paper} come with the package {package}: pip install {package}"
        )
    experiments = {one.figure: one for one in papers()[paper]}
    asked: set[str] = set()
    for figure in figures:
        parts = re.compile(rf"(figure-)?{re.escape(figure)}[a-z]?")
        named = {figure} & experiments.keys() or {name for name in experiments if parts.fullmatch(name)}
        if not named:
            raise MisuseError(f"{paper} has no figure '{figure}'; choose from {', '.join(experiments)}")
        asked |= named
    return [one for one in experiments.values() if not figures or one.figure in asked]
