"""The attacker who has followed somebody for tau without a gap, and wants the rest (kte-anonymity.txt, Sec. II-B; semantics 5).

She knows every observation of the victim in one interval, keeps the records that hold all of them and have no box inside the interval
where the victim was silent, and reads on: what all of these records say, she knows for certain.
"""

import numpy as np

from shoal.attacks.rate import Rate
from shoal.attacks.target import Scene
from shoal.errors import MisuseError
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers
from shoal.runtime.compiled import compiled
from shoal.units import show_s
from shoal.verification.boxes.box_index import boxes_with
from shoal.verification.boxes.kte import published_of
from shoal.verification.boxes.kte_loops import Published, Raw, fits_until, holds_sample


def attack_tau(scene: Scene, tau_s: float, rng: np.random.Generator) -> list[Rate]:
    """Unicity (one record fits, and it is the victim's), linkage (one of those that fit, at random), and attribution.

    The interval of tau_s begins with a random observation of the victim. Attribution: another random observation, outside the interval,
    lies where every record that fits says it does. Who has none is not tried. Raises MisuseError when nobody has, or tau is below a slot.
    """
    original = scene.known
    tau = int(tau_s / original.snapped_grid().slot_s)
    if tau < 1:
        raise MisuseError(
            f"tau = {show_s(tau_s)} is shorter than a slot of {show_s(original.snapped_grid().slot_s)}; "
            "choose a longer one"
        )
    known, asked = _draw(original, scene.victims, tau, rng)
    if not len(known):
        raise MisuseError(
            f"nobody has an observation outside an interval of {show_s(tau_s)}; there is nothing to find out"
        )
    raw = Raw(
        original.t, original.x, original.y, original.offsets, np.ones(original.n_samples, dtype=np.bool_)
    )
    published = published_of(scene.target.boxes, scene.target.offsets)
    own = np.full(original.n_subjects, -1, dtype=np.int64)
    own[scene.victims] = scene.own
    subject_of = np.searchsorted(raw.offsets, known, side="right") - 1
    fits = np.zeros((len(known), 3), dtype=np.int64)
    follow(raw, published, subject_of, own, known, asked, tau, fits)
    holding = np.zeros(len(known), dtype=np.int64)
    hold_by_chance(raw, published, asked, holding)
    candidates, right, told = fits.T
    follows = f"Someone who knows all observations of a person in {show_s(tau_s)} on end"
    outcomes = [
        (
            "unicity",
            f"{follows}, and wins when the person's record alone fits them.",
            (candidates == 1) & (right == 1),
            scene.guess,
        ),
        (
            "linkage",
            f"{follows}, and names one of the records that fit them, at random.",
            right / np.maximum(candidates, 1),
            scene.guess,
        ),
        (
            "attribution",
            f"{follows}, and wins when all records that fit them hold another observation of the person.",
            told,
            float(holding.mean()) / scene.target.n_records,
        ),
    ]
    return [
        Rate.of(
            won,
            name=name,
            knowledge=f"all observations in {show_s(tau_s)}",
            attacker=attacker,
            target=scene.label,
            baseline=baseline,
        )
        for name, attacker, won, baseline in outcomes
    ]


def _draw(
    original: Trajectories, victims: Integers, tau: int, rng: np.random.Generator
) -> tuple[Integers, Integers]:
    """A sample of each victim at which an interval begins, and another one outside the interval.

    Nothing for those who have none.
    """
    known, asked = [], []
    for victim in victims.tolist():
        first, t = original.offsets[victim], original.samples_of(victim)[0]
        start = int(rng.integers(len(t)))
        others = np.flatnonzero((t < t[start]) | (t >= t[start] + tau))
        if len(others):
            known.append(first + start)
            asked.append(first + rng.choice(others))
    return np.array(known, dtype=np.int64), np.array(asked, dtype=np.int64)


@compiled
def follow(
    raw: Raw,
    published: Published,
    subject_of: Integers,
    own: Integers,
    known: Integers,
    asked: Integers,
    tau: int,
    fits: Integers,
) -> None:
    """For each try how many records fit, whether the victim's own does, and whether all of them hold the observation asked for."""
    found = np.empty(len(published.boxes), dtype=np.int64)
    seen = np.full(len(published.offsets) - 1, -1, dtype=np.int64)
    for row in range(len(known)):
        i = known[row]
        first, end = raw.offsets[subject_of[row]], raw.offsets[subject_of[row] + 1]
        low = first + np.searchsorted(raw.t[first:end], raw.t[i])
        all_hold = True
        for place in range(
            boxes_with(published.index_, published.boxes, raw.t[low], raw.x[low], raw.y[low], found)
        ):
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
        for place in range(
            boxes_with(published.index_, published.boxes, raw.t[i], raw.x[i], raw.y[i], found)
        ):
            record = published.owner[found[place]]
            if seen[record] != row:
                seen[record] = row
                holding[row] += 1
