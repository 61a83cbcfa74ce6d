"""What crowds are good for where few of the people are there on the same days: decision 0245.

    .venv/bin/python lab/measure_attendance.py [NAME=FILE ...]

Without a file: people of a synthetic city and nation over 28 days, with samples on some of the days.
"""

import argparse
from collections.abc import Iterator

import numpy as np

import shoal
from shoal.model.trajectories import Trajectories
from shoal.synthetic import Layout
from shoal.units import DAY_S
from shoal.utility import Facts
from shoal.utility.usefulness import usefulness_of

DAYS = 28


def present(people: Trajectories) -> int:
    """How many have a sample on the day of a typical sample."""
    day = people.t * people.snapped_grid().slot_s // DAY_S
    subject = np.repeat(np.arange(people.n_subjects), people.lengths)
    pairs = np.unique(np.column_stack([day, subject]), axis=0)
    days, counts = np.unique(pairs[:, 0], return_counts=True)
    return int(np.median(counts[np.searchsorted(days, day)]))


def thinned(layout: Layout) -> Iterator[tuple[str, Trajectories]]:
    calls = shoal.synthesize(n_subjects=300, days=DAYS, seed=4, layout=layout).to_pandas()
    day = ((calls.t - calls.t.min()) // DAY_S).astype(int).to_numpy()
    person, _ = calls.uid.factorize()
    rng = np.random.default_rng(6)
    for n in (30, 60, 120, 240):
        for share in (0.08, 0.2, 0.4):
            span = round(DAYS * share)
            since = np.arange(DAYS) - rng.integers(0, DAYS - span + 1, (n, 1))
            days = {
                "scattered": rng.random((n, DAYS)) < share,
                "in one piece": (since >= 0) & (since < span),
            }
            for how, there in days.items():
                kept = (person < n) & there[np.minimum(person, n - 1), day]
                yield f"{layout}, {n} people, {share:.0%} of the days, {how}", shoal.read(calls[kept])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="*", metavar="NAME=FILE")
    named = [text.partition("=") for text in parser.parse_args().files]
    data = [(name, shoal.read(file)) for name, _, file in named]
    print("| data | people | present | k = 2 | k = 5 |\n|---|---|---|---|---|")
    for name, people in data or [*thinned("city"), *thinned("nation")]:
        answers = []
        for k in (2, 5):
            released = shoal.Glove(k=k, refine=True).anonymize(people, shoal.Randomness.for_research(44))
            verdicts = usefulness_of(Facts(people, *released)).verdicts
            good = [f"{one.use.name} {one.answer}" for one in verdicts if one.answer in ("yes", "roughly")]
            answers.append(", ".join(good) or "nothing")
        cells = [name, str(people.n_subjects), str(present(people)), *answers]
        print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
