"""The documents of ``shoal collect --json``."""

from collections.abc import Mapping
from typing import Any, Final, Literal

from typing_extensions import TypedDict

from shoal.cli.document_kinds import Shown, closed
from shoal_collect.simulation.experiment import Result

Circle = list[int]


class YieldDocument(Shown, of=Result):
    """How much people would share at one setting, beside those who share everything first."""

    theta_m: float
    theta_min: float
    k: int
    first: int


@closed
class CollectPlanDocument(TypedDict):
    """What would come out at each setting.

    ``proposal``: the finest setting at which a tenth comes out, null if there is none.
    """

    yields: list[YieldDocument]
    proposal: YieldDocument | None


@closed
class CollectExportDocument(TypedDict):
    """The exported parts of a collection; terms are those of its rounds, questions those of all groups."""

    output: str
    releases: int
    circles: int
    first_day: str
    last_day: str
    questions: int
    questions_not_answered: int
    verdict: str
    terms: list[dict[str, Any]]


@closed
class OwnReleaseDocument(TypedDict):
    """One release of one's own."""

    identifier: str
    day: str
    deleted: bool


@closed
class OwnReleasesDocument(TypedDict):
    """All of one's own releases, without --fetch and --delete."""

    releases: list[OwnReleaseDocument]


@closed
class FetchedDocument(TypedDict):
    """With --fetch: the stored release, a list of numbers for each circle.

    ``state`` is the state after its day, whose root includes it; null while the day is open.
    """

    identifier: str
    day: str
    columns: list[str]
    points: list[Circle]
    state: str | None


@closed
class DeletedDocument(TypedDict):
    """With --delete: when, until when it counts, and the collector's signature (hexadecimal)."""

    identifier: str
    deleted_on: str
    counts_until: str
    proof: str


@closed
class CheckedDocument(TypedDict):
    """How many others share the parts at these places of the trip."""

    places: list[int]
    people: int


@closed
class ReleasedDocument(TypedDict):
    """The release, a list of numbers for each circle."""

    columns: list[str]
    points: list[Circle]


@closed
class JoinDocument(TypedDict):
    """The outcome of a round, private to its participant; "declined" without consent."""

    ending: Literal["shared", "nothing-left", "alone", "failed", "declined"]
    message: str
    identifier: str | None
    k: int | None
    snapshot_day: int | None
    checked: list[CheckedDocument]
    kept: list[int]
    released: ReleasedDocument


@closed
class FindingDocument(TypedDict):
    """One thing that was looked at: "well", "note" (worth knowing) or "mend"."""

    level: Literal["well", "note", "mend"]
    text: str


@closed
class CollectDoctorDocument(TypedDict):
    """Whether people can take part; exit status 1 where something is to mend."""

    well: bool
    findings: list[FindingDocument]


DOCUMENTS: Final[Mapping[str, Any]] = {
    "collect-plan": CollectPlanDocument,
    "collect-doctor": CollectDoctorDocument,
    "collect-join": JoinDocument,
    "collect-export": CollectExportDocument,
    "collect-mine": OwnReleasesDocument | FetchedDocument | DeletedDocument,
}
"""The documents by the words of the command, joined by hyphens."""
