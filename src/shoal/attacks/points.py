"""The adversary who knows p exact samples.

Unicity, record linkage, and what the linked record then tells (semantics 5).
"""

import numpy as np
import numpy.typing as npt

from shoal.attacks.rate import Rate
from shoal.attacks.target import Scene, draw_samples
from shoal.kernels.cover_index import Followed, Index, Known, follow_points
from shoal.runtime.arrays import Floats, Integers

_PART = 250


def follow(scene: Scene, offsets: Integers, known: Integers, most: int, picks: Floats) -> Followed:
    """Which records cover the known samples of each victim (exact, through the index)."""
    index, n = scene.target.by_time, len(scene.victims)
    found = Followed(
        candidates=np.zeros((n, most), dtype=np.int64),
        own_fits=np.zeros((n, most), dtype=np.int64),
        chosen=np.empty(n, dtype=np.int64),
    )

    def part(begin: int) -> None:
        mine = slice(begin, min(begin + _PART, n))
        follow_points(
            Known(offsets[begin : mine.stop + 1], known, scene.own[mine], picks[mine]),
            Index(index.class_offsets, index.boxes, index.record),
            scene.target.n_records,
            Followed(found.candidates[mine], found.own_fits[mine], found.chosen[mine]),
        )

    for _ in scene.run.map(part, range(0, n, _PART), label=f"following known samples ({scene.label})"):
        pass
    return found


def attack_points(scene: Scene, p: int, rng: np.random.Generator) -> list[Rate]:
    """Unicity (one record covers the p samples, and it is the right one) and linkage (one of those that do, at random)."""
    offsets, known = draw_samples(scene.known, scene.victims, p, rng)
    found = follow(scene, offsets, known, p, np.zeros(len(scene.victims)))
    candidates, fits = found.candidates[:, -1], found.own_fits[:, -1]
    knows = f"{p} exact point{'s' * (p > 1)}"
    does = f"knows {p} random sample{'s' * (p > 1)} of a person exactly (all, of a person with fewer)"
    outcomes = {
        "unicity": (
            (candidates == 1) & (fits == 1),
            f"{does} and wins when the person's record alone covers them",
        ),
        "linkage": (
            fits / np.maximum(candidates, 1),
            f"{does} and names one of the records that cover them, at random",
        ),
    }
    return [
        Rate.of(
            won,
            name=name,
            knowledge=knows,
            attacker=f"Someone who {sentence}.",
            target=scene.label,
            baseline=scene.guess,
        )
        for name, (won, sentence) in outcomes.items()
    ]


def attack_attribution(scene: Scene, p: int, rng: np.random.Generator) -> list[Rate]:
    """Link with p samples, then say of another sample of the linked record that it is the victim's (attribute inference).

    A k-anonymous crowd shares its boxes, so this may succeed where linkage does not: that is what k-anonymity leaves open. Boxes
    that cover a known sample are not asked about, unless the record has no other.
    """
    n = len(scene.victims)
    offsets, known = draw_samples(scene.known, scene.victims, p, rng)
    found = follow(scene, offsets, known, p, rng.random(n))
    strangers = rng.integers(0, scene.target.n_records, n)
    won = []
    lucky = 0
    for place, victim in enumerate(scene.victims.tolist()):
        own = known[offsets[place] : offsets[place + 1]]
        t, x, y = scene.known.samples_of(victim)
        samples = np.column_stack([t, x, y])
        stranger = int(strangers[place])
        chosen = int(found.chosen[place])
        lucky += _is_of(samples, _another_box(scene, stranger, own, rng))
        won.append(_is_of(samples, _another_box(scene, chosen if chosen >= 0 else stranger, own, rng)))
    return [
        Rate.of(
            won,
            name="attribution",
            knowledge=f"{p} exact point{'s' * (p > 1)}",
            attacker=(
                f"Someone who knows {p} random samples of a person exactly, takes one of the records that "
                "cover them, and says of "
                "another sample of that record that the person was there and then."
            ),
            target=scene.label,
            baseline=lucky / n,
        )
    ]


def _another_box(scene: Scene, record: int, known: Integers, rng: np.random.Generator) -> Integers:
    """A random box of a record, one that covers no known sample where there is such."""
    boxes = scene.target.record(record)
    fresh = np.flatnonzero(~_covers(boxes, known).any(axis=1))
    place = int(rng.choice(fresh)) if len(fresh) else int(rng.integers(len(boxes)))
    return boxes[place : place + 1]


def _is_of(samples: Integers, box: Integers) -> bool:
    """Whether one of these samples lies in the box."""
    return bool(_covers(box, samples).any())


def _covers(boxes: Integers, samples: Integers) -> npt.NDArray[np.bool_]:
    """[b, s]: whether a box covers a sample."""
    t, x, y = (samples[:, i][None, :] for i in range(3))
    t0, t1, x0, y0, x1, y1 = (boxes[:, i][:, None] for i in range(6))
    return np.asarray((t0 <= t) & (t < t1) & (x0 <= x) & (x < x1) & (y0 <= y) & (y < y1), dtype=np.bool_)
