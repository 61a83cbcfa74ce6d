"""Results to one self-contained HTML file; templates apart from computation."""

from shoal.report.exposure_words import gaps_in_numbers, gaps_in_words
from shoal.report.pages import assessment_report, release_report
from shoal.report.points_page import points_report

__all__ = ["assessment_report", "gaps_in_numbers", "gaps_in_words", "points_report", "release_report"]
