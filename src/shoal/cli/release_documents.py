"""JSON documents of commands on a release."""

from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict

from shoal.attacks.rate import TargetName
from shoal.cli.document_kinds import Counts, Shown, closed, growing
from shoal.model.release import Losses, SeriesPlace
from shoal.model.verdicts import Finding
from shoal.runtime.timings import Cost

Outcome = Literal["HOLDS", "DOES NOT HOLD", "NOT CHECKED"]


class FindingDocument(Shown, of=Finding):
    """One broken promise of a release."""

    kind: str  # of packages, too


@closed
class VerdictDocument(TypedDict):
    """A verdict."""

    holds: bool
    checked: int
    findings: list[FindingDocument]
    findings_by_kind: Counts
    notes: list[str]
    unchecked: list[str]


@closed
class RateDocument(TypedDict):
    """The success rate of an attack."""

    name: str
    knowledge: str
    target: TargetName
    tries: int
    successes: float
    rate: float
    low: float
    high: float
    baseline: float
    chance: float
    worst: float | None
    rule: str | None
    median_error_m: float | None
    median_error_s: float | None
    attacker: str
    asked: str | None


@closed
class KeptDocument(TypedDict):
    """A figure of accuracy over raw and over published samples."""

    raw_samples: float | None
    published_samples: float | None


class LossesDocument(Shown, of=Losses):
    """The losses of a release; rows and samples are rounded up."""

    samples_by_reason: NotRequired[Counts]  # type: ignore[valid-type]  # Shown makes a TypedDict of it


class CostDocument(Shown, of=Cost):
    """The cost of a stage."""

    peak_bytes: int


@closed
class UseDocument(TypedDict):
    """What a release is worth for one use; score: null where it is unknown."""

    answer: Literal["yes", "roughly", "no", "unknown"]
    score: float | None


@growing
class UsefulnessDocument(TypedDict):
    """What a release is good for, and the extents that half of the raw samples do not exceed."""

    uses: dict[str, UseDocument]
    median_space_m: float | None
    median_time_s: float | None
    zone_m: float


class SeriesPlaceDocument(Shown, of=SeriesPlace):
    """The place of a release in a series, with numbers of people."""


@closed
class SeriesReleaseDocument(TypedDict):
    """A release of a series, with numbers of people."""

    first: str
    end: str
    people: int
    published: int
    waiting: int
    newcomers: int
    crowds: int
    uncertain: bool


@closed
class SeriesEraseDocument(TypedDict):
    """How many people were erased from the state of a series."""

    state: str
    erased: int
    not_in_state: int


@growing
class SeriesShowDocument(TypedDict):
    """How a series stands; crowds_by_spare: crowds by how many of their people can leave before some wait."""

    state: str
    series: int
    k: int
    people: int
    crowds_by_spare: Counts
    releases: list[SeriesReleaseDocument]


@growing
class PublicationDocument(TypedDict):
    """A published release, its place and its cost, with the paths of secret files."""

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
    usefulness: UsefulnessDocument | None
    strongest_attack: RateDocument | None
    cautions: list[str]
    accuracy: dict[str, KeptDocument]
    series: NotRequired[SeriesPlaceDocument]
    run: NotRequired[dict[str, float]]
    timings: NotRequired[list[CostDocument]]


@closed
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


@growing
class SeriesDocument(TypedDict):
    """k-anonymity over a series. releases: SHA-256 of each table, newest first; absence: if it is known."""

    claim: str
    promise: str
    k: int
    releases: list[str]
    people: int
    people_in_one_release: int
    least: int
    mean: float
    mean_chance: float
    people_below_k: int
    people_alone: int
    least_by_absence: int
    people_below_k_by_absence: int


@closed
class VerifiedDocument(TypedDict):
    """The subject of a verdict."""

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
    sha256: dict[str, str]
    expected: str | None


@closed
class VerifyDocument(VerdictDocument):
    """The verdict on a release folder."""

    outcome: Outcome
    verified: VerifiedDocument
    together: NotRequired[TogetherDocument]
    series: NotRequired[SeriesDocument]


@closed
class CheckDocument(VerdictDocument):
    """The check of a file of another tool."""

    outcome: Outcome
    k: int
    records: int
    rows: int
    records_below: int
    true_share: float
    covered_share: float | None
    columns: dict[str, str]
    attacks: list[RateDocument]


@closed
class AttackCommand(TypedDict):
    """What draws the same victims again; like: the record of a crowd of victims; earlier: releases joined."""

    tries: int
    seed: int
    like: str | None
    earlier: int


@growing
class AttackTogetherDocument(TypedDict):
    """Rates on joined records of releases, by SHA-256, newest first; k, promised: null without crowds."""

    releases: list[str]
    k: int | None
    promised: float | None
    attacks: list[RateDocument]


@closed
class AttackDocument(TypedDict):
    """Success rates of adversaries; one entry for each attack and target."""

    attacks: list[RateDocument]
    notes: list[str]
    release_sha256: str
    command: AttackCommand
    together: NotRequired[AttackTogetherDocument]


@growing
class MeasurementDocument(TypedDict):
    """One metric of utility, with bounds and counts if there are any."""

    name: str
    value: float | None
    unit: str
    better: str
    words: str


@closed
class MeasureDocument(TypedDict):
    """All metrics; ``points`` for a release of points alone."""

    usefulness: UsefulnessDocument
    measurements: list[MeasurementDocument]
    points: NotRequired[dict[str, float | None]]


@closed
class TrialDocument(TypedDict):
    """A trial release: its options, its usefulness, and its strongest attack."""

    options: list[str]
    k: int
    people: int
    left_out: float
    usefulness: UsefulnessDocument
    strongest: dict[str, Any] | None
    risk: float | None


@closed
class ProposalDocument(TypedDict):
    """The options of the trial release to make for some uses, and a command for a table; null without one."""

    uses: list[str]
    options: list[str] | None
    table: str | None


@growing
class AdviseDocument(TypedDict):
    """Trial releases of a sample; ``people`` and ``days`` count everyone, ``failed`` names the reasons."""

    people: int
    days: int
    trials: list[TrialDocument]
    failed: dict[str, str]
    advice: list[ProposalDocument]


@growing
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


@closed
class ConvertDocument(TypedDict):
    """The written point files."""

    output: str
    files: int
    to: str
    box_as: str | None


@closed
class PublishDocument(TypedDict):
    """A release in another format: every file with its SHA-256."""

    output: str
    format: str
    rows: int
    files: dict[str, str]
    publishable: bool
