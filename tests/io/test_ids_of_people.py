"""Ids that may be one person are a question; ids that name nobody, and people who vanish, are counted."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from command_line import Shoal
from foreign_writers import NOON_S
from refusals import refusal
from shoal.errors import InputError
from shoal.io import read
from shoal.io.disk.storing import store_people
from shoal.model.intake import Reading
from shoal.runtime.run import Run


def calls(ids: Sequence[Any], kind: pa.DataType | None = None, **columns: Sequence[Any]) -> pa.Table:
    """Rows a minute apart and some 100 m apart."""
    n = len(ids)
    usual: dict[str, Any] = {
        "uid": pa.array(ids, kind),
        "t": [NOON_S + 60 * row for row in range(n)],
        "lat": [48.85 + row / 1000 for row in range(n)],
        "lon": [2.35] * n,
    }
    return pa.table(usual | columns)


SPELLINGS = {
    "a decimal point": ("100", "100.0"), "two decimals": ("100", "100.00"),
    "an exponent": ("100", "1.00E+02"),
    "zeros before": ("007", "7"), "a sign": ("7", "+7"), "thousands": ("12345", "12,345"),
    "a decimal comma": ("4.5", "4,50"), "case": ("anna", "Anna"), "sharp s": ("straße", "STRASSE"),
    "Unicode, composed": ("Zo\u00eb", "Zoe\u0308"), "Unicode, compatible": ("\ufb01n", "fin"),
    "wide digits": ("\uff11\uff12", "12"), "Arabic digits": ("\u0661\u0662", "12"),
    "a blank within": ("anna b", "anna  b"), "a no-break blank": ("anna b", "anna\u00a0b"),
    "no width": ("anna", "an\u200bna"), "a byte order mark": ("anna", "\ufeffanna"),
    "soft hyphen": ("anna", "an\u00adna"), "quotes": ("anna", '"anna"'), "apostrophe": ("0012", "'0012"),
    "a formula": ("0012", '="0012"'), "bytes of Python": ("anna", "b'anna'"),
    "UTF-8 twice": ("Jürgen", "JÃ¼rgen"),
    "braces": ("550e8400-e29b-41d4-a716-446655440000", "{550E8400-E29B-41D4-A716-446655440000}"),
    "hyphens": ("550e8400-e29b-41d4-a716-446655440000", "550e8400e29b41d4a716446655440000"),
    "0x": ("0x550e8400e29b41d4a716446655440000", "550e8400e29b41d4a716446655440000"),
    "a network address": ("AA:BB:CC:DD:EE:FF", "aa-bb-cc-dd-ee-ff"),
    "a network address of a router": ("aabb.ccdd.ee00", "AA:BB:CC:DD:EE:00"),
    "telephone": ("+33612345678", "0033612345678"),
    "entities": ("A&B", "A&amp;B"), "percent": ("ann@ex.org", "ann%40ex.org"),
    "an escape": ("Zoë", "Zo\\u00eb"),
    "UTF-8 three times": ("Jürgen", "JÃƒÂ¼rgen"), "a telephone's groups": ("(212) 555-0100", "2125550100"),
    "a plate": ("AB-123-CD", "AB123CD"), "an IMEI": ("35-693803-564380-9", "356938035643809"),
    "a mailbox": ("ann@ex.org", "Ann Lee <ann@ex.org>"), "a hash": ("1001", "#1001"),
    "groups of Python": ("12345", "12_345"),
    "an end": ("1001", "1001;"), "brackets": ("1001", "[1001]"), "a tuple": ("anna", "('anna',)"),
    "angles": ("ann@ex.org", "<Ann@ex.org>"), "padding": ("YWJj0A", "YWJj0A=="), "an object": (
        "507f1f77bcf86cd799439011", "ObjectId(507f1f77bcf86cd799439011)"),
    "curly quotes": ("O'Neil", "O\u2019Neil"), "a dash": ("Ann-Lee", "Ann\u2013Lee"),
    "a selector": ("葛", "葛\U000e0100"),
    "Turkish": ("ALİ", "ali"), "a filler": ("anna", "anna\u3164"),
    "a computed number": ("101", "100.9999999999999"),
    "an underscore": ("user-11", "user_11"), "a slug": ("ann-lee", "Ann Lee"), "a key": ("team_7", "Team 7"),
    "NumPy's integer": ("101", "np.int64(101)"), "NumPy's text": ("ann1", "np.str_('ann1')"),
    "a number of MongoDB": ("101", "NumberLong(101)"), "a decimal of Python": ("101", "Decimal('101')"),
    "an id in JSON": ("507f1f77bcf86cd799439011", '{"$oid": "507f1f77bcf86cd799439011"}'),
    "a lost accent": ("José", "Jose"), "two lost accents": ("José-Álvarez1", "Jose Alvarez1"),
    "a lost letter": ("José", "Jos?"), "a country's code": ("+49 170 1234567", "0170/1234567"),
    "a country and a zero": ("0039 06 1234567", "06 1234567"), "marks of Russian": ("Юлий", "Юлии"),
    "zeros in an address": ("192.168.001.010", "192.168.1.10"),
    "an address in full": ("2001:db8::1", "2001:0DB8:0:0:0:0:0:1"),
    "an address of version 4 in 6": ("::ffff:192.0.2.1", "192.0.2.1"),
    "a number without its country": ("+1 (415) 555-0130", "415-555-0130"), "a point": ("anna", "anna."),
    "letters spelled out": ("Müller1", "Mueller1"), "a plus": ("anna lee", "anna+lee"),
    "an exponent of Fortran": ("100", "0.100D+03"), "UTF-8 as on a console": ("Jürgen", "J├╝rgen"),
    "UTF-8 as on a Macintosh": ("Jürgen", "J√ºrgen"),
    "a UUID of Python": (
        "550e8400-e29b-41d4-a716-446655440000", "UUID('550e8400-e29b-41d4-a716-446655440000')"),
}  # fmt: skip


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_one_person_in_two_spellings_is_a_question(spelling: str) -> None:
    one, other = SPELLINGS[spelling]
    source = calls([one, other, "somebody else"])
    message = refusal(source)
    assert message.startswith("2 ids in column 'uid' of the data frame look like 1 person: ")
    assert "--ids-as-they-are" in message
    assert one not in message.replace("(100 and 100.0, 007 and 7, Anna and anna", "")
    stated = read(source, ids_as_they_are=True)
    assert stated.n_subjects == 3
    assert stated.intake.notes[0].startswith("2 ids look alike; they count as 2 people and may be 1")


@pytest.mark.parametrize(
    "ids",
    [
        ["12e3", "12000"], ["u1", "u01"], ["u-1", "u1"], ["1.5", "15"], ["-1", "1"], ["4", "4.5"], ["é", "e"],
        ["1001-12", "10011-2"], ["Dũng", "Dụng"], ["कि1", "की1"], ["ガキ1", "カキ1"],
        ["1.2.3.45", "1.2.34.5"], ["2001:db8:1234::1:23", "2001:db8:1234::12:3"],
        ["+49 170 1234567", "0170 7654321"], ["+4917", "017"], ["000123456789", "000023456789"],
        ["000/20081020000000", "001/20081020000000"],
        ["00:1a:2b:3c:4d:5e:6f:70", "0:1a:2b:3c:4d:5e:6f:71"], ["0012345678", "0045678901"],
        ["anna", "hanna"], ["3456e789", "3456"], ["0a", "a"],
        ["+123456789012345678901234567890121", "123456789012345678901234567890122"],
    ],
)  # fmt: skip
def test_other_people_are_no_question(ids: list[str]) -> None:
    assert read(calls(ids)).n_subjects == 2


def test_files_of_a_folder_with_other_types_of_ids(tmp_path: Path) -> None:
    pq.write_table(calls([7, 8]), tmp_path / "a.parquet")
    pq.write_table(calls(["007", "9"]), tmp_path / "b.parquet")
    assert "2 ids in column 'uid' of 2 files look like 1 person" in refusal(tmp_path)


def test_days_of_one_person_are_no_look_alikes() -> None:
    days = calls(["ann"] * 2 + ["ben"], t=[NOON_S, NOON_S + 86400, NOON_S])
    assert read(days, per_day=True).n_subjects == 3
    assert "look like 1 person" in refusal(calls(["ann", "Ann"], t=[NOON_S, NOON_S + 86400]), per_day=True)


@pytest.mark.parametrize("streamed", [False, True])
def test_blanks_around_ids_are_a_counted_repair(tmp_path: Path, streamed: bool) -> None:
    path = tmp_path / "calls.csv"
    ids = ["ann", "ann ", "\u00a0ann", "ben"]
    path.write_text(
        lines(*((uid, str(NOON_S + 60 * row), f"48.8{row}", "2.3") for row, uid in enumerate(ids)))
    )
    if streamed:
        intake = store_people(path, Reading(), tmp_path / "people", Run()).intake
    else:
        intake = read(path).intake
    assert intake.repaired["id with blanks around it, which were removed"] == 2
    assert (intake.people_read, intake.people_lost) == (2, 0)


@pytest.mark.parametrize(
    ("ids", "kind"),
    [
        (["3.56938E+14"] * 2, None), (["3,56938E+14"], None), (["3.5693803564380915e+17"], None),
        (["3.56938E14"], None), (["4E+11"], None), (["9007199254740994.0"], None),
        ([9007199254740994.0, 1.0], pa.float64()), ([16777218.0], pa.float32()),
        (["356938035643809000", "356938035643810000"], None), ([356938035643809000, 12], pa.int64()),
    ],
)  # fmt: skip
def test_ids_that_lost_digits_are_a_question(ids: list[Any], kind: pa.DataType | None) -> None:
    message = refusal(calls(ids, kind))
    assert "are numbers that lost their last digits" in message
    assert "with a decimal point), first in row 1 of " in message
    assert "--ids-as-they-are" in message
    assert not any(str(uid) in message for uid in ids if uid != "3.56938E+14" and uid != 12)
    assert read(calls(ids, kind), ids_as_they_are=True).n_subjects == len(set(ids))


def test_ids_that_lost_letters_are_a_question() -> None:
    for text in ("J?rgen", "J\ufffdrgen", "J??rgen"):
        message = refusal(calls(["Jan?", text]))
        assert "are texts that lost letters (as in J?rgen), first in row 2 of " in message
        assert ", so that one id may be several people" in message
    assert read(calls(["Jan?", "why? so"])).n_subjects == 2


def test_long_ids_with_all_digits_are_no_question() -> None:
    ids = ["356938035643809123", "356938035643809000", "89014103211118510720", "1.5", "9007199254740993"]
    assert read(calls(ids)).n_subjects == 5
    assert read(calls([float(2**53 - 1), float("nan"), float("inf")], pa.float64())).n_subjects == 1


NOBODY = [
    "null", "NULL", "NaN", "None", r"\N", "N/A", "n/a", "nil", "-", "--", "?", "NA", "<NA>", "(null)",
    "[null]",
    "#N/A", "#NULL!", "#REF!", "NaT", "undefined", "unknown", "-nan", "1.#QNAN", "''", "—",
    "not available", "(not set)", "(blank)", "empty", "#CALC!", "unassigned", "no data",
    "[object Object]",
    "Anonymous", "Unknown User", r"\\N", r"N\A", "undef", "missing value", "\u200b", "unbekannt",
    "k.A.", "不明", "#WERT!", "#BEZUG!", "#NV", "#¿NOMBRE?", "unset", "NOT_SET", "no_user", "UNKN", "(leer)",
    "keine Angabe", "vide", "sin id", "n.d.", "s/n", "NA_integer_", "pd.NA", "NULL::varchar", "Infinity",
    "N.A", "DBNull", "NA()", ".a", "unspecified", "opted-out", "Prefer not to say", "non renseigné",
    "sans objet", "não informado", "sem dados", "geen", "saknas", "brak", "fehlt", "н/д", "не указано",
    "データなし", "未設定", "无", "不详", "空值", "알 수 없음",
    "[REDACTED]", "[deleted]", "Deleted User", "нет данных", "없음",
    "ffffffff-ffff-ffff-ffff-ffffffffffff", "FF:FF:FF:FF:FF:FF",
    "00000000-0000-0000-0000-000000000000", "000000000000000", "00:00:00:00:00:00", "02:00:00:00:00:00",
]  # fmt: skip


def test_texts_for_no_value_are_nobody() -> None:
    got = read(calls(["ann", *NOBODY, *(f" {text}" for text in NOBODY), "ben"]))
    assert got.ids == ("ann", "ben")
    assert got.intake.dropped == {"id that names no person, such as null or N/A": 2 * len(NOBODY)}
    assert got.intake.people_lost == 0


def test_names_that_begin_like_them_are_people() -> None:
    assert (
        read(
            calls(["Nancy", "Nil Yalter", "Noneman", "0", "na1", "nullx", "😀", "a.", "Ohnesorg"])
        ).n_subjects
        == 9
    )


def homes(shared: Any, among: Sequence[Any], *, every: int = 3, apart: float = 0.2) -> pa.Table:
    """Ten rows of each person within 100 m of a home of theirs, some under an id that all share."""
    ids = [
        shared if (who + row) % every == 0 else among[who] for who in range(len(among)) for row in range(10)
    ]
    places = [(who * apart / len(among), row / 10_000) for who in range(len(among)) for row in range(10)]
    return calls(
        ids,
        t=[NOON_S + 600 * row + who for who in range(len(among)) for row in range(10)],
        lat=[48.7 + far + near for far, near in places],
        lon=[2.2 + far - near for far, near in places],
    )


@pytest.mark.parametrize(
    ("shared", "among"),
    [
        *((text, "abcdefgh") for text in ("guest", "Visitor", "test", "test_user", "user_0", "anon-anon-id")),
        *((number, range(2000, 2100, 13)) for number in (-1, 0, -99, 999, 9999999999, 123456, 2147483647)),
        *((text, ["7001", "7044", "7090", "7400"]) for text in ("-1", "0", "000000", "1234567890", "111111")),
        (-1, range(8)), (999999, range(8)),
    ],
)  # fmt: skip
def test_an_id_that_stands_for_many_people_is_a_question(shared: Any, among: Sequence[Any]) -> None:
    message = refusal(homes(shared, among))
    assert message.startswith("1 id in column 'uid' of the data frame, such as guest, test, -1, 0 or 999999")
    assert "--ids-as-they-are" in message


def test_an_id_that_stands_for_many_people_as_it_is() -> None:
    stated = read(homes("guest", "abcdefgh"), ids_as_they_are=True)
    assert stated.n_subjects == 9
    assert any("counts as one person; if it stands for many" in note for note in stated.intake.notes)


def test_ids_that_stand_for_many_in_files_read_apart(tmp_path: Path) -> None:
    for number, lat in enumerate((48.7, 48.9)):
        rows = [
            (uid, str(NOON_S + 60 * row), str(lat), "2.3") for row in range(4) for uid in (f"u{number}", "0")
        ]
        (tmp_path / f"{number}.csv").write_text(lines(*rows))
    with pytest.raises(InputError, match="may stand for many people"):
        store_people(tmp_path, Reading(), tmp_path / "people", Run())


def test_a_person_with_a_common_id_is_told_and_a_count_of_people_is_not(tmp_path: Path) -> None:
    test = read(calls(["ann", "test", "ben"]))
    assert (test.n_subjects, "1 id such as" in test.intake.notes[0]) == (3, True)
    lost = read(calls(["ann", "guest", "ben"], t=[NOON_S, None, NOON_S]), lose_people=True)
    assert (lost.n_subjects, lost.intake.people_lost) == (2, 1)
    for form in ("{}", "{:03}", "person{}", "user-{}", "device_{:04}"):
        counted = read(calls([form.format(number) for number in range(100)]))
        assert counted.n_subjects == 100
        assert not any("such as guest" in note for note in counted.intake.notes)
    track = "<gpx><trk><trkseg>" + "".join(
        f'<trkpt lat="{48 + row / 10}" lon="2"><time>2024-05-01T06:0{row}:00Z</time></trkpt>'
        for row in range(4)
    )
    flight = tmp_path / "test.gpx"
    flight.write_text(f"{track}</trkseg></trk></gpx>")
    assert read(flight).ids == ("test",)


def lines(*rows: tuple[str, str, str, str]) -> str:
    return "uid,t,lat,lon\n" + "".join(",".join(row) + "\n" for row in rows)


GOOD = [("good", "2024-05-01T06:00:00Z", "48.85", "2.35"), ("good", "2024-05-01T07:00:00Z", "48.86", "2.36")]
VANISHING = {
    "another date layout": ([("bad", "01/05/2024 06:00", "48.85", "2.35")] * 2, "--time-format"),
    "a lost decimal point": (
        [("bad", "2024-05-01T06:00:00Z", "488500000", "2.35")] * 2, "degrees times 10,000,000",
    ),
    "times in the future": ([("bad", "2124-05-01T06:00:00Z", "48.85", "2.35")] * 2, "correct the years"),
    "no position": ([("bad", "2024-05-01T06:00:00Z", "", "")] * 2, "check which columns are meant"),
    "zero island": ([("bad", "2024-05-01T06:00:00Z", "0", "0")] * 2, "check which columns are meant"),
    "two of two reasons": (
        [("bad", "never", "48.85", "2.35"),
        ("bad", "2024-05-01T06:00:00Z", "north", "2.35")], "seconds since 1970",
    ),
}  # fmt: skip


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("kind", VANISHING)
def test_people_who_vanish_are_a_question_with_advice(tmp_path: Path, kind: str, streamed: bool) -> None:
    path = tmp_path / "calls.csv"
    rows, advice = VANISHING[kind]
    path.write_text(lines(*GOOD, *rows))

    def account(**settings: Any) -> Any:
        if streamed:
            return store_people(path, Reading(**settings), tmp_path / "people", Run()).intake
        return read(path, **settings).intake

    with pytest.raises(InputError) as caught:
        account()
    message = caught.value.cli_message
    assert message.startswith("calls.csv: 1 of 2 people has no usable row (")
    assert advice in message
    assert message.endswith("; --lose-people goes on without them")
    intake = account(lose_people=True)
    assert (intake.people_read, intake.people_lost) == (2, 1)
    assert any(note == "1 of 2 people has no usable row" for note in intake.notes)


def test_ids_on_the_first_row_of_each_block_alone_are_a_question() -> None:
    blocks = calls([uid for who in ("ann", "ben") for uid in (who, *[""] * 9)])
    asked = refusal(blocks)
    assert asked.startswith("the data frame: 18 of 20 rows have no id (18 empty id (first in row 2 ")
    assert "write it on every row, also where merged cells show it once; --lose-people goes on" in asked
    assert read(blocks, lose_people=True).n_samples == 2
    assert read(calls(["ann", "ben", ""] * 4)).n_samples == 8


def test_one_in_a_hundred_may_vanish_with_a_note() -> None:
    ids = [f"u{number}" for number in range(100)]
    got = read(calls(ids, lat=[95.0] + [48.85] * 99))
    assert (got.n_subjects, got.intake.people_read, got.intake.people_lost) == (99, 100, 1)
    assert "1 of 100 people" in got.intake.notes[0]
    assert "2 of 100 people" in refusal(calls(ids, lat=[95.0] * 2 + [48.85] * 98))


def test_rows_that_vanish_without_their_people_get_the_advice() -> None:
    got = read(calls(["ann"] * 4 + ["ben"] * 4, t=[NOON_S, NOON_S + 100 * 365 * 86_400] * 4))
    assert got.intake.people_lost == 0
    assert any(note.startswith("4 of 8 rows are dropped; correct the years") for note in got.intake.notes)
    assert not read(calls(["ann", "ben"], lon=[179.8, 180.2])).intake.dropped


def test_a_line_end_within_an_id(tmp_path: Path) -> None:
    """RFC 4180 lets quoted fields span lines; an open quotation mark swallows whole lines instead."""
    path = tmp_path / "calls.csv"
    path.write_text(lines(*GOOD, ('"line\nend"', *GOOD[0][1:]), ('"Doe,\nJane"', *GOOD[0][1:])))
    got = read(path)
    assert got.ids == ("Doe,\nJane", "good", "line\nend")
    assert not got.intake.dropped
    path.write_text(lines(*GOOD, ('"open', *GOOD[0][1:]), ('last"', *GOOD[0][1:])))
    assert "2 of 4 lines cannot be read" in refusal(path)
    assert read(path, lose_people=True).intake.dropped == {"line with the wrong number of fields": 2}


def two_spellings(path: Path) -> Path:
    """Six people, each under two ids that go the same way."""
    path.write_text(
        lines(*(
            (f"{100 + person}{'.0' * (row % 2)}", f"2024-05-01T06:{row:02}:00Z", f"48.8{person}",
            f"2.{row // 2}")
            for person in range(6) for row in range(20)
        ))
    )  # fmt: skip
    return path


def test_the_release_states_that_look_alikes_are_different_people(shoal: Shoal, tmp_path: Path) -> None:
    raw, release, linkage = (
        two_spellings(tmp_path / "calls.csv"),
        tmp_path / "release",
        tmp_path / "linkage.parquet",
    )
    making = ("anonymize", raw, "--k", 2, "--output", release, "--linkage", linkage)
    for words in (("inspect", raw), ("assess", raw), making):
        asked = shoal(*words)
        assert asked.code == 2
        assert "12 ids in column 'uid' of calls.csv look like 6 people" in asked.err
        assert "--ids-as-they-are" in asked.err
    assert not release.exists()
    with raw.open("a") as file:
        file.write("200,never,48.8,2.3\n")
    assert "1 of 13 people has no usable row" in shoal(*making, "--ids-as-they-are").err
    assert shoal(*making, "--ids-as-they-are", "--lose-people").code == 0
    manifest = json.loads((release / "manifest.json").read_text())
    assert (manifest["reading"]["ids_as_they_are"], manifest["reading"]["lose_people"]) == (True, True)
    report = (release / "report.html").read_text()
    assert "ids that look alike count as different people" in report
    assert re.search(r"people without a usable row.*>1<.*of .*>13<", report, re.DOTALL)
    checking = ("verify", raw, release, "--linkage", linkage)
    holds = shoal(*checking)
    assert holds.code == 0
    assert "12 identifiers differ from another one only by how programs write" in holds.out
    manifest["reading"]["ids_as_they_are"] = False
    (release / "manifest.json").write_text(json.dumps(manifest))
    refused = shoal(*checking)
    assert refused.code == 1
    assert "does not say that these are 12 people, not 6" in refused.out


def test_the_people_of_the_file_are_counted_on_every_line(shoal: Shoal, tmp_path: Path) -> None:
    path = tmp_path / "calls.csv"
    rows, _ = VANISHING["another date layout"]
    path.write_text(lines(*GOOD, *rows))
    assert shoal("inspect", path).code == 2
    seen = shoal("inspect", path, "--lose-people")
    assert seen.code == 0
    assert "samples: 2 of 1 of 2 people, from 4 rows" in seen.out
    assert "read 2 samples of 1 of 2 people from 4 rows" in shoal("assess", path, "--lose-people").err
    document = json.loads(shoal("inspect", path, "--lose-people", "--json").out)
    assert (document["people_read"], document["people_lost"]) == (2, 1)
    assert "--lose-people" in document["next"]


def test_a_question_names_the_first_row_or_line(tmp_path: Path) -> None:
    first, second, never = tmp_path / "a.csv", tmp_path / "b.csv", ("bea", "never", *GOOD[0][2:])
    first.write_text(lines(*GOOD, *GOOD))
    second.write_text(lines(*GOOD, ("ann", *GOOD[0][1:]), never, ("ANN", *GOOD[0][1:])))
    places = f"row {len(GOOD) + 1} of b.csv and row {len(GOOD) + 3} of b.csv"
    assert f", first in {places}; write one person's alike" in refusal(tmp_path)
    asked = refusal(tmp_path, ids_as_they_are=True)
    assert f"1 empty or unreadable time (first in row {len(GOOD) + 2} of b.csv)" in asked
    first.write_text(f"{lines(*GOOD)}\nann,1,2\nann\n")
    broken = len(lines(*GOOD).splitlines()) + 2
    assert f"2 line with the wrong number of fields (first in line {broken} of a.csv)" in refusal(first)
    objects = tmp_path / "c.jsonl"
    objects.write_text('{"id": "ann", "t": 1714564800, "lat": 48.8, "lon": 2.3}\n\n{"id": "ann"\n')
    assert "1 line that is no JSON object (first in line 3 of c.jsonl)" in refusal(objects)


def test_rows_of_tables_with_other_rows_than_their_file_are_not_named(tmp_path: Path) -> None:
    cells = tmp_path / "cells.csv"
    cells.write_text("cell_id,lat,lon\nc1,48.8,2.3\n")
    calls_of_cells = tmp_path / "calls.csv"
    calls_of_cells.write_text("id,t,cell_id\nann,1714564800,c1\nben,1714564800,c2\nben,never,c1\n")
    asked = refusal(calls_of_cells, cells=str(cells))
    assert "1 empty or unreadable time" in asked
    assert "first in" not in asked


def test_shared_ids_are_named_by_their_row() -> None:
    ids = ["ann", "ben", *["guest"] * 60]
    assert "jumps between places, first in row 3 of the data frame; leave" in refusal(calls(ids))
