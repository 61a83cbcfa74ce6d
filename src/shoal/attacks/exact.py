"""Adversaries who know exact triples, or exact times alone, against points as given.

``triples:P`` knows P random triples (time and place) of a person, names the record that shows most of them,
and says of another point of that record that the person was there and then. ``times:P`` does the same with
the times of these triples alone, which ReachLocations keeps (Domingo-Ferrer and Trujillo-Rasua 2012,
Sec. 3.3, Example 3).
"""

from typing import NamedTuple

import numpy as np

from shoal.attacks.evaluation import Evaluation
from shoal.attacks.rate import Rate, Rule
from shoal.attacks.target import PointTarget
from shoal.runtime.arrays import Floats, Integers


def attack_triples(evaluation: Evaluation[PointTarget], p: int, *, rng: np.random.Generator) -> list[Rate]:
    """Unicity, linkage and disclosure with p known triples."""
    index, known = evaluation.target.by_triple, evaluation.known
    codes = index.codes_of(known.t, known.x, known.y)
    return _rates(evaluation, "triple", p, answers(evaluation, "triple", index.codes, codes, p, rng))


def attack_times(evaluation: Evaluation[PointTarget], p: int, *, rng: np.random.Generator) -> list[Rate]:
    """Unicity, linkage and disclosure with the times of p triples."""
    index = evaluation.target.by_time
    codes = index.codes_of(evaluation.known.t)
    return _rates(evaluation, "time", p, answers(evaluation, "time", index.codes, codes, p, rng))


class Answers(NamedTuple):
    """What each victim's points give away.

    alone: float64 [v], whether the own record shows more of them than any other. linked, disclosed: float64
    [v, 2], chances to name the own record, and to say something true of the victim, by both rules. lucky:
    float64 [v], the chance to say something true after naming a stranger's record.
    """

    alone: Floats
    linked: Floats
    disclosed: Floats
    lucky: Floats


def answers(
    evaluation: Evaluation[PointTarget],
    what: str,
    searched: Integers,
    known: Integers,
    p: int,
    rng: np.random.Generator,
) -> Answers:
    """Searches for p points of each victim. searched [m], known [n]: numbers of published and of raw points.

    The record that shows most of them is named. Of several the shortest, because the same points are a larger
    share of a shorter record; or any one. Chances count a tie by the chance to be right at random.
    """
    target, people = evaluation.target, evaluation.known
    true = target.by_triple.codes_of(people.t, people.x, people.y)
    order = np.argsort(searched, kind="stable")
    codes, lengths = searched[order], np.diff(target.offsets)

    def share_true(record: int, rows: Integers, own: Integers) -> float:
        """Of a record's points at which nothing was known, the share that are the victim's; 0 without any."""
        points = slice(target.offsets[record], target.offsets[record + 1])
        further = target.by_triple.codes[points][~np.isin(searched[points], known[rows])]
        return float(np.isin(further, own).mean()) if len(further) else 0.0

    rows_found = []
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
        best = names[counts == counts.max()] if len(names) else np.arange(target.n_records)
        both = (best[lengths[best] == lengths[best].min()], best)
        own = np.unique(true[people.offsets[victim] : people.offsets[victim + 1]])
        stranger = int(rng.integers(target.n_records))
        rows_found.append(
            (
                len(names) > 0 and len(best) == 1 and record in best,
                [float(record in named) / len(named) for named in both],
                [share_true(int(rng.choice(named)), rows, own) for named in both],
                share_true(stranger, rows, own),
            )
        )
    evaluation.run.progress(label, len(evaluation.victims), len(evaluation.victims))
    return Answers(*(np.array(column, dtype=np.float64) for column in zip(*rows_found, strict=True)))


def _rates(evaluation: Evaluation[PointTarget], what: str, p: int, found: Answers) -> list[Rate]:
    """The three rates in words."""
    knowledge = f"{p} exact {what}{'s' * (p > 1)}"
    who = f"knows {knowledge} of a person"
    names_one = f"{who}, names the record that shows most of them"

    def best_of(name: str, chances: Floats, does: str, baseline: float) -> Rate:
        return Rate.best_of(
            [
                Rule(
                    name="shortest", does=f"{names_one}, of several the shortest{does}", chances=chances[:, 0]
                ),
                Rule(name="any", does=f"{names_one}{does}", chances=chances[:, 1]),
            ],
            name=f"{what}s-{name}",
            knowledge=knowledge,
            target=evaluation.label,
            baseline=baseline,
            clusters=evaluation.clusters,
        )

    return [
        Rate.of(
            found.alone,
            name=f"{what}s-unicity",
            knowledge=knowledge,
            attacker=f"Someone who {who} and wins when the person's record shows more of them than any other "
            "record does.",
            target=evaluation.label,
            baseline=evaluation.guess,
            clusters=evaluation.clusters,
        ),
        best_of("linkage", found.linked, "", evaluation.guess),
        best_of(
            "disclosure",
            found.disclosed,
            ", and says of another point of that record, drawn at random, that the person was there and then",
            float(found.lucky.mean()),
        ),
    ]
