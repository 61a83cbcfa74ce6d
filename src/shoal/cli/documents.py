"""The types of all ``--json`` documents, and their JSON Schemas.

Documents may grow; no entry changes its meaning. If one must, VERSION rises.
"""

from collections.abc import Mapping
from functools import cache
from typing import Any, Final, Literal

from pydantic import TypeAdapter
from typing_extensions import TypedDict

from shoal.cli import release_documents as of_releases
from shoal.cli.document_kinds import Counts, Shown, closed, growing
from shoal.cli.packages import package_documents
from shoal.errors import MisuseError
from shoal.measures.description import Area, Description, FrequentPlace
from shoal.publishing.planning import Step
from shoal.release_folder.manifest import Manifest


class AreaDocument(Shown, of=Area):
    """An area in degrees."""


class PlaceDocument(Shown, of=FrequentPlace):
    """A frequent place."""


@closed
class SamplesDocument(TypedDict):
    """Samples of one subject."""

    min: int
    median: float
    max: int


class InspectDocument(Shown, of=Description):
    """A data set, of ``shoal inspect``."""

    samples_per_subject: SamplesDocument
    gap_quantiles_s: list[float] | None
    area: AreaDocument | None
    top_places: list[PlaceDocument]
    map_bounds_m: list[float]
    next: str


@closed
class ReleaseDocument(TypedDict):
    """The unchecked manifest of a release, of ``shoal inspect``."""

    release_of: Literal["boxes", "points"]
    method: str
    claim: dict[str, Any]
    promise: str
    unit_of_protection: str
    records: int
    rows: int
    first_time: str
    last_time: str
    extent_east_km: float
    extent_north_km: float
    crs: str | None
    publishable: bool
    next: str
    notes: list[str]


@closed
class SynthesizeDocument(TypedDict):
    """The data of ``shoal synthesize``."""

    output: str
    subjects: int
    rows: int
    stations: int
    days: int
    stations_left_out: Counts


@growing
class AssessDocument(TypedDict):
    """The exposure of people, and what releases would be: an entry for each k."""

    subjects: int
    samples: int
    estimates: list[dict[str, Any]]
    gaps: list[dict[str, Any]]
    report: str | None
    next: str


@closed
class ShareDocument(TypedDict):
    """The result of ``shoal share``."""

    output: str
    points: int
    points_hidden: int
    pieces: int
    zones: int
    learned: list[str]
    notes: list[str]


class StepDocument(Shown, of=Step):
    """The cost of one task of a plan."""

    memory_mb: int


@closed
class BlocksDocument(TypedDict):
    """Blocks of a plan: their number, their most people, and their workers (null: a cluster)."""

    number: int
    people: int
    workers: int | None
    worker_memory_mb: int
    memory_around_mb: int


@closed
class PlanDocument(TypedDict):
    """The cost of a command, of ``--plan``: CPU seconds, memory and disk in MB (10^6).

    seconds_at_least: by the clock, in blocks on this machine.
    """

    command: Literal["anonymize", "assess", "attack", "compare", "measure"]
    rows: int
    samples: int
    people: int
    cpu_s: float
    memory_mb: int
    disk_mb: float
    seconds_at_least: float | None
    blocks: BlocksDocument | None
    steps: list[StepDocument]
    machine_memory_mb: int | None
    free_disk_mb: int | None
    too_large: list[str]
    measured_on: str
    notes: list[str]


VERSION: Final = 1
MANIFEST: Final = "manifest"
PLAN: Final = "plan"  # what commands with --plan print of themselves
_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"


_DOCUMENTS: Final[Mapping[str, Any]] = {
    "inspect": InspectDocument | ReleaseDocument,
    "synthesize": SynthesizeDocument,
    "assess": AssessDocument,
    "anonymize": of_releases.PublicationDocument,
    "demo": of_releases.PublicationDocument,
    "verify": of_releases.VerifyDocument,
    "check": of_releases.CheckDocument,
    "attack": of_releases.AttackDocument,
    "measure": of_releases.MeasureDocument,
    "advise": of_releases.AdviseDocument,
    "compare": of_releases.CompareDocument,
    "convert": of_releases.ConvertDocument,
    "publish": of_releases.PublishDocument,
    "share": ShareDocument,
    "series-show": of_releases.SeriesShowDocument,
    "series-erase": of_releases.SeriesEraseDocument,
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
