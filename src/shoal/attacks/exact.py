"""Adversaries who know exact triples, or exact times alone, against points as given.

``triples:P`` knows P random triples (time and place) of a person, names the record that shows most of them,
and says of another point of that record that the person was there and then. ``times:P`` does the same with
the times of these triples alone, which ReachLocations keeps (swap-reach-locations.txt, Sec. 3.3, Example 3).
"""

import numpy as np

from shoal.attacks.evaluation import Evaluation
from shoal.attacks.rate import Rate
from shoal.attacks.target import PointTarget
from shoal.runtime.arrays import Integers


def attack_triples(evaluation: Evaluation[PointTarget], p: int, *, rng: np.random.Generator) -> list[Rate]:
    """Unicity, linkage and disclosure with p known triples."""
    index, known = evaluation.target.by_triple, evaluation.known
    return _rates(evaluation, "triple", index.codes, index.codes_of(known.t, known.x, known.y), p, rng)


def attack_times(evaluation: Evaluation[PointTarget], p: int, *, rng: np.random.Generator) -> list[Rate]:
    """Unicity, linkage and disclosure with the times of p triples."""
    index = evaluation.target.by_time
    return _rates(evaluation, "time", index.codes, index.codes_of(evaluation.known.t), p, rng)


def _rates(
    evaluation: Evaluation[PointTarget],
    what: str,
    searched: Integers,
    known: Integers,
    p: int,
    rng: np.random.Generator,
) -> list[Rate]:
    """The three rates. searched [m], known [n]: numbers of the target's points and of the raw ones.

    Linkage counts a tie by the chance to be right at random.
    """
    target, people = evaluation.target, evaluation.known
    true = target.by_triple.codes_of(people.t, people.x, people.y)
    order = np.argsort(searched, kind="stable")
    codes = searched[order]

    def shown_by(record: int) -> Integers:
        return target.by_triple.codes[target.offsets[record] : target.offsets[record + 1]]

    alone, linked, disclosed, lucky = [], [], [], 0.0
    label = f"searching exact {what}s ({evaluation.label})"
    evaluation.run.progress(label, 0, len(evaluation.victims))
    for victim, record in zip(evaluation.victims.tolist(), evaluation.own.tolist(), strict=True):
        rows = evaluation.draw_rows(victim, p, rng)
        begin, end = np.searchsorted(codes, known[rows]), np.searchsorted(codes, known[rows], side="right")
        seen = [
            np.unique(target.record_of_point[order[b:e]])
            for b, e in zip(begin.tolist(), end.tolist(), strict=True)
        ]
        names, counts = np.unique(np.concatenate(seen), return_counts=True)
        best = names[counts == counts.max()] if len(names) else np.empty(0, dtype=np.int64)
        alone.append(float(len(best) == 1 and record in best))
        linked.append(float(record in best) / len(best) if len(best) else 1 / target.n_records)
        own = np.unique(true[people.offsets[victim] : people.offsets[victim + 1]])
        chosen = int(rng.choice(best)) if len(best) else int(rng.integers(target.n_records))
        stranger = int(rng.integers(target.n_records))
        disclosed.append(_share_true(shown_by(chosen), true[rows], own))
        lucky += _share_true(shown_by(stranger), true[rows], own)
    evaluation.run.progress(label, len(evaluation.victims), len(evaluation.victims))
    knowledge = f"{p} exact {what}{'s' * (p > 1)}"
    who = f"Someone who knows {knowledge} of a person"
    outcomes = {
        "unicity": (
            alone,
            f"{who} and wins when the person's record shows more of them than any other record does.",
            evaluation.guess,
        ),
        "linkage": (linked, f"{who} and names the record that shows most of them.", evaluation.guess),
        "disclosure": (
            disclosed,
            f"{who}, names the record that shows most of them, and says of another point of that record, "
            "drawn at random, that the person was there and then.",
            lucky / len(evaluation.victims),
        ),
    }
    return [
        Rate.of(
            won,
            name=f"{what}s-{name}",
            knowledge=knowledge,
            attacker=attacker,
            target=evaluation.label,
            baseline=baseline,
        )
        for name, (won, attacker, baseline) in outcomes.items()
    ]


def _share_true(points: Integers, known: Integers, own: Integers) -> float:
    """Of a record's points that were not known before, the share that are the victim's; 0 if none is new."""
    new = points[~np.isin(points, known)]
    return float(np.isin(new, own).mean()) if len(new) else 0.0
