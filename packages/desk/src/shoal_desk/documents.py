"""The shape of what the commands of the desk print with ``--json``."""

from typing import Any, Final

from typing_extensions import TypedDict

from shoal.cli.document_kinds import closed


@closed
class SignedDocument(TypedDict):
    """Where a record to sign was written, and what it names."""

    record: str
    pdf: str | None
    holds: bool
    strongest: str | None
    strongest_rate: float | None
    data_file_sha256: str | None
    data_sha256: str
    release_sha256: str


@closed
class FindDocument(TypedDict):
    """How many records of a release fit what somebody knows."""

    records: int
    each: list[int]
    together: int
    different: int


DOCUMENTS: Final[dict[str, Any]] = {"record": SignedDocument, "find": FindDocument}
