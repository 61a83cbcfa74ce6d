"""The adversary who knows p exact samples: unicity, linkage, and what a linked record tells."""

from typing import Final

import numpy as np

from shoal.attacks.cylinders import name_moved, undone_cells
from shoal.attacks.evaluation import Evaluation
from shoal.attacks.likelihoods import WEIGHTS, rules_of, weigh_blurred, weigh_exact
from shoal.attacks.noisy import noise_of
from shoal.attacks.rate import Rate, Rule
from shoal.attacks.target import BoxTarget
from shoal.kernels.likelihood import share_that_holds
from shoal.kernels.moved_inward import Errors
from shoal.runtime.arrays import Floats

NEAR_M: Final = 500.0
NEAR_S: Final = 1800.0
_INWARD: Final = "the record that stands where they would be, moved straight into its cylinder"
_READ: Final = (("moved inward", ""), ("moved inward, moves undone", ", with its moves undone"))


def attack_points(evaluation: Evaluation[BoxTarget], p: int, *, rng: np.random.Generator) -> list[Rate]:
    """Unicity (only the right record covers the p samples) and linkage (the likeliest of those that do).

    Where samples were moved or suppressed the right record may cover few of them. The adversary sees this,
    since no record covers all that is known of somebody, and then tries the rules for noisy samples, too.
    """
    offsets, known = evaluation.draw_samples(p, rng)
    found = weigh_exact(evaluation, offsets, known)
    knows = _knows(p)
    rules = rules_of(knows, f"the records that cover most of {'them' if p > 1 else 'it'}", found.chances)
    if (found.candidates == 0).any():
        middles = known.astype(np.float64) + 0.5
        near = weigh_blurred(evaluation, offsets, middles, noise_of(NEAR_M, NEAR_S, evaluation.target.grid))
        rules += [
            Rule(name=f"{rule.name}, nearby", does=rule.does, chances=rule.chances)
            for rule in rules_of(knows, "the records that pass near", near.chances)[:-1]
        ]
    alone = (found.candidates == 1) & (found.own_fits == 1)
    return [
        Rate.of(
            alone,
            name="unicity",
            knowledge=_knowledge(p),
            attacker=f"Someone who {knows} and wins when the person's record alone covers "
            f"{'them' if p > 1 else 'it'}.",
            target=evaluation.label,
            baseline=evaluation.guess,
            clusters=evaluation.clusters,
            most=evaluation.most,
        ),
        Rate.best_of(
            rules,
            name="linkage",
            knowledge=_knowledge(p),
            target=evaluation.label,
            baseline=evaluation.guess,
            clusters=evaluation.clusters,
            most=evaluation.most,
        ),
    ]


def attack_attribution(evaluation: Evaluation[BoxTarget], p: int, *, rng: np.random.Generator) -> list[Rate]:
    """Link with p samples, then say of another sample of the linked record that it is the victim's.

    A k-anonymous crowd shares its boxes, so this may succeed where linkage does not: that is what k-anonymity
    leaves open. The other sample is drawn at random from the boxes of the record that cover no known sample,
    or from all where there is no such box; what counts is the chance that the victim was in it.
    """
    n = len(evaluation.victims)
    offsets, known = evaluation.draw_samples(p, rng)
    found = weigh_exact(evaluation, offsets, known, rng.random(n))
    class_of = evaluation.target.class_of
    strangers = class_of[rng.integers(0, evaluation.target.n_records, n)]
    book = evaluation.target.book
    named = np.where(found.named < 0, strangers[:, None], found.named)

    grid = evaluation.target.grid
    errors = Errors(grid.cell_m / 12**0.5, grid.slot_s)  # what is left open by a cell and a slot
    inward = name_moved(evaluation, offsets, known.astype(np.float64) + 0.5, errors)
    undone = undone_cells(evaluation)

    def told(place: int) -> tuple[float, Floats]:
        """The chance to be right with a stranger's record, and with the one that each rule names."""
        samples = np.column_stack(evaluation.known.samples_of(int(evaluation.victims[place])))
        own = known[offsets[place] : offsets[place + 1]]
        own = np.ascontiguousarray(own[np.argsort(own[:, 0])])

        def share(one: int) -> float:
            return share_that_holds(book.boxes[book.offsets[one] : book.offsets[one + 1]], own, samples)

        shares = {one: share(one) for one in {int(strangers[place]), *named[place].tolist()}}
        right = [shares[one] for one in named[place].tolist()]
        if inward is not None and undone is not None:
            record = int(inward[1][place])
            right += [
                share_that_holds(read.record(record), own, samples) for read in (evaluation.target, undone)
            ]
        return shares[int(strangers[place])], np.array(right)

    label = f"reading linked records ({evaluation.label})"
    lucky, right = zip(*evaluation.run.map(told, range(n), label=label), strict=True)
    who = f"{_knows(p)}, says of another sample of a record that the person was there and then,"
    among = f"the records that cover most of {'them' if p > 1 else 'it'}"
    won = np.array(right).reshape(n, -1)
    rules = rules_of(who, among, won)
    rules += [
        Rule(name=name, does=f"{who} and names {_INWARD}{reads}", chances=chances)
        for (name, reads), chances in zip(_READ, won[:, len(WEIGHTS) :].T, strict=False)
    ]
    return [
        Rate.best_of(
            rules,
            name="attribution",
            knowledge=_knowledge(p),
            target=evaluation.label,
            baseline=float(np.mean(lucky)),
            clusters=evaluation.clusters,
        )
    ]


def _knowledge(p: int) -> str:
    return f"{p} exact point{'s' * (p > 1)}"


def _knows(p: int) -> str:
    return f"knows {p} random sample{'s' * (p > 1)} of a person exactly (all samples of a person with fewer)"
