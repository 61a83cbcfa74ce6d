"""Random small releases of boxes, sound ones and ones with some random changes."""

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from damages import Box, rows_of, with_records
from naive_release import naive_release
from shoal.model.grid import Grid
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.randomness import Randomness

Case = tuple[Trajectories, Release, Linkage]


@st.composite
def cities(draw: st.DrawFn, most_subjects: int = 8) -> Trajectories:
    """A few people in a small space, so that boxes touch, coincide and hold others' samples too."""
    n = draw(st.integers(2, most_subjects))
    place = st.tuples(st.integers(0, 12), st.integers(-3, 3), st.integers(-3, 3))
    people = [draw(st.lists(place, min_size=1, max_size=6)) for _ in range(n)]
    rows = draw(
        st.permutations(
            [
                (f"person-{number:05d}", *sample)
                for number, person_samples in enumerate(people)
                for sample in person_samples
            ]
        )
    )
    ids, t, x, y = zip(*rows, strict=True)
    return Trajectories.from_rows(ids, t, x, y, grid=Grid())


@st.composite
def releases(draw: st.DrawFn) -> Case:
    original = draw(cities())
    k = draw(st.integers(2, min(3, original.n_subjects)))
    spare = original.n_subjects - k
    suppressed = draw(st.lists(st.integers(0, original.n_subjects - 1), max_size=spare, unique=True))
    rng = Randomness.for_research(draw(st.integers(0, 2**32)))
    return original, *naive_release(
        original, k=k, n_boxes=draw(st.integers(1, 4)), suppressed=suppressed, rng=rng
    )


@st.composite
def broken_releases(draw: st.DrawFn) -> Case:
    """One to three random changes of any kind, most of them in the smallest possible step."""
    original, release, linkage = draw(releases())
    for _ in range(draw(st.integers(1, 3))):
        records = rows_of(release)
        record = draw(st.integers(0, len(records) - 1))
        are_alike = draw(st.booleans())
        touched = [
            p for p in range(len(records)) if p == record or (are_alike and records[p] == records[record])
        ]
        what = draw(
            st.sampled_from(
                ["bound", "drop", "double", "claim", "losses", "uids", "names", "links", "same name"]
            )
        )
        if what in {"bound", "drop", "double"} and records[record]:
            at, bound, step = (
                draw(st.integers(0, len(records[record]) - 1)),
                draw(st.integers(0, 5)),
                draw(st.sampled_from([-1, 1, 2, -9])),
            )
            box = list(records[record][at])
            box[bound] += step
            after: list[Box] = {
                "bound": [tuple(box)],
                "drop": [],
                "double": [records[record][at], tuple(box)],
            }[what]
            for position in touched:
                records[position] = [*records[position][:at], *after, *records[position][at + 1 :]]
            release = with_records(release, records)
        elif what == "claim":
            changes: dict[str, Any] = draw(
                st.sampled_from(
                    [{"truthful": False}, {"disjoint_in_time": False}, {"k": release.claim.k + 1}]
                )
            )
            release = replace(release, claim=replace(release.claim, **changes))
        elif what == "losses":
            name = draw(st.sampled_from(["samples_suppressed", "subjects_suppressed"]))
            release = replace(
                release,
                losses=replace(
                    release.losses, **{name: getattr(release.losses, name) + draw(st.sampled_from([-1, 1]))}
                ),
            )
        elif what == "same name":
            release = replace(
                release, trajectory_ids=(release.trajectory_ids[record], *release.trajectory_ids[1:])
            )
        elif linkage.uids:
            uids, names = list(linkage.uids), list(linkage.trajectory_ids)
            at, other = draw(st.integers(0, len(uids) - 1)), draw(st.integers(0, len(uids) - 1))
            if what == "uids":
                uids[at] = draw(st.sampled_from([uids[other], "nobody"]))
            elif what == "names":
                names[at] = draw(st.sampled_from([names[other], "0" * 16]))
            else:
                del uids[at], names[at]
            linkage = Linkage(tuple(uids), tuple(names))
    return original, release, linkage
