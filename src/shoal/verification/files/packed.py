"""Whether a table's file is, byte for byte, what its rows are packed into here.

A writer chooses how rows are packed: encodings, pages, runs, how hard they are compressed. Readers see
nothing of it, so that it could carry anything. Packing the rows again and comparing shows all of it at once.
"""

import io
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from shoal.release_folder.manifest import RELEASE_FILE
from shoal.release_folder.packing import ROWS_PER_GROUP, parquet_writer

TORN: Final = (
    f"{RELEASE_FILE} has its rows in more groups than they need: where each ends may carry a message"
)
_MOST_GROUPS: Final = 3  # more than two for each full one: parts are written one by one
OTHERWISE: Final = (
    f"{RELEASE_FILE} is packed otherwise than this machine packs its rows: another version of pyarrow or of "
    "zstd does so, and so does somebody who hides a message there"
)


class Repacking:
    """The rows of a file packed again, group by group, beside its bytes."""

    def __init__(self, content: bytes, file: pq.ParquetFile) -> None:
        self._footer, self._again = file.metadata, _Repeated(content)
        self._writer = parquet_writer(pa.PythonFile(self._again, "w"), file.schema_arrow.remove_metadata())

    def pack(self, group: pa.Table) -> None:
        """Take in the rows of the next group."""
        self._writer.write_table(group, row_group_size=ROWS_PER_GROUP)

    def finish(self) -> list[str]:
        """Notes on many groups, and on rows that are packed into other bytes; all groups must have come."""
        if self._footer.metadata is not None:
            self._writer.add_key_value_metadata(self._footer.metadata)
        self._writer.close()
        torn = self._footer.num_row_groups > _MOST_GROUPS + 2 * (self._footer.num_rows // ROWS_PER_GROUP)
        return [TORN] * torn + [OTHERWISE] * (not self._again.is_complete)


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
