"""DOCUMENTS, the shape of what every command prints with ``--json``: one type for each, and its JSON Schema.

Documents may grow; no entry changes its meaning. When one must, VERSION rises. A command's tests hold each
document that it prints to its type.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal, NotRequired

from pydantic import BaseModel, ConfigDict, TypeAdapter, with_config
from typing_extensions import TypedDict

from shoal.cli.collect import needs_extra
from shoal.cli.collect_documents import COLLECT
from shoal.errors import MisuseError
from shoal.release_folder.manifest import Manifest

VERSION: Final = 1
PLAN: Final = "plan"  # what commands with --plan print of themselves
_DIALECT: Final = "https://json-schema.org/draft/2020-12/schema"
_CLOSED: Final = ConfigDict(extra="forbid", strict=True)
_OPEN: Final = ConfigDict(extra="allow", strict=True)
Counts = dict[str, int]
Outcome = Literal["HOLDS", "DOES NOT HOLD", "NOT CHECKED"]


@with_config(_CLOSED)
class FindingDocument(TypedDict):
    """One way in which a release breaks its promise."""

    kind: str
    message: str
    trajectory_id: str | None


@with_config(_CLOSED)
class VerdictDocument(TypedDict):
    """A verdict."""

    holds: bool
    checked: int
    findings: list[FindingDocument]
    findings_by_kind: Counts
    notes: list[str]
    unchecked: list[str]


@with_config(_CLOSED)
class RateDocument(TypedDict):
    """How often an attack wins."""

    name: str
    knowledge: str
    target: Literal["raw", "release", "control"]
    tries: int
    successes: float
    rate: float
    low: float
    high: float
    baseline: float
    worst: float | None
    rule: str | None
    median_error_m: float | None
    median_error_s: float | None
    attacker: str
    asked: str | None


@with_config(_CLOSED)
class AreaDocument(TypedDict):
    """An area in degrees."""

    south: float
    west: float
    north: float
    east: float


@with_config(_CLOSED)
class PlaceDocument(TypedDict):
    """A frequent place."""

    lat: float | None
    lon: float | None
    x: float
    y: float
    samples: int
    subjects: int


@with_config(_CLOSED)
class SamplesDocument(TypedDict):
    """Samples of one subject."""

    min: int
    median: float
    max: int


@with_config(_CLOSED)
class InspectDocument(TypedDict):
    """What ``shoal inspect`` says of a data set."""

    subjects: int
    samples: int
    first_time: str
    last_time: str
    days: float
    extent_east_km: float
    extent_north_km: float
    samples_per_subject: SamplesDocument
    samples_per_subject_and_day: float
    samples_per_subject_and_hour: float
    surface_km2: float
    places: int
    share_in_top_places: float
    median_gap_s: float | None
    gap_quantiles_s: list[float] | None
    usual_gap_s: float | None
    usual_gap_share: float | None
    area: AreaDocument | None
    top_places: list[PlaceDocument]
    map: list[str]
    map_letter_m: float
    map_bounds_m: list[float]
    samples_by_hour: list[int]
    time_zone: str
    columns: dict[str, str]
    unit_of_protection: str
    cell_m: float | None
    slot_s: float | None
    crs: str | None
    rows_read: int
    rows_dropped: Counts
    rows_repaired: Counts
    notes: list[str]
    next: str


@with_config(_CLOSED)
class ReleaseDocument(TypedDict):
    """What ``shoal inspect`` says of a release: what its manifest states, unchecked."""

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


@with_config(_CLOSED)
class SynthesizeDocument(TypedDict):
    """What ``shoal synthesize`` wrote."""

    output: str
    subjects: int
    rows: int
    stations: int
    days: int
    stations_left_out: Counts


@with_config(_OPEN)
class AssessDocument(TypedDict):
    """The exposure of people; ``gaps`` has an entry for each k."""

    subjects: int
    samples: int
    gaps: list[dict[str, Any]]
    report: str | None


@with_config(_CLOSED)
class KeptDocument(TypedDict):
    """A figure of accuracy over raw and over published samples."""

    raw_samples: float | None
    published_samples: float | None


@with_config(_CLOSED)
class LossesDocument(TypedDict):
    """What a release does not hold."""

    rows: Counts
    samples_suppressed: int
    subjects_suppressed: int
    samples_created: int
    subjects_by_reason: Counts
    samples_by_reason: NotRequired[Counts]


@with_config(_CLOSED)
class CostDocument(TypedDict):
    """What a stage took."""

    stage: str
    seconds: float
    cpu_s: float
    peak_bytes: int


@with_config(_OPEN)
class PublicationDocument(TypedDict):
    """What was published, where, and what it cost; paths of secret files stand beside these."""

    output: str
    report: str
    method: str
    claim: dict[str, Any]
    verdict: VerdictDocument
    losses: LossesDocument
    rows_repaired: Counts
    n_records: int
    n_samples: int
    publishable: bool
    cautions: list[str]
    accuracy: dict[str, KeptDocument]
    run: NotRequired[dict[str, float]]
    timings: NotRequired[list[CostDocument]]


@with_config(_CLOSED)
class TogetherDocument(TypedDict):
    """What several releases reveal together."""

    releases: int
    k: int
    people: int
    knowledge: str
    asked: int
    below_k: int
    people_below_k: int
    least: int
    mean_chance: float


@with_config(_CLOSED)
class VerifiedDocument(TypedDict):
    """What a verdict is about."""

    method: str
    claim: dict[str, Any]
    unit_of_protection: str
    crs: str | None
    cell_m: float | None
    slot_s: float | None
    columns: dict[str, str]
    rows_read: int
    rows_dropped: Counts
    rows_repaired: Counts
    expected: str | None


@with_config(_CLOSED)
class VerifyDocument(VerdictDocument):
    """The verdict on a release folder."""

    outcome: Outcome
    verified: VerifiedDocument
    together: NotRequired[TogetherDocument]


@with_config(_CLOSED)
class CheckDocument(VerdictDocument):
    """What a file of another tool shows."""

    outcome: Outcome
    k: int
    records: int
    rows: int
    records_below: int
    true_share: float
    covered_share: float | None
    columns: dict[str, str]
    attacks: list[RateDocument]


@with_config(_CLOSED)
class AttackDocument(TypedDict):
    """How often adversaries win; one entry for each attack and target."""

    attacks: list[RateDocument]
    notes: list[str]
    release_sha256: str


@with_config(_OPEN)
class MeasurementDocument(TypedDict):
    """One metric of what a release is still good for; bounds and counts where there are any."""

    name: str
    value: float | None
    unit: str
    better: str
    words: str


@with_config(_CLOSED)
class MeasureDocument(TypedDict):
    """All metrics; ``points`` for a release of points alone."""

    measurements: list[MeasurementDocument]
    points: NotRequired[dict[str, float | None]]


@with_config(_OPEN)
class CompareDocument(TypedDict):
    """Several releases at equal risk."""

    budget: dict[str, Any]
    recommendation: dict[str, Any]
    frontier: list[str]
    points: list[dict[str, Any]]
    ranking: list[str]
    at_equal_risk: list[dict[str, Any]]
    failed: dict[str, str]
    releases: list[dict[str, Any]]
    report: str


@with_config(_CLOSED)
class GranularityDocument(TypedDict):
    """What kte-hide leaves for several tau."""

    k: int
    people: int
    samples: int
    settings: list[dict[str, Any]]
    failed: dict[str, str]
    time_zone: str
    report: str | None


@with_config(_CLOSED)
class ConvertDocument(TypedDict):
    """Point files that were written."""

    output: str
    files: int
    to: str
    box_as: str | None


@with_config(_CLOSED)
class PublishDocument(TypedDict):
    """A release in another format: every file with its SHA-256."""

    output: str
    format: str
    rows: int
    files: dict[str, str]
    publishable: bool


@with_config(_CLOSED)
class ShareDocument(TypedDict):
    """What became of a track."""

    output: str
    points: int
    points_hidden: int
    pieces: int
    zones: int
    learned: list[str]
    notes: list[str]


@with_config(_CLOSED)
class CellDocument(TypedDict):
    """One number of a figure: the paper's, and the mean over the seeds with half its 95 % interval."""

    row: str
    column: str
    paper: float | list[float] | None
    mean: float | None
    margin: float | None
    values: list[float | None]


@with_config(_CLOSED)
class FigureDocument(TypedDict):
    """A figure or table of a paper; skipped: why it was not made."""

    figure: str
    title: str
    note: str
    skipped: str | None
    cells: list[CellDocument]


@with_config(_CLOSED)
class ReproduceDocument(TypedDict):
    """The figures and tables of papers beside what was measured."""

    size: Literal["quick", "full"]
    seeds: int
    papers: dict[str, list[FigureDocument]]


@with_config(_CLOSED)
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


@with_config(_CLOSED)
class FindDocument(TypedDict):
    """How many records of a release fit what somebody knows."""

    records: int
    each: list[int]
    together: int
    different: int


@with_config(_CLOSED)
class StepDocument(TypedDict):
    """What one task of a plan takes."""

    task: str
    cpu_s: float
    memory_mb: int
    disk_mb: float


@with_config(_CLOSED)
class BlocksDocument(TypedDict):
    """Blocks of a plan: how many, of at most how many people, and who works on them (null: a cluster)."""

    number: int
    people: int
    workers: int | None
    worker_memory_mb: int
    memory_around_mb: int


@with_config(_CLOSED)
class PlanDocument(TypedDict):
    """What a command would take, of ``--plan``; times are CPU seconds, memory and disk are in MB (10^6).

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
