"""With one of each, nothing says "1 records": in what commands print, on their pages, and in errors."""

import re
from html import unescape
from pathlib import Path

import pytest

from command_line import Shoal

_ONE = re.compile(r"(?<![\d.,:\-])(?<!\u2212 )\b1 (?:[a-z]+ )?([a-z]+s)\b")
_APART = r"p|t[dhr]|li|d[tdl]|h\d|div|figcaption|caption|option"  # elements whose texts stand apart
_NO_PLURALS = frozenset(
    {"is", "was", "has", "less", "across", "as", "plus", "this", "its", "always", "s", "class"}
)
_VERBS = frozenset(
    {"belongs", "gives", "holds", "lies", "names", "fits", "differs", "stands", "counts", "means"}
)


def false_plurals(text: str) -> list[str]:
    """Every "1 records" in a text or a page."""
    shown = re.sub(r"<(script|style|svg)\b.*?</\1>", " ", text, flags=re.DOTALL)
    if "<html" in text:
        shown = re.sub(r"\s+", " ", shown)
        shown = re.sub(rf"</?({_APART})\b[^>]*>", "\n", shown)
        shown = re.sub(r"<[^>]*>", "", shown)
    shown = unescape(shown)
    return [
        found[0]
        for found in _ONE.finditer(shown)
        if not set(found[0].split()) & (_NO_PLURALS | _VERBS) and found[1] not in _NO_PLURALS
    ]


def test_false_plurals_are_found() -> None:
    assert false_plurals("<html><p>1 <b>records</b> of 21 people, 1 person, 1 is, 0.1 points</p>") == [
        "1 records"
    ]
    assert false_plurals("1 true points; k = 1 to 2 hours") == ["1 true points"]


def rows(people: dict[str, int]) -> str:
    """People who each walk a few steps along the same street, one minute after the other."""
    return "uid,t,lat,lon\n" + "".join(
        f"{who},{1714557600 + 60 * i},{48.85 + i / 500},2.35\n" for who, n in people.items() for i in range(n)
    )


def test_commands_and_pages_count_one_as_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = Shoal(capsys)
    lone, pair, control = (tmp_path / f"{name}.csv" for name in ("lone", "pair", "control"))
    lone.write_text(rows({"a": 1}))
    pair.write_text(rows({"a": 1, "b": 1}) + "a,none,48.85,2.35\n")
    control.write_text(rows({"c": 1}))
    release, linked = tmp_path / "release", ("--linkage", tmp_path / "links.parquet")
    study = tmp_path / "study.toml"
    study.write_text('[[runs]]\nmethod = "glove"\nk = 2\n')
    track = tmp_path / "track.csv"
    track.write_text(rows({"a": 60}))
    jobs: tuple[tuple[object, ...], ...] = (
        ("inspect", lone),
        ("inspect", pair),
        ("assess", pair, "--k", 2, "--output", tmp_path / "assess.html"),
        ("anonymize", pair, "--k", 2, "--output", release, *linked),
        ("inspect", release),
        ("verify", pair, release, *linked),
        ("verify", pair, release),
        ("verify", lone, release, *linked),
        ("attack", pair, release, *linked, "--tries", 1),
        ("measure", pair, release, *linked),
        ("compare", pair, "--config", study, "--output", tmp_path / "study"),
        ("granularity", pair, "--output", tmp_path / "granularity.html"),
        ("find", release, "--at", "2024-05-01T10:00,48.85,2.35"),
        ("share", track, "--detect", "--output", tmp_path / "shared.gpx"),
        ("anonymize", pair, "--k", 2, "--output", tmp_path / "x", "--plan", "--blocks", 4),
        ("inspect", pair, "--min-active-days", 1),
        ("anonymize", lone, "--k", 2, "--output", tmp_path / "y"),
    )
    said, codes = {}, []
    for words in jobs:
        told = command(*words)
        codes.append(told.code)
        said[" ".join(map(str, words[:2]))] = told.out + told.err
    assert codes == [0, 0, 0, 0, 0, 0, 3, 1, 0, 0, 0, 0, 0, 0, 0, 0, 2]
    for page in tmp_path.rglob("*.html"):
        said[page.name] = page.read_text()
    assert {"assess.html", "report.html", "comparison.html"} <= said.keys()
    assert {name: found for name, text in said.items() if (found := false_plurals(text))} == {}
