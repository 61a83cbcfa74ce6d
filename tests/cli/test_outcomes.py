"""What is printed of a verdict's findings."""

from typing import Any

import pytest

from shoal.cli.outcomes import finding_lines

RECORD = {"kind": "record-without-subject", "message": "no subject is linked", "trajectory_id": None}
UNKNOWN = {
    "kind": "unknown-record",
    "message": "pair 1 of the linkage names no record",
    "trajectory_id": None,
}
LOST = {"kind": "lost-samples-not-counted", "message": "samples are lost", "trajectory_id": None}


@pytest.mark.parametrize(
    ("without_subject", "printed"),
    [
        (
            3,
            [
                "  unknown-record: no record of this release is in the linkage; "
                "it belongs to another release",
                "  lost-samples-not-counted: samples are lost",
            ],
        ),
        (
            2,
            [
                "  record-without-subject: no subject is linked",
                "  unknown-record: pair 1 of the linkage names no record",
                "  lost-samples-not-counted: samples are lost",
                "  record-without-subject: 2 in all",
                "  unknown-record: 9 in all",
            ],
        ),
    ],
)
def test_a_linkage_of_another_release_is_said_in_one_line(without_subject: int, printed: list[str]) -> None:
    document: dict[str, Any] = {
        "checked": 3,
        "findings": [RECORD, UNKNOWN, LOST],
        "findings_by_kind": {
            "record-without-subject": without_subject,
            "unknown-record": 9,
            "lost-samples-not-counted": 1,
        },
    }
    assert finding_lines(document) == printed
