"""All sentences of the desk: the same in every language, each used, none missing."""

import re
from pathlib import Path
from string import Formatter

import pytest

import shoal.local_pages
import shoal_desk
from desk_visits import Visitor
from shoal_desk.pages import templates
from shoal_desk.recipients import RECIPIENTS, knowledge_of
from shoal_desk.steps import STEPS
from shoal_desk.steps.data import OPTIONS
from shoal_desk.steps.people import UNITS
from shoal_desk.steps.record import FIELDS
from shoal_desk.words import LANGUAGES, Words, number_in, preferred, sentences

HOME = Path(shoal_desk.__file__).parent
ENGLISH = sentences("en")
OTHERS = [language for language in LANGUAGES if language != "en"]


def values_in(text: str) -> list[str]:
    """The names in braces; a text that no value can be filled into fails here."""
    return sorted(name for _, name, _, _ in Formatter().parse(text) if name is not None)


@pytest.mark.parametrize("language", OTHERS)
def test_every_language_says_the_same(language: str) -> None:
    theirs = sentences(language)
    assert list(theirs) == list(ENGLISH)
    assert [key for key in ENGLISH if values_in(theirs[key]) != values_in(ENGLISH[key])] == []
    same = [key for key in ENGLISH if theirs[key] == ENGLISH[key] and len(ENGLISH[key]) > 30]
    assert same == []


def keys_used() -> tuple[set[str], set[str]]:
    """Keys that pages and code write out, and the beginnings of those that they put together."""
    shared = Path(shoal.local_pages.__file__).parent
    texts = [path.read_text() for path in [*HOME.rglob("*.j2"), *HOME.rglob("*.py"), *shared.rglob("*.py")]]
    code = "\n".join(texts)
    whole = set(re.findall(r"""["']([a-z][a-z_0-9]*(?:\.[a-z_0-9-]+)+)["']""", code))
    begun = set(re.findall(r"""["']([a-z][a-z_0-9]*\.)["'] ~""", code))
    begun |= set(re.findall(r"""f["']([a-z][a-z_0-9]*\.)\{""", code))
    tables = {key.split(".")[0] for key in ENGLISH}
    endings = (".j2", ".css", ".js", ".key", ".lock", ".parquet", ".html", ".json")
    found = {key for key in whole if key.split(".")[0] in tables and not key.endswith(endings)}
    return found - {"record.toml", "release.toml", "statement.toml", "study.toml"}, begun


def test_every_sentence_that_is_asked_for_is_there_and_every_other_is_used() -> None:
    whole, begun = keys_used()
    assert sorted(whole - set(ENGLISH)) == []
    assert [
        key
        for key in ENGLISH
        if key not in whole
        and not key.startswith(tuple(begun))
        and not key.endswith((".lede", ".text", ".name"))
    ] == []
    assert len(whole) > 150


def test_every_row_of_every_table_has_its_words() -> None:
    wanted = {
        *(f"recipient.{name}.name" for name in RECIPIENTS),
        *(f"recipient.{name}.text" for name in RECIPIENTS),
        *(f"step.{name}" for name in STEPS),
        *(f"{name}.lede" for name in STEPS),
        *(f"reading.{name}" for name in (*OPTIONS, "person")),
        *(f"people.{unit}{more}" for unit in UNITS for more in ("", "_means")),
        *(f"stated.{name}" for name in FIELDS),
    }
    assert wanted - set(ENGLISH) == set()


def test_recipients_stand_for_adversaries_that_can_be_played() -> None:
    assert [knowledge_of(row.knowledge) == row.knowledge for row in RECIPIENTS.values()] == [True] * 4
    assert set(RECIPIENTS["research"].knowledge) < set(RECIPIENTS["public"].knowledge)


def test_the_language_is_that_of_the_browser_where_the_desk_speaks_it() -> None:
    asked = {"de-CH,de;q=0.9": "de", "pt, fr;q=0.5": "fr", "pt": "en", "": "en", "EN-us": "en"}
    assert {header: preferred(header) for header in asked} == asked
    assert Words("fr")("page.next") == "Continuer"


@pytest.mark.parametrize(
    ("text", "german", "french"),
    [
        ("12,655", "12.655", "12\N{NARROW NO-BREAK SPACE}655"),
        ("42.9 %", "42,9 %", "42,9 %"),
        ("< 0.1 %", "< 0,1 %", "< 0,1 %"),
        ("1.5 km", "1,5 km", "1,5 km"),
        ("7", "7", "7"),
        ("0.1.0", "0.1.0", "0.1.0"),
        ("2024-01-02", "2024-01-02", "2024-01-02"),
        ("calls.1.csv", "calls.1.csv", "calls.1.csv"),
    ],
)
def test_numbers_are_written_as_people_of_a_language_do(text: str, german: str, french: str) -> None:
    assert [number_in(text, language) for language in ("en", "de", "fr")] == [text, german, french]


def test_no_page_shows_a_number_of_another_language(released: Visitor) -> None:
    before = released.desk.case.choices().language
    try:
        for language in ("de", "fr"):
            released.desk.case.change(released.desk.case.choices().version, language=language)
            for step in ("data", "people", "trade", "release", "record"):
                html = re.sub(
                    r"<(script|style|pre|code|svg)\b.*?</\1>", "", released.get(step).html, flags=re.DOTALL
                )
                shown = re.sub(r"<[^>]*>", " ", html)
                assert (
                    language,
                    step,
                    re.findall(r"\d+\.\d+ (?:%|km|h|min)\b|\b[1-9]\d*,\d{3}\b", shown),
                ) == (
                    language,
                    step,
                    [],
                )
    finally:
        released.desk.case.change(released.desk.case.choices().version, language=before)


def test_an_option_in_a_sentence_of_the_record_is_kept_whole() -> None:
    shown = templates("de").from_string("{{ text | whole_options }}").render(text="with --cells FILE <b>")
    assert shown == 'with <span class="whole">--cells</span> FILE &lt;b&gt;'
