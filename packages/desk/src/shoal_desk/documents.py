"""The types of the ``--json`` documents of the desk."""

from typing import Any, Final

from typing_extensions import TypedDict

from shoal.cli.document_kinds import Shown, closed
from shoal.cli.release_documents import UsefulnessDocument
from shoal_desk.sightings import Fit


@closed
class SignedDocument(TypedDict):
    """The place of a record to sign, and what it names."""

    record: str
    pdf: str | None
    holds: bool
    usefulness: UsefulnessDocument | None
    strongest: str | None
    strongest_rate: float | None
    data_file_sha256: str | None
    data_sha256: str
    release_sha256: str


class FindDocument(Shown, of=Fit):
    """The number of records that match known times and places."""


DOCUMENTS: Final[dict[str, Any]] = {"record": SignedDocument, "find": FindDocument}
