"""Verdicts and findings of checks, as frozen data."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, Generic

from typing_extensions import TypeVar

from shoal.model.finding_kinds import FindingKind
from shoal.model.html_table import html_table

Kind_co = TypeVar("Kind_co", bound=str, default=FindingKind, covariant=True)

_SHOWN_PER_KIND: Final = 5
_TITLES: Final = {
    "HOLDS": "the claim holds",
    "DOES NOT HOLD": "the claim does not hold",
    "NOT CHECKED": "the claim was not checked in full",
}


@dataclass(frozen=True)
class Finding(Generic[Kind_co]):
    """One way in which a release breaks its promise.

    Parameters
    ----------
    kind
        A kind of finding, as ``model/finding_kinds.py`` lists them; packages have kinds of their own.
    message
        One sentence without raw identifiers.
    trajectory_id
        The pseudonym concerned; None where no single record is.
    """

    kind: Kind_co
    message: str
    trajectory_id: str | None = None


@dataclass(frozen=True)
class Verdict:
    """The outcome of a check. It is true where the release holds.

    Parameters
    ----------
    findings
        Every way in which the release breaks its promise.
    checked
        Records examined. A check that examined nothing has failed.
    notes
        Measurements.
    unchecked
        Unchecked parts of the claim, each in words, with what their check needs. A claim with an unchecked
        part does not hold.

    Examples
    --------
    >>> from shoal.model.verdicts import Verdict
    >>> bool(Verdict.of([], checked=12)), bool(Verdict.of([], checked=0))
    (True, False)
    >>> Verdict.of([], checked=12, unchecked=["who became which record (needs the linkage)"]).word
    'NOT CHECKED'
    """

    findings: tuple[Finding[str], ...]
    checked: int
    notes: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        findings: Iterable[Finding[str]],
        *,
        checked: int,
        notes: Iterable[str] = (),
        unchecked: Iterable[str] = (),
    ) -> "Verdict":
        """The verdict over findings; it fails when nothing was checked."""
        all_findings = tuple(findings)
        if checked == 0:
            nothing = Finding("nothing-checked", "no record was examined, so nothing is shown to hold")
            all_findings = (*all_findings, nothing)
        return cls(all_findings, checked, tuple(notes), tuple(unchecked))

    @property
    def holds(self) -> bool:
        """True when every part was checked, on some record, without findings."""
        return self.checked > 0 and not self.findings and not self.unchecked

    @property
    def word(self) -> str:
        """HOLDS; DOES NOT HOLD; or NOT CHECKED."""
        if self.holds:
            return "HOLDS"
        return "DOES NOT HOLD" if self.findings or not self.checked else "NOT CHECKED"

    @property
    def title(self) -> str:
        """The outcome in words."""
        return _TITLES[self.word]

    @property
    def why_not(self) -> str:
        """One line; empty where the claim holds."""
        if self.findings:
            counts = Counter(finding.kind for finding in self.findings)
            kinds = ", ".join(f"{kind} ({count})" for kind, count in counts.items())
            return f"{kinds}; for example: {self.findings[0].message}"
        return f"not checked: {'; '.join(self.unchecked)}" if self.unchecked else ""

    def __bool__(self) -> bool:
        return self.holds

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of findings, once each."""
        return frozenset(finding.kind for finding in self.findings)

    def with_findings(self, findings: Iterable[Finding[str]]) -> "Verdict":
        """The verdict with further findings, first those on files that the manifest does not name."""
        every = sorted((*self.findings, *findings), key=lambda finding: finding.kind != "wrong-hash")
        return replace(self, findings=tuple(every))

    def with_unchecked(self, part: str) -> "Verdict":
        """The verdict with a further unchecked part, in words."""
        return replace(self, unchecked=(*self.unchecked, part))

    def to_json(self) -> dict[str, Any]:
        """Every kind counted, with the first few findings of each."""
        counts: Counter[str] = Counter()
        examples = []
        for finding in self.findings:
            counts[finding.kind] += 1
            if counts[finding.kind] <= _SHOWN_PER_KIND:
                examples.append(asdict(finding))
        return {
            "holds": self.holds,
            "checked": self.checked,
            "findings": examples,
            "findings_by_kind": dict(counts),
            "notes": list(self.notes),
            "unchecked": list(self.unchecked),
        }

    def _repr_html_(self) -> str:
        return html_table(
            f"Verdict: {self.title}",
            [
                ("records checked", f"{self.checked:,}"),
                ("findings", f"{len(self.findings):,}"),
                *((kind, f"{count:,}") for kind, count in self.to_json()["findings_by_kind"].items()),
                *(("not checked", part) for part in self.unchecked),
            ],
            notes=self.notes,
        )
