"""kte-hide: changing hiding sets, so that whoever follows somebody for tau learns at most epsilon more (kte-anonymity.txt, Alg. 2)."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import pairwise
from math import isfinite
from typing import Any, ClassVar, Final, Literal, get_args

import numpy as np

from shoal.errors import MisuseError, NothingLeftError
from shoal.kernels.hiding import generalize_pieces
from shoal.methods.assembly import Crowd, assemble
from shoal.methods.kte_hide.epochs import Epochs, cut_into_epochs
from shoal.methods.kte_hide.hiding_sets import UNPUBLISHED, Search, Window, choose_hiders
from shoal.methods.kte_hide.spectral import spectral_states
from shoal.model.claims import KteAnonymity
from shoal.model.release import BOX_COLUMNS, Boxes, Linkage, Release
from shoal.model.trajectories import Trajectories, require_people
from shoal.runtime.arrays import Integers
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.units import show_s

Hiding = Literal["neighbors", "clusters"]
HIDING: Final[tuple[str, ...]] = get_args(Hiding)

_PIECES_AT_ONCE: Final = 4096


@dataclass(frozen=True, kw_only=True)
class KteHide:
    """k^(tau,epsilon)-anonymity by hiding sets that change at every epoch.

    k: records that fit whatever an attacker has seen in tau_s seconds, a multiple of epsilon_s, the length of
    an epoch. Windows of tau + epsilon begin at every epoch; in each, k - 1 others with samples in the same
    epochs hide each subject, with hiding "clusters" only such as share its spectral clusters in all of them
    (Alg. 2), with "neighbors" any; the cheapest ones in a neighborhood of up to ``neighborhood`` people at
    first, and none of them twice. space_weight_s: the cost of a pair is that of k-merge, and besides the
    sides of their hull (dx + dy) as if they lasted so long; 0 is the paper's cost. Data no longer than one
    window is a single epoch: the special case of k-anonymity.
    """

    takes_points: ClassVar[bool] = False
    k: int = 2
    tau_s: float = 1800.0
    epsilon_s: float = 1800.0
    hiding: Hiding = "neighbors"
    neighborhood: int = 64
    space_weight_s: float = 4 * 3600.0

    def __post_init__(self) -> None:
        self.claim()
        if self.hiding not in HIDING:
            raise MisuseError(f"hiding = '{self.hiding}' is not known; choose one of {', '.join(HIDING)}")
        if self.neighborhood < 2 * self.k:
            raise MisuseError(
                f"neighborhood = {self.neighborhood} leaves no choice among {self.k} people; choose at "
                f"least {2 * self.k}"
            )

        if not (isfinite(self.space_weight_s) and self.space_weight_s >= 0):
            raise MisuseError(
                f"space_weight_s = {self.space_weight_s} must be finite and at least 0, for example 14400"
            )

    def claim(self) -> KteAnonymity:
        """k^(tau,epsilon)-anonymity."""
        return KteAnonymity(k=self.k, tau_s=self.tau_s, epsilon_s=self.epsilon_s)

    def parameters(self) -> dict[str, Any]:
        """All parameters, as a manifest holds them."""
        return asdict(self)

    def anonymize(
        self, original: Trajectories, rng: Randomness, run: Run | None = None
    ) -> tuple[Release, Linkage]:
        """The release and who became which record.

        Raises MisuseError with fewer than k people or when epsilon is no multiple of the slot,
        NothingLeftError when nobody can be hidden.
        """
        run = run or Run()
        epochs = self._epochs(original)
        apart = self.hiding == "clusters"
        states = (
            spectral_states(epochs, self.k, run) if apart else np.ones(len(epochs.subject), dtype=np.int64)
        )
        search = Search(self.neighborhood, round(self.space_weight_s / original.snapped_grid().slot_s))
        windows = choose_hiders(epochs, states, self.k, search, run)
        crowds = list(generalize(epochs, states, windows, run))
        if not crowds:
            raise NothingLeftError(
                f"nobody can be hidden among {self.k}: in no {show_s(self.tau_s + self.epsilon_s)} are "
                "there enough people with samples in "
                "the same epochs; choose a longer epsilon, a smaller k, or add people"
            )
        return assemble(
            original, crowds, claim=self.claim(), method="kte-hide", parameters=self.parameters(), rng=rng
        )

    def _epochs(self, original: Trajectories) -> Epochs:
        grid = original.snapped_grid()
        require_people(original.n_subjects, self.k)
        slots = self.epsilon_s / grid.slot_s
        if slots != int(slots):
            valid = [show_s(grid.slot_s * count) for count in (int(slots), int(slots) + 1) if count]
            raise MisuseError(
                f"epsilon = {show_s(self.epsilon_s)} is no multiple of the slot of {show_s(grid.slot_s)}; "
                f"use {' or '.join(valid)}"
            )
        return cut_into_epochs(original, int(slots), round(self.tau_s / self.epsilon_s) + 1)


def generalize(epochs: Epochs, states: Integers, windows: list[Window], run: Run) -> Iterator[Crowd]:
    """Each published subject with its boxes.

    Per epoch, the k-merge of its own piece with those of all that hide it there.
    """
    chosen = np.flatnonzero(states != UNPUBLISHED)
    if not len(chosen):
        return
    hosts, guests = _pairs(windows)
    shown = np.flatnonzero(states[hosts] != UNPUBLISHED)
    shown = shown[np.argsort(hosts[shown], kind="stable")]
    hosts, guests = hosts[shown], guests[shown]
    starts = np.append(np.searchsorted(hosts, chosen), len(hosts))
    room = np.concatenate([[0], np.cumsum(epochs.samples[chosen])])
    boxes = np.empty((int(room[-1]), 6), dtype=np.int64)
    counts = np.zeros(len(chosen), dtype=np.int64)

    def merge(part: tuple[int, int]) -> None:
        own = slice(*part)
        ends = starts[part[0] : part[1] + 1]
        generalize_pieces(epochs.pieces, chosen[own], ends, guests, room[own], boxes, counts[own])

    cuts = [*range(0, len(chosen), _PIECES_AT_ONCE), len(chosen)]
    for _ in run.map(merge, list(pairwise(cuts)), label="generalizing"):
        pass
    filled = np.arange(len(boxes)) - np.repeat(room[:-1], np.diff(room)) < np.repeat(counts, np.diff(room))
    owner = np.repeat(epochs.subject[chosen], np.diff(room))[filled]
    boxes = boxes[filled]
    people, first = np.unique(owner, return_index=True)
    for subject, start, stop in zip(
        people.tolist(), first.tolist(), [*first[1:].tolist(), len(boxes)], strict=True
    ):
        own = Boxes(**dict(zip(BOX_COLUMNS, boxes[start:stop].T, strict=True)))
        yield Crowd(members=np.array([subject]), boxes=own)


def _pairs(windows: list[Window]) -> tuple[Integers, Integers]:
    """Pieces, and for each of them one that is merged into it, over all windows."""
    hosts, guests = [np.empty(0, dtype=np.int64)], [np.empty(0, dtype=np.int64)]
    for window in windows:
        shown = window.table >= 0
        for hider in window.hiders.T:
            hosts.append(window.table[shown])
            guests.append(window.table[hider][shown])
    return np.concatenate(hosts), np.concatenate(guests)
