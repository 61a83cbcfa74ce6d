"""Tables 1 to 3, messages and exponentiations of Romero-Tris and Megias 2018, Sec. 5."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final, cast

import numpy as np

from shoal.io import read
from shoal.model.trajectories import Trajectories
from shoal.synthetic import synthesize

if TYPE_CHECKING:
    from shoal_collect.simulation.experiment import Result, Trips

TITLE: Final = "Romero-Tris and Megias 2018, user-centric collection of trajectories"
Figure = tuple[str, str, float]
"""A row, a column, and the value in the column's unit."""

# bootstrappers, theta in meters, theta in minutes, k -> share submitted %, people with one, their share %
PAPER: Final = {
    (10, 1000.0, 60.0, 2): (1.89, 51, 3.22),
    (40, 1000.0, 60.0, 2): (2.64, 53, 5.95),
    (80, 1000.0, 60.0, 2): (5.11, 61, 7.08),
    (80, 5000.0, 180.0, 2): (7.12, 68, 10.84),
    (80, 5000.0, 180.0, 3): (5.85, 58, 8.81),
    (80, 5000.0, 180.0, 4): (3.94, 56, 6.23),
}
PARTICIPANTS: Final = 182
_TRIPS, _PAIRS = 17_621, 242_581
PAIRS_A_TRIP: Final = _PAIRS / _TRIPS
# with these, GeoLife has as many trips and pairs as the paper, if the data have no trips
GAP_S, POINTS = 166 * 60.0, 6.47
_COLUMNS: Final = (
    "submitted, %",
    "people with at least one, %",
    "share of theirs, %",
    "phi = 0, %",
    "other phi",
)


def _row_label(bootstrap: int, theta_m: float, theta_min: float, k: int) -> str:
    return f"{bootstrap} of 182 first, theta {theta_m / 1000:g} km and {theta_min:g} min, k = {k}"


_PRINTED: Final = {
    (_row_label(*key), column): value
    for key, (submitted, people, theirs) in PAPER.items()
    for column, value in zip(
        _COLUMNS, (submitted, 100 * people / (PARTICIPANTS - key[0]), theirs), strict=False
    )
} | {(_row_label(80, 5000, 180, 3), "phi = 0, %"): 86.76, (_row_label(80, 5000, 180, 3), "other phi"): 3.4}


def points_for(trajectories: Trajectories, pairs_a_trip: float) -> float:
    """Points per trip for an average of ``pairs_a_trip`` pairs.

    By bisection to a thousandth; at most 28.
    """
    from shoal_collect.simulation.experiment import points_of_trips

    lengths = trajectories.lengths[trajectories.lengths > 1]
    low, high = 2.0, 28.0
    while high - low > 0.001:
        middle = (low + high) / 2
        n_kept = np.minimum(lengths, np.fromiter(points_of_trips(middle), dtype=np.int64, count=len(lengths)))
        low, high = (middle, high) if (n_kept * (n_kept - 1) / 2).mean() < pairs_a_trip else (low, middle)
    return round((low + high) / 2, 3)


def _people(world: Any) -> "list[Trips]":
    from shoal_collect.simulation.experiment import is_in_tracks, people_of, trips_of

    def traces() -> Trajectories:
        dataset = world.inputs.get("traces")
        if dataset is not None:
            return cast("Trajectories", dataset)
        synthetic = synthesize(world.size.participants, max(world.size.days, 2), world.seed, layout="city")
        return read(synthetic, snap=False, run=world.run)

    def trips() -> "list[Trips]":
        everybody = world.once("traces", traces)
        if is_in_tracks(everybody):
            gap_s, points = None, points_for(everybody, PAIRS_A_TRIP)
        else:
            gap_s, points = GAP_S, POINTS
        n = min(len(people_of(everybody)), world.size.participants)
        return trips_of(everybody, n, max_gap_s=gap_s, n_points=points, fold_dates=False)

    return cast("list[Trips]", world.once_with("traces", "traces in trips", trips))


def _simulate(world: Any, bootstrap: int, theta_m: float, theta_min: float, k: int) -> "Result":
    from shoal_collect.crypto.chance import Chance
    from shoal_collect.matching.similarity import Thresholds
    from shoal_collect.simulation.experiment import Setting, simulate

    people = _people(world)
    setting = Setting(
        bootstrap=round(bootstrap * len(people) / PARTICIPANTS),
        thresholds=Thresholds(theta_m=theta_m, theta_min=theta_min),
        literal=True,
        k=k,
        by_people=False,
        subtrajectories=50,
    )
    return simulate(people, setting, Chance(world.seed.to_bytes(32)), world.run)


def data(world: Any) -> Iterator[Figure]:
    """The input data (Sec. 5.1)."""
    trips = [trip for trips_of_person in _people(world) for trip in trips_of_person]
    pairs = sum(len(trip) * (len(trip) - 1) // 2 for trip in trips)
    yield ("all", "people", len(_people(world)))
    yield ("all", "trips", len(trips))
    yield ("all", "pairs of points", pairs)
    yield ("all", "points of a trip", sum(map(len, trips)) / max(len(trips), 1))


def shares(world: Any) -> Iterator[Figure]:
    """Tables 1 to 3, and phi of Sec. 5.2.1."""
    for key in PAPER:
        result = _simulate(world, *key)
        values = (
            100 * result.share_submitted,
            100 * result.users_with_at_least_one / result.people,
            100 * result.their_average_share,
            100 * result.phi_share_of_zeros,
            result.phi_mean_of_others,
        )
        for column, value in zip(_COLUMNS, values, strict=True):
            yield (_row_label(*key), column, value)


def messages(_world: Any) -> Iterator[Figure]:
    """Sec. 5.2.2, over the paper's steps, and of shoal's mix alone."""
    n = 3
    for place, name in enumerate(("first of 3", "second of 3", "last of 3")):
        group, keys, trimmed = 1 + (n - 1), 2 * (n - 1), 1
        to_first, forward = int(place > 0), 1 if place < n - 1 else n - 1
        to_server, answers = 1, n - 1
        total = group + keys + to_first + forward + to_server + answers + trimmed
        yield (name, "messages of the paper's steps", total)
        yield (name, "letters of shoal's mix", 7 * (n - 1))


def exponentiations(world: Any) -> Iterator[Figure]:
    """Sec. 5.2.2, counted while one group runs the paper's four steps."""
    from shoal_collect.crypto import elgamal
    from shoal_collect.crypto.chance import Chance
    from shoal_collect.crypto.group import FFDHE3072, Group

    powers = 0

    class Counting(Group):
        def secret_power(self, base: Any, exponent: Any) -> Any:
            nonlocal powers
            powers += 1
            return super().secret_power(base, exponent)

    n, s, chance = 3, 3, Chance(world.seed.to_bytes(32))
    group = Counting(FFDHE3072.p, FFDHE3072.g)
    secrets = [group.draw_secret(chance) for _ in range(n)]
    key_shares = [group.secret_power(group.g, secret) for secret in secrets]
    y = elgamal.combined_key(group, key_shares)
    spent, lists = [1] * n, []
    for place in range(n):
        before = powers
        lists += [elgamal.encrypt(group, y, group.encode(bytes(8), 8), chance) for _ in range(s)]
        spent[place] += powers - before
    for place, secret in enumerate(secrets):
        before = powers
        lists = [elgamal.strip(group, secret, ciphertext) for ciphertext in lists]
        if place < n - 1:
            rest = elgamal.combined_key(group, key_shares[place + 1 :])
            lists = [
                elgamal.remask_with(group, rest, ciphertext, group.draw_secret(chance))
                for ciphertext in lists
            ]
        spent[place] += powers - before
    for place, name in enumerate(("first of 3", "second of 3", "last of 3")):
        yield (name, "exponentiations with 3 records each", spent[place])


EXPERIMENTS: Final[tuple[dict[str, Any], ...]] = (
    {
        "figure": "data",
        "title": "Sec. 5.1: the data",
        "function": data,
        "printed": {
            ("all", "people"): PARTICIPANTS,
            ("all", "trips"): _TRIPS,
            ("all", "pairs of points"): _PAIRS,
        },
        "note": "With --person track a trip is one file, thinned to the paper's number of pairs; else trips "
        "end at pauses of 166 min.",
    },
    {
        "figure": "tables",
        "title": "Tables 1 to 3: sub-trajectories submitted, and by whom",
        "function": shares,
        "printed": _PRINTED,
        "note": "Absolute times, Def. 2.5(b) as printed, phi counts sub-trajectories, k needs phi >= k.",
        "spread": True,
    },
    {
        "figure": "messages",
        "title": "Sec. 5.2.2: messages of one member",
        "function": messages,
        "printed": {
            ("first of 3", "messages of the paper's steps"): 12,
            ("second of 3", "messages of the paper's steps"): 13,
            ("last of 3", "messages of the paper's steps"): 14,
        },
        "note": "A broadcast to n others counts as n messages. Our mix makes seven; a round takes more.",
    },
    {
        "figure": "exponentiations",
        "title": "Sec. 5.2.2: exponentiations of one member, n = 3, tau + tau' = 3",
        "function": exponentiations,
        "printed": {
            (f"{one} of 3", "exponentiations with 3 records each"): 16 for one in ("first", "second", "last")
        },
        "note": "The paper's 1 + 2 s + n s leaves out re-masking; who is not last does 1 + 2 s + 3 n s.",
    },
)

PAPER_OF_COLLECT: Final = {"title": TITLE, "experiments": EXPERIMENTS}
"""The entry point by which ``shoal reproduce`` finds these experiments."""
