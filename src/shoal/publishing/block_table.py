"""The table of a release made in blocks, written in tasks of a million boxes, and what its record needs.

A task writes its boxes as a file of their own and looks at them; the files are put behind each other, and the
bytes are those that one process would have written.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from shoal.measures.k_gap import KGap
from shoal.model.names import Pseudonyms
from shoal.model.people_on_disk import StoredPeople
from shoal.model.release import Boxes, Release
from shoal.publishing.block_records import Crowds, ReleaseOnDisk, parts_of, records_at, without_records
from shoal.release_folder.box_table import Bounds, join_boxes, write_some_boxes
from shoal.report.facts.curves import quantile_of_people
from shoal.report.facts.density import Window, density_in, expected_density, some_boxes, window_around
from shoal.report.facts.gaps import gap_facts
from shoal.report.facts.release import BoxFacts, ReleaseFacts, days_between, span_of
from shoal.runtime.arrays import Floats, Integers
from shoal.runtime.run import Engine, Run, run_tasks
from shoal.runtime.staging import explain_write_errors, partial_name
from shoal.utility.accuracy import Accuracy

_NAMES, _BLOCKS, _STARTS, _LENGTHS = "names.npy", "blocks.npy", "starts.npy", "lengths.npy"
_LABEL: Final = "writing the release"


@dataclass(frozen=True, kw_only=True)
class TablePart:
    """Some records of a table, from first to before end, in the order of ``folder``'s lists.

    header: of the release, without records; job: the folder that holds the boxes of the blocks. window: of
    the record's map; None where it is still to be chosen.
    """

    folder: Path
    job: Path
    header: Release
    first: int
    end: int
    window: Window | None

    @property
    def file(self) -> Path:
        """Where the part is written."""
        return self.folder / f"{self.first}.parquet"

    def records(self) -> Release:
        """The records."""
        names, blocks, starts, lengths = (
            np.load(self.folder / name, mmap_mode="r")[self.first : self.end]
            for name in (_NAMES, _BLOCKS, _STARTS, _LENGTHS)
        )
        return records_at(self.header, list(Pseudonyms(names)), self.job, blocks, starts, lengths)


@dataclass(frozen=True, eq=False, kw_only=True)
class PartSeen:
    """What the record needs of a part: slots from first to end, boxes, and how many are expected where."""

    bounds: Bounds
    first: int
    end: int
    n_boxes: int
    window: Window
    expected: Floats


def write_part(part: TablePart) -> PartSeen:
    """Write a part as a file of its own, whole or not at all; doing it twice does no harm."""
    records = part.records()
    boxes = records.boxes
    partial = partial_name(part.file)
    with explain_write_errors(part.file):
        bounds = write_some_boxes(records, partial)
        partial.rename(part.file)
    window = part.window or window_around(boxes)
    return PartSeen(
        bounds=bounds,
        first=int(boxes.t_start.min()),
        end=int(boxes.t_end.max()),
        n_boxes=len(boxes),
        window=window,
        expected=expected_density(boxes, window),
    )


@dataclass(frozen=True, eq=False, kw_only=True)
class Seen:
    """What the record needs of the boxes. The first part is a random sample, for what needs one."""

    parts: Sequence[PartSeen]
    examples: Boxes

    def facts(
        self, people: StoredPeople, crowds: Crowds, accuracy: Accuracy, gaps: Sequence[KGap]
    ) -> ReleaseFacts:
        """The numbers of the record."""
        first, end = min(part.first for part in self.parts), max(part.end for part in self.parts)
        n_boxes, window = sum(part.n_boxes for part in self.parts), self.parts[0].window
        expected = np.zeros((window.rows, window.columns))
        for part in self.parts:
            expected += part.expected
        sizes, numbers = np.unique(crowds.sizes, return_counts=True)
        slot_s = people.grid.slot_s
        return ReleaseFacts(
            subjects=people.n_subjects,
            samples=people.n_samples,
            rows_read=people.intake.rows_read,
            grid=people.grid,
            span=span_of(np.array([first]), np.array([end]), slot_s),
            density=density_in(window, expected, n_boxes),
            example_boxes=self.examples,
            gaps=tuple(gap_facts(people.n_subjects, gap) for gap in gaps),
            boxes=BoxFacts(
                median_samples=quantile_of_people(people.lengths.astype(np.float64), 0.5),
                samples_per_day=people.n_samples / people.n_subjects / days_between(first, end - 1, slot_s),
                accuracy=accuracy,
                crowds=dict(zip(sizes.tolist(), numbers.tolist(), strict=True)),
            ),
        )


def write_table_in_parts(
    release: ReleaseOnDisk,
    crowds: Crowds,
    crowd_of: Integers,
    path: Path,
    scratch: Path,
    engine: Engine,
    run: Run,
) -> Seen:
    """Write all records in their order. crowd_of: [r] the crowd of each record. scratch: an empty folder."""
    lengths = crowds.lengths[crowd_of]
    np.save(scratch / _NAMES, Pseudonyms.of(release.trajectory_ids).numbers)
    np.save(scratch / _BLOCKS, crowds.blocks[crowd_of])
    np.save(scratch / _STARTS, crowds.starts[crowd_of])
    np.save(scratch / _LENGTHS, lengths)
    first, *others = parts_of(lengths)
    header = without_records(release)

    def part(cut: tuple[int, int], window: Window | None) -> TablePart:
        return TablePart(
            folder=scratch, job=crowds.job, header=header, first=cut[0], end=cut[1], window=window
        )

    begun = part(first, None)
    seen = [write_part(begun)]  # the map's window is chosen by it
    parts = [begun, *(part(cut, seen[0].window) for cut in others)]
    seen += run_tasks(write_part, parts[1:], engine, run, _LABEL)
    join_boxes([each.file for each in parts], [bounds for each in seen for bounds in each.bounds], path)
    examples = some_boxes(begun.records().boxes)
    return Seen(parts=seen, examples=examples)
