"""What a check found: frozen data, made by the checks, shown by manifest and report."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Final

_SHOWN_PER_KIND: Final = 5


@dataclass(frozen=True)
class Finding:
    """One way in which a release breaks its promise.

    Parameters
    ----------
    kind
        What is wrong, in short; ``docs/verification.md`` explains each kind.
    message
        One sentence that holds no raw identifier.
    trajectory_id
        The pseudonym it was seen on; None where it concerns no single record.
    """

    kind: str
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
        What was measured.
    unchecked
        The parts of the claim that were not checked, each in words, with what their check needs. A claim of
        which a part was not checked does not hold.

    Examples
    --------
    >>> from shoal.model.verdicts import Verdict
    >>> bool(Verdict.of([], checked=12)), bool(Verdict.of([], checked=0))
    (True, False)
    >>> Verdict.of([], checked=12, unchecked=["who became which record (needs the linkage)"]).word
    'NOT CHECKED'
    """

    findings: tuple[Finding, ...]
    checked: int
    notes: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        findings: Iterable[Finding],
        *,
        checked: int,
        notes: Iterable[str] = (),
        unchecked: Iterable[str] = (),
    ) -> "Verdict":
        """The verdict over these findings; with nothing checked it fails, whatever was found."""
        found = tuple(findings)
        if checked == 0:
            nothing = Finding("nothing-checked", "no record was examined, so nothing is shown to hold")
            found = (*found, nothing)
        return cls(found, checked, tuple(notes), tuple(unchecked))

    @property
    def holds(self) -> bool:
        """True when every part of the claim was checked, on some record, and nothing was found."""
        return self.checked > 0 and not self.findings and not self.unchecked

    @property
    def word(self) -> str:
        """The outcome: HOLDS; DOES NOT HOLD; or NOT CHECKED, when nothing was found in the parts checked."""
        if self.holds:
            return "HOLDS"
        return "DOES NOT HOLD" if self.findings or not self.checked else "NOT CHECKED"

    @property
    def why_not(self) -> str:
        """In one line, what keeps the claim from holding; empty where it holds."""
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

    def and_also(self, findings: Iterable[Finding]) -> "Verdict":
        """This verdict with further findings about the same records."""
        return replace(self, findings=(*self.findings, *findings))

    def without(self, part: str) -> "Verdict":
        """This verdict with a further part of the claim, in words, that was not checked."""
        return replace(self, unchecked=(*self.unchecked, part))

    def to_json(self) -> dict[str, Any]:
        """As the manifest and ``--json`` hold it: every kind counted, the first few of each spelled out."""
        shown: Counter[str] = Counter()
        examples = []
        for finding in self.findings:
            shown[finding.kind] += 1
            if shown[finding.kind] <= _SHOWN_PER_KIND:
                examples.append(
                    {"kind": finding.kind, "message": finding.message, "trajectory_id": finding.trajectory_id}
                )
        return {
            "holds": self.holds,
            "checked": self.checked,
            "findings": examples,
            "findings_by_kind": dict(shown),
            "notes": list(self.notes),
            "unchecked": list(self.unchecked),
        }

    def _repr_html_(self) -> str:
        from shoal.model.summaries import html_of_verdict

        return html_of_verdict(self)
