"""The cost of the check of a series, without reading: who remains of many people over many releases.

python bench/measure_series_check.py [people] [releases]
"""

import resource
import sys
import time
from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from shoal.model.names import TextNames
from shoal.verification.composition.crowds import ReleaseCrowds, SeriesEntry
from shoal.verification.composition.series import examine_series

_K = 5
_CHANGE = 0.03  # share of the people who leave and who arrive


def weeks(people: int, releases: int, rng: np.random.Generator) -> Iterator[ReleaseCrowds]:
    """Crowds of five drawn anew each week."""
    present, fresh = np.arange(people), people
    for week in range(releases):
        order = rng.permutation(present)
        yield ReleaseCrowds(
            about=SeriesEntry(
                label=f"week {week}",
                sha256=str(week),
                k=_K,
                unit_of_protection="each person",
                per_day=False,
                span_s=(week, week + 1),
            ),
            uids=TextNames(pa.array(np.char.add("person-", order.astype(np.str_)))),
            crowd=np.arange(people) // _K,
        )
        arriving = int(people * _CHANGE)
        present = np.concatenate([order[arriving:], np.arange(fresh, fresh + arriving)])
        fresh += arriving


def main() -> None:
    """Print people, releases, what remains, CPU seconds and the peak of memory."""
    people, releases = (int(word) for word in (*sys.argv[1:], "100000", "52")[:2])
    examine_series(weeks(100, 2, np.random.default_rng(0)), ids_as_they_are=True)  # compiles
    begin, making = time.process_time(), 0.0

    def timed() -> Iterator[ReleaseCrowds]:
        nonlocal making
        drawn = weeks(people, releases, np.random.default_rng(1))
        while True:
            start = time.process_time()
            one = next(drawn, None)
            making += time.process_time() - start
            if one is None:
                return
            yield one

    facts = examine_series(timed()).to_json()
    cpu_s = time.process_time() - begin - making
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"{facts['people']:,} people in any of {releases} releases of {people:,}: the least "
        f"{facts['least']}, below k {facts['people_below_k']:,}; {cpu_s:.0f} CPU seconds, peak {peak:.1f} GiB"
    )


if __name__ == "__main__":
    main()
