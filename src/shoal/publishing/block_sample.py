"""Risks and uses for the record of a release made in blocks, measured of whole crowds drawn at random.

The release does not fit into memory, a sample of it does. Crowds stay whole, so a person hides among as many
as in the release; but fewer other people are there to be taken for somebody, and the record says so.
"""

from dataclasses import dataclass, fields, replace
from typing import Final

import numpy as np

from shoal.model.people_on_disk import StoredPeople
from shoal.model.release import Boxes, Linkage, Losses, Release
from shoal.model.trajectories import Trajectories
from shoal.publishing.block_records import Crowds, ReleaseOnDisk, records_in_parts
from shoal.report.facts.evidence import Evidence, Sampled
from shoal.runtime.arrays import Integers
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.utility import Facts

SAMPLE_PEOPLE: Final = 1_000
_DRAW_SEED: Final = 1  # of who is drawn, which no page shows; a run that goes on draws the same


@dataclass(frozen=True, eq=False, kw_only=True)
class Sample:
    """Some whole crowds as data sets of their own."""

    original: Trajectories
    release: Release
    linkage: Linkage


def evidence_of_sample(
    people: StoredPeople, release: ReleaseOnDisk, crowds: Crowds, *, tries: int, run: Run
) -> Evidence:
    """What is measured of a sample, with how many people it holds."""
    drawn = draw_crowds(people, release, crowds)
    facts = Facts(drawn.original, drawn.release, drawn.linkage, run=run)
    sampled = Sampled(people=drawn.release.n_records, of=release.n_records)
    return Evidence(facts, tries=tries, sampled=sampled)


def draw_crowds(people: StoredPeople, release: ReleaseOnDisk, crowds: Crowds) -> Sample:
    """Crowds drawn at random until they hold SAMPLE_PEOPLE, or all where there are no more."""
    rng = np.random.default_rng(_DRAW_SEED)
    order = rng.permutation(len(crowds.sizes))
    enough = int(np.searchsorted(np.cumsum(crowds.sizes[order]), SAMPLE_PEOPLE)) + 1
    return these_crowds(people, release, crowds, np.sort(order[:enough]), rng)


def these_crowds(
    people: StoredPeople,
    release: Release,
    crowds: Crowds,
    chosen: Integers,
    rng: np.random.Generator,
) -> Sample:
    """Some crowds (ascending) as a data set of their own."""
    ends = np.cumsum(crowds.sizes)
    own = [crowds.subjects[ends[crowd] - crowds.sizes[crowd] : ends[crowd]] for crowd in chosen.tolist()]
    some = replace(
        crowds,
        subjects=np.concatenate(own),
        blocks=crowds.blocks[chosen],
        sizes=crowds.sizes[chosen],
        starts=crowds.starts[chosen],
        lengths=crowds.lengths[chosen],
    )
    shuffled = rng.permutation(len(some.subjects))
    crowd_of = np.repeat(np.arange(len(some.sizes)), some.sizes)[shuffled]
    subjects = some.subjects[shuffled]
    header = replace(
        release,
        trajectory_ids=Randomness.for_research(_DRAW_SEED).pseudonyms(len(subjects)),
        offsets=np.zeros(len(subjects) + 1, dtype=np.int64),
        losses=Losses(),
    )
    parts = list(records_in_parts(header, some, crowd_of))
    lengths = np.concatenate([np.diff(part.offsets) for part in parts])
    settings = {field.name: getattr(header, field.name) for field in fields(Release)}
    settings |= {
        "offsets": np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64),
        "payload": Boxes.concatenate([part.boxes for part in parts]),
    }
    by_subject = np.argsort(subjects)
    names = people.names.take(subjects[by_subject]).to_pylist()
    records = tuple(header.trajectory_ids[position] for position in by_subject.tolist())
    return Sample(
        original=people.load(np.sort(subjects)),
        release=Release(**settings),
        linkage=Linkage(tuple(names), records),
    )
