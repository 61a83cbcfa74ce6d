"""How the table of a release is packed: one writer for every kind, and for whoever packs one again."""

from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

ROWS_PER_GROUP: Final = 1 << 20


def parquet_writer(where: Path | pa.NativeFile, schema: pa.Schema) -> pq.ParquetWriter:
    """A writer of tables with this schema; close it, or use it in a ``with`` block."""
    return pq.ParquetWriter(where, schema, compression="zstd", store_schema=False)
