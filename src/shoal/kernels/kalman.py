"""Join points into tracks by a Kalman filter of position and velocity, a random walk.

It runs both ways in time; a link costs the negative log density of either end seen from the other. Gruteser
and Hoh (2005) tracked people so, by Reid (1979); here links are assigned at least cost. Errors have the
tails of Student's law.
"""

import math

import numpy as np

from shoal.kernels.tracking import FAR, assign_followers, band_width, number_tracks, reverse_links
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.compiled import compiled

PLACE_M2 = 25.0  # variance of published points
LEAST_M2S2 = 1e-6  # least variance of velocities
STRENGTHS = 25  # of the walk to try


@compiled
def filter_states(
    t: Floats, x: Floats, y: Floats, earlier: Integers, order: Integers, walk: float, speed_m2s2: float
) -> Floats:
    """[n, 7]: x, y, both velocities, and the covariance along one axis: place, mixed, velocity."""
    # earlier: the previous point on each track, in the direction of ``order``; -1 = none. walk: growth of the
    # variance of a velocity per second. speed_m2s2: that variance where a track begins.
    states = np.zeros((len(t), 7))
    for i in order:
        back = earlier[i]
        if back < 0:
            states[i, 0], states[i, 1], states[i, 4], states[i, 6] = x[i], y[i], PLACE_M2, speed_m2s2
            continue
        lasts = abs(t[i] - t[back])
        place, both, speed = states[back, 4], states[back, 5], states[back, 6]
        place += 2 * lasts * both + lasts**2 * speed + walk * lasts**3 / 3
        both += lasts * speed + walk * lasts**2 / 2
        speed += walk * lasts
        to_place, to_speed = place / (place + PLACE_M2), both / (place + PLACE_M2)
        for axis, at in enumerate((x[i], y[i])):
            expected = states[back, axis] + lasts * states[back, 2 + axis]
            states[i, axis] = expected + to_place * (at - expected)
            states[i, 2 + axis] = states[back, 2 + axis] + to_speed * (at - expected)
        states[i, 4], states[i, 5] = (1 - to_place) * place, (1 - to_place) * both
        states[i, 6] = speed - to_speed * both
    return states


@compiled
def negative_log_density(
    states: Floats, i: int, lasts: float, x: float, y: float, walk: float, freedom: float
) -> float:
    """Up to a constant, that of (x, y) ``lasts`` seconds after the state of point i."""
    variance = (
        states[i, 4] + 2 * lasts * states[i, 5] + lasts**2 * states[i, 6] + walk * lasts**3 / 3 + PLACE_M2
    )
    off_x, off_y = x - states[i, 0] - lasts * states[i, 2], y - states[i, 1] - lasts * states[i, 3]
    return math.log(variance) + (freedom / 2 + 1) * math.log1p((off_x**2 + off_y**2) / variance / freedom)


@compiled
def _likeliest_walk(
    t: Floats, x: Floats, y: Floats, preceding: Integers, speed_m2s2: float, freedom: float
) -> float:
    best, least = 1.0, np.inf
    order = np.arange(len(t))
    for strength in range(STRENGTHS):
        walk = 10.0 ** (strength / 2 - 8)
        states = filter_states(t, x, y, preceding, order, walk, speed_m2s2)
        total = 0.0
        for j in range(len(t)):
            back = preceding[j]
            if back >= 0 and preceding[back] >= 0:
                total += negative_log_density(states, back, t[j] - t[back], x[j], y[j], walk, freedom)
        if total < least:
            best, least = walk, total
    return best


@compiled
def _kalman_costs(
    t: Floats, x: Floats, y: Floats, following: Integers, preceding: Integers, freedom: float, band: int
) -> Floats:
    n, count = len(t), 0
    speeds = np.empty(n)
    for i in range(n):
        back = preceding[i]
        if back >= 0:
            speeds[count] = ((x[i] - x[back]) ** 2 + (y[i] - y[back]) ** 2) / (t[i] - t[back]) ** 2
            count += 1
    speed_m2s2 = max(float(np.median(speeds[:count])) / 2, LEAST_M2S2) if count else 1.0
    walk = _likeliest_walk(t, x, y, preceding, speed_m2s2, freedom)
    order = np.arange(n)
    forward = filter_states(t, x, y, preceding, order, walk, speed_m2s2)
    backward = filter_states(t, x, y, following, n - 1 - order, walk, speed_m2s2)
    cost, least = np.full((n, band), FAR), np.inf
    for i in range(n):
        for column in range(min(band, n - 1 - i)):
            j = i + 1 + column
            lasts = t[j] - t[i]
            if lasts > 0:
                cost[i, column] = negative_log_density(forward, i, lasts, x[j], y[j], walk, freedom)
                cost[i, column] += negative_log_density(backward, j, lasts, x[i], y[i], walk, freedom)
                least = min(least, cost[i, column])
    for i in range(n):
        for column in range(band):
            if cost[i, column] < FAR:
                cost[i, column] -= least
    return cost


@compiled
def join_with_filter(
    t: Floats, x: Floats, y: Floats, track: Integers, tracks: int, rounds: int, freedom: float
) -> Integers:
    """int64 [n]: the track of each point, in ascending time, from initial tracks."""
    n = len(t)
    preceding, last = np.full(n, -1, dtype=np.int64), np.full(n, -1, dtype=np.int64)
    for i in range(n):
        preceding[i] = last[track[i]]
        last[track[i]] = i
    for _ in range(rounds):
        following = reverse_links(preceding)
        cost = _kalman_costs(t, x, y, following, preceding, freedom, band_width(n, tracks))
        preceding = reverse_links(assign_followers(cost, tracks))
    return number_tracks(preceding)
