"""The shapes of what commands on tables print with ``--json``."""

from typing import Any, Final, Literal

from typing_extensions import TypedDict

from shoal.cli.document_kinds import Counts, closed


@closed
class PromiseDocument(TypedDict):
    """A promise and the error of its noise; by_size: half of the cells of 50, 100 and 300 are off by less."""

    epsilon: float
    delta: float
    half_width: float
    least_shown: float
    by_size: list[float]


@closed
class TabulateDocument(TypedDict):
    """A table, or a plan of one with several promises. spent: epsilon of the ledger so far."""

    folder: str | None
    table: Literal["presence", "flows", "dwell", "homes"]
    cells: int
    cells_shown: int | None
    promises: list[PromiseDocument]
    spent: float | None
    budget: float | None
    publishable: bool | None


@closed
class LossDocument(TypedDict):
    """The cost of a table for one unit."""

    rho: float
    epsilon: float
    delta: float


@closed
class DeploymentDocument(TypedDict):
    """A table as a row of the registry of deployments of differential privacy."""

    name: str
    deployment_date: str
    dp_flavor: str
    privacy_loss: LossDocument
    privacy_unit: str
    model: str
    mechanism: str
    accounting: str
    implementation: str
    best_guess_of_membership: float


@closed
class LedgerDocument(TypedDict):
    """The spending of a ledger, and its tables."""

    unit: Literal["person", "person-day"]
    budget: float
    spent: float
    deployments: list[DeploymentDocument]


@closed
class LostDocument(TypedDict):
    """What cells lost since an earlier version: cells that lost, exactly known ones, counts at least."""

    certain: int
    exact: int
    at_least: int


@closed
class HiddenCellsDocument(TypedDict):
    """What follows of hidden and rounded cells."""

    cells: int
    hidden: int
    exact: int
    within_2: int
    unbounded: int
    not_proved_tight: int
    lost: LostDocument | None


@closed
class TableFindingDocument(TypedDict):
    """One way in which a table is not what its manifest promises."""

    kind: str
    message: str


@closed
class TableVerdictDocument(TypedDict):
    """The verdict on a table."""

    holds: bool
    outcome: Literal["HOLDS", "DOES NOT HOLD", "NOT CHECKED"]
    checked: int
    findings: list[TableFindingDocument]
    findings_by_kind: Counts
    notes: list[str]
    unchecked: list[str]
    table: str
    unit: str
    unit_of_protection: str
    epsilon: float
    delta: float
    guesses_right_at_most: float
    units: int
    units_cut: int
    rows_read: int
    rows_dropped: Counts


@closed
class GameDocument(TypedDict):
    """How often an adversary is right about membership; ``bound`` is null where nothing is promised."""

    name: str
    words: str
    tries: int
    success: float
    low: float
    high: float
    guessing: float
    bound: float | None
    epsilon: float
    breaks_promise: bool


@closed
class RecoveryDocument(TypedDict):
    """The share of counted hours in which recovered paths are where people were."""

    right: float
    guessing: float


@closed
class TableAttackDocument(TypedDict):
    """Adversaries on a table, and on the same counts with small cells hidden."""

    table: str
    epsilon: float
    delta: float
    breaks_promise: bool
    games: list[GameDocument]
    threshold: int
    told_by_threshold: float
    paths: RecoveryDocument | None
    paths_by_threshold: RecoveryDocument | None
    notes: list[str]


@closed
class TableMeasurementDocument(TypedDict):
    """One figure; null where no cell is of this size."""

    name: str
    words: str
    value: float | None
    better: Literal["lower", "higher"]
    cells: int


@closed
class TableMeasureDocument(TypedDict):
    """Errors of a table against the exact counts."""

    table: str
    measurements: list[TableMeasurementDocument]


DOCUMENTS: Final[dict[str, Any]] = {
    "tabulate": TabulateDocument,
    "ledger": LedgerDocument,
    "check-tables": HiddenCellsDocument,
    "verify-tables": TableVerdictDocument,
    "attack-tables": TableAttackDocument,
    "measure-tables": TableMeasureDocument,
}
