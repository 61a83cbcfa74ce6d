"""Adversaries who know p samples, exact or with errors."""

from typing import Final

import numpy as np

from shoal.attacks.cylinders import PARTS, link_to_moved_records, undone_cells
from shoal.attacks.evaluation import Evaluation
from shoal.attacks.likelihoods import WEIGHTS, rules_of, weigh_blurred, weigh_exact
from shoal.attacks.noisy_reading import read_noisy
from shoal.attacks.place_lists import PUBLIC_LIST
from shoal.attacks.rate import Rate, Rule
from shoal.attacks.target import BoxTarget
from shoal.kernels.likelihood import share_that_holds
from shoal.kernels.moved_inward import Errors
from shoal.kernels.noisy_likelihood import Noise
from shoal.model.claims import KAnonymity, KteAnonymity
from shoal.model.grid import Grid
from shoal.runtime.arrays import Floats, Integers
from shoal.units import show_m, show_s

NEAR_M: Final = 500.0
NEAR_S: Final = 1800.0
_EXACT: Final = Noise(0.2, 0.2, 2.5, 0.0)  # in slots and cells: no place but the known one is near
_INWARD: Final = "the record that stands where they would be, moved straight into its cylinder"
_READ: Final = (("moved inward", ""), ("moved inward, moves undone", ", with its moves undone"))


def attack_points(evaluation: Evaluation[BoxTarget], p: int, *, rng: np.random.Generator) -> list[Rate]:
    """Unicity (only the right record covers the p samples) and linkage (the likeliest that does).

    Where no record covers all, as after moves or suppression, rules for noisy samples are tried too.
    """
    offsets, samples = evaluation.draw_samples(p, rng)
    weighed = weigh_exact(evaluation, offsets, samples)
    knows = _knows(p)
    rules = rules_of(knows, f"the records that cover most of {'them' if p > 1 else 'it'}", weighed.chances)
    if (weighed.candidates == 0).any():
        middles = samples.astype(np.float64) + 0.5
        near = weigh_blurred(evaluation, offsets, middles, noise_of(NEAR_M, NEAR_S, evaluation.target.grid))
        rules += [
            Rule(name=f"{rule.name}, nearby", does=rule.does, chances=rule.chances)
            for rule in rules_of(knows, "the records that pass near", near.chances)[:-1]
        ]
    rules = [*_rule_of_visits(evaluation, knows, offsets, samples + np.float64(0.5), _EXACT), *rules]
    alone = (weighed.candidates == 1) & (weighed.own_fits == 1)
    return [
        evaluation.rate_of(
            alone,
            name="unicity",
            knowledge=_knowledge(p),
            attacker=f"Someone who {knows} and wins when the person's record alone covers "
            f"{'them' if p > 1 else 'it'}.",
            max_chance=evaluation.max_chance,
        ),
        evaluation.best_rate(
            rules, name="linkage", knowledge=_knowledge(p), max_chance=evaluation.max_chance
        ),
    ]


def _rule_of_visits(
    evaluation: Evaluation[BoxTarget], knows: str, offsets: Integers, seen: Floats, noise: Noise
) -> list[Rule]:
    context, sizes = evaluation.context, evaluation.target.classes.sizes
    if context.places is None or not isinstance(context.claim, KAnonymity | KteAnonymity):
        return []
    named = read_noisy(evaluation, offsets, seen, noise, np.arange(len(sizes))).named
    does = f"{knows} {PUBLIC_LIST} and names the record that explains them best by all sides of its boxes"
    right = (named == evaluation.clusters) / sizes[named]
    return [Rule(name="sides of all boxes", does=does, chances=right)]


def attack_attribution(evaluation: Evaluation[BoxTarget], p: int, *, rng: np.random.Generator) -> list[Rate]:
    """Link with p samples, then claim another sample of the linked record.

    A crowd shares its boxes, so k-anonymity does not prevent this. The other sample is drawn from boxes
    that cover no known one, or from all; the rate counts the chance that the victim was in it.
    """
    n = len(evaluation.victims)
    offsets, known_samples = evaluation.draw_samples(p, rng)
    weighed = weigh_exact(evaluation, offsets, known_samples, rng.random(n))
    class_of = evaluation.target.class_of
    strangers = class_of[rng.integers(0, evaluation.target.n_records, n)]
    book = evaluation.target.book
    named = np.where(weighed.named < 0, strangers[:, None], weighed.named)

    grid = evaluation.target.grid
    errors = Errors(grid.cell_m / 12**0.5, grid.slot_s)  # what is left open by a cell and a slot
    inward = link_to_moved_records(evaluation, offsets, known_samples.astype(np.float64) + 0.5, errors)
    undone = undone_cells(evaluation)

    def read_record(place: int) -> tuple[float, Floats]:
        samples = np.column_stack(evaluation.people.samples_of(int(evaluation.victims[place])))
        known_here = known_samples[offsets[place] : offsets[place + 1]]
        known_here = np.ascontiguousarray(known_here[np.argsort(known_here[:, 0])])

        def share(one: int) -> float:
            return share_that_holds(
                book.boxes[book.offsets[one] : book.offsets[one + 1]], known_here, samples
            )

        shares = {one: share(one) for one in {int(strangers[place]), *named[place].tolist()}}
        right = [shares[one] for one in named[place].tolist()]
        if inward is not None and undone is not None:
            record = int(inward[1][place])
            right += [
                share_that_holds(read.record(record), known_here, samples)
                for read in (evaluation.target, undone)
            ]
        return shares[int(strangers[place])], np.array(right)

    label = f"reading linked records ({evaluation.label})"
    lucky, right = zip(*evaluation.run.map(read_record, range(n), label=label), strict=True)
    who = f"{_knows(p)}, says of another sample of a record that the person was there and then,"
    candidates = f"the records that cover most of {'them' if p > 1 else 'it'}"
    won = np.array(right).reshape(n, -1)
    rules = rules_of(who, candidates, won)
    rules += [
        Rule(name=name, does=f"{who} and names {_INWARD}{reads}", chances=chances)
        for (name, reads), chances in zip(_READ, won[:, len(WEIGHTS) :].T, strict=False)
    ]
    return [
        evaluation.best_rate(
            rules, name="attribution", knowledge=_knowledge(p), baseline=float(np.mean(lucky))
        )
    ]


def _knowledge(p: int) -> str:
    return f"{p} exact point{'s' * (p > 1)}"


def _knows(p: int) -> str:
    return f"knows {p} random sample{'s' * (p > 1)} of a person exactly (all samples of a person with fewer)"


def points_with_noise(p: int, noise_m: float, noise_s: float) -> str:
    """What is known, in short."""
    return f"{p} point{'s' * (p > 1)} with noise of {show_m(noise_m)} and {show_s(noise_s)}"


_MOST_DEVIATIONS: Final = 6.0  # a box farther away on any axis counts as impossible
_FLOOR: Final = 1e-12  # the density of an observation that no box explains


def noise_of(noise_m: float, noise_s: float, grid: Grid) -> Noise:
    """Errors of these standard deviations, in slots and cells."""
    return Noise(noise_s / grid.slot_s, noise_m / grid.cell_m, _MOST_DEVIATIONS, _FLOOR)


def attack_noisy(
    evaluation: Evaluation[BoxTarget], p: int, noise_m: float, noise_s: float, *, rng: np.random.Generator
) -> list[Rate]:
    """Linkage by p observations with deviations noise_m and noise_s on each axis."""
    noise = noise_of(noise_m, noise_s, evaluation.target.grid)
    offsets, _, seen = evaluation.draw_noisy_samples(p, noise, rng)
    weighed = weigh_blurred(evaluation, offsets, seen, noise)
    knows = (
        f"knows {p} random sample{'s' * (p > 1)} of a person with Gaussian errors of {show_m(noise_m)} and "
        f"{show_s(noise_s)} (standard deviation on each axis)"
    )
    rules = rules_of(knows, "the records that could explain them", weighed.chances)
    rules = [*_rule_of_visits(evaluation, knows, offsets, seen, noise), *rules]
    moved = link_to_moved_records(evaluation, offsets, seen, Errors(noise_m, noise_s))
    if moved is not None:
        does = (
            f"{knows} and names the record that stands where they would be, moved straight into its cylinder"
        )
        rules.append(Rule(name="moved inward", does=does, chances=moved[0]))
    return [
        evaluation.best_rate(
            rules,
            name="noisy-linkage",
            knowledge=points_with_noise(p, noise_m, noise_s),
            max_chance=evaluation.max_chance,
            parts=2 if moved is None else PARTS,
        )
    ]
