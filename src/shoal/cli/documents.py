"""DOCUMENTS, the shape of what every command prints with ``--json``: one type for each, and its JSON Schema.

Documents may grow; no entry changes its meaning. When one must, VERSION rises. A command's tests hold each
document that it prints to its type.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal

from pydantic import BaseModel, TypeAdapter
from typing_extensions import TypedDict

from shoal.cli.collect import needs_extra
from shoal.cli.collect_documents import COLLECT
from shoal.cli.data_documents import (
    AssessDocument,
    InspectDocument,
    PlanDocument,
    ReleaseDocument,
    ShareDocument,
    SynthesizeDocument,
)
from shoal.cli.document_kinds import closed
from shoal.cli.release_documents import (
    AttackDocument,
    CheckDocument,
    CompareDocument,
    ConvertDocument,
    FindDocument,
    GranularityDocument,
    MeasureDocument,
    PublicationDocument,
    PublishDocument,
    SignedDocument,
    VerifyDocument,
)
from shoal.errors import MisuseError
from shoal.release_folder.manifest import Manifest

VERSION: Final = 1
PLAN: Final = "plan"  # what commands with --plan print of themselves
_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


@closed
class CellDocument(TypedDict):
    """One number of a figure: the paper's, and the mean over the seeds with half its 95 % interval."""

    row: str
    column: str
    paper: float | list[float] | None
    mean: float | None
    margin: float | None
    values: list[float | None]


@closed
class FigureDocument(TypedDict):
    """A figure or table of a paper; skipped: why it was not made."""

    figure: str
    title: str
    note: str
    skipped: str | None
    cells: list[CellDocument]


@closed
class ReproduceDocument(TypedDict):
    """The figures and tables of papers beside what was measured."""

    size: Literal["quick", "full"]
    seeds: int
    papers: dict[str, list[FigureDocument]]


DOCUMENTS: Final[Mapping[str, Any]] = {
    "inspect": InspectDocument | ReleaseDocument,
    "synthesize": SynthesizeDocument,
    "assess": AssessDocument,
    "anonymize": PublicationDocument,
    "demo": PublicationDocument,
    "verify": VerifyDocument,
    "check": CheckDocument,
    "attack": AttackDocument,
    "measure": MeasureDocument,
    "compare": CompareDocument,
    "granularity": GranularityDocument,
    "convert": ConvertDocument,
    "publish": PublishDocument,
    "share": ShareDocument,
    "record": SignedDocument,
    "find": FindDocument,
    "reproduce": ReproduceDocument,
    **COLLECT,
    PLAN: PlanDocument,
}
"""The type of the document of each command."""

MANIFEST: Final = "manifest"
SUCCESSORS: Final = "successors"


def schema_of(name: str) -> dict[str, Any]:
    """The JSON Schema of a command's document, or of a file; MisuseError for another name."""
    if name not in names():
        raise MisuseError(f"'{name}' prints no document of a known shape; choose from {', '.join(names())}")
    if name in DOCUMENTS:
        found = TypeAdapter(DOCUMENTS[name]).json_schema()
    else:
        found = (Manifest if name == MANIFEST else _successors()).model_json_schema()
    return {"$schema": _DIALECT, "$id": f"urn:shoal:{name}:{VERSION}", **found}


def names() -> tuple[str, ...]:
    """Everything that has a schema."""
    return (*DOCUMENTS, MANIFEST, SUCCESSORS)


def _successors() -> type[BaseModel]:
    """The type of the file of 'shoal collect successor'; its library comes with an extra."""
    with needs_extra("collect"):
        from shoal.collect.roles.succession import Successors

    return Successors
