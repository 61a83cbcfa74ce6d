"""Which records belong together: the cluster within which a release of swapped points shuffled.

The claim of such a release lets an adversary learn the cluster, which then holds all places of its members
that were not removed. This adversary learns it from the release alone.
"""

import numpy as np

from shoal.attacks.evaluation import Evaluation
from shoal.attacks.rate import Rate
from shoal.attacks.swapped_clusters import Likeness
from shoal.attacks.target import PointTarget
from shoal.errors import MisuseError
from shoal.runtime.arrays import Integers


def attack_cluster(evaluation: Evaluation[PointTarget], *, rng: np.random.Generator) -> list[Rate]:
    """Names the record that another seems to be mixed with; right when points of one person are in both.

    In raw data every record is by itself, so that nobody can be right. Baseline: naming any other record.
    """
    del rng  # nothing is drawn: the whole release is looked at
    if evaluation.label == "control":
        raise MisuseError("people who are not in the release have no record that others were mixed with")
    target = evaluation.target
    together = clusters_of(evaluation)
    if evaluation.around.claim is None:
        named = np.full(target.n_records, -1, dtype=np.int64)
    else:
        named = Likeness(target, 1).names[:, 0]
    own = evaluation.own
    right = (named[own] >= 0) & (together[named[own]] == together[own])
    sizes = np.bincount(together)[together[own]]
    return [
        Rate.of(
            right,
            name="cluster-pairs",
            knowledge="the release alone",
            attacker="Someone who takes a record and names the one that is most like it in length, times and "
            "places, as one that it was mixed with.",
            target=evaluation.label,
            baseline=float((sizes - 1).mean()) / max(target.n_records - 1, 1),
        )
    ]


def clusters_of(evaluation: Evaluation[PointTarget]) -> Integers:
    """int64 [r]: a number for each record; equal for records that share a person's points, if by others."""
    target, inside = evaluation.target, evaluation.around.inside
    cluster = np.arange(target.n_records)
    if inside is None:
        return cluster
    people = inside.known
    owner_of = np.full(int(target.by_triple.codes.max()) + 1, -1, dtype=np.int64)
    numbers = target.by_triple.codes_of(people.t, people.x, people.y)
    owners = np.repeat(np.arange(people.n_subjects), people.lengths)
    owner_of[numbers[numbers >= 0]] = owners[numbers >= 0]
    owner = owner_of[target.by_triple.codes]
    pairs = np.unique(np.column_stack([owner, target.record_of_point])[owner >= 0], axis=0)
    while True:  # the least number of each person's records, until nothing changes
        least = np.full(people.n_subjects, target.n_records)
        np.minimum.at(least, pairs[:, 0], cluster[pairs[:, 1]])
        before = cluster.copy()
        np.minimum.at(cluster, pairs[:, 1], least[pairs[:, 0]])
        if np.array_equal(before, cluster):
            return cluster
