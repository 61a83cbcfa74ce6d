"""The attacker who has followed somebody for tau without a gap, and wants the rest.

She knows every observation of the victim in one interval and keeps the records that hold all of them and have
no box inside the interval where the victim was silent. Then she reads on: what all of these records say, she
knows for certain (kte-anonymity.txt, Sec. II-B; semantics 5).
"""

import numpy as np

from shoal.attacks.evaluation import Evaluation
from shoal.attacks.rate import Rate
from shoal.attacks.target import BoxTarget
from shoal.errors import MisuseError
from shoal.kernels.cover_index import Followed, Index, Known, follow_points
from shoal.kernels.tau_candidates import Records, holding, tau_candidates
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Integers
from shoal.units import show_s


def attack_tau(evaluation: Evaluation[BoxTarget], tau_s: float, *, rng: np.random.Generator) -> list[Rate]:
    """Unicity (only the victim's record fits), linkage (one of those that fit, at random), and attribution.

    The interval of tau_s begins at a random observation of the victim. Attribution: another random
    observation, outside the interval, lies where every record that fits says it does. A person who has none
    is not tried. Raises MisuseError when nobody has one, or when tau is shorter than a slot.
    """
    original, target = evaluation.known, evaluation.target
    slot_s = original.snapped_grid().slot_s
    tau = int(tau_s / slot_s)
    if tau < 1:
        raise MisuseError(
            f"tau = {show_s(tau_s)} is shorter than a slot of {show_s(slot_s)}; choose a longer one"
        )
    tried, begun, asked = _draw(original, evaluation.victims, tau, rng)
    if not len(tried):
        raise MisuseError(
            f"nobody has an observation outside an interval of {show_s(tau_s)}; there is nothing to find out"
        )
    records = records_of(target)
    samples = np.column_stack([original.t, original.x, original.y])

    def follow(place: int) -> tuple[int, bool, bool]:
        """How many records fit, whether the own one does, and whether all that fit hold what is asked."""
        victim = int(evaluation.victims[tried[place]])
        start = int(original.t[begun[place]])
        first, last = original.offsets[victim], original.offsets[victim + 1]
        rows = first + np.searchsorted(original.t[first:last], [start, start + tau])
        found = np.empty(target.n_records, dtype=np.int64)
        count = tau_candidates(records, samples[rows[0] : rows[1]], start, start + tau, found)
        fits = found[:count]
        t, x, y = samples[asked[place]].tolist()
        told = count > 0 and holding(records, fits, t, x, y) == count
        return count, bool((fits == evaluation.own[tried[place]]).any()), told

    label = f"following people ({evaluation.label})"
    outcomes = list(evaluation.run.map(follow, range(len(tried)), label=label))
    candidates, right, told = (np.array(column) for column in zip(*outcomes, strict=True))
    who = f"Someone who knows all observations of a person during {show_s(tau_s)} without a gap"
    lucky = float(_holding_by_chance(target, samples[asked]).mean()) / target.n_records
    rates = {
        "unicity": (
            f"{who}, and wins when the person's record alone fits them.",
            (candidates == 1) & right,
            evaluation.guess,
        ),
        "linkage": (
            f"{who}, and names one of the records that fit them, at random.",
            right / np.maximum(candidates, 1),
            evaluation.guess,
        ),
        "attribution": (
            f"{who}, and wins when all records that fit them hold another observation of the person.",
            told,
            lucky,
        ),
    }
    return [
        Rate.of(
            won,
            name=name,
            knowledge=f"all observations in {show_s(tau_s)}",
            attacker=attacker,
            target=evaluation.label,
            baseline=baseline,
        )
        for name, (attacker, won, baseline) in rates.items()
    ]


def records_of(target: BoxTarget) -> Records:
    """The records of a target as the kernels of this attack take them."""
    index = target.by_time
    return Records(
        offsets=target.offsets.copy(),  # so that the loops are compiled once, for what may be written to
        boxes=target.boxes,
        class_offsets=index.class_offsets,
        starts=np.ascontiguousarray(index.boxes[:, 0]),
        by_time=index.boxes,
        record=index.record,
    )


def _draw(
    original: Trajectories, victims: Integers, tau: int, rng: np.random.Generator
) -> tuple[Integers, Integers, Integers]:
    """For victims with samples outside the interval: places in ``victims``, and two rows of ``original``.

    The interval begins at the first of the two; the second lies outside it.
    """
    drawn = []
    for place, victim in enumerate(victims.tolist()):
        first, t = original.offsets[victim], original.samples_of(victim)[0]
        start = int(rng.integers(len(t)))
        others = np.flatnonzero((t < t[start]) | (t >= t[start] + tau))
        if len(others):
            drawn.append((place, first + start, first + rng.choice(others)))
    tried, begun, asked = np.array(drawn, dtype=np.int64).reshape(-1, 3).T
    return tried, begun, asked


def _holding_by_chance(target: BoxTarget, asked: Integers) -> Integers:
    """int64 [q]: how many records hold each sample [q, 3], and so how often a blind guess is right."""
    count, index = np.zeros((len(asked), 1), dtype=np.int64), target.by_time
    follow_points(
        Known(
            np.arange(len(asked) + 1),
            np.ascontiguousarray(asked),
            np.full(len(asked), -1, dtype=np.int64),
            np.zeros(len(asked)),
        ),
        Index(index.class_offsets, index.boxes, index.record),
        target.n_records,
        Followed(count, np.zeros_like(count), np.empty(len(asked), dtype=np.int64)),
    )
    return count[:, 0]
