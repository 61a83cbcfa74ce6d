"""The shapes of what check, verify, attack and measure print of tables with ``--json``."""

from typing import Any, Final, Literal

from typing_extensions import TypedDict

from shoal.cli.document_kinds import Counts, closed


@closed
class LossDocument(TypedDict):
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
    lost: LossDocument | None


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
class TableAttackDocument(TypedDict):
    """Adversaries on a table, and what the same counts with small cells hidden tell."""

    table: str
    epsilon: float
    delta: float
    breaks_promise: bool
    games: list[GameDocument]
    threshold: int
    told_by_threshold: float
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
    "check-tables": HiddenCellsDocument,
    "verify-tables": TableVerdictDocument,
    "attack-tables": TableAttackDocument,
    "measure-tables": TableMeasureDocument,
}
