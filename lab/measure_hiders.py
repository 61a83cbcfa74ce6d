"""How often the owner is named among the records that fit, for ways of hiding (docs/kte-hide.md).

python lab/measure_hiders.py [--input FILE | --subjects 300 --days 3 --layout city] [--k 2] [--tau 30]
    [--victims 300] [--seed 0]

Each way is measured by the same adversaries. *Window*: all samples of the victim in one interval of
length tau are known; of the records that fit, name the one densest at the known cells over all its boxes.
*Two windows*: the same with a second interval three hours later. *Joined*: of the records of the next period,
name the one most like the victim's record of this period.
"""

import argparse
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

import shoal
from shoal.model.trajectories import Trajectories
from shoal.runtime.randomness import Randomness
from shoal.utility.accuracy import measure_accuracy

COARSE = 10  # cells of a square by which records are compared


@dataclass(frozen=True, eq=False)
class Period:
    """A part of time with its own pseudonyms; start, end: slots; boxes, owner: of each record."""

    start: int
    end: int
    boxes: list[np.ndarray]
    owner: list[str]
    raw: Trajectories
    mean_space_m: float
    mean_time_s: float
    lost: int


Way = Callable[[Trajectories], list[Period]]


def cut(original: Trajectories, slots: int) -> Iterator[tuple[int, int, Trajectories]]:
    """The samples of each period of so many slots, of whoever has any."""
    first = int(original.t.min())
    ids = np.repeat(np.array(original.ids, dtype=np.object_), original.lengths)
    for start in range(first, int(original.t.max()) + 1, slots):
        held = (original.t >= start) & (original.t < start + slots)
        if held.any():
            yield (
                start,
                start + slots,
                Trajectories.from_rows(
                    ids[held].tolist(),
                    original.t[held],
                    original.x[held],
                    original.y[held],
                    grid=original.grid,
                ),
            )


def period_of(start: int, end: int, raw: Trajectories, method: shoal.Method, seed: int) -> Period:
    release, linkage = method.anonymize(raw, Randomness.for_research(seed))
    extents = measure_accuracy(raw, release, linkage).raw
    uid_of = dict(zip(linkage.trajectory_ids, linkage.uids, strict=True))
    boxes = [np.stack(release.record(r).columns(), axis=1) for r in range(release.n_records)]
    return Period(
        start,
        end,
        boxes,
        [uid_of[name] for name in release.trajectory_ids],
        raw,
        extents.mean_space_m,
        extents.mean_time_s,
        release.losses.samples_suppressed,
    )


def ways(k: int, tau_s: float, seed: int, original: Trajectories) -> dict[str, Way]:
    """The ways by name. A period that is one window has the same hiders for all of it."""
    slot_s = original.snapped_grid().slot_s
    whole = int(original.t.max() - original.t.min()) + 1

    def changing(slots: int) -> Way:
        method = shoal.KteHide(k=k, tau_s=tau_s, epsilon_s=tau_s)
        return lambda raw: [period_of(a, b, part, method, seed) for a, b, part in cut(raw, slots)]

    def staying(slots: int) -> Way:
        method = shoal.KteHide(k=k, hiders="stay")
        return lambda raw: [period_of(a, b, part, method, seed) for a, b, part in cut(raw, slots)]

    def crowds(slots: int) -> Way:
        return lambda raw: [period_of(a, b, part, shoal.Glove(k=k), seed) for a, b, part in cut(raw, slots)]

    hour = round(3600 / slot_s)
    return {
        "hiders change, one pseudonym": changing(whole),
        "hiders change, a pseudonym a day": changing(24 * hour),
        "hiders change, a pseudonym for 6 h": changing(6 * hour),
        "hiders stay, one pseudonym": staying(whole),
        "hiders stay, a pseudonym a day": staying(24 * hour),
        "hiders stay, a pseudonym for 6 h": staying(6 * hour),
        "hiders stay, a pseudonym for 1 h": staying(hour),
        "GLOVE, one pseudonym": crowds(whole),
        "GLOVE, a pseudonym for 6 h": crowds(6 * hour),
    }


def fits(boxes: np.ndarray, known: np.ndarray, start: int, end: int) -> bool:
    """Whether a record holds all known samples [s, 3], and each of its boxes in the interval one of them."""
    t, x, y = known.T[:, :, None]
    held = (boxes[:, 0] <= t) & (t < boxes[:, 1]) & (boxes[:, 2] <= x) & (x < boxes[:, 4])
    held &= (boxes[:, 3] <= y) & (y < boxes[:, 5])
    inside = (boxes[:, 0] >= start) & (boxes[:, 1] <= end)
    return bool(held.any(axis=1).all() and held[:, inside].any(axis=0).all())


def density(boxes: np.ndarray, known: np.ndarray) -> float:
    """How densely all boxes of a record hold the known cells, whatever the time."""
    cells = np.unique(known[:, 1:], axis=0)
    x, y = cells.T[:, :, None]
    held = (boxes[:, 2] <= x) & (x < boxes[:, 4]) & (boxes[:, 3] <= y) & (y < boxes[:, 5])
    return float((held / ((boxes[:, 4] - boxes[:, 2]) * (boxes[:, 5] - boxes[:, 3]))).sum() / len(boxes))


def seen(raw: Trajectories, person: int, start: int, length: int) -> np.ndarray:
    t, x, y = raw.samples_of(person)
    held = (t >= start) & (t < start + length)
    return np.stack([t[held], x[held], y[held]], axis=1)


def named(period: Period, windows: list[tuple[np.ndarray, int, int]], uid: str) -> float:
    """The chance that the densest of the records that fit all windows is this person's."""
    fitting = [r for r, boxes in enumerate(period.boxes) if all(fits(boxes, *window) for window in windows)]
    if not fitting:
        return 0.0
    known = np.concatenate([window[0] for window in windows])
    score = np.array([density(period.boxes[r], known) for r in fitting])
    best = np.flatnonzero(score >= score.max() * (1 - 1e-9))
    return float(np.mean([period.owner[fitting[b]] == uid for b in best]))


def attacked(
    periods: list[Period], tau: int, apart: int, victims: int, rng: np.random.Generator
) -> tuple[float, float]:
    """The share of victims named by one window and, where both lie in one period, by two."""
    one, two = [], []
    for _ in range(victims):
        period = periods[rng.integers(len(periods))]
        person = int(rng.integers(period.raw.n_subjects))
        t = period.raw.samples_of(person)[0]
        start = int(t[rng.integers(len(t))]) - int(rng.integers(tau))
        first = (seen(period.raw, person, start, tau), start, start + tau)
        one.append(named(period, [first], period.raw.ids[person]))
        later = start + tau + apart
        second = (seen(period.raw, person, later, tau), later, later + tau)
        if len(second[0]) and later + tau <= period.end:
            two.append(named(period, [first, second], period.raw.ids[person]))
    return float(np.mean(one)), float(np.mean(two)) if len(two) >= 20 else np.nan


def profile(boxes: np.ndarray, x0: int, y0: int, n: int) -> np.ndarray:
    """How much of a record's boxes lies in each coarse square, as a vector of length 1."""
    found = np.zeros((n, n))
    for _, _, x_min, y_min, x_max, y_max in boxes.tolist():
        a, b = (x_min - x0) // COARSE, (x_max - 1 - x0) // COARSE + 1
        c, d = (y_min - y0) // COARSE, (y_max - 1 - y0) // COARSE + 1
        found[a:b, c:d] += 1 / ((b - a) * (d - c))
    return found.ravel() / np.linalg.norm(found)


def joined(periods: list[Period], rng: np.random.Generator, most: int = 6) -> float:
    """The share of records whose person's record in the next period is the one most like it."""
    if len(periods) < 2:
        return np.nan
    x0 = min(int(each.raw.x.min()) for each in periods)
    y0 = min(int(each.raw.y.min()) for each in periods)
    n = max(int(max(each.raw.x.max() - x0, each.raw.y.max() - y0)) for each in periods) // COARSE + 2
    won: list[bool] = []
    for at in rng.permutation(len(periods) - 1)[:most]:
        here, there = periods[at], periods[at + 1]
        later = np.array([profile(boxes, x0, y0, n) for boxes in there.boxes])
        for boxes, uid in zip(here.boxes, here.owner, strict=True):
            if uid in there.owner:
                won.append(there.owner[int((later @ profile(boxes, x0, y0, n)).argmax())] == uid)
    return float(np.mean(won)) if won else np.nan


def narrowed(period: Period, victims: int, rng: np.random.Generator) -> tuple[float, float, float, float]:
    """Mean dx + dy in cells, and duration in slots, of the own record's boxes and of all records' together.

    For each sample of a victim: the box of the own record that holds it, and the part that it shares with the
    boxes of every other record that holds the victim at all times. Only for hiders that stay.
    """
    own: list[tuple[int, int]] = []
    shared: list[tuple[int, int]] = []
    for person in rng.permutation(period.raw.n_subjects)[:victims].tolist():
        known = np.stack(period.raw.samples_of(person), axis=1)
        start, end = int(known[0, 0]), int(known[-1, 0]) + 1
        fitting = [boxes for boxes in period.boxes if fits(boxes, known, start, end)]
        mine = period.boxes[period.owner.index(period.raw.ids[person])]
        for sample in known:
            held = np.array([_holding(boxes, sample) for boxes in fitting])
            low, high = held[:, [0, 2, 3]].max(axis=0), held[:, [1, 4, 5]].min(axis=0)
            shared.append((int((high - low)[1:].sum()), int((high - low)[0])))
            box = _holding(mine, sample)
            own.append((int(box[4] - box[2] + box[5] - box[3]), int(box[1] - box[0])))
    return (*np.mean(own, axis=0).tolist(), *np.mean(shared, axis=0).tolist())


def _holding(boxes: np.ndarray, sample: np.ndarray) -> np.ndarray:
    """The first box that holds a sample."""
    t, x, y = sample.tolist()
    held = (boxes[:, 0] <= t) & (t < boxes[:, 1]) & (boxes[:, 2] <= x) & (x < boxes[:, 4])
    return np.asarray(boxes[np.flatnonzero(held & (boxes[:, 3] <= y) & (y < boxes[:, 5]))[0]])


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--input")
    options.add_argument("--subjects", type=int, default=300)
    options.add_argument("--days", type=int, default=3)
    options.add_argument("--layout", choices=("nation", "city"), default="city")
    options.add_argument("--k", type=int, default=2)
    options.add_argument("--tau", type=float, default=30, help="minutes")
    options.add_argument("--victims", type=int, default=300)
    options.add_argument("--seed", type=int, default=0)
    asked = options.parse_args()
    original = shoal.read(asked.input or shoal.synthesize(asked.subjects, asked.days, 1, layout=asked.layout))
    slot_s = original.snapped_grid().slot_s
    print(f"{original.n_subjects} people, {original.n_samples} samples, k = {asked.k}\n")
    print(
        "| way | window | two windows | joined | suppressed | mean dx + dy | mean duration |\n"
        "|---|---|---|---|---|---|---|"
    )
    for name, way in ways(asked.k, asked.tau * 60, asked.seed, original).items():
        periods = way(original)
        rng = np.random.default_rng(asked.seed)
        tau = round(asked.tau * 60 / slot_s)
        one, two = attacked(periods, tau, round(3 * 3600 / slot_s), asked.victims, rng)
        weight = np.array([period.raw.n_samples - period.lost for period in periods])
        space, time = (
            np.average([getattr(period, what) for period in periods], weights=weight)
            for what in ("mean_space_m", "mean_time_s")
        )
        lost = sum(period.lost for period in periods) / original.n_samples
        print(
            f"| {name} | {one:.1%} | {two:.1%} | {joined(periods, rng):.1%} | {lost:.1%} | "
            f"{space / 1000:.1f} km | {time / 60:.0f} min |",
            flush=True,
        )
    (whole,) = ways(asked.k, asked.tau * 60, asked.seed, original)["hiders stay, one pseudonym"](original)
    cells, slots, cells_shared, slots_shared = narrowed(
        whole, asked.victims, np.random.default_rng(asked.seed)
    )
    cell_km, minutes = original.snapped_grid().cell_m / 1000, slot_s / 60
    print(
        f"\nhiders stay: a sample lies in {cells * cell_km:.1f} km, {slots * minutes:.0f} min of the own "
        f"record; in {cells_shared * cell_km:.1f} km, {slots_shared * minutes:.0f} min of what all records "
        "say that hold the person"
    )


if __name__ == "__main__":
    main()
