"""Sentences of the library in the desk's languages, by their identifiers; English is marked."""

import ast
import hashlib
import json
import re
from functools import cache
from glob import glob
from html import unescape
from itertools import product
from pathlib import Path
from string import Formatter

import pytest

import shoal
import shoal_desk
from desk_visits import Visitor
from shoal.attacks.table import ATTACKS
from shoal.io import cleaning
from shoal.io.columns.times import TAKEN_AS_UTC
from shoal.io.formats.input_table import WRONG_FIELDS
from shoal.measures.description import describe
from shoal.messages import (
    ENVIRONMENT,
    Message,
    join,
    messages_in,
    read_messages,
    restore_messages,
    say,
    write_requested_messages,
)
from shoal.methods import METHODS
from shoal.model.claims import (
    CLAIMS,
    GENERAL_LIMITS,
    Blurred,
    Claim,
    KAnonymity,
    KDeltaAnonymity,
    KteAnonymity,
    LocationPrivacy,
    TrajectoryPrivacy,
)
from shoal.model.intake import OUT_OF_ORDER
from shoal.utility import METRICS
from shoal_desk.settings import fields_of
from shoal_desk.steps import STEPS
from shoal_desk.steps.data import warnings_of
from shoal_desk.words import LANGUAGES, translate, translations

OTHERS = [language for language in LANGUAGES if language != "en"]
HULLS = ("tight", "outward:1", "outward:3", "grid:1500m", "leaves:10", "leaves:10:0.3")
VARIANTS: list[Claim] = [
    *(KAnonymity(k=5, diverse_places=kinds) for kinds in (2, 3)),
    *(
        KAnonymity(k=k, truthful=truthful, hull=hull, missing_at_most=share, missing_of_one_at_most=4 * share)
        for k, truthful, hull, share in product((2, 7), (True, False), HULLS, (0.0, 0.05, 0.25))
    ),
    *(
        KteAnonymity(k=k, tau_s=5400, epsilon_s=1800, hiders_stay=stay, hull=hull)
        for k, stay, hull in product((2, 7), (True, False), HULLS)
    ),
    *(KDeltaAnonymity(k=k, delta_m=1500) for k in (2, 7)),
    *(TrajectoryPrivacy(k=k, time_threshold_s=100, space_threshold_m=5000) for k in (2, 7)),
    *(
        LocationPrivacy(k=k, time_threshold_s=100, space_threshold_m=5000, most_off_street_m=100)
        for k in (2, 7)
    ),
]


def test_every_claim_that_a_method_makes_is_among_them() -> None:
    assert {type(claim) for claim in VARIANTS} == {kind.about.claim for kind in METHODS.values()}
    assert set(CLAIMS.values()) == {type(claim) for claim in VARIANTS} | {Blurred}


@pytest.mark.parametrize("language", OTHERS)
def test_every_sentence_of_a_claim_is_said_in_every_language(language: str) -> None:
    texts = {
        text
        for claim in VARIANTS
        for text in (claim.promise, *claim.limits, *claim.cautions, claim.no_anonymity, claim.privacy_model)
        if text
    } | set(GENERAL_LIMITS)
    assert len(texts) > 60
    assert sorted(text for text in texts if translate(text, language) is None) == []
    assert sorted(text for text in texts if translate(text, language) == text) == []


def test_limits_say_all_that_is_cautioned() -> None:
    """So a page that shows the limits needs no cautions beside them."""
    assert [claim for claim in VARIANTS if not set(claim.cautions) <= set(claim.limits)] == []


def test_numbers_come_through() -> None:
    promise = KteAnonymity(k=3, tau_s=5400, epsilon_s=1800).promise
    said = translate(promise, "de")
    assert said is not None
    assert "1,5 h lang" in said
    assert "mindestens 3 passende" in said
    assert said.endswith("alle 30 min.")
    box = translate(KAnonymity(k=5, hull="grid:1500m").promise, "fr")
    assert box is not None
    assert "1,5 km." in box


def test_a_sentence_without_a_translation_stays_english() -> None:
    pair = KAnonymity(k=2).limits[-1]
    assert translate(pair, "de") is not None
    assert translate(str(pair), "de") is None  # a text alone has no identifier
    assert translate(say("claim.unheard_of", "Nobody said this."), "de") is None
    assert translate(join(pair, say("claim.unheard_of", "Nobody said this.")), "de") is None
    dropped = say("row.dropped", "{number} rows dropped: {reason}", number="3", reason=Message("x", "row.x"))
    assert translate(dropped, "de") is None
    assert translate(dropped, "en") == "3 rows dropped: x"


def test_messages_come_through_the_output_of_a_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "sentences.json"
    assert read_messages(file) == []
    monkeypatch.setenv(ENVIRONMENT, str(file))
    claim = KAnonymity(k=5, hull="grid:1500m")
    document = {"promise": claim.promise, "limits": list(claim.limits), "rows": {cleaning.ZERO: 3}, "n": 1}
    write_requested_messages(document)
    printed = json.loads(json.dumps(document))
    assert printed == document
    restored = restore_messages(printed, read_messages(file))
    assert restored == document
    assert [one.identifier for one in messages_in(restored)] == [
        one.identifier for one in messages_in(document)
    ]
    assert translate(restored["promise"], "de") == translate(claim.promise, "de") is not None


TRANSLATED = Path(__file__).with_name("translated_from.txt")  # identifiers, and what was translated


def english_of(call: ast.Call, assignments: list[ast.Assign]) -> str:
    """The texts of a call, with the names in it as they were last assigned above it."""
    names = {node.id for text in call.args[1:] for node in ast.walk(text) if isinstance(node, ast.Name)}
    values = {
        name.id: ast.unparse(node.value)
        for node in assignments
        if node.lineno < call.lineno
        for target in node.targets
        for name in ast.walk(target)
        if isinstance(name, ast.Name) and name.id in names
    }
    return " ".join([*map(ast.unparse, call.args[1:]), *(values[name] for name in sorted(values))])


@cache
def sentences_of_the_library() -> dict[str, tuple[set[str], str]]:
    """The names of values and the English by identifier, from calls of ``say`` and from rows of tables."""
    sentences: dict[str, tuple[set[str], str]] = {}
    for package in (shoal, shoal_desk):
        root = Path(str(package.__file__)).parent
        for path in map(Path, glob(f"{root}/**/*.py", recursive=True)):  # noqa: PTH207  (follows links)
            nodes = list(ast.walk(ast.parse(path.read_text())))
            assigning = [node for node in nodes if isinstance(node, ast.Assign)]
            assignments = sorted(assigning, key=lambda node: node.lineno)
            for call in nodes:
                if isinstance(call, ast.Call) and getattr(call.func, "id", "") in ("say", "say_number"):
                    if path.name == "messages.py":
                        continue
                    assert isinstance(call.args[0], ast.Constant), f"{path}:{call.lineno}"
                    values = {str(keyword.arg) for keyword in call.keywords}
                    with_number = getattr(call.func, "id", "") == "say_number"
                    for ending in ("", "_one")[: 1 + with_number]:
                        identifier = str(call.args[0].value) + ending
                        assert identifier not in sentences, f"two sentences are called {identifier}"
                        texts = values | ({"number"} if with_number else set())
                        sentences[identifier] = texts, english_of(call, assignments)
    rows = [row.sentence for row in ATTACKS.values()] + [row.question for row in METRICS.values()]
    rows += [kind.about.summary for kind in METHODS.values()]
    for method in METHODS:
        rows += [text for field in fields_of(method, {}) for text in (field.help, field.default)]
    return {row.identifier: (set(), str(row)) for row in messages_in(rows)} | sentences


@pytest.mark.parametrize("language", OTHERS)
def test_the_library_says_every_sentence_of_the_file_with_its_values(language: str) -> None:
    sentences, forms = sentences_of_the_library(), translations(language)
    assert len(forms) > 200
    assert sorted(set(forms) - set(sentences)) == []
    assert list(forms) == list(translations("de"))

    def values(text: str) -> set[str]:
        return {name for _, name, _, _ in Formatter().parse(text) if name is not None}

    assert [(key, values(form)) for key, form in forms.items() if values(form) != sentences[key][0]] == []


def test_no_translation_is_of_an_older_english_sentence() -> None:
    """Bring the translations up to date, and write the digest that this test shows into the file."""
    translated = dict(line.split() for line in TRANSLATED.read_text().splitlines())
    sentences = sentences_of_the_library()
    digests = {
        key: hashlib.sha256(sentences[key][1].encode()).hexdigest()[:8] for key in sorted(translations("de"))
    }
    assert translated == digests


@pytest.mark.parametrize("language", OTHERS)
def test_the_words_of_rows_are_said_in_every_language(language: str) -> None:
    """A few words of new rows may wait for it: pages show their English till then."""
    fields = [field for name in METHODS for field in fields_of(name, {})]
    texts = {
        *(text for field in fields for text in (field.help, field.bound) if text),
        *(field.default for field in fields if " " in field.default),
        *(metric.question for metric in METRICS.values()),
        *(kind.about.summary for kind in METHODS.values()),
        *(row.sentence for row in ATTACKS.values()),
    }
    assert len(texts) > 90
    waiting = [text for text in texts if translate(text, language) is None]
    assert len(waiting) <= 8, waiting


@pytest.mark.parametrize("language", OTHERS)
def test_every_reason_of_a_lost_row_is_said_in_every_language(language: str) -> None:
    names = [name for name in vars(cleaning) if name.isupper()]
    reasons = {getattr(cleaning, name) for name in names} | {WRONG_FIELDS, OUT_OF_ORDER}
    texts = {reason for reason in reasons if isinstance(reason, str)}
    assert len(texts) > 15
    lines = [
        line
        for reason in texts
        for line in warnings_of({"rows_dropped": {reason: 1234}, "rows_repaired": {reason: 1}, "notes": []})
    ]
    assert len(lines) == 2 * len(texts)
    assert sorted(line for line in lines if translate(line, language) is None) == []


def test_what_reading_a_sloppy_file_notes_is_said_in_every_language(tmp_path: Path) -> None:
    rows = [f"{n % 4};{n % 9 + 1:02d}/13/2026 0{n % 9}:1{n % 6};48,{n}1;-122,{n}7" for n in range(1, 40)]
    rows += ["a;01/13/2026 05:05;48,1;2,1", "9;never;48,1;2,1", ";01/13/2026 05:05;0;0", rows[0], "1;2"]
    file = tmp_path / "sloppy.csv"
    file.write_text("uid;time;lat;lon\n" + "\n".join(rows) + "\n")
    found = describe(shoal.read(file, lose_people=True)).to_json()
    told = [*warnings_of(found), found["unit_of_protection"]]
    assert len(told) >= 7
    assert [one for one in told if "taken as UTC" in one] == [TAKEN_AS_UTC]  # asked once, not twice
    unsaid = [(one, language) for one in told for language in OTHERS if translate(one, language) is None]
    assert unsaid == []


def test_no_page_of_the_walk_has_an_english_sentence(released: Visitor) -> None:
    names = set(CLAIMS)
    looked_at = 0
    try:
        for language in OTHERS:
            released.desk.case.change(released.desk.case.choices().version, language=language)
            for step in STEPS:
                page = released.get(step).html
                assert f'<html lang="{language}">' in page
                english = [unescape(text) for text in re.findall(r'lang="en">(.*?)<', page)]
                assert (step, [text for text in english if text not in names]) == (step, [])
                looked_at += len(english)
    finally:  # other tests go on with this case
        released.desk.case.change(released.desk.case.choices().version, language="en")
    assert looked_at == len(OTHERS)  # the name of the claim, on the page of the release
