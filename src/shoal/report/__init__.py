"""Results to one self-contained HTML file; templates apart from computation."""

from shoal.report.facts.evidence import Evidence
from shoal.report.pages.assessment import assessment_report
from shoal.report.pages.record import page_of_facts, record_page
from shoal.report.words.exposure import gaps_in_numbers, gaps_in_words

__all__ = [
    "Evidence",
    "assessment_report",
    "gaps_in_numbers",
    "gaps_in_words",
    "page_of_facts",
    "record_page",
]
