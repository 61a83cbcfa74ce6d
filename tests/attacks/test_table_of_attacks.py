"""One row of the table makes an attack: a toy row appears everywhere, and every row says everything."""

import json
import re
from pathlib import Path
from string import Formatter
from typing import Any, get_args

import numpy as np
import pytest

import shoal
from command_line import Shoal
from shoal.attacks import ATTACKS, Rate, attack, default_knowledge
from shoal.attacks.adversary import Adversary, QuestionName, Uses, count
from shoal.attacks.evaluation import Evaluation
from shoal.attacks.knowledge import parse_knowledge, record_knowledge
from shoal.attacks.questions import QUESTIONS, assess_release
from shoal.attacks.target import BoxTarget
from shoal.comparison.compare import compare
from shoal.comparison.study import read_study
from shoal.errors import MisuseError
from shoal.model.claims import CLAIMS
from shoal.runtime.randomness import Randomness
from shoal.synthetic import write_synthetic
from small_releases import naive_release, random_people

# what only somebody of the field understands
TERMS = {
    *("adversary", "attribution", "cell", "cells", "class", "cylinder", "downcoding", "epsilon", "hider"),
    *("hiders", "hull", "hulls", "k", "linkage", "membership", "quasi-identifier", "slot", "slots", "tau"),
    *("trajectory", "triple", "triples", "unicity"),
}


def attack_toy(evaluation: Evaluation[BoxTarget], n: int, *, rng: np.random.Generator) -> list[Rate]:
    """Names record 0 for everybody."""
    del rng
    return [
        Rate.of(
            evaluation.records == 0,
            name="toy-linkage",
            knowledge=f"{n} toys",
            attacker="Someone who names the first record.",
            target=evaluation.label,
            baseline=evaluation.guess_rate,
            clusters=evaluation.clusters,
        )
    ]


def toy(**changed: Any) -> Adversary:
    row: dict[str, Any] = {
        "name": "toy",
        "form": "toy:N",
        "example": "toy:3",
        "sentence": "Knows some toys.",
        "words": "N toys",
        "source": "this test",
        "uses": "release alone",
        "answers": {"toy-linkage": "link"},
        "wins": {"toy-linkage": "find the toy of {rate} of the people"},
        "evaluate": attack_toy,
        "parameters": (count(9),),
        "default": ("1", "2"),
        "record": ("2",),
    }
    return Adversary(**{**row, **changed})


@pytest.fixture
def with_toy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ATTACKS, "toy", toy())


@pytest.mark.usefixtures("with_toy")
def test_a_toy_row_is_in_help_defaults_questions_record_json_and_comparison(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call, city = Shoal(capsys), tmp_path / "city.parquet"
    write_synthetic(city, 40, 1, 5)
    assert "toy:N" in " ".join(call("attack", "--help").out.split())
    assert default_knowledge(None)[-2:] == ("toy:1", "toy:2")
    assert "toy-linkage" in QUESTIONS[1].attacks
    folder, linkage = tmp_path / "release", tmp_path / "linkage.parquet"
    made = call("anonymize", city, "--k", 4, "--output", folder, "--linkage", linkage, "--risk-tries", 20)
    assert made.code == 0
    assert "toy-linkage" in (folder / "report.html").read_text()
    known = call("attack", city, folder, "--linkage", linkage, "--knowledge", "toy:3", "--json")
    shown = json.loads(known.out)["attacks"]
    assert [(rate["name"], rate["knowledge"], rate["target"]) for rate in shown] == [
        ("toy-linkage", "3 toys", "raw"),
        ("toy-linkage", "3 toys", "release"),
    ]
    refused = call("attack", city, folder, "--linkage", linkage, "--knowledge", "magic")
    assert (refused.code, "toy:N" in refused.err) == (2, True)
    (tmp_path / "study.toml").write_text(
        'tries = 20\nknowledge = ["toy:2"]\n[budget]\nattack = "toy-linkage"\nknowledge = "toy:2"\n'
        'at_most = 1.0\n[[runs]]\nmethod = "glove"\nk = [3]\n'
    )
    found = compare(shoal.read(city), read_study(tmp_path / "study.toml"), tmp_path / "out").to_json()
    assert found["recommendation"]["release"] == "glove k=3"
    assert "toy-linkage" in (tmp_path / "out/comparison.html").read_text()


@pytest.mark.usefixtures("with_toy")
def test_the_record_asks_the_question_that_the_row_names() -> None:
    people = random_people(30, 8, seed=2)
    release, linkage = naive_release(people, k=3)
    assert "toy:2" in record_knowledge(release, 40)
    link = assess_release(people, release, linkage, tries=20).questions[1]
    assert [one.release.knowledge for one in link.answers if one.release.name == "toy-linkage"] == ["2 toys"]


def test_a_rate_that_the_row_does_not_name_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(ATTACKS, "toy", toy(answers={"other": "link"}))
    people = random_people(10, 5, seed=2)
    with pytest.raises(LookupError, match="'toy-linkage' answers no question; add it to the row of toy"):
        attack(people, None, None, knowledge=["toy:1"], rng=Randomness.for_research(0))


def test_a_row_for_one_claim_is_evaluated_by_default_for_that_claim_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    people = random_people(12, 6, seed=2)
    release, _ = naive_release(people, k=3)
    monkeypatch.setitem(ATTACKS, "toy", toy(claims=(type(release.claim),), record=("{claim.k}",)))
    assert "toy:1" not in default_knowledge(None)
    assert "toy:1" in default_knowledge(release)
    assert "toy:3" in record_knowledge(release, 40)
    monkeypatch.setitem(ATTACKS, "toy", toy(claims=()))
    assert not any(
        text.startswith("toy") for text in (*default_knowledge(release), *record_knowledge(release, 40))
    )


@pytest.mark.parametrize("name", ATTACKS)
def test_every_row_says_everything_that_others_derive_from_it(name: str) -> None:
    row = ATTACKS[name]
    assert row.name == name
    assert row.form.startswith(name)
    assert row.words
    assert row.source
    assert row.uses in get_args(Uses)
    assert row.answers
    assert set(row.answers.values()) <= set(get_args(QuestionName))
    assert row.payloads
    assert set(row.payloads) <= {"boxes", "points"}
    assert row.claims is None or set(row.claims) <= set(CLAIMS.values())
    assert row.same_knowledge_as is None or ATTACKS[row.same_knowledge_as].takes_boxes
    assert set(row.wins) == set(row.answers)
    assert parse_knowledge(row.example).adversary is row
    if not any("{" in setting for setting in row.record):  # those with braces need a claim
        assert [parse_knowledge(text).text for text in row.texts(row.record)] == [*row.texts(row.record)]
        assert [parse_knowledge(text).text for text in row.texts(row.default)] == [*row.texts(row.default)]
    with pytest.raises(MisuseError, match=re.escape(f"write for example {row.example}")):
        parse_knowledge(f"{name}:a:b:c:d")


@pytest.mark.parametrize("name", ATTACKS)
def test_every_row_says_in_plain_words_who_attacks_and_what_a_rate_counts(name: str) -> None:
    row = ATTACKS[name]
    assert re.fullmatch(r"[A-Z][^.{}]+\.", row.sentence)  # one sentence, which also follows "Somebody"
    for text in row.wins.values():
        assert [field for _, field, _, _ in Formatter().parse(text) if field is not None] == ["rate"]
        assert re.fullmatch(r"[a-z].*[a-z]", text)  # which follows "This attack", and something follows
    said = set(re.findall(r"[\w-]+", " ".join([row.sentence, *row.wins.values()]).lower()))
    assert said & TERMS == set()


def test_the_questions_are_those_that_rows_can_name() -> None:
    assert [question.name for question in QUESTIONS] == list(get_args(QuestionName))
    assert all(question.attacks for question in QUESTIONS)


def test_the_help_names_every_form_and_source(capsys: pytest.CaptureFixture[str]) -> None:
    shown = "".join(Shoal(capsys)("attack", "--help").out.split())  # lines break at hyphens
    wanted = [text for row in ATTACKS.values() for text in (row.form, f"source: {row.source}")]
    assert [text for text in wanted if text.replace(" ", "") not in shown] == []


def test_the_page_on_attacks_names_the_source_of_every_one() -> None:
    page = (Path(__file__).parents[2] / "docs/attacks.md").read_text()
    listed = re.findall(r"^- `([\w-]+)`: (.+)$", page, re.MULTILINE)
    assert listed == [(row.name, row.source) for row in ATTACKS.values()]


def test_the_page_on_attacks_names_every_form() -> None:
    page = (Path(__file__).parents[2] / "docs/attacks.md").read_text()
    listed = [
        line.split("|")[1]
        for line in page.splitlines()
        if line.startswith("| `") and "--knowledge" not in line
    ]
    for row in ATTACKS.values():
        (told,) = [cell for cell in listed if f"`{row.name}" in cell]
        assert row.form.partition("[")[0] in told
        assert ("(points)" in told) != row.takes_boxes
    assert len(listed) == len(ATTACKS) > 0
