"""The shapes of what ``--json`` prints."""

from typing import Any, Final, Literal

from typing_extensions import TypedDict

from shoal.cli.document_kinds import closed


@closed
class CellDocument(TypedDict):
    """One number: the paper's, and the mean over the seeds with half its 95 % interval."""

    row: str
    column: str
    paper: float | list[float] | None
    mean: float | None
    margin: float | None
    values: list[float | None]


@closed
class FigureDocument(TypedDict):
    """A figure or table of a paper; ``skipped`` says why it was not measured."""

    figure: str
    title: str
    note: str
    skipped: str | None
    cells: list[CellDocument]


@closed
class ReproduceDocument(TypedDict):
    """The figures and tables of papers with the measured values; ``data``: by paper and kind, in words."""

    size: Literal["quick", "full"]
    seeds: int
    data: dict[str, dict[str, str]]
    papers: dict[str, list[FigureDocument]]


@closed
class GranularityDocument(TypedDict):
    """The precision of kte-hide for several tau."""

    k: int
    people: int
    samples: int
    settings: list[dict[str, Any]]
    failed: dict[str, str]
    time_zone: str
    report: str | None


DOCUMENTS: Final[dict[str, Any]] = {"granularity": GranularityDocument, "reproduce": ReproduceDocument}
