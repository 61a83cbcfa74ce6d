"""What the process around the blocks does for very many people when all tasks are empty.

    python bench/bench_control.py [--people 1000000] [--size 20000] [--engine local]

Nobody has a sample: blocks are cut, given to the engine as empty tasks, records ordered, named and linked,
and names searched for ids. Prints the CPU seconds of each step in this process, and its peak memory up to
there.
"""

import argparse
import operator
import resource
import sys
import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa

from shoal.methods.assembly import unrelated_order
from shoal.model.intake import Reading
from shoal.model.names import Pseudonyms, TextNames
from shoal.model.release import Linkage
from shoal.runtime.randomness import Randomness
from shoal.scale.blocks import split_into_blocks
from shoal.scale.engines import engine_of
from shoal.verification.examination import duplicate_pseudonyms
from shoal.verification.files.stored import unexpected_pseudonyms
from shoal.verification.leaks.digests import SPELLINGS, PrefixSearch, RunSearch
from shoal.verification.leaks.forms import is_among
from shoal.verification.leaks.glued import find_glued
from shoal.verification.leaks.look_alikes import look_alikes
from shoal.verification.leaks.order import order_findings
from shoal.verification.leaks.raw_identifiers import RawIdentifiers
from shoal.verification.linking import link_records

CAPS = (480.0, 200.0, 200.0)  # 8 hours and 20 km, in slots of 60 s and cells of 100 m
K = 2


class Steps:
    """Prints what each step took."""

    def __init__(self) -> None:
        self._began = time.process_time()

    def done(self, name: str) -> None:
        unit = 1 if sys.platform == "darwin" else 1024
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30
        print(f"{name:>20}: {time.process_time() - self._began:7.2f} CPU s, peak {peak:.2f} GiB", flush=True)
        self._began = time.process_time()


def main() -> None:
    options = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--people", type=int, default=1_000_000)
    options.add_argument("--size", type=int, default=20_000)
    options.add_argument("--engine", default="local")
    asked = options.parse_args()
    n = asked.people
    rng, chance = np.random.default_rng(1), Randomness.for_research(1)

    steps = Steps()
    column = pa.concat_arrays(
        [
            pa.array([f"caller-{number:08d}" for number in range(first, min(first + 100_000, n))])
            for first in range(0, n, 100_000)
        ]
    )
    middles, input_rank = rng.integers(0, 20_000, (n, 3)), rng.permutation(n)
    steps.done("made up")
    blocks = split_into_blocks(middles, CAPS, asked.size, K)
    steps.done(f"{len(blocks)} blocks cut")
    for _ in engine_of(asked.engine).map(operator.neg, range(len(blocks))):
        pass
    steps.done("empty tasks")
    crowd_of = np.repeat(np.arange(n // K), K)
    subjects = np.concatenate(blocks)[: len(crowd_of)]
    del blocks
    order = unrelated_order(subjects, crowd_of, input_rank, chance)
    steps.done("order of records")
    # what the rest looks at of people and of a release
    people: Any = SimpleNamespace(ids=TextNames(column), input_rank=input_rank)
    pseudonyms = Pseudonyms(chance.pseudonym_numbers(len(subjects)))
    release: Any = SimpleNamespace(trajectory_ids=pseudonyms, n_records=len(pseudonyms))
    linked = pseudonyms.take(np.argsort(subjects[order]))
    linkage = Linkage(people.ids.take(np.sort(subjects)), linked)
    steps.done("names and linkage")
    links = link_records(people, release, linkage)
    steps.done("linkage followed")
    list(unexpected_pseudonyms(pseudonyms))
    list(duplicate_pseudonyms(release))
    list(order_findings(people, links.subject_of, pseudonyms))
    steps.done("pseudonyms looked at")
    known = pseudonyms.distinct()
    prefixes, searches = PrefixSearch(known), [RunSearch(spelling, known) for spelling in SPELLINGS]
    steps.done("what hashes may meet")
    del known, prefixes, searches
    raw = RawIdentifiers(people.ids)
    is_among(pseudonyms.numbers, raw.numbers)
    steps.done("ids in names")
    find_glued(raw.kinds, pseudonyms)
    steps.done("ids inside words")
    words = " ".join(f"word{number} and {number}" for number in range(100_000))
    raw.relevant_names((), [words]).in_text(words)
    steps.done("ids in a page")
    look_alikes(people, Reading())
    steps.done("look-alikes")


if __name__ == "__main__":
    main()
