"""The records of a release in canonical form, and the classes of those identical, sample for sample."""

from dataclasses import dataclass

import numpy as np

from shoal.errors import MisuseError
from shoal.model.release import Release
from shoal.runtime.arrays import Flags, Integers
from shoal.verification.boxes.loops import is_canonical


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Records:
    """n records with m boxes in c classes.

    boxes: int64 [m, 6], columns as BOX_COLUMNS, each record's rows ascending. offsets: int64 [n + 1].
    class_of: int64 [n]. representative: int64 [c], the first record of each class. size: int64 [c].
    """

    boxes: Integers
    offsets: Integers
    class_of: Integers
    representative: Integers
    size: Integers

    def record_of_box(self, rows: Integers) -> Integers:
        """The record that owns each of these boxes."""
        return np.searchsorted(self.offsets, rows, side="right") - 1

    def boxes_of(self, records: Flags) -> Flags:
        """[m] which boxes are of these records [n]."""
        return np.repeat(records, np.diff(self.offsets))


def records_of(release: Release) -> Records:
    """The release's records, sorted and classified.

    Raises MisuseError when its arrays contradict each other.
    """
    columns = release.boxes.columns()
    if len({len(column) for column in columns}) > 1:
        raise MisuseError(
            "the columns of the release's boxes differ in length; a release is made by a method or read "
            "from a folder"
        )
    if (np.diff(release.offsets) < 0).any():
        raise MisuseError("the release's offsets fall; a release is made by a method or read from a folder")
    # a copy of the offsets: all loops would be compiled once more for what may not be written to
    offsets = np.array(release.offsets, dtype=np.int64)
    boxes = np.stack(columns, axis=1).astype(np.int64, copy=False)
    if not is_canonical(boxes, offsets):
        record = np.repeat(np.arange(release.n_records), np.diff(offsets))
        boxes = boxes[np.lexsort((*boxes.T[::-1], record))]
    class_of, representative = _classify(boxes, offsets)
    return Records(
        boxes=boxes,
        offsets=offsets,
        class_of=class_of,
        representative=representative,
        size=np.bincount(class_of, minlength=len(representative)),
    )


def _classify(boxes: Integers, offsets: Integers) -> tuple[Integers, Integers]:
    """Each record's class and each class's first record; equal hashes are compared box by box."""
    classes_with: dict[int, list[int]] = {}
    representative: list[int] = []
    class_of = np.empty(len(offsets) - 1, dtype=np.int64)
    for record in range(len(class_of)):
        own = boxes[offsets[record] : offsets[record + 1]].tobytes()
        same_hash = classes_with.setdefault(hash(own), [])
        for known in same_hash:
            first = representative[known]
            if own == boxes[offsets[first] : offsets[first + 1]].tobytes():
                class_of[record] = known
                break
        else:
            class_of[record] = len(representative)
            same_hash.append(len(representative))
            representative.append(record)
    return class_of, np.array(representative, dtype=np.int64)
