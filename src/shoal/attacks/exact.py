"""Adversaries who know exact triples, or exact times alone, against points as given (swap-reach-locations.txt, Sec. 3.3 and Example 3).

``triples:P``: P random triples of a person; the record that shows most of them is named (linkage, and unicity where no other shows as
many), and of another of its points it is said that the person was there and then (disclosure). ``times:P``: the same with the times of
these triples alone, which ReachLocations keeps.
"""

from typing import Literal

import numpy as np

from shoal.attacks.rate import Rate
from shoal.attacks.target_points import GivenScene
from shoal.runtime.arrays import Integers

Exact = Literal["triples", "times"]


def attack_exact(scene: GivenScene, kind: Exact, p: int, rng: np.random.Generator) -> list[Rate]:
    """Unicity, linkage and disclosure with p known triples, or their times.

    A tie counts the chance to be right at random.
    """
    raw_triples, shown_triples = scene.triples
    known, searched = scene.triples if kind == "triples" else scene.times
    by_code = np.argsort(searched, kind="stable")
    codes = searched[by_code]
    records, offsets, n_records = scene.shown.record_of_point, scene.shown.offsets, scene.shown.n_records
    alone, linked, told, lucky = [], [], [], 0.0
    scene.run.progress(f"searching exact {kind} ({scene.label})", 0, len(scene.victims))
    for victim, record in zip(scene.victims.tolist(), scene.own.tolist(), strict=True):
        rows = scene.rows_known(victim, p, rng)
        begin, end = np.searchsorted(codes, known[rows]), np.searchsorted(codes, known[rows], side="right")
        seen = [np.unique(records[by_code[b:e]]) for b, e in zip(begin.tolist(), end.tolist(), strict=True)]
        names, counts = np.unique(np.concatenate(seen), return_counts=True)
        best = names[counts == counts.max()] if len(names) else np.empty(0, dtype=np.int64)
        alone.append(float(len(best) == 1 and record in best))
        linked.append(float(record in best) / len(best) if len(best) else 1 / n_records)
        mine = np.unique(raw_triples[scene.known.offsets[victim] : scene.known.offsets[victim + 1]])
        chosen = int(rng.choice(best)) if len(best) else int(rng.integers(n_records))
        told.append(
            _share_true(shown_triples[offsets[chosen] : offsets[chosen + 1]], raw_triples[rows], mine)
        )
        stranger = int(rng.integers(n_records))
        lucky += _share_true(
            shown_triples[offsets[stranger] : offsets[stranger + 1]], raw_triples[rows], mine
        )
    scene.run.progress(f"searching exact {kind} ({scene.label})", len(scene.victims), len(scene.victims))
    what = f"{p} exact {'triple' if kind == 'triples' else 'time'}{'s' * (p > 1)}"
    who = f"Someone who knows {what} of a person"
    named = f"{who} and names the record that shows most of them"
    outcomes = {
        "unicity": (
            alone,
            f"{who} and wins when the person's record shows more of them than any other.",
            scene.guess,
        ),
        "linkage": (linked, f"{named}.", scene.guess),
        "disclosure": (
            told,
            f"{named}, and says of another point of that record, drawn at random, that the person was there "
            "and then.",
            lucky / len(scene.victims),
        ),
    }
    return [
        Rate.of(
            won,
            name=f"{kind}-{name}",
            knowledge=what,
            attacker=attacker,
            target=scene.label,
            baseline=baseline,
        )
        for name, (won, attacker, baseline) in outcomes.items()
    ]


def _share_true(points: Integers, known: Integers, mine: Integers) -> float:
    """Of the points of a record that were not known before, the share that are the victim's own triples.

    0 when there are none.
    """
    fresh = points[~np.isin(points, known)]
    return float(np.isin(fresh, mine).mean()) if len(fresh) else 0.0
