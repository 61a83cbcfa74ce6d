"""Suppressing whoever finds no hider before others are hidden, or after; for docs/reproduction.md.

python lab/measure_suppression.py [--subjects 200 --days 1] [--k 3]

After, as Alg. 2, line 16 of Gramaglia et al. 2017 can be read: who finds no hiders in a window is left out of
it, and those whom that record was to hide keep what is left of their cover. `shoal verify` counts what then
fits fewer than k records.
"""

import argparse
import re
from collections.abc import Iterator

import numpy as np

import shoal
from shoal.methods.assembly import assemble
from shoal.methods.kte_hide.hiding_sets import (
    UNPUBLISHED,
    Search,
    Window,
    _assign_window,
    _HiderStack,
    cut_into_epochs,
)
from shoal.methods.kte_hide.kte_hide import generalize
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run

_NEVER_FOUND = "too-few-candidates"


def suppressed_after(original: Trajectories, method: shoal.KteHide) -> tuple[Release, Linkage]:
    """The release in which nothing is done again for those whose hiders are left out later."""
    slot_s = original.snapped_grid().slot_s
    epochs = cut_into_epochs(original, round(method.epsilon_s / slot_s), 2)
    states = np.ones(len(epochs.subject), dtype=np.int64)
    memory = _HiderStack.of_nobody(original.n_subjects)
    search = Search(method.neighborhood_size, round(method.space_weight_s / slot_s))
    windows: list[Window] = []
    for at in range(epochs.n_windows):
        window, _, failed = _assign_window(epochs, states, at, method.k, search, memory, Run())
        pieces = window.table[failed]
        states[pieces[pieces >= 0]] = UNPUBLISHED
        window.hiders[failed] = failed[:, None]
        memory.push(at, window)
        windows.append(window)
    return assemble(
        original,
        list(generalize(epochs, states, windows, Run())),
        method,
        Randomness.for_research(1),
    )


def lines(original: Trajectories, k: int) -> Iterator[str]:
    """What is suppressed, and what an adversary who knows 30 minutes then finds fewer than k records for."""
    method = shoal.KteHide(k=k)
    yield "| suppressed | samples suppressed | knowledge that fits fewer than k records |\n|---|---|---|"
    for name, made in (
        ("before", method.anonymize(original, Randomness.for_research(1))),
        ("after", suppressed_after(original, method)),
    ):
        findings = [one.message for one in shoal.verify(original, *made).findings if one.kind == _NEVER_FOUND]
        short = sum(
            int(n) for text in findings for n in re.findall(r"\((\d+) sets of samples in all\)", text)
        )
        share = made[0].losses.samples_suppressed / original.n_samples
        yield f"| {name} | {share:.2%} | {short} |"


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--subjects", type=int, default=200)
    options.add_argument("--days", type=int, default=1)
    options.add_argument("--k", type=int, default=3)
    asked = options.parse_args()
    for line in lines(shoal.read(shoal.synthesize(asked.subjects, asked.days, 1, layout="city")), asked.k):
        print(line, flush=True)


if __name__ == "__main__":
    main()
