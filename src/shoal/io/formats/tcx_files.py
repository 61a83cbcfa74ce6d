"""TCX files of sports watches; the person is the file.

``--person folder`` takes its folder. Points without a position, as indoors, are counted.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa

from shoal.io.columns.owners import owners_of_file, stem_of
from shoal.io.formats.input_table import Table, text_batch
from shoal.io.formats.xml_files import child_text, iterate_elements
from shoal.model.intake import Reading

COLUMNS: Final = ("uid", "folder", "datetime", "lat", "lon")


def open_table(path: Path, _reading: Reading) -> Table:
    """Track points of a whole file."""
    owner = (stem_of(path.name), path.resolve().parent.name)

    def batches(columns: Sequence[str]) -> Iterator[tuple[float, pa.RecordBatch]]:
        rows: list[tuple[str, ...]] = []
        for tag, element in iterate_elements(path, "TrainingCenterDatabase", "TCX"):
            if tag != "Trackpoint":
                continue
            position = next((child for child in element if str(child.tag).endswith("}Position")), None)
            place = ("", "")
            if position is not None:
                place = (child_text(position, "LatitudeDegrees"), child_text(position, "LongitudeDegrees"))
            rows.append((*owner, child_text(element, "Time"), *place))
            element.clear()
        yield 1.0, text_batch(rows, COLUMNS, columns)

    return Table(name=path.name, columns=COLUMNS, batches=batches, owners=owners_of_file(path))
