"""Shared by NWA and W4M: greedy clusters with limited trash, cylinders, the release."""

from dataclasses import dataclass
from typing import Final

import numpy as np

from shoal.kernels.co_location import cluster_within
from shoal.messages import say
from shoal.methods.assembly import PointRecords, assemble_points
from shoal.methods.method import Method, microaggregation
from shoal.methods.parameters import SHARE_BELOW_1, parameter
from shoal.model.release import Points, Released
from shoal.model.trajectories import Trajectories
from shoal.runtime.arrays import Floats, Integers, offsets_of
from shoal.runtime.randomness import Randomness

K_OF_CLUSTERS: Final = "the fewest people who are moved into one cylinder"
MOVED_TOWARD_THE_MIDDLE: Final = microaggregation("samples are moved toward the middle of a crowd")

_GROWTH: Final = 1.5
# of a coordinate, by which the cylinder is smaller, so that rounding takes no distance beyond delta
_ROUNDINGS: Final = 8


@dataclass(frozen=True, eq=False, kw_only=True)
class Cluster:
    """People who are moved close to each other."""

    members: Integers  # [n] subjects
    t: Floats  # [s], their common times
    x: Floats  # [n, s], places
    y: Floats
    source: Integers  # [n, s], the raw sample that each point stands for, -1 = created


def delta_parameter() -> float:
    """Declare the diameter of the cylinder."""
    return parameter(
        default=1_000.0,
        unit="m",
        zero=True,
        help=say("parameter.delta", "How near the others of a crowd are; 0m: in one place."),
        meaning="diameter of the cylinder into which a crowd is moved",
    )


def trash_parameter() -> float:
    """Declare the largest share of people left out."""
    return parameter(
        default=0.1,
        unit="share",
        bound=SHARE_BELOW_1,
        help=say("parameter.trash", "Share of the people that may be left out."),
        meaning="the share of people that may be left out as too unlike others",
    )


def greedy_clusters(distances: Floats, k: int, trash: float) -> Integers:
    """The pivot of each person's cluster, -1 for at most the share ``trash``."""
    # distances: [n, n] with n >= k. The largest radius starts at half the median distance to the (k - 1)-th
    # nearest neighbor and grows by half until few enough people remain (Abul, Bonchi and Nanni 2008; both
    # figures are ours).
    nearest = np.partition(distances, k - 1, axis=1)[:, k - 1]
    positive = distances[distances > 0]
    radius = max(float(np.median(nearest)) / 2, float(positive.min()) if positive.size else 0.0)
    while True:
        pivot_of = cluster_within(distances, k, radius)
        if np.count_nonzero(pivot_of < 0) <= int(trash * len(distances)):
            return pivot_of
        radius *= _GROWTH


def rms_distances(points: Floats) -> Floats:
    """[n, n]: root of the mean squared distance between rows of ``points`` [n, s, d]."""
    n, steps, _ = points.shape
    flat = (points - points.reshape(-1, points.shape[2]).mean(axis=0)).reshape(n, -1)
    squared_norms = np.einsum("ij,ij->i", flat, flat)
    squared = squared_norms[:, None] + squared_norms[None, :] - 2 * (flat @ flat.T)
    np.fill_diagonal(squared, 0)
    return np.asarray(np.sqrt(np.maximum(np.minimum(squared, squared.T), 0) / steps))


def interpolate_places(t: Floats, samples: tuple[Floats, Floats, Floats]) -> tuple[Floats, Floats]:
    """Places at times t, on straight lines between samples, the first of each time."""
    own_t, x, y = samples
    moments, first = np.unique(own_t, return_index=True)
    return np.interp(t, moments, x[first]), np.interp(t, moments, y[first])


def move_into_cylinder(x: Floats, y: Floats, delta_m: float) -> tuple[Floats, Floats]:
    """Move points [n, s] the shortest way to within delta_m / 2 of the middle."""
    middle_x, middle_y = x.mean(axis=0), y.mean(axis=0)
    rounding = np.spacing(max(np.abs(x).max(), np.abs(y).max(), 1.0))
    radius = max(delta_m / 2 - _ROUNDINGS * float(rounding), 0.0)
    away = np.hypot(x - middle_x, y - middle_y)
    shrink = np.where(away > radius, radius / np.where(away > 0, away, 1.0), 1.0)
    outside = shrink < 1
    return (
        np.where(outside, middle_x + (x - middle_x) * shrink, x),
        np.where(outside, middle_y + (y - middle_y) * shrink, y),
    )


def publish_clusters(
    method: Method, original: Trajectories, clusters: list[Cluster], delta_m: float, rng: Randomness
) -> Released:
    """Publish clusters, suppress others; empties ``clusters`` to have each point once."""
    offsets = offsets_of(len(cluster.t) for cluster in clusters for _ in cluster.members)
    members = np.concatenate([cluster.members for cluster in clusters] or [np.empty(0, dtype=np.int64)])
    t, x, y = (np.empty(offsets[-1]) for _ in range(3))
    source = np.empty(offsets[-1], dtype=np.int64)
    end = len(t)
    while clusters:
        cluster = clusters.pop()
        rows = slice(end - cluster.x.size, end)
        moved = move_into_cylinder(cluster.x, cluster.y, delta_m)
        x[rows], y[rows] = (column.reshape(-1) for column in moved)
        t[rows] = np.tile(cluster.t, len(cluster.members))
        source[rows] = cluster.source.reshape(-1)
        end -= cluster.x.size
    release, linkage, _ = assemble_points(
        original,
        PointRecords(members=members, offsets=offsets, points=Points(t=t, x=x, y=y), stands_for=source),
        method,
        rng,
    )
    return release, linkage
