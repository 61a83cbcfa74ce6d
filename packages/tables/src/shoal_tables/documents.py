"""The shape of what ``shoal tabulate --json`` prints."""

from typing import Any, Final, Literal

from typing_extensions import TypedDict

from shoal.cli.document_kinds import closed


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
    """What a table costs one unit."""

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
    """What a ledger has spent, and its tables."""

    unit: Literal["person", "person-day"]
    budget: float
    spent: float
    deployments: list[DeploymentDocument]


DOCUMENTS: Final[dict[str, Any]] = {"tabulate": TabulateDocument, "ledger": LedgerDocument}
