"""One person under two identifiers is a finding, or a note where the release says that they are two."""

import pytest

from shoal.model.intake import Reading
from shoal.verification.leaks.look_alikes import look_alikes
from small_data import people


def messages(*ids: str, reading: Reading = Reading()) -> list[str]:  # noqa: B008  (it is frozen)
    findings, notes = look_alikes(people(*ids), reading)
    assert {finding.kind for finding in findings} <= {"look-alikes"}
    assert not (findings and notes)
    return [finding.message for finding in findings] + notes


@pytest.mark.parametrize(
    "other",
    [
        "ANNE É", "anne e\u0301", "anne\u00a0é", "anne é ", "an\u200bne é", "anne é\ufeff", "anne\t\u00e9",
        "\u202eanne é", "\uff41\uff4e\uff4e\uff45 é", "anne é\ufe0f", "anne\u2060 é", "an\u00adne é", "anneé",
    ],
)  # fmt: skip
def test_identifiers_that_look_alike_are_counted(other: str) -> None:
    (message,) = messages("anne é", other, "ben")
    assert message.startswith("2 identifiers differ from another one only by case")
    assert "does not say that these are 2 people, not 1" in message
    assert "anne" not in message


def test_a_release_may_say_that_they_are_different_people() -> None:
    (note,) = messages("a", "A", reading=Reading(ids_as_they_are=True))
    assert note.endswith("They count as 2 people, as the release says, not as 1")


def test_groups_are_counted_together() -> None:
    (message,) = messages("a", "A", "A ", "b", "B", "c")
    assert message.startswith("5 identifiers differ")
    assert "these are 5 people, not 2" in message


def test_other_identifiers_are_not_noted() -> None:
    assert messages("anne", "anna", "u1", "u01", "u-1", "1", "12e3", "12000", "é", "e", "o", "0", "-1") == []


def test_whole_numbers_with_and_without_a_point_are_counted() -> None:
    """pandas writes 7.0 where a column of numbers has gaps, and other files of a folder say 7."""
    (message,) = messages(
        "7", "7.0", "8.00", "8.0", "9.0", "-1", "-1.0", "4.5", "4", "v1.0", "v1", "1.10", "1"
    )
    assert message.startswith("6 identifiers differ from another one only by how programs write")
    assert "these are 6 people, not 3" in message
    assert messages("7.0", "8.0", "v7", "7.01", ".0", "0.5", "²", "²x.0") == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("7", "007"), ("100", "1.00E+02"), ("100", "+100"), ("1234", "1,234"), ("1.5", "1,50"),
        ("0.01", "1.0e-2"),
        ("anna", "'anna"), ("anna", '"Anna"'), ("anna", '="anna"'), ("anna", "b'anna'"),
        ("0033612", "+33612"),
        ("Jürgen", "JÃ¼rgen"), ("550e8400-e29b-41d4-a716-446655440000", "{550E8400E29B41D4A716446655440000}"),
        ("0x550e8400e29b41d4a716446655440000", "550e8400-e29b-41d4-a716-446655440000"),
        ("AA:BB:CC:DD:EE:FF", "aabb.ccdd.eeff"), ("0", "000"),
    ],
)  # fmt: skip
def test_spellings_of_programs_are_counted(one: str, other: str) -> None:
    (message,) = messages(one, other, "someone else", "12", "13")
    assert message.startswith("2 identifiers differ")


def test_days_of_people_are_compared_by_person() -> None:
    days = ("7@2024-05-01", "7.0@2024-05-01", "7@2024-05-02")
    (message,) = messages(*days, reading=Reading(per_day=True))
    assert "these are 2 people, not 1" in message


def test_sharp_s_and_ligatures_fold() -> None:
    assert len(messages("straße", "STRASSE")) == 1
    assert len(messages("ﬁn", "FIN")) == 1


@pytest.mark.parametrize(
    "code", [0x180B, 0x180F, 0xFE00, 0xFE0F, 0xE0100, 0xE01EF, 0x3164, 0x200B, 0xA0], ids=hex
)
def test_what_cannot_be_seen_from_the_first_to_the_last_of_each_range(code: int) -> None:
    assert len(messages("anne", f"an{chr(code)}ne")) == 1


@pytest.mark.parametrize("code", [0x180A, 0x1810, 0xFDFF, 0xFE10, 0xE01F0, 0x3163], ids=hex)
def test_what_stands_beside_these_ranges_is_seen(code: int) -> None:
    assert messages("anne", f"an{chr(code)}ne") == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("anna", "\u0430nn\u0430"),
        ("MAX", "\u041c\u0410\u0425"),
        ("pan", "\u03c1\u03b1\u03bd"),
        ("ann@example.org", "mailto:Ann@example.org"),
        ("+33123456789", "tel:+33123456789"),
        ("7d444840-9dc0-11d1-b245-5ffdce74fad2", "urn:uuid:7d444840-9dc0-11d1-b245-5ffdce74fad2"),
    ],
)
def test_letters_of_two_alphabets_and_kinds_of_addresses_are_counted(one: str, other: str) -> None:
    (message,) = messages(one, other, "\u0431\u043e\u0440\u0438\u0441", "ben")
    assert message.startswith("2 identifiers differ from another one only by ")
    assert messages(one, "ben", "\u043e\u043b\u044c\u0433\u0430", "tel:1", "2") == []
