"""What the refinement after GLOVE keeps, what it takes, and whether any attack gains; for docs/glove.md.

python lab/measure_refinement.py [--input FILE | --subjects 1000 --days 14 --layout city] [--k 2 5 10]
    [--rounds 3] [--start greedy|halves] [--no-ramp] [--tries 200] [--costs]

Every fifth person is kept out, for attacks that ask who is in the data. One process makes both releases with
one research seed, from the same greedy crowds unless the refinement starts from halves, and attacks them with
the same victims and knowledge. A row of attacks gives the difference in percentage points and says where
intervals do not overlap.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np

import shoal
from shoal.attacks import attack
from shoal.attacks.attacking import AttackScope
from shoal.attacks.rate import Rate, TargetName
from shoal.kernels.weighed_runs import Weights
from shoal.measures.least_extents import widest_cells
from shoal.methods.assembly import EquivalenceClass, assemble
from shoal.methods.glove.glove import START, Start
from shoal.methods.glove.refine import halve_people, refine_classes, weights_of
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.report.facts.omission import extents_of_classes
from shoal.runtime.arrays import Floats
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.utility import Facts, measure
from shoal.utility.accuracy import Extents

CLOSE_M: Final = 2500.0  # dx + dy where a ramp ends
FINEST: Final = 100_000  # of costs, in whole numbers


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
        method,
        Randomness.for_research(1),
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
    classes = halve_people(original, k, run) if start == "halves" else greedy
    weights = weights_of(original, classes, ramp=ramp)
    better = refine_classes(original, classes, k, rounds, run, weights=weights)
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
        f"{above.result.value:.2f}",
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
        scope=AttackScope(control=control, targets=on_release),
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


def parted(everybody: Trajectories) -> tuple[Trajectories, Trajectories]:
    """Who is published, and every fifth, who is not."""
    out = np.arange(everybody.n_subjects) % 5 == 4
    return everybody.keep(np.flatnonzero(~out)), everybody.keep(np.flatnonzero(out))


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
    original, control = parted(everybody)
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


def costs_of_place(side: Floats, ramp: Floats, far: float) -> dict[str, Floats]:
    """What the place of a box may cost; a box as long as the mean costs 1 for its time.

    side: dx + dy over its mean. ramp: over 2.5 km, 1 at most. far: the share of samples in wider boxes.
    """
    root = np.sqrt(side)
    return {
        "dx + dy": side,
        "dx + dy three times": 3 * side,
        "dx + dy eight times": 8 * side,
        "root of dx + dy": root,
        "root twice": 2 * root,
        "root four times": 4 * root,
        "log(1 + dx + dy)": np.log1p(side),
        "root four times, ramp of 1": 4 * root + ramp,
        "root four times, ramp of 4": 4 * root + 4 * ramp,
        "root four times, ramp of 4 u² (built in)": 4 * root + 4 * far**2 * ramp,
    }


def lines_of_costs(everybody: Trajectories, ks: Sequence[int], rounds: int) -> Iterator[str]:
    """By which cost greedy crowds are refined, and what it makes of them; all in multiples of these."""
    original, _ = parted(everybody)
    run, grid = Run(), original.snapped_grid()
    sides_m = np.arange(widest_cells(original) + 1, dtype=np.float64) * grid.cell_m
    for k in ks:
        greedy = shoal.Glove(k=k).classes(original, run)
        before = extents_of_classes(original, greedy)
        far = 1 - before.share_within(space_m=CLOSE_M)
        of_place = costs_of_place(sides_m / before.mean_space_m, np.minimum(1, sides_m / CLOSE_M), far)
        per_slot = max(1, round(FINEST * grid.slot_s / before.mean_time_s))
        yield (
            f"\n{original.n_subjects} people, k = {k}, {rounds} rounds\n\n| cost of place | mean dx + dy | "
            "mean duration | both | within 2 km | within 2 h |\n|---|---|---|---|---|---|"
        )
        for name, cost in of_place.items():
            weights = Weights(place=np.rint(FINEST * cost).astype(np.int64), per_slot=per_slot)
            better = refine_classes(original, greedy, k, rounds, run, weights=weights)
            after = extents_of_classes(original, better)
            within = (
                (after.share_within(**near), before.share_within(**near))
                for near in ({"space_m": 2000}, {"time_s": 7200})
            )
            cells_of_row = [
                name,
                f"{after.mean_space_m / before.mean_space_m:.2f}",
                f"{after.mean_time_s / before.mean_time_s:.2f}",
                f"{geometric_ratio(after, before):.3f}",
                *(f"{now / then:.2f}" if then else "" for now, then in within),
            ]
            yield "| " + " | ".join(cells_of_row) + " |"


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
    options.add_argument("--costs", action="store_true", help="refine by other costs of a box instead")
    asked = options.parse_args()
    original = shoal.read(asked.input or shoal.synthesize(asked.subjects, asked.days, 1, layout=asked.layout))
    told = (
        lines_of_costs(original, asked.k, asked.rounds)
        if asked.costs
        else lines(original, asked.k, asked.rounds, asked.tries, start=asked.start, ramp=asked.ramp)
    )
    for line in told:
        print(line, flush=True)


if __name__ == "__main__":
    main()
