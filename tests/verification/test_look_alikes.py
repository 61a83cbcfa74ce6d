"""One person under two identifiers is a note with its count; other people are not."""

import numpy as np
import pytest

from shoal.model.trajectories import Grid, Trajectories
from shoal.verification.leaks.look_alikes import look_alikes


def people(*ids: str) -> Trajectories:
    n = len(ids)
    return Trajectories.from_rows(list(ids), np.arange(n), np.arange(n), np.arange(n), grid=Grid())


@pytest.mark.parametrize(
    "other",
    [
        "ANNE É", "anne e\u0301", "anne\u00a0é", "anne é ", "an\u200bne é", "anne é\ufeff", "anne\t\u00e9",
        "\u202eanne é", "\uff41\uff4e\uff4e\uff45 é", "anne é\ufe0f", "anne\u2060 é", "an\u00adne é", "anneé",
    ],
)  # fmt: skip
def test_identifiers_that_look_alike_are_counted(other: str) -> None:
    (note,) = look_alikes(people("anne é", other, "ben"))
    assert note.startswith("2 identifiers differ from another one only by case")
    assert "They count as 2 people, not as 1" in note
    assert "anne" not in note


def test_groups_are_counted_together() -> None:
    (note,) = look_alikes(people("a", "A", "A ", "b", "B", "c"))
    assert note.startswith("5 identifiers differ")
    assert "They count as 5 people, not as 2" in note


def test_other_identifiers_are_not_noted() -> None:
    assert list(look_alikes(people("anne", "anna", "u1", "u01", "u-1", "1", "01", "é", "e", "o", "0"))) == []


def test_whole_numbers_with_and_without_a_point_are_counted() -> None:
    """pandas writes 7.0 where a column of numbers has gaps, and other files of a folder say 7."""
    (note,) = look_alikes(
        people("7", "7.0", "8.00", "8.0", "9.0", "-1", "-1.0", "4.5", "4", "v1.0", "v1", "1.10", "1")
    )
    assert note.startswith("6 identifiers differ from another one only by .0 behind a whole number")
    assert "They count as 6 people, not as 3" in note
    assert list(look_alikes(people("7.0", "8.0", "07", "v7", "7.01", "7.", ".0", "0.5", "²", "²x.0"))) == []


def test_sharp_s_and_ligatures_fold() -> None:
    assert len(list(look_alikes(people("straße", "STRASSE")))) == 1
    assert len(list(look_alikes(people("ﬁn", "FIN")))) == 1


@pytest.mark.parametrize(
    "code", [0x180B, 0x180F, 0xFE00, 0xFE0F, 0xE0100, 0xE01EF, 0x3164, 0x200B, 0xA0], ids=hex
)
def test_what_cannot_be_seen_from_the_first_to_the_last_of_each_range(code: int) -> None:
    assert len(list(look_alikes(people("anne", f"an{chr(code)}ne")))) == 1


@pytest.mark.parametrize("code", [0x180A, 0x1810, 0xFDFF, 0xFE10, 0xE01F0, 0x3163], ids=hex)
def test_what_stands_beside_these_ranges_is_seen(code: int) -> None:
    assert list(look_alikes(people("anne", f"an{chr(code)}ne"))) == []
