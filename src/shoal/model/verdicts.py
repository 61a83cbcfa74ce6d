"""What a check found: frozen data, shared by the checks that produce it and the manifest and report that show it."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

_SHOWN_PER_KIND: Final = 5


@dataclass(frozen=True)
class Finding:
    """One way in which a release breaks its promise.

    The kind, a sentence, and the pseudonym it was seen on (or none).
    """

    kind: str
    message: str
    trajectory_id: str | None = None


@dataclass(frozen=True)
class Verdict:
    """The outcome of a check. checked: records examined; a check that examined nothing has failed."""

    findings: tuple[Finding, ...]
    checked: int
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, findings: Iterable[Finding], *, checked: int, notes: Iterable[str] = ()) -> "Verdict":
        """The verdict over these findings; with nothing checked it fails, whatever was found."""
        found = tuple(findings)
        if checked == 0:
            found = (
                *found,
                Finding("nothing-checked", "no record was examined, so nothing is shown to hold"),
            )
        return cls(found, checked, tuple(notes))

    @property
    def holds(self) -> bool:
        """True when something was checked and nothing was found."""
        return self.checked > 0 and not self.findings

    @property
    def kinds(self) -> frozenset[str]:
        """The kinds of findings, once each."""
        return frozenset(finding.kind for finding in self.findings)

    def and_also(self, findings: Iterable[Finding]) -> "Verdict":
        """This verdict with further findings about the same records."""
        return Verdict((*self.findings, *findings), self.checked, self.notes)

    def to_json(self) -> dict[str, Any]:
        """As the manifest and ``--json`` hold it: all kinds are counted, the first few of each are spelled out."""
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
