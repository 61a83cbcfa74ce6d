"""The attacks of the library as attackers of the contest, derived from the table of attacks.

An attack of the library is a function of an evaluation, which knows who is right and gives rates. Here nobody
knows who is right. So every different record is taken for right in turn, for all victims: where the attack
then wins, that is the record it names. Each rule of an attack enters by itself, since nobody can tell yet
which wins most.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import numpy as np

from shoal.attacks.adversary import Adversary
from shoal.attacks.evaluation import Evaluation, Evaluations, Victims
from shoal.attacks.knowledge import parse_knowledge
from shoal.attacks.rate import Rate, Rule
from shoal.attacks.table import ATTACKS
from shoal.errors import MisuseError
from shoal.model.release import Release
from shoal.model.trajectories import Trajectories
from shoal.release_folder.folder import read_release
from shoal.runtime.arrays import Floats
from shoal.runtime.run import Run

Points = list[list[float]]
NO_RECORD: Final = {
    "period": "needs what was before a moment and what was after it",
    "tau": "needs all observations of an interval",
    "track": "names a track; it enters as attackers/tracker.py",
}
"""Attacks that link by facts about people, and cannot name a record from some points of each."""


def enters(row: Adversary) -> bool:
    """Whether an adversary names a record from points that are known of a person."""
    return "link" in row.answers.values() and row.uses == "raw data" and row.name not in NO_RECORD


def link_answers(folder: Path, known: Sequence[Points]) -> Iterator[tuple[str, list[str]]]:
    """(attacker, the trajectory_id that it names for each victim) of every rule of every adversary."""
    release = read_release(folder)
    people = _people(release, known)
    for row in ATTACKS.values():
        if enters(row) and row.suits(release):
            asked = parse_knowledge(row.texts(row.default, release.claim)[-1])
            for rule, chances in _chances(asked.adversary, asked.values, release, people).items():
                yield f"{row.name}, {rule}", _named(release, chances)


def _people(release: Release, known: Sequence[Points]) -> Trajectories:
    """The victims with what is known of them, in the form of the release."""
    rows = np.array([point for own in known for point in own])
    ids = [f"{number:06d}" for number, own in enumerate(known) for _ in own]
    if release.grid is not None:
        size = np.array([release.grid.slot_s, release.grid.cell_m, release.grid.cell_m])
        rows = np.floor(rows / size + 1e-9).astype(np.int64)
    return Trajectories.from_rows(ids, *rows.T, grid=release.grid, crs=release.crs)


def _chances(
    row: Adversary, values: tuple[Any, ...], release: Release, people: Trajectories
) -> dict[str, Floats]:
    """By rule: [v, r] the chance that it names a record of the class of record r."""
    everybody = np.arange(people.n_subjects)
    evaluations = Evaluations(
        original=people,
        release=release,
        victims=[Victims(label="release", people=people, subjects=everybody, records=0 * everybody)],
        run=Run(threads=1),
        records=0 * everybody,
    )
    (evaluation,) = evaluations.one_by_one(boxes=row.takes_boxes)
    class_of = evaluation.target.class_of
    found: dict[str, Floats] = {}
    for one in np.unique(class_of).tolist():
        supposed = replace(evaluation, records=np.full(len(everybody), np.flatnonzero(class_of == one)[0]))
        for rule in _rules(row, values, supposed):
            chances = np.asarray(rule.chances, dtype=np.float64)
            if len(chances) == len(everybody):
                table = found.setdefault(rule.name, np.zeros((len(everybody), release.n_records)))
                table[:, class_of == one] = chances[:, None]
    return found


def _rules(row: Adversary, values: tuple[Any, ...], evaluation: Evaluation[Any]) -> list[Rule]:
    """Every rule by which the attack links, with its chances if the records are right."""
    kept: list[Rule] = []
    make, best = Rate.of, Rate.best_of

    def linked(words: dict[str, Any]) -> bool:
        return row.answers.get(words["name"]) == "link"

    def keep_best(rules: Sequence[Rule], **words: Any) -> Rate:
        if linked(words):
            kept.extend(replace(rule, name=f"{words['name']}: {rule.name}") for rule in rules)
        with patch.object(Rate, "of", make):
            return best(rules, **words)

    def keep(outcomes: Floats, **words: Any) -> Rate:
        if linked(words):
            kept.append(Rule(name=words["name"], does="", chances=outcomes))
        return make(outcomes, **words)

    with patch.object(Rate, "of", keep), patch.object(Rate, "best_of", keep_best):
        try:
            row.evaluate(evaluation, *values, rng=np.random.default_rng(0))
        except MisuseError:
            return []
    return kept


def _named(release: Release, chances: Floats) -> list[str]:
    """A record of the greatest chance for each victim."""
    draw = np.random.default_rng()
    return [
        release.trajectory_ids[int(draw.choice(np.flatnonzero(own >= own.max() * (1 - 1e-9))))]
        for own in chances
    ]
