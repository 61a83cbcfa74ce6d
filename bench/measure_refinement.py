"""What the refinement after GLOVE keeps, what it takes, and whether any attack gains; for docs/glove.md.

python bench/measure_refinement.py [--input FILE | --subjects 1000 --days 14 --layout city] [--k 2 5 10]
    [--rounds 3] [--start greedy|halves] [--no-ramp] [--tries 200]

Every fifth person is kept out, for attacks that ask who is in the data. One process makes both releases with
one research seed, from the same greedy crowds unless the refinement starts from halves, and attacks them with
the same victims and knowledge. A row of attacks gives the difference in percentage points and says where
intervals do not overlap.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

import shoal
from shoal.attacks import attack
from shoal.attacks.rate import Rate, TargetName
from shoal.methods.assembly import EquivalenceClass, assemble
from shoal.methods.glove.glove import START, Start
from shoal.methods.glove.refine import halved, refined, weights_of
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.utility import Facts, measure
from shoal.utility.accuracy import Extents


@dataclass(frozen=True, eq=False)
class Made:
    """A release, its linkage, and how many CPU seconds it took."""

    release: Release
    linkage: Linkage
    cpu_s: float


def made(
    original: Trajectories, classes: Sequence[EquivalenceClass], method: shoal.Glove, cpu_s: float
) -> Made:
    """The release that the method makes, once its classes are known."""
    release, linkage = assemble(
        original,
        classes,
        claim=method.claim(),
        method="glove",
        parameters=method.parameters(),
        rng=Randomness.for_research(1),
    )
    return Made(release, linkage, cpu_s)


def both(
    original: Trajectories, k: int, rounds: int, start: Start, *, ramp: bool = True
) -> tuple[Made, Made]:
    """Greedy, and refined from there or from halves. The second's CPU seconds hold those of its start."""
    clock, run = time.process_time, Run()
    began = clock()
    greedy = shoal.Glove(k=k).classes(original, run)
    loop_s = clock() - began
    began = clock()
    classes = halved(original, k, run) if start == "halves" else greedy
    weights = weights_of(original, classes, ramp=ramp)
    better = refined(original, classes, k, rounds, run, weights=weights)
    refined_s = clock() - began + (0 if start == "halves" else loop_s)
    method = shoal.Glove(k=k, start=start, refine=True, refine_rounds=rounds)
    return made(original, greedy, shoal.Glove(k=k), loop_s), made(original, better, method, refined_s)


def accuracy_row(name: str, original: Trajectories, one: Made, before: Extents | None) -> str:
    """Extents of raw samples, as a row of a table; with the mean of both ratios where there is a before."""
    raw = Facts(original, one.release, one.linkage).accuracy.raw
    shares = (raw.share_within(space_m=2000), raw.share_within(time_s=7200))
    (above,) = measure(original, one.release, one.linkage, ["extents-above-least"])
    ratio = "" if before is None else f"{geometric_ratio(raw, before):.2f}"
    cells = [
        name,
        f"{raw.mean_space_m / 1000:.2f} km",
        f"{raw.mean_time_s / 60:.0f} min",
        f"{raw.median_space_m / 1000:.1f} km",
        f"{raw.median_time_s / 60:.0f} min",
        *(f"{share:.1%}" for share in shares),
        ratio,
        f"{above.found.value:.2f}",
        f"{one.cpu_s:.1f} s",
    ]
    return "| " + " | ".join(cells) + " |"


def geometric_ratio(after: Extents, before: Extents) -> float:
    """The geometric mean of the ratios of both mean extents."""
    return float((after.mean_space_m / before.mean_space_m * after.mean_time_s / before.mean_time_s) ** 0.5)


def rates_of(
    original: Trajectories,
    control: Trajectories,
    one: Made,
    tries: int,
    knowledge: Sequence[str] | None = None,
    seed: int = 2,
) -> dict[tuple[str, str], Rate]:
    """Every attack of the lab that takes the release, or those with this knowledge, by name and knowledge."""
    on_release: tuple[TargetName, ...] = ("release",)
    found = attack(
        original,
        one.release,
        one.linkage,
        rng=Randomness.for_research(seed),
        knowledge=knowledge,
        tries=tries,
        control=control,
        targets=on_release,
    )
    return {(rate.name, rate.knowledge): rate for rate in found.rates}


def attack_rows(before: dict[tuple[str, str], Rate], after: dict[tuple[str, str], Rate]) -> Iterator[str]:
    for key, one in before.items():
        other = after[key]
        apart = " (more)" if other.low > one.high else " (less)" if other.high < one.low else ""
        yield (
            f"| {key[0]} | {key[1]} | {one.rate:.1%} ({one.low:.1%} to {one.high:.1%}) | "
            f"{other.rate:.1%} ({other.low:.1%} to {other.high:.1%}) | "
            f"{100 * (other.rate - one.rate):+.1f}{apart} | {other.baseline:.1%} |"
        )


def lines(
    everybody: Trajectories,
    ks: Sequence[int],
    rounds: int,
    tries: int,
    knowledge: Sequence[str] | None = None,
    start: Start = "greedy",
    *,
    ramp: bool = True,
) -> Iterator[str]:
    out = np.arange(everybody.n_subjects) % 5 == 4
    original, control = everybody.keep(np.flatnonzero(~out)), everybody.keep(np.flatnonzero(out))
    yield (
        f"{original.n_subjects} people, {original.n_samples} samples; {control.n_subjects} more are in no "
        "release"
    )
    for k in ks:
        greedy, better = both(original, k, rounds, start, ramp=ramp)
        before = Facts(original, greedy.release, greedy.linkage).accuracy.raw
        yield (
            f"\nk = {k}\n\n| crowds | mean dx + dy | mean duration | median | median | within 2 km | "
            "within 2 h | ratio | above least | CPU |\n|---|---|---|---|---|---|---|---|---|---|"
        )
        yield accuracy_row("greedy", original, greedy, None)
        yield accuracy_row(f"refined, {rounds} rounds", original, better, before)
        if tries:
            yield (
                "\n| attack | knowledge | greedy | refined | points | guessing |\n|---|---|---|---|---|---|"
            )
            yield from attack_rows(
                *(rates_of(original, control, one, tries, knowledge) for one in (greedy, better))
            )


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--input")
    options.add_argument("--subjects", type=int, default=1000)
    options.add_argument("--days", type=int, default=14)
    options.add_argument("--layout", choices=("nation", "city"), default="city")
    options.add_argument("--k", type=int, nargs="+", default=[2, 5, 10])
    options.add_argument("--rounds", type=int, default=shoal.Glove().refine_rounds)
    options.add_argument("--start", choices=START, default="greedy", help="of the refinement")
    options.add_argument("--ramp", action=argparse.BooleanOptionalAction, default=True, help="up to 2.5 km")
    options.add_argument("--tries", type=int, default=200, help="victims of each attack; 0 plays none")
    asked = options.parse_args()
    original = shoal.read(asked.input or shoal.synthesize(asked.subjects, asked.days, 1, layout=asked.layout))
    for line in lines(original, asked.k, asked.rounds, asked.tries, start=asked.start, ramp=asked.ramp):
        print(line, flush=True)


if __name__ == "__main__":
    main()
