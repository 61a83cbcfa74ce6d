"""Results to one self-contained HTML file; templates apart from computation."""

from shoal.report.facts.evidence import gather_evidence
from shoal.report.pages.points import points_report
from shoal.report.pages.release import assessment_report, release_page, release_report
from shoal.report.words.exposure import gaps_in_numbers, gaps_in_words

__all__ = [
    "assessment_report",
    "gaps_in_numbers",
    "gaps_in_words",
    "gather_evidence",
    "points_report",
    "release_page",
    "release_report",
]
