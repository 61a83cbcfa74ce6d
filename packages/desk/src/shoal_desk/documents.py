"""The types of the ``--json`` documents of the desk."""

from typing import Any, Final, Literal

from typing_extensions import TypedDict

from shoal.cli.document_kinds import Shown, closed
from shoal.cli.release_documents import UsefulnessDocument
from shoal_desk.sightings import Fit


@closed
class RecipientDocument(TypedDict):
    """How often attacks name whose record is whose, against a recipient's threshold; rate: null if unknown.

    missing: the knowledge of its adversaries that the file of attacks lacks.
    """

    verdict: Literal["kept", "exceeded", "not judged"]
    judged_by: Literal["maximum", "average"]
    rate: float | None
    at_most: float
    missing: list[str]


@closed
class SignedDocument(TypedDict):
    """The place of a record to sign, and what it names."""

    record: str
    pdf: str | None
    holds: bool
    usefulness: UsefulnessDocument | None
    recipients: dict[str, RecipientDocument]
    strongest: str | None
    strongest_rate: float | None
    data_file_sha256: str | None
    data_sha256: str
    release_sha256: str


class FindDocument(Shown, of=Fit):
    """The number of records that match known times and places."""


DOCUMENTS: Final[dict[str, Any]] = {"record": SignedDocument, "find": FindDocument}
