"""The shapes of what commands on tables print with ``--json``."""

from typing import Any, Final, Literal

from typing_extensions import TypedDict

from shoal.cli.document_kinds import Counts, Shown, closed
from shoal_tables.attacks.attacking import Game, Recovery, TableAttacks
from shoal_tables.hidden_cells.checking import Lost, Told
from shoal_tables.making.promise import ExpectedError
from shoal_tables.utility.measuring import Measurement


class PromiseDocument(Shown, of=ExpectedError):
    """A promise and the error of its noise; by_size: half of the cells of 50, 100 and 300 are off by less."""

    by_size: list[float]


@closed
class TabulateDocument(TypedDict):
    """A table, or a plan of one with several promises. spent: epsilon of the ledger so far.

    cautions: why the table is of little use, or will be.
    """

    folder: str | None
    table: Literal["presence", "flows", "dwell", "homes"]
    cells: int
    cells_shown: int | None
    promises: list[PromiseDocument]
    spent: float | None
    budget: float | None
    publishable: bool | None
    cautions: list[str]


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


class LostDocument(Shown, of=Lost):
    """What cells lost since an earlier version: cells that lost, exactly known ones, counts at least."""


class HiddenCellsDocument(Shown, of=Told):
    """What follows of hidden and rounded cells."""

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


class GameDocument(Shown, of=Game):
    """How often an adversary is right about membership; ``bound`` is null where nothing is promised."""


class RecoveryDocument(Shown, of=Recovery):
    """The share of counted hours in which recovered paths are where people were."""


class TableAttackDocument(Shown, of=TableAttacks):
    """Adversaries on a table, and on the same counts with small cells hidden."""

    games: list[GameDocument]
    paths: RecoveryDocument | None
    paths_by_threshold: RecoveryDocument | None


class TableMeasurementDocument(Shown, of=Measurement):
    """One figure; null where no cell is of this size."""

    value: float | None
    better: Literal["lower", "higher"]


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
