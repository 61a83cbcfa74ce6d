"""The attacker who has followed somebody for tau without a gap, and wants the rest (kte-anonymity.txt, Sec. II-B; semantics 5).

She knows every observation of the victim in one interval, keeps the records that hold all of them and have no box inside the interval
where the victim was silent, and reads on: what all of these records say, she knows for certain.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from shoal.attacks.rates import Rate
from shoal.compiled import compiled
from shoal.errors import MisuseError
from shoal.randomness import Randomness
from shoal.release import Boxes, Linkage, Release
from shoal.trajectories import Integers, Trajectories
from shoal.units import show_s
from shoal.verification.box_index import boxes_with
from shoal.verification.kte import published_of
from shoal.verification.kte_loops import Published, Raw, fits_until, holds_sample
from shoal.verification.linking import links_of

RAW: Final = "raw"
RELEASE: Final = "release"


@dataclass(frozen=True, kw_only=True)
class TauKnowledge:
    """One target's outcome.

    linkage: one record fits, and it is the victim's. attributed: an observation of the victim outside the interval, one for each try,
    lies where every record that fits says it does. candidates: the median number of records that fit.
    """

    linkage: Rate
    attributed: Rate
    candidates: float

    def to_json(self) -> list[dict[str, Any]]:
        """The entries of the JSON of ``shoal attack``."""
        return [self.linkage.to_json(), self.attributed.to_json()]


def attack_with_tau(
    original: Trajectories, release: Release, linkage: Linkage, tau_s: float, rng: Randomness, *, tries: int = 2000
) -> dict[str, TauKnowledge]:
    """The attack on the raw data under pseudonyms and on a release of boxes, with the same victims and intervals: by target.

    Each try draws an observation evenly from all; the interval of tau_s begins with it, and one other observation of the victim outside
    the interval is asked for. Who has none is not drawn. Raises MisuseError when release and raw data are on different grids.
    """
    grid = original.snapped_grid()
    if (release.grid, release.crs) != (grid, original.crs):
        raise MisuseError("raw data and release are on different grids; read the raw data as the release's manifest says")
    tau = int(tau_s / grid.slot_s)
    if tau < 1 or tries < 1:
        raise MisuseError(f"tau = {show_s(tau_s)} and {tries} tries cannot be; use at least a slot of {show_s(grid.slot_s)} and one try")
    raw = Raw(original.t, original.x, original.y, original.offsets, np.ones(original.n_samples, dtype=np.bool_))
    known, asked = _draw(original, tau, tries, rng)
    if not len(known):
        raise MisuseError(f"nobody has an observation outside an interval of {show_s(tau_s)}; there is nothing to find out")
    links = links_of(original, release, linkage)
    record_of = np.full(original.n_subjects, -1, dtype=np.int64)
    record_of[links.subject_of[links.subject_of >= 0]] = np.flatnonzero(links.subject_of >= 0)
    single = np.stack(Boxes.of_samples(original.t, original.x, original.y).columns(), axis=1)
    boxes = np.stack(release.boxes.columns(), axis=1)
    targets = {
        RAW: (published_of(single, original.offsets), np.arange(original.n_subjects)),
        RELEASE: (published_of(boxes, release.offsets), record_of),
    }
    return {target: _outcome(raw, published, own, known, asked, tau, target, tau_s) for target, (published, own) in targets.items()}


def _draw(original: Trajectories, tau: int, tries: int, rng: Randomness) -> tuple[Integers, Integers]:
    """Samples at which an interval begins, and for each another sample of the same subject outside the interval."""
    subject_of = np.repeat(np.arange(original.n_subjects), original.lengths)
    begins = rng.permutation(original.n_samples)
    turn = rng.permutation(original.n_samples)
    known, asked = [], []
    for i, number in zip(begins.tolist(), turn.tolist(), strict=True):
        first, end = original.offsets[subject_of[i]], original.offsets[subject_of[i] + 1]
        others = np.flatnonzero((original.t[first:end] < original.t[i]) | (original.t[first:end] >= original.t[i] + tau))
        if len(others):
            known.append(i)
            asked.append(int(first + others[number % len(others)]))
        if len(known) == tries:
            break
    return np.array(known, dtype=np.int64), np.array(asked, dtype=np.int64)


def _outcome(
    raw: Raw, published: Published, own: Integers, known: Integers, asked: Integers, tau: int, target: str, tau_s: float
) -> TauKnowledge:
    subject_of = np.searchsorted(raw.offsets, known, side="right") - 1
    fits = np.zeros((len(known), 3), dtype=np.int64)
    follow(raw, published, subject_of, own, known, asked, tau, fits)
    knowledge = f"all observations in {show_s(tau_s)}"
    n_records = max(1, len(published.offsets) - 1)
    linked = int(((fits[:, 0] == 1) & (fits[:, 1] == 1)).sum())
    guessed = np.zeros(len(known), dtype=np.int64)
    hold_by_chance(raw, published, asked, guessed)
    return TauKnowledge(
        linkage=Rate(name="linkage", knowledge=knowledge, target=target, tries=len(known), successes=linked, baseline=1 / n_records),
        attributed=Rate(
            name="attribution",
            knowledge=knowledge,
            target=target,
            tries=len(known),
            successes=int(fits[:, 2].sum()),
            baseline=float(guessed.mean()) / n_records,
        ),
        candidates=float(np.median(fits[:, 0])),
    )


@compiled
def follow(
    raw: Raw, published: Published, subject_of: Integers, own: Integers, known: Integers, asked: Integers, tau: int, fits: Integers
) -> None:
    """For each try how many records fit, whether the victim's own does, and whether all of them hold the observation asked for."""
    found = np.empty(len(published.boxes), dtype=np.int64)
    seen = np.full(len(published.offsets) - 1, -1, dtype=np.int64)
    for row in range(len(known)):
        i = known[row]
        first, end = raw.offsets[subject_of[row]], raw.offsets[subject_of[row] + 1]
        low = first + np.searchsorted(raw.t[first:end], raw.t[i])
        all_hold = True
        for place in range(boxes_with(published.index_, published.boxes, raw.t[low], raw.x[low], raw.y[low], found)):
            record = published.owner[found[place]]
            if seen[record] == row:
                continue
            seen[record] = row
            if fits_until(raw, published, record, np.arange(low, end), 0, raw.t[i], tau) > raw.t[i]:
                fits[row, 0] += 1
                fits[row, 1] |= record == own[subject_of[row]]
                all_hold = all_hold and holds_sample(raw, published, record, asked[row])
        fits[row, 2] = all_hold and fits[row, 0] > 0


@compiled
def hold_by_chance(raw: Raw, published: Published, asked: Integers, holding: Integers) -> None:
    """How many records hold each observation asked for: a record guessed blindly is one of them so often."""
    found = np.empty(len(published.boxes), dtype=np.int64)
    seen = np.full(len(published.offsets) - 1, -1, dtype=np.int64)
    for row in range(len(asked)):
        i = asked[row]
        for place in range(boxes_with(published.index_, published.boxes, raw.t[i], raw.x[i], raw.y[i], found)):
            record = published.owner[found[place]]
            if seen[record] != row:
                seen[record] = row
                holding[row] += 1
