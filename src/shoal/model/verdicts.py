"""What a check found: frozen data, made by the checks, shown by manifest and report."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

_SHOWN_PER_KIND: Final = 5


@dataclass(frozen=True)
class Finding:
    """One way in which a release breaks its promise.

    Parameters
    ----------
    kind
        A key of ``shoal.verification.kinds.KINDS``.
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
        What was measured, and what could not be checked.

    Examples
    --------
    >>> from shoal.model.verdicts import Verdict
    >>> bool(Verdict.of([], checked=12)), bool(Verdict.of([], checked=0))
    (True, False)
    """

    findings: tuple[Finding, ...]
    checked: int
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, findings: Iterable[Finding], *, checked: int, notes: Iterable[str] = ()) -> "Verdict":
        """The verdict over these findings; with nothing checked it fails, whatever was found."""
        found = tuple(findings)
        if checked == 0:
            nothing = Finding("nothing-checked", "no record was examined, so nothing is shown to hold")
            found = (*found, nothing)
        return cls(found, checked, tuple(notes))

    @property
    def holds(self) -> bool:
        """True when something was checked and nothing was found."""
        return self.checked > 0 and not self.findings

    def __bool__(self) -> bool:
        return self.holds

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of findings, once each."""
        return frozenset(finding.kind for finding in self.findings)

    def and_also(self, findings: Iterable[Finding]) -> "Verdict":
        """This verdict with further findings about the same records."""
        return Verdict((*self.findings, *findings), self.checked, self.notes)

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
        }

    def _repr_html_(self) -> str:
        from shoal.model.summaries import html_of_verdict

        return html_of_verdict(self)
