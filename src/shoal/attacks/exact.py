"""Adversaries who know points exactly, against points as given.

``triples:P`` knows P random triples of a person, names the record that shows most of them, and says of
another of its points that the person was there. ``times:P`` uses their times alone, which ReachLocations
keeps (Domingo-Ferrer and Trujillo-Rasua 2012, Sec. 3.3, Example 3). ``nearest:P`` names the record that
passes nearest; in cylinders, it also tests where a person would stand.
"""

from typing import Final, NamedTuple

import numpy as np

from shoal.attacks.cylinders import cylinders_of, in_parts
from shoal.attacks.evaluation import Evaluation
from shoal.attacks.rate import Rate, Rule
from shoal.attacks.target import PointTarget, RowsByCode
from shoal.kernels import moved_inward
from shoal.kernels.passing import N_SUMS, KnownPoints, link_nearest_passing
from shoal.runtime.arrays import Floats, Integers


def attack_triples(evaluation: Evaluation[PointTarget], p: int, *, rng: np.random.Generator) -> list[Rate]:
    """Unicity, linkage and disclosure with p triples."""
    index, people = evaluation.target.by_triple, evaluation.people
    codes = index.codes_of(people.t, people.x, people.y)
    return _rates(evaluation, "triple", p, answers(evaluation, "triple", index.codes, codes, p, rng))


def attack_times(evaluation: Evaluation[PointTarget], p: int, *, rng: np.random.Generator) -> list[Rate]:
    """Unicity, linkage and disclosure with p times."""
    index = evaluation.target.by_time
    codes = index.codes_of(evaluation.people.t)
    return _rates(evaluation, "time", p, answers(evaluation, "time", index.codes, codes, p, rng))


class Answers(NamedTuple):
    """What each victim's points give away.

    linked, disclosed: float64 [v, 2], chances by both rules.
    """

    alone: Floats  # float64 [v], whether their record shows more of them than any other
    linked: Floats
    disclosed: Floats
    lucky: Floats  # float64 [v], the chance to say something true after naming a random record


def answers(
    evaluation: Evaluation[PointTarget],
    what: str,
    record_codes: Integers,
    raw_codes: Integers,
    p: int,
    rng: np.random.Generator,
) -> Answers:
    """Search for p points of each victim; record_codes [m], raw_codes [n]: numbers of points.

    The record that shows most is named: of several the shortest, or any. A tie counts the chance to be
    right.
    """
    target, people = evaluation.target, evaluation.people
    true = target.by_triple.codes_of(people.t, people.x, people.y)
    by_code, lengths = RowsByCode(record_codes), np.diff(target.offsets)

    def share_true(record: int, rows: Integers, victim_codes: Integers) -> float:
        """The share of the record's other points that are the victim's; 0 without any."""
        points = slice(target.offsets[record], target.offsets[record + 1])
        further = target.by_triple.codes[points][~np.isin(record_codes[points], raw_codes[rows])]
        return float(np.isin(further, victim_codes).mean()) if len(further) else 0.0

    rows_found = []
    label = f"searching exact {what}s ({evaluation.label})"
    evaluation.run.progress(label, 0, len(evaluation.victims))
    for victim, record in zip(evaluation.victims.tolist(), evaluation.records.tolist(), strict=True):
        rows = evaluation.draw_rows(victim, p, rng)
        seen = [np.unique(target.record_of_point[at]) for at in by_code.of(raw_codes[rows])]
        names, counts = np.unique(np.concatenate(seen), return_counts=True)
        best = names[counts == counts.max()] if len(names) else np.arange(target.n_records)
        both = (best[lengths[best] == lengths[best].min()], best)
        victim_codes = np.unique(true[people.offsets[victim] : people.offsets[victim + 1]])
        stranger = int(rng.integers(target.n_records))
        rows_found.append(
            (
                len(names) > 0 and len(best) == 1 and record in best,
                [float(record in named) / len(named) for named in both],
                [share_true(int(rng.choice(named)), rows, victim_codes) for named in both],
                share_true(stranger, rows, victim_codes),
            )
        )
    evaluation.run.progress(label, len(evaluation.victims), len(evaluation.victims))
    return Answers(*(np.array(column, dtype=np.float64) for column in zip(*rows_found, strict=True)))


def _rates(evaluation: Evaluation[PointTarget], what: str, p: int, results: Answers) -> list[Rate]:
    knowledge = f"{p} exact {what}{'s' * (p > 1)}"
    who = f"knows {knowledge} of a person"
    names_one = f"{who}, names the record that shows most of them"

    def best_of(name: str, chances: Floats, does: str, baseline: float) -> Rate:
        return evaluation.best_rate(
            [
                Rule(
                    name="shortest", does=f"{names_one}, of several the shortest{does}", chances=chances[:, 0]
                ),
                Rule(name="any", does=f"{names_one}{does}", chances=chances[:, 1]),
            ],
            name=f"{what}s-{name}",
            knowledge=knowledge,
            baseline=baseline,
        )

    return [
        evaluation.rate_of(
            results.alone,
            name=f"{what}s-unicity",
            knowledge=knowledge,
            attacker=f"Someone who {who} and wins when the person's record shows more of them than any other "
            "record does.",
        ),
        best_of("linkage", results.linked, "", evaluation.guess_rate),
        best_of(
            "disclosure",
            results.disclosed,
            ", and says of another point of that record, drawn at random, that the person was there and then",
            float(results.lucky.mean()),
        ),
    ]


_RULES: Final = (
    ("holding the ends", "passes nearest to them, standing still before its first point and after its last"),
    (
        "close to most",
        "passes close to most of them, standing still before its first point and after its last",
    ),
    ("whole time", "passes nearest to them, of those that exist at all of their times"),
)
_INWARD: Final = "passes near and stands where they would be, moved straight into its cylinder,"
_RULES_IN_CYLINDERS: Final = (
    *_RULES,
    ("moved inward", f"{_INWARD} at their times"),
    ("moved inward, any time", f"{_INWARD} at any time"),
)


def attack_nearest(evaluation: Evaluation[PointTarget], p: int, *, rng: np.random.Generator) -> list[Rate]:
    """Linkage by the distances at p known times; records move in straight lines.

    Rules name the record with the least sum of distances, or of their logarithms, or the least among those
    at all known times; in cylinders also by where these points would have been moved. A tie among c records
    counts 1/c if the right one is among them.
    """
    target, n, people = evaluation.target, len(evaluation.victims), evaluation.people
    offsets, rows = evaluation.draw_all_rows(p, rng)
    t, x, y = people.t[rows], people.x[rows], people.y[rows]
    lines, cylinders = target.lines, cylinders_of(evaluation)
    rules = _RULES if cylinders is None else _RULES_IN_CYLINDERS
    chances, inward = np.zeros((n, N_SUMS)), np.zeros((n, len(rules) - N_SUMS))

    def part(mine: slice, points: KnownPoints) -> None:
        link_nearest_passing(points, lines, chances[mine])
        if cylinders is not None:
            least = np.empty((len(points.own_record), moved_inward.N_SUMS))
            moved_inward.link_moved_points(points, *cylinders, inward[mine], least)

    in_parts(evaluation, KnownPoints(offsets, t, x, y, evaluation.records), part)
    points_known = f"{p} {{}}point{'s' * (p > 1)}"
    knows = f"knows {points_known.format('random ')} of a person exactly and names the record that"
    return [
        evaluation.best_rate(
            Rule.of_each(knows, rules, np.hstack([chances, inward])),
            name="nearest-linkage",
            knowledge=points_known.format("true "),
        )
    ]
