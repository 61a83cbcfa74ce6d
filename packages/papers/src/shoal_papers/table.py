"""The papers and their experiments."""

import re
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import Final

from shoal.errors import MissingExtraError, MisuseError
from shoal_papers import (
    collect_shares,
    glove_accuracy,
    glove_gap,
    kte_tau,
    kte_tuples,
    swap_cabs,
    swap_network,
)
from shoal_papers.experiment import Experiment

_PAPERS: Final[dict[str, tuple[Experiment, ...]]] = {
    "glove": (*glove_gap.EXPERIMENTS, *glove_accuracy.EXPERIMENTS),
    "kte": (*kte_tuples.EXPERIMENTS, *kte_tau.EXPERIMENTS),
    "swap": (*swap_network.EXPERIMENTS, *swap_cabs.EXPERIMENTS),
    "collect": collect_shares.EXPERIMENTS,
}
_TITLES: Final = {
    "glove": "Gramaglia and Fiore 2015, Hiding Mobile Traffic Fingerprints with GLOVE",
    "kte": "Gramaglia, Fiore, Tarable and Banchs 2017, k^(tau,epsilon)-anonymity",
    "swap": "Domingo-Ferrer and Trujillo-Rasua 2012, Microaggregation- and permutation-based anonymization",
    "collect": "Romero-Tris and Megias 2018, user-centric collection of trajectories",
}
_NEEDS: Final = {"collect": ("shoal_collect", "shoal-collect")}  # a module, and the package that has it


def papers() -> Mapping[str, tuple[Experiment, ...]]:
    """Experiments by paper, of those whose packages are installed."""
    missing = {paper for paper, (module, _) in _NEEDS.items() if find_spec(module) is None}
    return {paper: experiments for paper, experiments in _PAPERS.items() if paper not in missing}


def titles() -> Mapping[str, str]:
    """Authors, year and title of each paper."""
    return _TITLES


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
        _, package = _NEEDS[paper]
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
