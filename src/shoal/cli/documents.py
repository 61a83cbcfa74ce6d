"""The types of all ``--json`` documents, and their JSON Schemas.

Documents may grow; no entry changes its meaning. If one must, VERSION rises.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final

from pydantic import TypeAdapter

from shoal.cli.data_documents import (
    AssessDocument,
    InspectDocument,
    PlanDocument,
    ReleaseDocument,
    ShareDocument,
    SynthesizeDocument,
)
from shoal.cli.packages import package_documents
from shoal.cli.release_documents import (
    AdviseDocument,
    AttackDocument,
    CheckDocument,
    CompareDocument,
    ConvertDocument,
    GranularityDocument,
    MeasureDocument,
    PublicationDocument,
    PublishDocument,
    SeriesEraseDocument,
    SeriesShowDocument,
    VerifyDocument,
)
from shoal.errors import MisuseError
from shoal.release_folder.manifest import Manifest

VERSION: Final = 1
MANIFEST: Final = "manifest"
PLAN: Final = "plan"  # what commands with --plan print of themselves
_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


_DOCUMENTS: Final[Mapping[str, Any]] = {
    "inspect": InspectDocument | ReleaseDocument,
    "synthesize": SynthesizeDocument,
    "assess": AssessDocument,
    "anonymize": PublicationDocument,
    "demo": PublicationDocument,
    "verify": VerifyDocument,
    "check": CheckDocument,
    "attack": AttackDocument,
    "measure": MeasureDocument,
    "advise": AdviseDocument,
    "compare": CompareDocument,
    "granularity": GranularityDocument,
    "convert": ConvertDocument,
    "publish": PublishDocument,
    "share": ShareDocument,
    "series-show": SeriesShowDocument,
    "series-erase": SeriesEraseDocument,
    PLAN: PlanDocument,
    MANIFEST: Manifest,
}


@cache
def documents() -> Mapping[str, Any]:
    """The type of each document and file, by name."""
    return {**_DOCUMENTS, **package_documents()}


def schema_of(name: str) -> dict[str, Any]:
    """The JSON Schema of a document or a file."""
    if name not in documents():
        raise MisuseError(
            f"'{name}' prints no document of a known shape; choose from {', '.join(documents())}"
        )
    schema = TypeAdapter(documents()[name]).json_schema()
    return {"$schema": _DIALECT, "$id": f"urn:shoal:{name}:{VERSION}", **schema}
