"""A Parquet file taken apart and put together again with changes that no writer would make.

It parses with the lists of fields of the verifier, and writes the compact protocol with code of its own.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from shoal.verification.files.thrift import FOOTER, PAGE, Field, Shape, Source, read_struct

_CODES = {"i8": 3, "i16": 4, "i32": 5, "i64": 6, "bytes": 8, "list": 9, "struct": 12}


def packed(entries: dict[str, Any], shape: Shape) -> bytes:
    """A structure in the compact protocol; fields in the order of their numbers."""
    out, before = bytearray(), 0
    for number, known in sorted(shape.fields.items()):
        if known.name not in entries:
            continue
        value = entries[known.name]
        code = (1 if value else 2) if known.kind == "bool" else _CODES[known.kind]
        out += bytes([(number - before) << 4 | code])
        before = number
        if known.kind != "bool":
            out += _packed_value(value, known)
    return bytes(out) + b"\x00"


def _packed_value(value: Any, known: Field) -> bytes:
    if known.kind == "i8":
        return bytes([value])
    if known.kind in {"i16", "i32", "i64"}:
        return varint(value << 1 ^ value >> 63)
    if known.kind == "bytes":
        return varint(len(value)) + bytes(value)
    if known.kind == "struct":
        assert known.of is not None
        return packed(value, known.of)
    code = _CODES[known.items]
    head = bytes([len(value) << 4 | code]) if len(value) < 15 else bytes([0xF0 | code]) + varint(len(value))
    if known.of is not None:
        return head + b"".join(packed(item, known.of) for item in value)
    item = Field(name="item", kind=known.items)
    return head + b"".join(_packed_value(one, item) for one in value)


def varint(value: int) -> bytes:
    """A number without sign, seven bits a byte."""
    value &= (1 << 64) - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])


@dataclass
class Page:
    """A page: its header, and its content unpacked. raw: what stands in the file instead of that, packed."""

    head: dict[str, Any]
    body: bytes
    raw: bytes | None = None


@dataclass
class Anatomy:
    """A Parquet file in pieces. pages: of each chunk, in the order of the file; the rest: further bytes."""

    footer: dict[str, Any]
    pages: list[list[Page]]
    before_footer: bytes = b""
    behind_footer: bytes = b""
    between: dict[int, bytes] = field(default_factory=dict)

    @classmethod
    def of(cls, path: Path) -> "Anatomy":
        """The pieces of a file that shoal wrote."""
        content = path.read_bytes()
        length = int.from_bytes(content[-8:-4], "little")
        footer = read_struct(Source(content[-8 - length : -8], "file"), FOOTER)
        pages = []
        for group in footer["row_groups"]:
            for chunk in group["chunks"]:
                data = chunk["data"]
                at = data.get("dictionary_page_offset", data["data_page_offset"])
                end, own = at + data["compressed"], []
                while at < end:
                    source = Source(content, "file", at)
                    head = read_struct(source, PAGE)
                    at = source.at + head["compressed"]
                    body = content[source.at : at]
                    codec = {0: None, 6: "zstd"}[data["codec"]]
                    if codec and body:
                        body = pa.Codec(codec).decompress(
                            body, decompressed_size=head["uncompressed"], asbytes=True
                        )
                    own.append(Page(head, body))
                pages.append(own)
        return cls(footer, pages)

    def chunk(self, place: int) -> dict[str, Any]:
        """What the footer says of a chunk, by its place in the file."""
        chunks = [chunk["data"] for group in self.footer["row_groups"] for chunk in group["chunks"]]
        found: dict[str, Any] = chunks[place]
        return found

    def write(self, path: Path) -> None:
        """Put the file together, with all offsets and sizes right."""
        out = bytearray(b"PAR1")
        for place, pages in enumerate(self.pages):
            data = self.chunk(place)
            out += self.between.get(place, b"")
            start, size = len(out), 0
            for page in pages:
                body = page.raw
                if body is None:
                    body = pa.Codec("zstd").compress(page.body, asbytes=True) if data["codec"] else page.body
                head = packed({**page.head, "uncompressed": len(page.body), "compressed": len(body)}, PAGE)
                is_dictionary = page.head["type"] == 2
                if is_dictionary and page is pages[0]:
                    data["dictionary_page_offset"] = len(out)
                elif page.head["type"] == 0 and all(
                    other.head["type"] == 2 for other in pages[: pages.index(page)]
                ):
                    data["data_page_offset"] = len(out)
                out += head + body
                size += len(head) + len(page.body)
            data.update(compressed=len(out) - start, uncompressed=size)
        for group in self.footer["row_groups"]:
            own = [chunk["data"] for chunk in group["chunks"]]
            group["bytes"] = sum(data["uncompressed"] for data in own)
            if "compressed" in group:
                group["compressed"] = sum(data["compressed"] for data in own)
        out += self.before_footer
        footer = packed(self.footer, FOOTER) + self.behind_footer
        path.write_bytes(bytes(out) + footer + len(footer).to_bytes(4, "little") + b"PAR1")


def operated(path: Path, change: Callable[[Anatomy], object]) -> None:
    """Change a file in place."""
    anatomy = Anatomy.of(path)
    change(anatomy)
    anatomy.write(path)
