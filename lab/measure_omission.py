"""What leaving samples out buys, and whether any attack gains by it; for docs/glove.md.

python lab/measure_omission.py [--input FILE | --subjects 600 --days 14 --layout city] [--k 5]
    [--shares 0 0.01 0.02 0.05 0.1 0.2] [--refine] [--of-one 0.2] [--one-week]
    [--tries 150 --attacked 0.05]

The frontier: for each share that may be missing, the extents of what is left. With --tries every fifth person
is kept out, for attacks that ask who is in the data, and every attack of the lab is played on the release
without and with the attacked share: one research seed, the same victims and knowledge.
"""

import argparse
import time
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

import shoal
from measure_refinement import Made, attack_rows, rates_of
from shoal.methods.assembly import EquivalenceClass, assemble
from shoal.methods.glove.omission import Budget, omit_samples
from shoal.model.trajectories import Trajectories
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.utility import Facts

_WEEK_S = 7 * 86_400


def made(
    original: Trajectories, whole: Sequence[EquivalenceClass], settings: dict[str, Any], share: float
) -> Made:
    """The release with this share left out of the classes that cover everything, and what that took."""
    method = shoal.Glove(**settings | ({} if share else {"omit_of_one_at_most": None}), omit_at_most=share)
    claim, began = method.claim(), time.process_time()
    budget = Budget(of_all=claim.missing_at_most, of_one=claim.missing_of_one_at_most)
    classes = omit_samples(original, whole, budget, Run()) if share else whole
    cpu_s = time.process_time() - began
    release, linkage = assemble(
        original,
        classes,
        method,
        Randomness.for_research(1),
    )
    return Made(release, linkage, cpu_s)


def frontier_row(share: float, original: Trajectories, one: Made, whole: Made) -> str:
    """A share that may be missing, and what became of the extents of raw samples that are not."""
    raw, before = (Facts(original, each.release, each.linkage).accuracy.raw for each in (one, whole))
    losses = one.release.losses
    cells = [
        f"{share:.0%}",
        f"{losses.samples_suppressed / original.n_samples:.2%}",
        f"{losses.subjects_suppressed / original.n_subjects:.1%}",
        f"{raw.median_space_m / 1000:.2f} km",
        f"{raw.median_time_s / 60:,.0f} min",
        f"{raw.median_space_m / before.median_space_m:.2f}, {raw.median_time_s / before.median_time_s:.2f}",
        f"{raw.mean_space_m / 1000:.2f} km",
        f"{raw.mean_time_s / 60:,.0f} min",
        f"{one.cpu_s:.1f} s",
    ]
    return "| " + " | ".join(cells) + " |"


def lines(
    everybody: Trajectories,
    settings: dict[str, Any],
    shares: Sequence[float],
    tries: int,
    attacked: float,
    knowledge: Sequence[str] | None = None,
) -> Iterator[str]:
    out = np.arange(everybody.n_subjects) % 5 == 4 if tries else np.zeros(everybody.n_subjects, dtype=bool)
    original = everybody.keep(np.flatnonzero(~out))
    yield f"{original.n_subjects} people, {original.n_samples} samples, {settings}"
    whole = shoal.Glove(**settings | {"omit_of_one_at_most": None}).classes(original, Run())
    yield (
        "| may be missing | missing | people out | median dx + dy | median duration | to those without | "
        "mean dx + dy | mean duration | CPU |\n|---|---|---|---|---|---|---|---|---|"
    )
    found: dict[float, Made] = {}
    for share in dict.fromkeys([0.0, *shares, *([attacked] if tries else [])]):
        found[share] = made(original, whole, settings, share)
        yield frontier_row(share, original, found[share], found[0.0])
    if tries:
        control = everybody.keep(np.flatnonzero(out))
        yield (
            f"\n| attack | knowledge | all covered | {attacked:.0%} missing | points | guessing |\n"
            "|---|---|---|---|---|---|"
        )
        yield from attack_rows(
            *(rates_of(original, control, found[share], tries, knowledge) for share in (0.0, attacked))
        )


def on_one_week(original: Trajectories) -> Trajectories:
    """All weeks laid on one; samples of one person in one cell and slot become one."""
    grid = original.snapped_grid()
    owner = np.repeat(np.arange(original.n_subjects), original.lengths)
    t = original.t % round(_WEEK_S / grid.slot_s)
    rows = np.unique(np.stack([owner, t, original.x, original.y], axis=1), axis=0)
    ids = np.array(original.ids)[rows[:, 0]].tolist()
    return Trajectories.from_rows(ids, rows[:, 1], rows[:, 2], rows[:, 3], grid=grid, crs=original.crs)


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--input")
    options.add_argument("--subjects", type=int, default=600)
    options.add_argument("--days", type=int, default=14)
    options.add_argument("--layout", default="city")
    options.add_argument("--k", type=int, default=5)
    options.add_argument("--shares", type=float, nargs="*", default=[0.01, 0.02, 0.05, 0.1, 0.2])
    options.add_argument("--refine", action="store_true")
    options.add_argument("--of-one", type=float)
    options.add_argument("--tries", type=int, default=0, help="victims of each attack; 0 plays none")
    options.add_argument("--attacked", type=float, default=0.05, help="the share of the attacked release")
    options.add_argument("--one-week", action="store_true", help="lay all weeks on one")
    asked = options.parse_args()
    original = shoal.read(asked.input or shoal.synthesize(asked.subjects, asked.days, 1, layout=asked.layout))
    if asked.one_week:
        original = on_one_week(original)
    settings = {"k": asked.k, "refine": asked.refine, "omit_of_one_at_most": asked.of_one}
    for line in lines(original, settings, asked.shares, asked.tries, asked.attacked):
        print(line, flush=True)


if __name__ == "__main__":
    main()
