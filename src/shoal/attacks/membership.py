"""Is somebody in the data? Table linkage (survey of Fiore et al., arXiv 1903.12211).

Half of the people asked about are in the release, half are not. Whoever says yes or no without looking is
right for half of them: this half is the baseline, and the advantage is twice what the rate has above it.
"""

import numpy as np
import numpy.typing as npt

from shoal.attacks.evaluation import Evaluation
from shoal.attacks.rate import Rate
from shoal.attacks.target import BoxTarget
from shoal.attacks.victims import Victims
from shoal.errors import MisuseError
from shoal.kernels.evidence import strongest_evidence
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Floats, Integers

_FEWEST = 4  # people of each kind, so that a bound can be chosen on half of them


def attack_membership(evaluation: Evaluation[BoxTarget], p: int, *, rng: np.random.Generator) -> list[Rate]:
    """Says of people, of whom P exact samples are known, whether they are in the release.

    Yes when the record that speaks most for the samples does so strongly enough. How strongly is chosen on
    one half of the people and tried on the other, and the reverse. As a control, people outside are held
    against people outside. Raises MisuseError when fewer than four of either kind are there.
    """
    outside = evaluation.around.outside
    if outside is None or min(len(outside.subjects), len(evaluation.victims)) < _FEWEST:
        raise MisuseError(
            f"membership needs {_FEWEST} people in the release and {_FEWEST} who are not; give --control"
        )
    inside = Victims(
        label=evaluation.label, known=evaluation.known, subjects=evaluation.victims, own=evaluation.own
    )
    yes, no = rng.permutation(inside.subjects), rng.permutation(outside.subjects)
    if evaluation.label == "control":
        yes, no = yes[: len(yes) // 2], yes[len(yes) // 2 :]
        if len(yes) < _FEWEST:
            raise MisuseError(f"a control group of fewer than {2 * _FEWEST} cannot be held against itself")
    each = min(len(yes), len(no))
    strengths = np.concatenate(
        [
            _strengths(evaluation.target, inside.known, yes[:each], p, rng),
            _strengths(evaluation.target, outside.known, no[:each], p, rng),
        ]
    )
    member = np.arange(2 * each) < each
    return [
        Rate.of(
            says_rightly(strengths, member),
            name="membership",
            knowledge=f"{p} exact point{'s' * (p > 1)}",
            attacker=f"Someone who knows {p} random sample{'s' * (p > 1)} of a person exactly, and says "
            "whether the person is in the data. Half of those asked about are; guessing is right for half.",
            target=evaluation.label,
            baseline=0.5,
        )
    ]


def says_rightly(strengths: Floats, member: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """[v]: whether each is told rightly by a bound on strength that the other half of the people gave.

    Halves are the even and the odd places.
    """
    right = np.zeros(len(strengths), dtype=np.bool_)
    half = np.arange(len(strengths)) % 2 == 0
    for learned, tried in ((half, ~half), (~half, half)):
        bound = best_bound(strengths[learned], member[learned])
        right[tried] = (strengths[tried] >= bound) == member[tried]
    return right


def best_bound(strengths: Floats, member: npt.NDArray[np.bool_]) -> float:
    """The bound from which on a yes is right most often, both kinds counting alike; the lowest of equals."""
    bounds = np.append(np.unique(strengths), np.inf)
    said = strengths[None, :] >= bounds[:, None]
    share = (said & member).sum(axis=1) / max(int(member.sum()), 1)
    wrong = (said & ~member).sum(axis=1) / max(int((~member).sum()), 1)
    return float(bounds[np.argmax(share - wrong)])


def _strengths(
    target: BoxTarget, known: Trajectories, people: Integers, p: int, rng: np.random.Generator
) -> Floats:
    """[v]: how strongly the release speaks for each of these people."""
    rows = [
        known.offsets[one]
        + rng.choice(int(known.lengths[one]), size=min(p, int(known.lengths[one])), replace=False)
        for one in people.tolist()
    ]
    offsets = np.cumsum([0, *(len(own) for own in rows)], dtype=np.int64)
    taken = np.concatenate(rows)
    samples = np.column_stack([known.t[taken], known.x[taken], known.y[taken]]).astype(np.int64)
    strengths = np.zeros(len(people))
    strongest_evidence(
        offsets,
        samples,
        target.by_time,
        target.n_records,
        float(_largest_volume(target.boxes)),
        strengths,
    )
    return strengths


def _largest_volume(boxes: Integers) -> int:
    """Of boxes [b, 6], in cells and slots."""
    starts, ends, *corners = (boxes[:, column].astype(np.int64) for column in range(6))
    volume = (ends - starts) * (corners[2] - corners[0]) * (corners[3] - corners[1])
    return int(volume.max())
