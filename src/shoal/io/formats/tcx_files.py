"""TCX files of sports watches; the person is the file.

``--person folder`` takes its folder. Points without a position, as indoors, are counted.
"""

from collections.abc import Iterator
from pathlib import Path

from shoal.io.formats.input_table import Table
from shoal.io.formats.row_files import Account, Row, table_of_rows
from shoal.io.formats.xml_files import child_text, children, iterate_elements
from shoal.model.intake import Reading


def open_table(path: Path, _reading: Reading) -> Table:
    """Track points of a whole file."""

    def read(_: Account) -> Iterator[Row]:
        for tag, element in iterate_elements(path, "TrainingCenterDatabase", "TCX"):
            if tag != "Trackpoint":
                continue
            position = next(children(element, "Position"), element)
            place = (child_text(position, "LatitudeDegrees"), child_text(position, "LongitudeDegrees"))
            yield child_text(element, "Time"), *place
            element.clear()

    return table_of_rows(path, ("datetime", "lat", "lon"), read)
