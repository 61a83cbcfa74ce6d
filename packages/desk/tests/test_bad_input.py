"""Whatever is entered, the page says what is wrong in a sentence, and what was chosen is still there."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from desk_visits import FORM, Page, Visitor
from shoal_desk.words import sentences

GOOD = "uid,t,lat,lon\na,2024-03-01 08:00,48.85,2.35\nb,2024-03-01 09:00,48.86,2.36\n"

# what is entered at the first step: words of the sentence that follows
SOURCES: dict[str, str] = {
    "": "Name a file",
    "   ": "Name a file",
    "/nowhere/calls.csv": "no file or folder",
    "relative/calls.csv": "no file or folder",
    "~nobody-is-called-so/calls.csv": "home folder of somebody",
    "-": "single dash",
    "https://example.org/calls.csv": "not one that is read here",
    "s3://bucket/calls.csv": "not one that is read here",
    "postgresql://me@host/db": "query is missing",
    "postgresql://me:secret@host/db SELECT 1": "keeps no passwords",
    "postgresql://me@host/db?password=:secret@ SELECT 1": "keeps no passwords",
    "postgresql://me@host/db?sslmode=require&sslpassw%6Frd=:secret@ SELECT 1": "keeps no passwords",
    "postgresql://[me@host/db SELECT 1": "not one that is read here",
    "FOLDER/*.nothing": "no file matches",
    "FOLDER": "holds no file that shoal reads",
    "FOLDER/notes.docx": "does not know the format",
    "two\nlines.csv": "characters that cannot be used",
    "nul\0.csv": "characters that cannot be used",
    "x" * 5000: "too long",
    "x" * 3000: "cannot be opened",
}
# what a file holds: words of the sentence that follows
FILES: dict[str, tuple[str, bytes | str, str]] = {
    "empty": ("calls.csv", "", "empty"),
    "a header alone": ("calls.csv", "uid,t,lat,lon\n", "no row"),
    "no latitude": ("calls.csv", "uid,t,lon\na,2024-03-01 08:00,2.35\n", "lat"),
    "no time": ("calls.csv", "uid,lat,lon\na,48.85,2.35\n", "time"),
    "no id": ("calls.csv", "t,lat,lon\n2024-03-01 08:00,48.85,2.35\n", "id"),
    "all rows off the earth": ("calls.csv", GOOD.replace("48.", "948."), "no row"),
    "words for numbers": ("calls.csv", GOOD.replace("48.85", "north").replace("48.86", "south"), "no row"),
    "words for times": ("calls.csv", GOOD.replace("2024-03-01", "yesterday"), "time"),
    "no text": ("calls.csv", bytes(range(256)) * 40, "calls.csv"),
    "a table that is cut off": ("calls.parquet", b"PAR1 cut", "calls.parquet"),
    "an archive that is none": ("calls.zip", b"PK cut", "calls.zip"),
    "JSON that is none": ("calls.json", '{"features": [', "calls.json"),
    "a sheet that is none": ("calls.xlsx", b"nothing", "calls.xlsx"),
    "a database that is none": ("calls.sqlite", b"nothing at all", "calls.sqlite"),
    "day and month": (
        "calls.csv",
        "uid,t,lat,lon\na,01/02/2024 08:00,48.85,2.35\nb,02/03/2024 09:00,48.86,2.36\n",
        "How times are written",
    ),
}
READINGS: dict[str, tuple[dict[str, Any], str]] = {
    "a cell without a unit": ({"cell": "100"}, "is not a length"),
    "a slot of nothing": ({"slot": "0s"}, "greater than 0"),
    "samples a day in words": ({"min-samples-per-day": "many"}, "not a number of samples"),
    "endless samples a day": ({"min-samples-per-day": "inf"}, "not a number of samples"),
    "fewer than no samples": ({"min-samples-per-day": "-1"}, "not a number of samples"),
    "a column that is not there": ({"lat": "breite"}, "breite"),
    "an unknown zone": ({"time-zone": "Mars/Olympus"}, "Mars/Olympus"),
    "an unknown system": ({"x": "lon", "y": "lat", "crs": "EPSG:0"}, "EPSG:0"),
    "an unknown layout": ({"preset": "moon"}, "moon"),
    "an unknown unit of time": ({"time-unit": "ages"}, "ages"),
    "a file of cells that is not there": ({"cells": "/nowhere/cells.csv"}, "cells"),
}
# at later steps: step, what is sent, words of the sentence that follows
LATER: dict[str, tuple[str, str, dict[str, Any], str]] = {
    "no unit": ("people", "start:unit", {}, "what one entry of the data stands for"),
    "an unknown unit": ("people", "start:unit", {"unit": "ghost"}, "what one entry of the data stands for"),
    "a column of persons that is not there": (
        "people",
        "start:unit",
        {"unit": "person", "person": "owner"},
        "owner",
    ),
    "nobody": ("whom", "next", {}, "at least one recipient"),
    "somebody unknown": ("whom", "next", {"recipient": "moon"}, "at least one recipient"),
    "without adversaries": ("whom", "next", {"recipient": "public"}, "No adversary is left"),
    "an unknown adversary": (
        "whom",
        "next",
        {"recipient": "public", "more__public": "crystal:ball"},
        "not a knowledge",
    ),
    "an adversary without number": (
        "whom",
        "next",
        {"recipient": "public", "more__public": "points"},
        "points",
    ),
    "an adversary who needs others": (
        "whom",
        "next",
        {"recipient": "public", "more__public": "membership:4"},
        "not in the release",
    ),
    "no method": ("trade", "start:study", {"ks": "2", "sample": "40", "tries": "20"}, "at least one method"),
    "an unknown method": (
        "trade",
        "start:study",
        {"methods": "magic", "ks": "2", "sample": "40", "tries": "20"},
        "at least one method",
    ),
    "no size": (
        "trade",
        "start:study",
        {"methods": "glove", "ks": "", "sample": "40", "tries": "20"},
        "sizes of crowds",
    ),
    "a crowd of one": (
        "trade",
        "start:study",
        {"methods": "glove", "ks": "1", "sample": "40", "tries": "20"},
        "whole number from 2",
    ),
    "half a person": (
        "trade",
        "start:study",
        {"methods": "glove", "ks": "2.5", "sample": "40", "tries": "20"},
        "whole number from 2",
    ),
    "too many sizes": (
        "trade",
        "start:study",
        {"methods": "glove", "ks": "2 3 4 5 6 7 8", "sample": "40", "tries": "20"},
        "sizes of crowds",
    ),
    "a sample of none": (
        "trade",
        "start:study",
        {"methods": "glove", "ks": "2", "sample": "0", "tries": "20"},
        "whole number from 10",
    ),
    "tries in words": (
        "trade",
        "start:study",
        {"methods": "glove", "ks": "2", "sample": "40", "tries": "all"},
        "whole number from 10",
    ),
    "no point": ("trade", "next", {"pick": ""}, "Pick one"),
    "a point that is not there": ("trade", "next", {"pick": "magic k=3"}, "Pick one"),
    "no folder": ("release", "start:release", {"linkage": "/tmp/x.parquet"}, "folder for the release"),
    "no linkage": ("release", "start:release", {"output": "CASE/out"}, "file for the linkage"),
    "a folder that is there": (
        "release",
        "start:release",
        {"output": "CASE", "linkage": "CASE/l.parquet"},
        "exists already",
    ),
    "a folder in a file": (
        "release",
        "start:release",
        {"output": "CASE/choices.json/out", "linkage": "CASE/l.parquet"},
        "is a file",
    ),
    "secrets inside": (
        "release",
        "start:release",
        {"output": "CASE/out", "linkage": "CASE/out/l.parquet"},
        "must not lie in the folder",
    ),
    "one file twice": (
        "release",
        "start:release",
        {"output": "CASE/out", "linkage": "CASE/s", "private": "yes", "private_report": "CASE/s"},
        "two different names",
    ),
    "a secret page without name": (
        "release",
        "start:release",
        {"output": "CASE/out", "linkage": "CASE/s", "private": "yes"},
        "file for the secret page",
    ),
    "a name of 300 letters": (
        "release",
        "start:release",
        {"output": "CASE/" + "x" * 300, "linkage": "CASE/l.parquet"},
        "Nothing can be written",
    ),
}


def assert_a_sentence(page: Page, words: str) -> None:
    assert page.status in (200, 422)
    assert words in page.sentence
    assert page.sentence[-1:] not in ("", ":")
    assert "Traceback" not in page.html


@pytest.mark.parametrize("text", SOURCES, ids=lambda text: text[:40] or "nothing")
def test_data_that_cannot_be_read(text: str, newcomer: Visitor, tmp_path: Path) -> None:
    (tmp_path / "papers").mkdir()
    (tmp_path / "papers" / "notes.docx").write_text("notes")
    page = newcomer.post("data", "start:data", source=text.replace("FOLDER", str(tmp_path / "papers")))
    assert_a_sentence(page, SOURCES[text])
    assert newcomer.desk.case.choices().source == ""
    kept = newcomer.folder / "choices.json"
    assert not kept.exists() or ":secret@" not in kept.read_text()


@pytest.mark.parametrize("name", FILES)
def test_files_that_hold_no_movement(name: str, newcomer: Visitor, tmp_path: Path) -> None:
    file, content, words = FILES[name]
    (tmp_path / file).write_bytes(content if isinstance(content, bytes) else content.encode())
    page = newcomer.post("data", "start:data", source=str(tmp_path / file))
    assert_a_sentence(page, words)
    assert newcomer.get("people").html.count('id="waits"') == 1


@pytest.mark.parametrize("name", READINGS)
def test_readings_that_cannot_work(name: str, newcomer: Visitor, tmp_path: Path) -> None:
    (tmp_path / "calls.csv").write_text(GOOD)
    fields, words = READINGS[name]
    page = newcomer.post("data", "start:data", source=str(tmp_path / "calls.csv"), **fields)
    assert_a_sentence(page, words)
    stays = [text for text in fields.values() if f'value="{text}"' in page.html]
    assert stays == list(fields.values())


@pytest.mark.parametrize("name", LATER)
def test_choices_that_cannot_work(name: str, visitor: Visitor) -> None:
    step, do, fields, words = LATER[name]
    placed: dict[str, Any] = {
        key: value.replace("CASE", str(visitor.folder)) if isinstance(value, str) else value
        for key, value in fields.items()
    }
    page = visitor.post(step, do, **placed)
    assert_a_sentence(page, words)
    assert not (visitor.folder / "out").exists()


def test_unanswered_warnings_keep_the_first_step(newcomer: Visitor, desk_city: Path) -> None:
    newcomer.post("data", "start:data", source=str(desk_city))
    page = newcomer.post("data", "next", confirm="yes")
    assert page.status == 422
    assert_a_sentence(page, "Check each line that is right")
    assert 'name="confirmed"' in page.html
    _, _, line = page.html.partition('name="confirmed"')
    words = line.partition(">")[2].partition("</label>")[0]  # what is shown; the value keeps the sentence
    assert "“Unit of times”" in words, "a page names its own field, not an option of the command line"
    assert "--" not in words


def test_columns_that_are_not_recognized_are_asked_for_at_their_fields(
    newcomer: Visitor, tmp_path: Path
) -> None:
    (tmp_path / "calls.csv").write_text(GOOD.replace("uid,t,lat,lon", "who,when,Breite,Länge"))
    page = newcomer.post("data", "start:data", source=str(tmp_path / "calls.csv"))
    assert '<details id="reading" open>' in page.html
    named = [part.partition('"')[0] for part in page.html.split('<p class="field bad"><label for="f-')[1:]]
    assert named == ["id", "time", "lat", "lon", "x", "y"]
    assert '<strong class="option">“Column of latitudes”</strong>' in page.html
    assert "--lat" not in page.sentence
    fields: dict[str, Any] = {"id": "who", "time": "when", "lat": "Breite", "lon": "Länge"}
    page = newcomer.post("data", "start:data", source=str(tmp_path / "calls.csv"), **fields)
    assert 'id="people"' in page.html
    assert "field bad" not in page.html


def test_there_are_sixty_of_them() -> None:
    assert len(SOURCES) + len(FILES) + len(READINGS) + len(LATER) >= 60


BODIES: dict[str, tuple[bytes, str, str]] = {
    "a file": (b"--x\r\n", "multipart/form-data; boundary=x", "error.upload"),
    "JSON": (b"{}", "application/json", "error.upload"),
    "no type": (b"seen=0", "", "error.upload"),
    "no text": (b"seen=0&source=%ff%fe", FORM, "error.form"),
    "no fields": (b"seen", FORM, "error.form"),
    "too many fields": (b"&".join(b"a=1" for _ in range(500)), FORM, "error.form"),
    "too much": (b"source=" + b"x" * 70_000, FORM, "error.long"),
}


@pytest.mark.parametrize("name", BODIES)
def test_bodies_that_no_page_sends(name: str, newcomer: Visitor) -> None:
    body, kind, key = BODIES[name]
    page = newcomer.send("data", body, kind)
    assert page.status == 422
    assert page.sentence.startswith(sentences("en")[key].split("{")[0].strip())


@pytest.mark.parametrize(
    "step", ["nothing", "data/progress/nothing", "kept/choices.json", "kept/desk.key", "static/x"]
)
def test_pages_that_are_not_there(step: str, newcomer: Visitor) -> None:
    page = newcomer.get(step)
    assert page.status == 404
    assert page.sentence == "There is no such page."


@pytest.mark.parametrize(("typed", "step"), [("who", "people"), ("from", "whom")])
def test_an_address_by_the_title_of_a_step_leads_to_it(typed: str, step: str, newcomer: Visitor) -> None:
    assert newcomer.get(typed).headers["location"].endswith(f"/{step}")


def test_a_crowd_larger_than_the_data_is_a_sentence_of_the_method(visitor: Visitor) -> None:
    visitor.post("trade", "next", direct="yes", method="glove", k="50")
    out, link = visitor.folder / "out", visitor.folder / "l.parquet"
    page = visitor.post("release", "start:release", output=str(out), linkage=str(link))
    assert_a_sentence(page, "50")
    assert not out.exists()
    assert not link.exists()


def test_entries_of_a_form_are_shown_as_text_alone(newcomer: Visitor) -> None:
    entries: Mapping[str, Any] = {"source": '/tmp/"><script>alert(1)</script>', "lat": "'\"<b>"}
    page = newcomer.post("data", "start:data", **entries)
    assert page.status == 422
    assert "<script>alert" not in page.html
    assert "<b>" not in page.html


def test_a_refused_file_keeps_the_uses(newcomer: Visitor) -> None:
    page = newcomer.post("data", "start:data", source="/no/such/file.csv", uses=["flows"], lose_people="yes")
    assert page.status == 422
    assert 'value="flows" checked' in page.html
    assert 'value="areas" checked' not in page.html


def test_a_refused_form_keeps_its_checkboxes(visitor: Visitor) -> None:
    page = visitor.post("trade", "start:study", methods=["nwa"], ks="none", sample="40", tries="20")
    assert page.status == 422
    assert 'value="nwa" checked' in page.html
    assert 'value="glove" checked' not in page.html
    knows: dict[str, Any] = {"knows__public": ["top:2"], "more__public": "nonsense"}
    page = visitor.post("whom", "next", purpose="", recipient="public", **knows)
    assert page.status == 422
    assert 'name="recipient" value="public" checked' in page.html
    assert 'name="knows-public" value="top:2" checked' in page.html
    assert 'name="recipient" value="research" checked' not in page.html
