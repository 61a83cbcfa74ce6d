"""Whether a table's file is, byte for byte, what its rows are packed into here.

A writer chooses how rows are packed: encodings, pages, runs, how hard they are compressed. Readers see
nothing of it, so that it could carry anything. Packing the rows again and comparing shows all of it at once.
"""

from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from shoal.release_folder.columnwise import ColumnwiseWriter
from shoal.release_folder.manifest import RELEASE_FILE
from shoal.release_folder.packing import ROWS_PER_GROUP

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
        self._writer = ColumnwiseWriter(self._again, file.schema_arrow.remove_metadata())

    def pack(self, columns: pa.Table) -> None:
        """Take in the next columns of a group of rows."""
        self._writer.write(columns)

    def finish(self) -> list[str]:
        """Notes on many groups, and on rows that are packed into other bytes; all groups must have come."""
        self._writer.close(self._footer.metadata or {})
        torn = self._footer.num_row_groups > _MOST_GROUPS + 2 * (self._footer.num_rows // ROWS_PER_GROUP)
        return [TORN] * torn + [OTHERWISE] * (not self._again.is_complete)


class _Repeated:
    """A file that keeps nothing, and tells whether what is written to it is this content."""

    def __init__(self, content: bytes) -> None:
        self._content, self._at, self._same = content, 0, True

    def write(self, part: bytes | memoryview) -> None:
        """Compare the next bytes."""
        end = self._at + len(part)
        self._same = self._same and self._content[self._at : end] == part
        self._at = end

    @property
    def is_complete(self) -> bool:
        """Whether exactly the content was written."""
        return self._same and self._at == len(self._content)
