"""PAPERS, the one table of papers with their experiments: what ``shoal reproduce`` knows."""

import re
from collections.abc import Sequence
from typing import Final

from shoal.errors import MisuseError
from shoal.reproduction import (
    collect_shares,
    glove_accuracy,
    glove_gap,
    kte_tau,
    kte_tuples,
    swap_cabs,
    swap_network,
)
from shoal.reproduction.experiment import Experiment

PAPERS: Final[dict[str, tuple[Experiment, ...]]] = {
    "glove": (*glove_gap.EXPERIMENTS, *glove_accuracy.EXPERIMENTS),
    "kte": (*kte_tuples.EXPERIMENTS, *kte_tau.EXPERIMENTS),
    "swap": (*swap_network.EXPERIMENTS, *swap_cabs.EXPERIMENTS),
    "collect": collect_shares.EXPERIMENTS,
}
TITLES: Final = {
    "glove": "Gramaglia and Fiore 2015, Hiding Mobile Traffic Fingerprints with GLOVE",
    "kte": "Gramaglia, Fiore, Tarable and Banchs 2017, k^(tau,epsilon)-anonymity",
    "swap": "Domingo-Ferrer and Trujillo-Rasua 2012, Microaggregation- and permutation-based anonymization",
    "collect": "Romero-Tris and Megias 2018, user-centric collection of trajectories",
}


def experiments_of(paper: str, figures: Sequence[str]) -> list[Experiment]:
    """Those of a paper that are asked for, all where none is named; raises MisuseError for an unknown one.

    "3" stands for figure-3 and its parts, such as figure-3a.
    """
    known = {one.figure: one for one in PAPERS[paper]}
    asked: set[str] = set()
    for figure in figures:
        parts = re.compile(rf"(figure-)?{re.escape(figure)}[a-z]?")
        named = {figure} & known.keys() or {name for name in known if parts.fullmatch(name)}
        if not named:
            raise MisuseError(f"{paper} has no figure '{figure}'; choose from {', '.join(known)}")
        asked |= named
    return [one for one in known.values() if not figures or one.figure in asked]
