"""Whether a table's file is, byte for byte, what its rows are packed into here.

A writer chooses how rows are packed: encodings, pages, runs, how hard they are compressed. Readers see
nothing of it, so that it could carry anything. Packing the rows again and comparing shows all of it at once.
"""

import io
from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from shoal.release_folder.manifest import RELEASE_FILE
from shoal.release_folder.packing import ROWS_PER_GROUP, parquet_writer, table_in

TORN: Final = (
    f"{RELEASE_FILE} has its rows in more groups than they need: where each ends may carry a message"
)
_MOST_GROUPS: Final = 3  # more than two for each full one: parts are written one by one
OTHERWISE: Final = (
    f"{RELEASE_FILE} is packed otherwise than this machine packs its rows: another version of pyarrow or of "
    "zstd does so, and so does somebody who hides a message there"
)


def packing_notes(content: bytes, table: pa.Table | None = None) -> Iterator[str]:
    """Notes when a table has many groups, or its rows, group by group, would be packed into other bytes.

    table: those rows, where they were read.
    """
    file = pq.ParquetFile(pa.BufferReader(content))
    table = table_in(file) if table is None else table
    if file.num_row_groups > _MOST_GROUPS + 2 * (file.metadata.num_rows // ROWS_PER_GROUP):
        yield TORN
    again, first = _Repeated(content), 0
    with parquet_writer(pa.PythonFile(again, "w"), file.schema_arrow.remove_metadata()) as writer:
        for group in range(file.num_row_groups):
            rows = file.metadata.row_group(group).num_rows
            writer.write_table(table.slice(first, rows), row_group_size=ROWS_PER_GROUP)
            first += rows
        if file.metadata.metadata is not None:
            writer.add_key_value_metadata(file.metadata.metadata)
    if not again.is_complete:
        yield OTHERWISE


class _Repeated(io.RawIOBase):
    """A file that keeps nothing, and tells whether what is written to it is this content."""

    def __init__(self, content: bytes) -> None:
        self._content, self._at, self._same = content, 0, True

    def writable(self) -> bool:
        """It is."""
        return True

    def tell(self) -> int:
        """How much was written."""
        return self._at

    def write(self, part: Any) -> int:
        """Compare the next bytes."""
        piece = bytes(part)
        end = self._at + len(piece)
        self._same = self._same and self._content[self._at : end] == piece
        self._at = end
        return len(piece)

    @property
    def is_complete(self) -> bool:
        """Whether exactly the content was written."""
        return self._same and self._at == len(self._content)
