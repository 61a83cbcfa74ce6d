"""Tables with a history, after the protocols, whose deleted rows only a vector or a file of deletes tells."""

import base64
import json
import struct
import uuid
import zlib
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

_B85: Final = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~"
_Z85: Final = b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ.-:+=^!/*?&<>()[]{}@%$#"
_MAGIC: Final = 1681511377
_NO_RUNS: Final = 12346
_TYPES: Final = {pa.string(): "string", pa.int64(): "long", pa.float64(): "double"}


def z85(content: bytes) -> str:
    """Base 85 as ZeroMQ and Delta Lake write it."""
    return base64.b85encode(content).translate(bytes.maketrans(_B85, _Z85)).decode()


def vector(rows: list[int]) -> bytes:
    """A deletion vector: one bitmap in the portable form of Roaring, behind its number and its key."""
    values = struct.pack(f"<{len(rows)}H", *rows)
    bitmap = struct.pack("<IIHHI", _NO_RUNS, 1, 0, len(rows) - 1, 16) + values
    return struct.pack("<IQI", _MAGIC, 1, 0) + bitmap


def described(folder: Path, rows: list[int], kind: str) -> dict[str, Any]:
    """The descriptor of a vector: inline, or in a file of its own as Spark writes it."""
    content = vector(rows)
    facts = {"sizeInBytes": len(content), "cardinality": len(rows)}
    if kind == "inline":
        padded = content + b"\0" * (-len(content) % 4)
        return {"storageType": "i", "pathOrInlineDv": z85(padded), **facts}
    name = uuid.UUID("d2c639aa-8816-431a-aaf6-d3fe2512ff61")
    whole = b"\1" + struct.pack(">I", len(content)) + content + struct.pack(">I", zlib.crc32(content))
    (folder / f"deletion_vector_{name}.bin").write_bytes(whole)
    return {"storageType": "u", "pathOrInlineDv": z85(name.bytes), "offset": 1, **facts}


def delta_with_vectors(folder: Path, rows: pa.Table, deleted: list[int], kind: str) -> Path:
    """A Delta table in one file, some of whose rows a deletion vector marks as gone."""
    (folder / "_delta_log").mkdir(parents=True)
    pq.write_table(rows, folder / "part-0.parquet")
    fields = [
        {"name": each.name, "type": _TYPES[each.type], "nullable": True, "metadata": {}}
        for each in rows.schema
    ]
    features = ["deletionVectors"]
    actions: list[dict[str, Any]] = [
        {"protocol": {
            "minReaderVersion": 3, "minWriterVersion": 7,
            "readerFeatures": features, "writerFeatures": features,
        }},
        {"metaData": {
            "id": str(uuid.UUID(int=7)), "format": {"provider": "parquet", "options": {}},
            "schemaString": json.dumps({"type": "struct", "fields": fields}), "partitionColumns": [],
            "configuration": {"delta.enableDeletionVectors": "true"}, "createdTime": 0,
        }},
        {"add": {
            "path": "part-0.parquet", "partitionValues": {}, "modificationTime": 0, "dataChange": True,
            "size": (folder / "part-0.parquet").stat().st_size,
            "stats": json.dumps({"numRecords": rows.num_rows}),
            "deletionVector": described(folder, deleted, kind),
        }},
    ]  # fmt: skip
    log = folder / "_delta_log" / f"{0:020}.json"
    log.write_text("\n".join(json.dumps(action) for action in actions), encoding="utf-8")
    return folder


def iceberg_with_deletes(place: Path, rows: pa.Table, gone: pa.Table, kind: str) -> Path:
    """An Iceberg table whose newest version has a file of deletes, by position or by equality.

    The library writes all but the delete file and what leads to it, which it cannot write.
    """
    from pyiceberg import manifest
    from pyiceberg.catalog.sql import SqlCatalog
    from pyiceberg.typedef import Record

    catalog = SqlCatalog("own", uri=f"sqlite:///{place}/catalog.db", warehouse=f"file://{place}/warehouse")
    catalog.create_namespace("n")
    table = catalog.create_table("n.calls", schema=rows.schema, properties={"format-version": "2"})
    table.append(rows)
    folder = next((place / "warehouse").rglob("metadata")).parent
    newest = max((folder / "metadata").glob("*.metadata.json"))
    described = json.loads(newest.read_text())
    (before,) = described["snapshots"]
    data = next(iter((folder / "data").rglob("*.parquet")))
    if kind == "position":
        ids = {"file_path": "2147483546", "pos": "2147483545"}
        gone = pa.table({"file_path": [f"file://{data}"] * len(gone), "pos": gone["pos"]})
    else:
        ids = {"id": "1"}
    gone = gone.cast(
        pa.schema([
            pa.field(each.name, each.type, metadata={"PARQUET:field_id": ids[each.name]})
            for each in gone.schema
        ])
    )  # fmt: skip
    path = folder / "data" / "deletes.parquet"
    pq.write_table(gone, path)
    contents = manifest.DataFileContent
    content = contents.POSITION_DELETES if kind == "position" else contents.EQUALITY_DELETES

    class Deletes(manifest.ManifestWriterV2):  # type: ignore[misc]  # the library has no types here
        def content(self) -> Any:
            return manifest.ManifestContent.DELETES

        @property
        def _meta(self) -> dict[str, str]:
            return {**super()._meta, "content": "deletes"}

    file = manifest.DataFile.from_args(
        content=content, file_path=f"file://{path}", file_format=manifest.FileFormat.PARQUET,
        partition=Record(), record_count=len(gone), file_size_in_bytes=path.stat().st_size,
        equality_ids=[1] if kind == "equality" else None, spec_id=0, _table_format_version=2,
    )  # fmt: skip
    snapshot = 77
    entry = manifest.ManifestEntry.from_args(
        status=manifest.ManifestEntryStatus.ADDED, snapshot_id=snapshot, data_file=file
    )
    made = table.io.new_output(f"file://{folder}/metadata/deletes.avro")
    with Deletes(table.spec(), table.schema(), made, snapshot, "null") as writer:
        writer.add_entry(entry)
    manifests = table.current_snapshot().manifests(table.io)
    output = table.io.new_output(f"file://{folder}/metadata/list.avro")
    with manifest.write_manifest_list(2, output, snapshot, before["snapshot-id"], 2, "null") as listed:
        listed.add_manifests([*manifests, writer.to_manifest_file()])
    after = {
        **before, "snapshot-id": snapshot, "parent-snapshot-id": before["snapshot-id"], "sequence-number": 2,
        "manifest-list": f"file://{folder}/metadata/list.avro", "summary": {"operation": "overwrite"},
    }  # fmt: skip
    described |= {"snapshots": [before, after], "current-snapshot-id": snapshot, "last-sequence-number": 2}
    described["refs"] = {"main": {"snapshot-id": snapshot, "type": "branch"}}
    (folder / "metadata" / "00009-new.metadata.json").write_text(json.dumps(described))
    return folder
