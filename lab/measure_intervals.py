"""How often the 95 % intervals of attacks hold the truth.

    python lab/measure_intervals.py [--method glove] [--subjects 800] [--days 2] [--k 2 5] [--tries 100]
                                      [--draws 10] [--samples 2000] [--whole-classes]
                                      [--towns 0] [--town 60]

Victims: everybody of one release is attacked, with several draws of what is known; of releases of boxes a
fifth of the people are held out, for ``membership``. Then, again and again, so many victims are picked with
replacement, as from a town without end, each with one of the draws, and the rate and its interval are found
from them alone, choice of the rule included; with --whole-classes whole classes are picked, as another
release would have them, until there are so many victims. The truth is how often the rule that it names wins
against everybody.

Towns: other people, another release, and everybody tried in each run, so that the members of a class are
always looked for together. The truth is the mean over all runs. This is slow: a release for each run.

With --discrete nothing is measured: it prints the rates of so many victims, each won or lost, that no set of
neighboring outcomes holds in 93 to 97 %, which no interval can mend.

Prints for each rate how many intervals hold the truth, and how wide they are on average.
"""

import argparse
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import comb
from unittest.mock import patch

import numpy as np

import shoal
from shoal.attacks import Rate, attack
from shoal.attacks.attacking import AttackScope
from shoal.attacks.rate import Rule
from shoal.methods import METHODS, Method
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.run import Run

KNOWLEDGE = {
    "glove": (
        "points:1",
        "points:4",
        "top:2",
        "noisy:4:500m:30min",
        "period",
        "home-work",
        "attribution:2",
        "tau:30min",
        "insider",
        "insider:all",
        "downcoding",
        "membership:4",
    ),
    "kte-hide": ("points:1", "tau:30min", "tau:30min:2", "attribution:2", "downcoding", "membership:4"),
    "swap-locations": ("triples:4", "times:4", "track", "track:4", "cluster", "nearest:4"),
    "w4m": ("points:4", "nearest:1", "nearest:4", "times:4"),
}


def method_of(name: str, k: int) -> Method:
    """The method with its defaults, distances of the made-up city where it needs some."""
    swap = {"time_threshold_s": 3600.0, "space_threshold_m": 1e6}
    settings = {"w4m": {"delta_m": 500.0}, "swap-locations": swap}.get(name, {})
    return METHODS[name](k=k, **settings)


@dataclass(frozen=True)
class Kept:
    """What a rate was made of: every rule's chances [rules, v], whose record, and the greatest chance."""

    name: str
    knowledge: str
    rules: Sequence[Rule]
    clusters: Integers
    most: float

    def rate_of(self, chances: Floats, clusters: Integers) -> Rate:
        """The rate of other victims."""
        return Rate.best_of(
            [replace(rule, chances=won) for rule, won in zip(self.rules, chances, strict=True)],
            name=self.name,
            knowledge=self.knowledge,
            target="release",
            baseline=0.0,
            clusters=clusters,
            max_chance=self.most,
        )


def kept(
    people: shoal.Trajectories,
    release: shoal.Release,
    linkage: shoal.Linkage,
    draw: int,
    knowledge: Sequence[str] = KNOWLEDGE["glove"],
    control: shoal.Trajectories | None = None,
) -> list[Kept]:
    """What every rate on the release is made of, everybody tried."""
    found: list[Kept] = []
    make, best = Rate.of, Rate.best_of

    def keep_best(rules: Sequence[Rule], **words: object) -> Rate:
        rate = best(rules, **words)  # type: ignore[arg-type]  # the words are those of the attack's own call
        found[-1] = replace(found[-1], rules=rules)
        return rate

    def keep(outcomes: Floats, **words: object) -> Rate:
        rule = Rule(name="only", does="", chances=outcomes)
        clusters = np.asarray(words.get("clusters", np.arange(len(outcomes))), dtype=np.int64)
        named = (str(words["name"]), str(words["knowledge"]))
        found.append(Kept(*named, [rule], clusters, float(str(words.get("most", 1.0)))))
        return make(outcomes, **words)  # type: ignore[arg-type]  # as above

    with patch.object(Rate, "of", keep), patch.object(Rate, "best_of", keep_best):
        attack(
            people,
            release,
            linkage,
            rng=shoal.Randomness.for_research(draw),
            knowledge=knowledge,
            tries=people.n_subjects,
            scope=AttackScope(targets=["release"], control=control),
            run=Run(threads=1),
        )
    return found


def covered(
    draws: Sequence[Sequence[Kept]],
    tries: int,
    samples: int,
    rng: np.random.Generator,
    *,
    whole_classes: bool = False,
) -> Iterator[tuple[str, str, float, float, float]]:
    """(name, knowledge, truth, share of intervals that hold it, mean width) of every rate."""
    for every in zip(*draws, strict=True):
        each = [one for one in every if np.array_equal(one.clusters, every[0].clusters)]
        chances = np.array([[rule.chances for rule in one.rules] for one in each], dtype=np.float64)
        rates = []
        for _ in range(samples):
            who, clusters = _picked(each[0].clusters, tries, rng, whole_classes=whole_classes)
            draw = rng.integers(0, len(each), len(who))
            rates.append(each[0].rate_of(chances[draw, :, who].T, clusters))
        of_rule = {
            rule.name: won.mean() for rule, won in zip(each[0].rules, chances.swapaxes(0, 1), strict=True)
        }
        yield (
            each[0].name,
            each[0].knowledge,
            *_held(rates, np.array([_truth(one, of_rule) for one in rates])),
        )


def _picked(
    clusters: Integers, tries: int, rng: np.random.Generator, *, whole_classes: bool
) -> tuple[Integers, Integers]:
    """Victims with replacement and whose record each has; or whole classes until there are so many.

    A class that is picked twice is two.
    """
    if not whole_classes:
        who = rng.integers(0, len(clusters), tries)
        return who, clusters[who]
    members = [np.flatnonzero(clusters == one) for one in np.unique(clusters)]
    picked: list[Integers] = []
    while sum(map(len, picked)) < tries:
        picked.append(members[rng.integers(len(members))])
    return np.concatenate(picked), np.repeat(np.arange(len(picked)), list(map(len, picked)))


def _truth(rate: Rate, of_rule: Mapping[str, float]) -> float:
    """How often the rule that a rate names wins against everybody; the mean where the halves chose two."""
    return float(np.mean([of_rule[name] for name in (rate.rule or next(iter(of_rule))).split(" or ")]))


def _held(rates: Sequence[Rate], truths: Floats) -> tuple[float, float, float]:
    """The mean truth, the share of intervals that hold their own, and their mean width."""
    low, high = np.array([rate.low for rate in rates]), np.array([rate.high for rate in rates])
    held = (low <= truths) & (truths <= high)
    return float(truths.mean()), float(held.mean()), float((high - low).mean())


def in_towns(k: int, subjects: int, towns: int) -> Iterator[tuple[str, str, float, float, float]]:
    """The same over many towns, everybody tried in each."""
    of_rate: dict[tuple[str, str], list[Rate]] = defaultdict(list)
    for seed in range(towns):
        people = shoal.read(shoal.synthesize(subjects, 2, seed))
        release, linkage = shoal.Glove(k=k).anonymize(people, shoal.Randomness.for_research(seed))
        for one in kept(people, release, linkage, seed, KNOWLEDGE["glove"][:-1]):
            chances = np.array([rule.chances for rule in one.rules], dtype=np.float64)
            of_rate[one.name, one.knowledge].append(one.rate_of(chances, one.clusters))
    for (name, knowledge), rates in of_rate.items():
        truth = np.average([rate.rate for rate in rates], weights=[rate.tries for rate in rates])
        yield name, knowledge, *_held(rates, np.full(len(rates), truth))


def out_of_reach(tries: int) -> list[float]:
    """Rates, in steps of 0.25 %, for which no set of neighboring outcomes has a chance of 93 to 97 %."""
    found = []
    for rate in (step / 400 for step in range(1, 200)):
        chances = [comb(tries, won) * rate**won * (1 - rate) ** (tries - won) for won in range(tries + 1)]
        below = np.concatenate([[0.0], np.cumsum(chances)])
        between = below[None, 1:] - below[:-1, None]
        if not ((between >= 0.93) & (between <= 0.97)).any():
            found.append(rate)
    return found


def show(title: str, rows: Iterator[tuple[str, str, float, float, float]]) -> None:
    print(title, flush=True)
    for name, knowledge, truth, held, width in rows:
        print(f"  {name:18} {knowledge:38} truth {truth:7.2%}  held {held:6.1%}  width {width:6.2%}")


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--method", choices=KNOWLEDGE, default="glove")
    options.add_argument("--subjects", type=int, default=800)
    options.add_argument("--days", type=int, default=2)
    options.add_argument("--tries", type=int, default=100)
    options.add_argument("--draws", type=int, default=10)
    options.add_argument("--samples", type=int, default=2000)
    options.add_argument("--whole-classes", action="store_true")
    options.add_argument("--discrete", type=int)
    options.add_argument("--towns", type=int, default=0)
    options.add_argument("--town", type=int, default=60)
    options.add_argument("--k", type=int, nargs="+", default=[2, 5])
    asked = options.parse_args()
    if asked.discrete:
        print(", ".join(f"{rate:.2%}" for rate in out_of_reach(asked.discrete)))
        return
    points = METHODS[asked.method].about.publishes == "points"
    everybody = shoal.read(shoal.synthesize(asked.subjects, asked.days, 1), snap=not points)
    last = np.arange(everybody.n_subjects) % 5 == 4
    people, control = everybody, None
    if not points:
        people, control = everybody.keep(np.flatnonzero(~last)), everybody.keep(np.flatnonzero(last))
    for k in asked.k:
        release, linkage = method_of(asked.method, k).anonymize(people, shoal.Randomness.for_research(1))
        draws = [
            kept(people, release, linkage, draw, KNOWLEDGE[asked.method], control)
            for draw in range(asked.draws)
        ]
        show(
            f"{asked.method}, k = {k}: {asked.samples} samples of {asked.tries} of {people.n_subjects}",
            covered(
                draws,
                asked.tries,
                asked.samples,
                np.random.default_rng(k),
                whole_classes=asked.whole_classes,
            ),
        )
        if asked.towns:
            show(
                f"GLOVE, k = {k}: {asked.towns} towns of {asked.town} people",
                in_towns(k, asked.town, asked.towns),
            )


if __name__ == "__main__":
    main()
