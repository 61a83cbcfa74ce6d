"""How adversaries who know samples rank records: rules, weighted sums of cues.

The best rule depends on the release: all are tried, and chosen on other victims than those judged.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np

from shoal.attacks.evaluation import Evaluation
from shoal.attacks.rate import Rule
from shoal.attacks.target import BoxTarget, index_over_areas
from shoal.kernels.likelihood import KnownSamples, LinkResults, link_victims
from shoal.kernels.noisy_likelihood import Noise, link_noisy_victims
from shoal.runtime.arrays import Floats, Integers, Numbers


@dataclass(frozen=True, kw_only=True)
class Weights:
    """The weight of each cue.

    even, hull: log density of known samples in boxes filled evenly, or in hulls that touch their contents.
    """

    name: str  # the rule in two or three words
    does: str  # the adversary's target, after "names the one"
    even: float = 0.0
    hull: float = 0.0
    record: float = 0.0  # log density of the known places over all boxes of the record
    boxes: float = 0.0  # log of the number of boxes, for each known sample


WEIGHTS: Final = (
    Weights(
        name="hulls and density",
        does="whose boxes there are the likeliest hulls, with its boxes at all times dense at these places",
        hull=1,
        record=1,
        boxes=-1,
    ),
    Weights(name="densest record", does="whose boxes at all times are densest at these places", record=1),
    Weights(
        name="likeliest hulls",
        does="whose boxes there are the likeliest hulls, for the number of its boxes",
        hull=1,
        boxes=-1,
    ),
    Weights(
        name="smallest boxes",
        does="whose boxes there are smallest, for the number of its boxes",
        even=1,
        boxes=-1,
    ),
    Weights(name="any", does="that a die falls on"),
)

_PART: Final = 100

CUES: Final[Floats] = np.array(
    [[one.even, one.hull, one.record, one.boxes] for one in WEIGHTS], dtype=np.float64
)


def rules_of(knows: str, candidates: str, chances: Floats) -> list[Rule]:
    """The rules with their chances [v, rules]."""
    words = [(weights.name, weights.does) for weights in WEIGHTS]
    return Rule.of_each(f"{knows} and names, of {candidates}, the one", words, chances)


def weigh_exact(
    evaluation: Evaluation[BoxTarget], offsets: Integers, samples: Integers, picks: Floats | None = None
) -> LinkResults:
    """Rank records by exact samples[offsets[v] : offsets[v + 1]], int64 [m, 3].

    picks: float64 [v], which of equally good classes is named; None = the first.
    """
    book = evaluation.target.book

    def part(followers: KnownSamples, weighed: LinkResults) -> None:
        link_victims(followers, book, CUES, weighed)

    return _in_parts(evaluation, offsets, samples, picks, part)


def weigh_blurred(
    evaluation: Evaluation[BoxTarget], offsets: Integers, seen: Floats, noise: Noise
) -> LinkResults:
    """Rank records by noisy observations, float64 [m, 3] in slots and cells."""
    book = evaluation.target.book
    areas = index_over_areas(book.by_time)

    def part(followers: KnownSamples, weighed: LinkResults) -> None:
        link_noisy_victims(followers, noise, book, areas, CUES, weighed)

    return _in_parts(evaluation, offsets, seen, None, part)


def _in_parts(
    evaluation: Evaluation[BoxTarget],
    offsets: Integers,
    samples: Numbers,
    picks: Floats | None,
    work: Callable[[KnownSamples, LinkResults], None],
) -> LinkResults:
    n, rules = len(evaluation.victims), len(CUES)
    own_classes = evaluation.target.class_of[evaluation.records]
    picks_or_first = np.zeros(n) if picks is None else picks
    weighed = LinkResults(
        candidates=np.zeros(n, dtype=np.int64),
        own_fits=np.zeros(n, dtype=np.int64),
        chances=np.zeros((n, rules)),
        named=np.zeros((n, rules), dtype=np.int64),
    )

    def part(mine: slice) -> None:
        work(
            KnownSamples(
                offsets[mine.start : mine.stop + 1], samples, own_classes[mine], picks_or_first[mine]
            ),
            LinkResults._make(column[mine] for column in weighed),
        )

    evaluation.run.each_part(part, n, _PART, label=f"weighing what is known ({evaluation.label})")
    return weighed
