"""Who was when where in simple files, read by the standard library alone; None where no reading is simple."""

import csv
import json
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from xml.etree import ElementTree

from foreign_writers import excel, zipped

Sample = tuple[str, float, float, float]  # person, seconds since 1970, latitude, longitude


def samples(path: Path) -> set[Sample] | None:
    """Rows that have a person, a time and a place, by the plain sense of their fields."""
    readers = {".csv": _csv, ".gpx": _gpx, ".jsonl": _lines, ".json": _list, ".fit": _fit, ".xlsx": _sheet}
    if path.stem != "six" and path.suffix not in {".gpx", ".fit"}:
        return None
    if path.suffix == ".gpx" and path.read_bytes().count(b"<trk>") > 1:
        return None
    try:
        return {row for row in readers[path.suffix](path) if row is not None}
    except (ValueError, KeyError, LookupError, ElementTree.ParseError, zipfile.BadZipFile):
        return None


def _write_csv(path: Path) -> None:
    lines = [",".join(map(str, row.values())) for row in _ROWS]
    path.write_text("\n".join([",".join(_ROWS[0]), *lines, ""]), encoding="utf-8")


def _write_sheet(path: Path) -> None:
    """Inline text and numbers, as several writers of spreadsheets do it."""

    def cell(place: str, value: Any) -> str:
        if isinstance(value, float):
            return f'<c r="{place}"><v>{value}</v></c>'
        return f'<c r="{place}" t="inlineStr"><is><t>{value}</t></is></c>'

    rows = ""
    for at, values in enumerate([tuple(_ROWS[0]), *(tuple(row.values()) for row in _ROWS)], start=1):
        cells = "".join(cell(f"{letter}{at}", value) for letter, value in zip("ABCD", values, strict=True))
        rows += f'<row r="{at}">{cells}</row>'
    sound = excel(path.parent)
    with zipfile.ZipFile(sound) as book:
        members = {name: book.read(name) for name in book.namelist()}
    sheet = "xl/worksheets/sheet1.xml"
    head, tail = members[sheet].partition(b"<sheetData>")[0], members[sheet].partition(b"</sheetData>")[2]
    members[sheet] = head + f"<sheetData>{rows}</sheetData>".encode() + tail
    sound.unlink()
    zipped(path.name, members)(path.parent)


_ROWS: Final = [
    {"uid": f"person{who}", "t": f"2024-05-0{who + 1}T0{6 + step}:15:00Z",
     "lat": round(48.8 + who / 100 + step / 1000, 3), "lon": round(2.3 + who / 100, 3)}
    for who in range(6) for step in range(4)
]  # fmt: skip
WRITERS: Final[Mapping[str, Callable[[Path], object]]] = {
    ".csv": _write_csv,
    ".jsonl": lambda path: path.write_text("\n".join(map(json.dumps, _ROWS)), encoding="utf-8"),
    ".json": lambda path: path.write_text(json.dumps(_ROWS), encoding="utf-8"),
    ".xlsx": _write_sheet,
}


def _sample(who: Any, when: Any, lat: Any, lon: Any) -> Sample | None:
    try:
        east = _number(lon)
        return str(who).strip(), _seconds(when), _number(lat), east - 360 if 180 < east <= 360 else east
    except (ValueError, TypeError, OverflowError):
        return None


def _number(value: Any) -> float:
    return float(str(value).strip().replace(",", "."))


def _seconds(value: Any) -> float:
    text = re.sub(r"(?<=[-T])(\d)(?=[-:T])", r"0\1", str(value).strip())
    if re.fullmatch(r"[-+0-9.eE]+", text) and not re.fullmatch(r"\d{4}-\d\d-\d\d", text):
        return float(text)
    moment = datetime.fromisoformat(re.sub(r"^(\d{4})[-./](\d\d)[-./](\d\d)", r"\1-\2-\3", text))
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _csv(path: Path) -> Iterator[Sample | None]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        for row in csv.DictReader(file):
            yield _row(row)


def _lines(path: Path) -> Iterator[Sample | None]:
    for line in path.read_bytes().splitlines():
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            yield _row(row)


def _list(path: Path) -> Iterator[Sample | None]:
    yield from (_row(row) for row in json.loads(path.read_bytes()) if isinstance(row, dict))


def _row(row: Mapping[str, Any]) -> Sample | None:
    return _sample(row.get("uid", row.get("id")), row.get("t"), row.get("lat"), row.get("lon"))


def _sheet(path: Path) -> Iterator[Sample | None]:
    with zipfile.ZipFile(path) as book:
        sheet = ElementTree.fromstring(book.read("xl/worksheets/sheet1.xml"))
    names: dict[str, str] = {}
    for row in (element for element in sheet.iter() if element.tag.endswith("}row")):
        cells = {re.sub(r"\d", "", cell.attrib["r"]): _value(cell) for cell in row if cell.tag.endswith("}c")}
        if names:
            yield _row({names.get(place, ""): value for place, value in cells.items()})
        names = names or cells


def _value(cell: ElementTree.Element) -> str:
    return "".join(part.text or "" for part in cell.iter() if part.tag[-2:] in {"}v", "}t"})


def _gpx(path: Path) -> Iterator[Sample | None]:
    for point in ElementTree.parse(path).iter():
        if point.tag.rpartition("}")[2] == "trkpt":
            time = next((child.text for child in point if child.tag.rpartition("}")[2] == "time"), None)
            yield _sample(path.stem, time, point.get("lat"), point.get("lon"))


def _fit(path: Path) -> Iterator[Sample | None]:
    import fitdecode

    with fitdecode.FitReader(path) as fit:
        for frame in fit:
            if isinstance(frame, fitdecode.FitDataMessage) and frame.name == "record":
                when = frame.get_value("timestamp", fallback=None)
                place = [frame.get_value(name, fallback=None) for name in ("position_lat", "position_long")]
                if isinstance(when, datetime) and None not in place:
                    yield _sample(path.stem, when.isoformat(), *(value * 180 / 2**31 for value in place))
