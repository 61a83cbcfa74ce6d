"""Eight weekly releases of people who come and leave: extents, waiting, linkage and time (docs/series.md).

    python bench/measure_series.py [--people 2000] [--layout city] [--k 5] [--leave 0.03] [--away 0.02]
                                   [--spare 0 1 2 3] [--choose-by 4 0]

``free``: GLOVE anew each week. ``kept``: crowds of GLOVE's first week stay. ``series``: as ``anonymize
--series``, with crowds that may lose ``--spare`` people; with ``--choose-by BEFORE AFTER`` crowds are
chosen by so many weeks before and after the first one, too. Default settings. Extents are means over raw
samples, in place dx + dy.
"""

import argparse
import time
from collections.abc import Iterator, Sequence

import numpy as np

import shoal
from shoal.methods.assembly import EquivalenceClass
from shoal.methods.glove.crowds_of_series import NEWCOMER, WAITING, classes_in_series
from shoal.methods.hulls import publish_classes
from shoal.runtime.arrays import Integers
from shoal.runtime.run import Run
from shoal.series.attendance import may_appear, with_release
from shoal.synthetic.stations import Layout
from shoal.utility.accuracy import measure_accuracy

WEEKS, DAYS = 8, 7
TOLD = (1, 4, 10)  # samples of each week that the attacker knows
VICTIMS = 300
Week = tuple[shoal.Trajectories, Integers]  # and the number of each person


def weeks_of(
    people: int, layout: Layout, leave: float, away: float, seed: int, number_of: int = WEEKS
) -> Iterator[Week]:
    """Each week of those who are there; as many come as leave. away: the share of others for one week."""
    change = round(leave * people)
    rng = np.random.default_rng(seed)
    everybody = shoal.read(
        shoal.synthesize(people + change * (number_of - 1), number_of * DAYS, seed, layout=layout)
    )
    length = DAYS * 86400 // int(everybody.snapped_grid().slot_s)
    week = (everybody.t - everybody.t.min() // length * length) // length
    week -= week.min()
    owner = np.repeat(np.arange(everybody.n_subjects), everybody.lengths)
    there = np.arange(people)
    for number in range(number_of):
        if number:
            staying = np.sort(rng.choice(there, people - change, replace=False))
            there = np.concatenate([staying, np.arange(change) + people + change * (number - 1)])
        now = rng.choice(there, people - round(away * people), replace=False) if away else there
        rows = np.flatnonzero((week == number) & np.isin(owner, now))
        present, counts = np.unique(owner[rows], return_counts=True)
        yield (
            shoal.Trajectories(
                ids=tuple(everybody.ids[i] for i in present),
                offsets=np.concatenate([[0], np.cumsum(counts)]).astype(np.int64),
                t=everybody.t[rows],
                x=everybody.x[rows],
                y=everybody.y[rows],
                grid=everybody.grid,
            ),
            present,
        )


def together(weeks: Sequence[Week], people: Integers) -> shoal.Trajectories:
    """All weeks of some people as one data set."""
    samples = [
        [week.samples_of(int(np.searchsorted(there, one))) for week, there in weeks if one in there]
        for one in people.tolist()
    ]
    t, x, y = (np.concatenate([part[axis] for own in samples for part in own]) for axis in range(3))
    lengths = [sum(len(part[0]) for part in own) for own in samples]
    return shoal.Trajectories(
        ids=tuple(f"{one:07}" for one in people.tolist()),
        offsets=np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        t=t,
        x=x,
        y=y,
        grid=weeks[0][0].grid,
    )


class Series:
    """Crowds that stay, as in a planned series."""

    def __init__(self, most: int, k: int, spare: int, *, by_search: bool) -> None:
        self.crowd = np.full(most, NEWCOMER)
        self.attended = np.zeros((most, 1), dtype=np.uint64)
        self.method, self.spare, self.by_search = shoal.Glove(k=k), spare, by_search
        self.releases = 0

    def choose_by(self, weeks: Sequence[Week], people: Integers) -> None:
        """Choose the crowds of the first release by further weeks, too."""
        chooser = shoal.Glove(k=self.method.k + self.spare, refine=True)
        for number, one in enumerate(chooser.classes(together(weeks, people), Run(threads=1))):
            self.crowd[people[one.members]] = number

    def classes(self, week: shoal.Trajectories, people: Integers) -> list[EquivalenceClass]:
        """The classes of the next release."""
        crowd_of = self.crowd[people].copy()
        before = np.flatnonzero(crowd_of >= 0)
        appears = may_appear(crowd_of[before], self.attended[people[before]], self.method.k)
        crowd_of[before[~appears]] = WAITING
        if self.releases or self.by_search:
            classes = classes_in_series(self.method, week, crowd_of, self.spare, Run(threads=1))
        else:
            classes = shoal.Glove(k=self.method.k + self.spare).classes(week, Run(threads=1))
        published = np.zeros(len(self.crowd), dtype=np.bool_)
        for number, one in enumerate(classes):
            numbers = crowd_of[one.members]
            self.crowd[people[one.members]] = max(numbers) if max(numbers) >= 0 else number
            published[people[one.members]] = True
        self.attended = with_release(self.attended, published, self.releases)
        self.releases += 1
        return classes


def extents(week: shoal.Trajectories, classes: list[EquivalenceClass], k: int) -> tuple[float, float]:
    """Means over raw samples: km and minutes."""
    method, rng = shoal.Glove(k=k), shoal.Randomness.from_system()
    release, linkage = publish_classes(method, week, classes, method.hull, rng)
    raw = measure_accuracy(week, release, linkage).raw
    return raw.mean_space_m / 1000, raw.mean_time_s / 60


def joined(
    weeks: Sequence[Week], all_classes: Sequence[list[EquivalenceClass]], known: int
) -> tuple[float, int]:
    """Mean chance to name a victim by samples of each week, and the fewest companions of anybody.

    The attacker can follow records from week to week: candidates fit in each release in which the victim is.
    """
    rng = np.random.default_rng(0)
    crowd_in: list[dict[int, int]] = [
        {person: number for number, one in enumerate(classes) for person in people[one.members].tolist()}
        for (_, people), classes in zip(weeks, all_classes, strict=True)
    ]
    members = [
        [frozenset(people[one.members].tolist()) for one in classes]
        for (_, people), classes in zip(weeks, all_classes, strict=True)
    ]
    everybody = sorted(set().union(*crowd_in))
    fewest = min(
        len(frozenset.intersection(*(m[c[p]] for m, c in zip(members, crowd_in, strict=True) if p in c)))
        for p in everybody
    )
    chances = []
    for victim in rng.choice(everybody, min(VICTIMS, len(everybody)), replace=False).tolist():
        candidates: frozenset[int] | None = None
        for (week, people), classes, crowds, groups in zip(
            weeks, all_classes, crowd_in, members, strict=True
        ):
            if victim not in crowds:
                continue
            samples = np.stack(week.samples_of(int(np.searchsorted(people, victim))), axis=1)
            samples = samples[rng.permutation(len(samples))[:known]]
            numbers = (
                range(len(classes)) if candidates is None else {crowds[p] for p in candidates & crowds.keys()}
            )
            here = frozenset().union(*(groups[c] for c in numbers if covers(classes[c], samples)))
            candidates = here if candidates is None else candidates & here
        assert candidates is not None
        chances.append(1 / len(candidates) if victim in candidates else 0.0)
    return float(np.mean(chances)), fewest


def covers(one: EquivalenceClass, samples: Integers) -> bool:
    """Whether each sample is in some box."""
    first, end, west, south, east, north = (column[:, None] for column in one.boxes.columns())
    t, x, y = samples.T
    inside = (first <= t) & (t < end) & (west <= x) & (x < east) & (south <= y) & (y < north)
    return bool(inside.any(axis=0).all())


def main() -> None:
    """Print a table for each way, and one over all of them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--people", type=int, default=2000)
    parser.add_argument("--layout", default="city")
    parser.add_argument("--k", type=int, default=5)
    parser.add_argument("--leave", type=float, default=0.03)
    parser.add_argument("--away", type=float, default=0.0)
    parser.add_argument("--spare", type=int, nargs="*", default=[0, 1, 2, 3])
    parser.add_argument("--choose-by", type=int, nargs=2, default=[0, 0], metavar=("BEFORE", "AFTER"))
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    k = chosen.k
    before, after = chosen.choose_by
    town = (chosen.people, chosen.layout, chosen.leave, chosen.away, chosen.seed)
    every_week = list(weeks_of(*town, number_of=before + WEEKS))
    weeks = every_week[before:]
    most = int(max(people.max() for _, people in weeks)) + 1
    ways: dict[str, Series | None] = {"free": None, "kept": Series(most, k, 0, by_search=False)}
    ways |= {f"series, spare {spare}": Series(most, k, spare, by_search=True) for spare in chosen.spare}
    for series in ways.values() if before or after else ():
        if series is not None and series.by_search:
            series.choose_by(every_week[: before + 1 + after], weeks[0][1])
    free: list[tuple[float, float]] = []
    print(
        "| crowds | km, weeks 2-8 | min | times free | waiting: mean, week 8 "
        "| CPU s: first, later | known 1, 4, 10 a week | fewest |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for name, series in ways.items():
        every, sizes, cpu, out = [], [], [], []
        for week, people in weeks:
            began = time.process_time()
            if series is None:
                classes = shoal.Glove(k=k).classes(week, Run(threads=1))
            else:
                classes = series.classes(week, people)
            cpu.append(time.process_time() - began)
            every.append(classes)
            sizes.append(extents(week, classes, k))
            out.append(1 - sum(len(one.members) for one in classes) / len(people))
        free = free or sizes
        (km, minutes), (km_free, minutes_free) = np.mean(sizes[1:], axis=0), np.mean(free[1:], axis=0)
        chances = [joined(weeks, every, known) for known in TOLD]
        print(
            f"| {name} | {km:.2f} | {minutes:.0f} | {km / km_free:.2f}, {minutes / minutes_free:.2f} "
            f"| {100 * np.mean(out):.1f} %, {100 * out[-1]:.1f} % | {cpu[0]:.1f}, {np.mean(cpu[1:]):.1f} "
            f"| {', '.join(f'{100 * chance:.1f} %' for chance, _ in chances)} | {chances[0][1]} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
