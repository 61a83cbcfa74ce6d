"""Is somebody in the data? Table linkage (survey of Fiore et al., arXiv 1903.12211).

Half of the people asked about are in the release, half are not. Whoever says yes or no without looking is
right for half of them: this half is the baseline, and the advantage is twice what the rate has above it.
"""

import numpy as np
import numpy.typing as npt

from shoal.attacks.cylinders import PARTS, Cylinders, cylinders_of, in_parts
from shoal.attacks.evaluation import Evaluation
from shoal.attacks.rate import Rate, Rule
from shoal.attacks.target import BoxTarget
from shoal.attacks.victims import Victims
from shoal.errors import MisuseError
from shoal.kernels.likelihood import strongest_evidence
from shoal.kernels.moved_inward import N_SUMS, link_moved_points
from shoal.kernels.passing import KnownPoints
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
    people = ((inside.known, yes[:each]), (outside.known, no[:each]))
    strengths = np.concatenate([_strengths(evaluation.target, *those, p, rng) for those in people])
    member = np.arange(2 * each) < each
    knows = (
        f"knows {p} random sample{'s' * (p > 1)} of a person exactly, "
        "and says whether the person is in the data"
    )
    right = says_rightly(strengths, member)
    points = f"{p} exact point{'s' * (p > 1)}"
    half = "Half of those asked about are; guessing is right for half."
    moved, as_given = cylinders_of(evaluation.as_given), evaluation.as_given
    if moved is None or as_given is None or as_given.around.outside is None:
        return [
            Rate.of(
                right,
                name="membership",
                knowledge=points,
                attacker=f"Someone who {knows}. {half}",
                target=evaluation.label,
                baseline=0.5,
            )
        ]
    known = as_given.around.outside.known if evaluation.label == "control" else as_given.known
    given = ((known, yes[:each]), (as_given.around.outside.known, no[:each]))
    off = np.concatenate([_off(evaluation, moved, *those, p, rng) for those in given])
    rules = [Rule(name="cells", does=f"{knows}, by cells alone", chances=right)] + [
        Rule(
            name=name,
            does=f"{knows}, by whether a record stands where they would be, moved into its cylinder, {when}",
            chances=says_rightly(-sums, member),
        )
        for name, when, sums in zip(
            ("moved inward", "moved inward, any time"), ("at their times", "at any time"), off.T, strict=True
        )
    ]
    return [
        Rate.best_of(
            rules,
            name="membership",
            knowledge=points,
            target=evaluation.label,
            baseline=0.5,
            clusters=np.arange(2 * each),
            parts=PARTS,
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
    offsets, taken = _rows(known, people, p, rng)
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


def _off(
    evaluation: Evaluation[BoxTarget],
    moved: Cylinders,
    known: Trajectories,
    people: Integers,
    p: int,
    rng: np.random.Generator,
) -> Floats:
    """[v, rules]: how far the record that is nearest to it is from where each would be in its cylinder."""
    offsets, taken = _rows(known, people, p, rng)
    nobody = np.zeros(len(people), dtype=np.int64)
    points = KnownPoints(offsets, known.t[taken], known.x[taken], known.y[taken], nobody)
    chances, least = np.empty((2, len(people), N_SUMS))

    def part(mine: slice, known: KnownPoints) -> None:
        link_moved_points(known, *moved, chances[mine], least[mine])

    in_parts(evaluation, points, part)
    return least / np.maximum(np.diff(offsets), 1)[:, None]


def _rows(
    known: Trajectories, people: Integers, p: int, rng: np.random.Generator
) -> tuple[Integers, Integers]:
    """(offsets [v + 1], rows): p random samples of each, all of those who have fewer."""
    rows = [
        known.offsets[one]
        + rng.choice(int(known.lengths[one]), size=min(p, int(known.lengths[one])), replace=False)
        for one in people.tolist()
    ]
    return np.cumsum([0, *(len(own) for own in rows)], dtype=np.int64), np.concatenate(rows)


def _largest_volume(boxes: Integers) -> int:
    """Of boxes [b, 6], in cells and slots."""
    starts, ends, *corners = (boxes[:, column].astype(np.int64) for column in range(6))
    volume = (ends - starts) * (corners[2] - corners[0]) * (corners[3] - corners[1])
    return int(volume.max())
