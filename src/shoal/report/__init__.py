"""Results to one self-contained HTML file; templates apart from computation."""

from shoal.report.pages import assessment_report, release_report

__all__ = ["assessment_report", "release_report"]
