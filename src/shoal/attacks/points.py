"""The adversary who knows p exact samples: unicity, linkage, and what a linked record tells (semantics 5)."""

import numpy as np
import numpy.typing as npt

from shoal.attacks.evaluation import Evaluation
from shoal.attacks.rate import Rate
from shoal.attacks.target import BoxTarget
from shoal.kernels.cover_index import Followed, Index, Known, follow_points
from shoal.runtime.arrays import Floats, Integers

_PART = 250


def follow(
    evaluation: Evaluation[BoxTarget], offsets: Integers, known: Integers, most: int, picks: Floats
) -> Followed:
    """Looks up every victim's known samples through the index over time; the result is exact."""
    index, n = evaluation.target.by_time, len(evaluation.victims)
    found = Followed(
        candidates=np.zeros((n, most), dtype=np.int64),
        own_fits=np.zeros((n, most), dtype=np.int64),
        chosen=np.empty(n, dtype=np.int64),
    )

    def part(begin: int) -> None:
        mine = slice(begin, min(begin + _PART, n))
        follow_points(
            Known(offsets[begin : mine.stop + 1], known, evaluation.own[mine], picks[mine]),
            Index(index.class_offsets, index.boxes, index.record),
            evaluation.target.n_records,
            Followed(found.candidates[mine], found.own_fits[mine], found.chosen[mine]),
        )

    for _ in evaluation.run.map(
        part, range(0, n, _PART), label=f"following known samples ({evaluation.label})"
    ):
        pass
    return found


def attack_points(evaluation: Evaluation[BoxTarget], p: int, *, rng: np.random.Generator) -> list[Rate]:
    """Unicity (only the right record covers the p samples) and linkage (one of those that do, at random)."""
    offsets, known = evaluation.draw_samples(p, rng)
    found = follow(evaluation, offsets, known, p, np.zeros(len(evaluation.victims)))
    candidates, fits = found.candidates[:, -1], found.own_fits[:, -1]
    knows = f"{p} exact point{'s' * (p > 1)}"
    does = f"knows {p} random sample{'s' * (p > 1)} of a person exactly (all samples of a person with fewer)"
    them = "them" if p > 1 else "it"
    outcomes = {
        "unicity": (
            (candidates == 1) & (fits == 1),
            f"{does} and wins when the person's record alone covers {them}",
        ),
        "linkage": (
            fits / np.maximum(candidates, 1),
            f"{does} and names one of the records that cover {them}, at random",
        ),
    }
    return [
        Rate.of(
            won,
            name=name,
            knowledge=knows,
            attacker=f"Someone who {sentence}.",
            target=evaluation.label,
            baseline=evaluation.guess,
        )
        for name, (won, sentence) in outcomes.items()
    ]


def attack_attribution(evaluation: Evaluation[BoxTarget], p: int, *, rng: np.random.Generator) -> list[Rate]:
    """Link with p samples, then say of another sample of the linked record that it is the victim's.

    A k-anonymous crowd shares its boxes, so this may succeed where linkage does not: that is what k-anonymity
    leaves open. Boxes that cover a known sample are not asked about, unless the record has no other.
    """
    n = len(evaluation.victims)
    offsets, known = evaluation.draw_samples(p, rng)
    found = follow(evaluation, offsets, known, p, rng.random(n))
    strangers = rng.integers(0, evaluation.target.n_records, n)
    won = []
    lucky = 0
    for place, victim in enumerate(evaluation.victims.tolist()):
        own = known[offsets[place] : offsets[place + 1]]
        t, x, y = evaluation.known.samples_of(victim)
        samples = np.column_stack([t, x, y])
        stranger = int(strangers[place])
        chosen = int(found.chosen[place])
        lucky += _is_of(samples, _another_box(evaluation.target, stranger, own, rng))
        won.append(
            _is_of(samples, _another_box(evaluation.target, chosen if chosen >= 0 else stranger, own, rng))
        )
    return [
        Rate.of(
            won,
            name="attribution",
            knowledge=f"{p} exact point{'s' * (p > 1)}",
            attacker=f"Someone who knows {p} random sample{'s' * (p > 1)} of a person exactly, takes one of "
            f"the records that cover {'them' if p > 1 else 'it'}, and says of another sample of that record "
            "that the person was there and then.",
            target=evaluation.label,
            baseline=lucky / n,
        )
    ]


def _another_box(target: BoxTarget, record: int, known: Integers, rng: np.random.Generator) -> Integers:
    """A random box of a record: one that covers no known sample, if it has one."""
    boxes = target.record(record)
    new = np.flatnonzero(~_covers(boxes, known).any(axis=1))
    place = int(rng.choice(new)) if len(new) else int(rng.integers(len(boxes)))
    return boxes[place : place + 1]


def _is_of(samples: Integers, box: Integers) -> bool:
    """Whether one of these samples lies in the box."""
    return bool(_covers(box, samples).any())


def _covers(boxes: Integers, samples: Integers) -> npt.NDArray[np.bool_]:
    """[b, s]: whether a box covers a sample."""
    t, x, y = (samples[:, i][None, :] for i in range(3))
    t0, t1, x0, y0, x1, y1 = (boxes[:, i][:, None] for i in range(6))
    return np.asarray((t0 <= t) & (t < t1) & (x0 <= x) & (x < x1) & (y0 <= y) & (y < y1), dtype=np.bool_)
