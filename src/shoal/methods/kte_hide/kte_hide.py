"""The method kte-hide: hiding sets that change with every window (Gramaglia et al. 2017, Alg. 2)."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, Literal, get_args

import numpy as np

from shoal.errors import MisuseError, NothingLeftError
from shoal.kernels.hiding import generalize_pieces
from shoal.methods.assembly import EquivalenceClass
from shoal.methods.hulls import hull_parameter, leaves_for, publish_classes, put_on_leaves
from shoal.methods.kte_hide.hiding_sets import (
    UNPUBLISHED,
    Epochs,
    Search,
    Window,
    choose_hiders,
    cut_into_epochs,
)
from shoal.methods.kte_hide.spectral import spectral_states
from shoal.methods.method import About, DeclaredMethod, local_generalization
from shoal.methods.parameters import AT_LEAST_0, at_least, k_parameter, parameter
from shoal.model.argument_checks import require_method_inputs, require_people
from shoal.model.claims import KteAnonymity
from shoal.model.grid import Grid
from shoal.model.release import BOX_COLUMNS, Boxes, Released
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers, components, offsets_of
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.units import show_s

Hiding = Literal["neighbors", "clusters"]
Assignment = Literal["least-cost", "cycles"]
Clustering = Literal["spectral", "kasp"]
Hiders = Literal["change", "stay"]

_PIECES_AT_ONCE: Final = 4096
_NEIGHBORHOOD: Final = 64


@dataclass(frozen=True, kw_only=True)
class KteHide(DeclaredMethod):
    """k^(tau,epsilon)-anonymity by hiding sets that change at every epoch.

    Windows of tau + epsilon start at every epoch. In each, k - 1 others with samples in the same epochs
    hide each subject: the cheapest nearby, none twice. Data no longer than one window is a single epoch: k
    records fit all that a subject did.

    Parameters
    ----------
    k
        Records that match what an attacker observed in ``tau_s`` seconds.
    tau_s
        Seconds that an attacker may have followed a person. A multiple of ``epsilon_s``.
    epsilon_s
        Length of an epoch in seconds, after which others hide a subject. A multiple of the data's slot.
    hiding
        "clusters": only subjects in the same spectral clusters in all epochs of a window hide each other
        (Alg. 2); "neighbors": any.
    cluster_size
        Target size of a cluster. None: twice as many people as hide one person in a window, divided by the
        share of people active throughout.
    clustering_by
        "spectral": on all people of a block; "kasp": on representatives found by k-means (Sec. III-G).
    assignment
        "least-cost": the hiders of a turn are the assignment of least cost; "cycles": one cycle through all
        people, each step the cheapest left (Alg. 2, line 11).
    neighborhood
        People among whom hiders are searched for at first. None: 64, or 2 k if larger.
    space_weight_s
        A pair costs its k-merge cost plus the sides of its hull (dx + dy) times this many seconds. 0 is the
        paper's cost.
    hiders
        "change": others hide a subject after every epoch. "stay": the same ones over the whole data; which of
        the k records that hold a subject is theirs is drawn, and tau and epsilon then bound nothing.
    hull
        How far boxes extend beyond the hulls of their samples, as ``parse_hull`` reads it.

    References
    ----------
    Gramaglia et al. 2017, Sec. III and Alg. 2.

    Examples
    --------
    >>> import shoal
    >>> people = shoal.read(shoal.synthesize(200, 1, seed=1))
    >>> method = shoal.KteHide(k=2, tau_s=1800, epsilon_s=1800)
    >>> release, linkage = method.anonymize(people, shoal.Randomness.from_system())
    >>> shoal.verify(people, release, linkage).holds
    True
    """

    about: ClassVar[About] = About(
        name="kte-hide",
        title="kte-hide",
        techniques=(
            local_generalization("samples become areas and intervals that hold others' samples, too"),
        ),
        claim=KteAnonymity,
        publishes="boxes",
        summary="hides people from observers who follow them for a limited time; everybody has areas and "
        "times of their own.",
        page="kte-hide",
        as_published={"hiding": "clusters", "space_weight_s": 0.0, "assignment": "cycles"},
    )

    # no classes: a box never mixes the samples of two people alone, and each further hider costs a
    # different one in every window
    k: int = k_parameter(meaning="the fewest records that fit one person", default=2)
    tau_s: float = parameter(
        default=1800.0,
        unit="s",
        help="How long an attacker may have followed somebody.",
        meaning="how long an attacker may have followed somebody without a gap",
    )
    epsilon_s: float = parameter(
        default=1800.0,
        unit="s",
        help="How much more may be learned; tau is a multiple.",
        meaning="the length of an epoch, after which other people hide somebody",
    )
    hiding: Hiding = parameter(
        default="neighbors",
        choices=get_args(Hiding),
        help="Among whom hiders are chosen.",
        meaning="whether those who hide each other must share the clusters of all epochs, or are any "
        "neighbors",
    )
    cluster_size: int | None = parameter(
        default=None,
        unit="people",
        bound=at_least(2),
        unset="by what a window needs",
        help="People whom a cluster should hold.",
        meaning="how many people a cluster of those who may hide each other should hold",
    )
    clustering_by: Clustering = parameter(
        default="spectral",
        choices=get_args(Clustering),
        option="cluster-by",
        help="How clusters are found: all people at once, or representatives that k-means finds first.",
        meaning="whether clusters are found from all people or from representatives",
    )
    assignment: Assignment = parameter(
        default="least-cost",
        choices=get_args(Assignment),
        help="How hiders are chosen among those who may hide each other: all at the least cost, or along one "
        "greedy cycle.",
        meaning="whether hiders are chosen at the least cost for all, or along one greedy cycle",
    )
    neighborhood: int | None = parameter(
        default=None,
        unit="people",
        bound=at_least(4),
        unset=f"the larger of {_NEIGHBORHOOD} and 2 k",
        help="People among whom hiders are looked for at first.",
        meaning="people in one area among whom those who hide each other are looked for at first",
    )
    space_weight_s: float = parameter(
        default=4 * 3600.0,
        unit="s",
        bound=AT_LEAST_0,
        zero=True,
        help="Wide pairs cost as if they lasted this much longer.",
        meaning="a pair of people whose places lie far apart costs as if it lasted this much longer",
    )

    hiders: Hiders = parameter(
        default="change",
        choices=get_args(Hiders),
        help="Whether others hide a person after every epsilon, or the same ones all along.",
        meaning="whether other people hide somebody after every epoch, or the same ones over all the data",
    )
    hull: str = hull_parameter()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.neighborhood_size < 2 * self.k:
            raise MisuseError(
                f"neighborhood = {self.neighborhood} leaves no choice among {self.k} people; choose at "
                f"least {2 * self.k}"
            )

    @property
    def neighborhood_size(self) -> int:
        """People searched for hiders at first."""
        return max(_NEIGHBORHOOD, 2 * self.k) if self.neighborhood is None else self.neighborhood

    def claim(self) -> KteAnonymity:
        """k^(tau,epsilon)-anonymity; k-concealment with hiders that stay."""
        return KteAnonymity(
            k=self.k,
            tau_s=self.tau_s,
            epsilon_s=self.epsilon_s,
            hiders_stay=self.hiders == "stay",
            hull=self.hull,
        )

    def parameters(self) -> dict[str, Any]:
        """All parameters, with the neighborhood used."""
        return {**super().parameters(), "neighborhood": self.neighborhood_size}

    def anonymize(self, original: Trajectories, rng: Randomness, run: Run | None = None) -> Released:
        """The release and its linkage.

        NothingLeftError when no one can be hidden.
        """
        require_method_inputs(original, rng)
        run = run or Run()
        epochs = self._epochs(put_on_leaves(original, leaves_for(original, self.hull)))
        states = np.ones(len(epochs.subject), dtype=np.int64)
        if self.hiding == "clusters":
            kasp = self.clustering_by == "kasp"
            states = spectral_states(epochs, self.k, run, size=self.cluster_size, kasp=kasp)
        weight = round(self.space_weight_s / original.snapped_grid().slot_s)
        search = Search(self.neighborhood_size, weight, self.assignment == "cycles")
        windows = choose_hiders(epochs, states, self.k, search, run)
        classes = list(generalize(epochs, states, windows, run))
        if self.hiders == "stay":
            classes = draw_owners(classes, windows, rng)
        if not classes:
            raise NothingLeftError(
                f"nobody can be hidden among {self.k}: in no {show_s(self.tau_s + self.epsilon_s)} are there "
                "enough people with samples in the same epochs; choose a longer epsilon, a smaller k, or add "
                "people"
            )
        return publish_classes(self, original, classes, self.hull, rng)

    def _epochs(self, original: Trajectories) -> Epochs:
        grid = original.snapped_grid()
        require_people(original.n_subjects, self.k)
        self.require_steps(grid)
        if self.hiders == "stay":
            return cut_into_epochs(original, int(np.ptp(original.t)) + 1, 1)
        slots = int(self.epsilon_s / grid.slot_s)
        return cut_into_epochs(original, slots, round(self.tau_s / self.epsilon_s) + 1)

    def require_steps(self, grid: Grid) -> None:
        """Raise MisuseError unless an epoch is whole slots."""
        slots = self.epsilon_s / grid.slot_s
        if slots != int(slots):
            valid = [show_s(grid.slot_s * count) for count in (int(slots), int(slots) + 1) if count]
            raise MisuseError(
                f"epsilon = {show_s(self.epsilon_s)} is no multiple of the slot of {show_s(grid.slot_s)}; "
                f"use {' or '.join(valid)}"
            )


def generalize(
    epochs: Epochs, states: Integers, windows: list[Window], run: Run
) -> Iterator[EquivalenceClass]:
    """Each subject in a class of one: per epoch the k-merge of its piece and its hiders'."""
    chosen = np.flatnonzero(states != UNPUBLISHED)
    if not len(chosen):
        return
    both = [np.empty((2, 0), dtype=np.int64)]
    for window in windows:
        published = window.table >= 0
        both += [np.stack([window.table, window.table[hider]])[:, published] for hider in window.hiders.T]
    hosts, guests = np.concatenate(both, axis=1)
    pairs = np.flatnonzero(states[hosts] != UNPUBLISHED)
    pairs = pairs[np.argsort(hosts[pairs], kind="stable")]
    hosts, guests = hosts[pairs], guests[pairs]
    starts = np.append(np.searchsorted(hosts, chosen), len(hosts))
    room = offsets_of(epochs.samples[chosen])
    boxes = np.empty((int(room[-1]), 6), dtype=np.int64)
    counts = np.zeros(len(chosen), dtype=np.int64)

    def merge(rows: slice) -> None:
        ends = starts[rows.start : rows.stop + 1]
        generalize_pieces(epochs.pieces, chosen[rows], ends, guests, room[rows], boxes, counts[rows])

    run.each_part(merge, len(chosen), _PIECES_AT_ONCE, label="generalizing")
    filled = np.arange(len(boxes)) - np.repeat(room[:-1], np.diff(room)) < np.repeat(counts, np.diff(room))
    owner = np.repeat(epochs.subject[chosen], np.diff(room))[filled]
    boxes = boxes[filled]
    people, first = np.unique(owner, return_index=True)
    for subject, start, stop in zip(
        people.tolist(), first.tolist(), [*first[1:].tolist(), len(boxes)], strict=True
    ):
        person_boxes = Boxes(**dict(zip(BOX_COLUMNS, boxes[start:stop].T, strict=True)))
        yield EquivalenceClass(members=np.array([subject]), boxes=person_boxes)


def draw_owners(
    classes: list[EquivalenceClass], windows: list[Window], rng: Randomness
) -> list[EquivalenceClass]:
    """Give each record at random to one of the k people whom it holds; each person gets one."""
    # A subject and its hiders of each turn make k assignments of people to records, and no person has the
    # same record in two of them. One assignment is drawn for all people who hide each other, directly or
    # through others: so each of the k records that hold a person is theirs with a chance of 1 in k, whatever
    # the data.
    (window,) = windows
    n, turns = window.hiders.shape
    group = components(n, np.repeat(np.arange(n), turns), window.hiders.ravel())
    drawn = rng.below(turns + 1, n)[group]
    owner = np.where(drawn == 0, np.arange(n), window.hiders[np.arange(n), drawn - 1])
    owner_of = dict(zip(window.subjects.tolist(), window.subjects[owner].tolist(), strict=True))
    return [replace(record, members=np.array([owner_of[int(record.members[0])]])) for record in classes]
