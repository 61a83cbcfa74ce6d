"""What each adversary costs: CPU seconds on the raw data and on a release of GLOVE, k = 2, with its indexes.

    python bench/bench_attacks.py [--people 20000] [--days 14] [--tries 1000] [--knowledge WHAT ...]

The default selection is played against a synthetic city. Kernels are loaded before, by a small one. Indexes,
which adversaries share, are made first and counted apart.
"""

import argparse
import time
from collections.abc import Sequence
from typing import Any

import shoal
from shoal.attacks.attacking import PreparedAttack, prepare
from shoal.attacks.evaluation import Evaluation
from shoal.attacks.knowledge import default_knowledge, parse_knowledge
from shoal.errors import MisuseError

WARM_UP = 300
INDEXES = ("by_time", "class_of", "by_place")


def prepared_for(people: int, days: int, tries: int) -> tuple[PreparedAttack, tuple[str, ...]]:
    """Victims of a city and its release, and the default selection."""
    original = shoal.read(shoal.synthesize(people, days, 1, layout="city"))
    release, linkage = shoal.Glove(k=2).anonymize(original, shoal.Randomness.for_research(1))
    rng = shoal.Randomness.for_research(1)
    prepared = prepare(original, release, linkage, rng, tries=tries, run=shoal.Run(threads=1))
    return prepared, default_knowledge(release)


def index_all(evaluation: Evaluation[Any]) -> None:
    """Make what adversaries share."""
    for name in INDEXES:
        getattr(evaluation.target.classes.records, name)


def seconds_of(prepared: PreparedAttack, asked: Sequence[str]) -> dict[str, list[float]]:
    """CPU seconds of indexes and adversaries on each target; what the data does not allow is left out."""
    evaluations = list(prepared.evaluations.one_by_one(boxes=True))
    found: dict[str, list[float]] = {"indexes": []}
    for evaluation in evaluations:
        began = time.process_time()
        index_all(evaluation)
        found["indexes"].append(time.process_time() - began)
    for text in asked:
        for evaluation in evaluations:
            began = time.process_time()
            try:
                parse_knowledge(text).rates_on(evaluation, prepared.draws())
            except MisuseError:
                continue
            found.setdefault(text, []).append(time.process_time() - began)
    return found


def main(arguments: Sequence[str] | None = None) -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--people", type=int, default=20_000)
    options.add_argument("--days", type=int, default=14)
    options.add_argument("--tries", type=int, default=1000)
    options.add_argument("--knowledge", nargs="+")
    told = options.parse_args(arguments)
    small, selection = prepared_for(WARM_UP, told.days, told.tries)
    seconds_of(small, told.knowledge or selection)
    prepared, _ = prepared_for(told.people, told.days, told.tries)
    found = seconds_of(prepared, told.knowledge or selection)
    for name, each in (*found.items(), ("all", [sum(map(sum, found.values()))])):
        print(f"{name:24}" + "".join(f"{one:8.2f}" for one in each), flush=True)


if __name__ == "__main__":
    main()
