"""The cost of the check of a series: reading one release, and who remains of many people over many releases.

python bench/measure_series_check.py [people] [releases]
"""

import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa

from shoal.model.claims import KAnonymity
from shoal.model.grid import Grid
from shoal.model.intake import Reading
from shoal.model.names import TextNames
from shoal.model.release import Boxes, Linkage, Losses, Release
from shoal.model.verdicts import Verdict
from shoal.release_folder.manifest import MANIFEST_FILE, RELEASE_FILE, build_manifest, write_manifest
from shoal.release_folder.tables import write_table
from shoal.runtime.arrays import Integers
from shoal.verification.composition.crowds import ReleaseCrowds, SeriesEntry, read_crowds
from shoal.verification.composition.series import examine_series

_K = 5
_CHANGE = 0.03  # share of the people who leave and who arrive
_BOXES = 20  # of a record


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
            uids=TextNames(pa.array(names_of(order))),
            crowd=np.arange(people) // _K,
        )
        arriving = int(people * _CHANGE)
        present = np.concatenate([order[arriving:], np.arange(fresh, fresh + arriving)])
        fresh += arriving


def names_of(people: Integers) -> list[str]:
    """Ids."""
    return [f"person-{one}" for one in people.tolist()]


def write_release(folder: Path, people: int) -> Linkage:
    """Write a release in which five people each share their boxes."""
    crowd = np.repeat(np.arange(people) // _K, _BOXES)
    start = np.tile(np.arange(_BOXES) * 100, people)
    boxes = Boxes(t_start=start, t_end=start + 50, x_min=crowd, y_min=crowd, x_max=crowd + 9, y_max=crowd + 9)
    pseudonyms = tuple(f"{one:016x}" for one in range(people))
    release = Release(
        trajectory_ids=pseudonyms,
        offsets=np.arange(people + 1) * _BOXES,
        payload=boxes,
        grid=Grid(),
        claim=KAnonymity(k=_K),
        method="glove",
        parameters={},
        losses=Losses(),
        crs=None,
        unit_of_protection="each person",
        publishable=False,
        reading=Reading(),
    )
    write_table(release, folder / RELEASE_FILE)
    manifest = build_manifest(release, Verdict.of((), checked=people), folder / RELEASE_FILE)
    write_manifest(manifest, folder / MANIFEST_FILE)
    return Linkage(names_of(np.arange(people)), pseudonyms)


def measure_reading(people: int) -> None:
    """Print CPU seconds for a release of this many people."""
    with TemporaryDirectory() as folder:
        linkage = write_release(Path(folder), people)
        begin = time.process_time()
        read_crowds(Path(folder), linkage, "the release")
        cpu_s = time.process_time() - begin
    print(f"reading a release of {people:,} people, {people * _BOXES:,} boxes: {cpu_s:.1f} CPU seconds")


def measure_series(people: int, releases: int) -> None:
    """Print who remains, CPU seconds and the peak of memory."""
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


def main() -> None:
    """Measure both."""
    people, releases = (int(word) for word in (*sys.argv[1:], "100000", "52")[:2])
    examine_series(weeks(100, 2, np.random.default_rng(0)), ids_as_they_are=True)  # compiles
    measure_series(people, releases)
    measure_reading(min(people, 100_000))


if __name__ == "__main__":
    main()
