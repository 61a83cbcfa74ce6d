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


DOCUMENTS: Final[dict[str, Any]] = {"tabulate": TabulateDocument}
