"""The comparison of two checkouts: its commands exist, and it tells words from values."""

import json
from pathlib import Path
from typing import Any

import pytest

from compare_cases import RUNS, questions
from compare_commits import NOT_COMPARED, Answer, Comparison, Outcome, messages_of
from compare_damages import DAMAGES
from shoal.cli.main import shoal
from shoal.methods import METHODS

VERDICT = {"holds": False, "findings": [{"kind": "class-below-k", "message": "2 records are alike"}]}


def of_documents(old: Any, new: Any) -> Outcome:
    comparison = Comparison()
    comparison.answers(Answer(0, old, []), Answer(0, new, []))
    return comparison.outcome


def test_every_method_is_run_and_every_option_exists() -> None:
    asked = [run.command() for run in RUNS] + [[one.command, *one.words] for one in questions()]
    known = {
        name: {opt for one in shoal.commands[name].params for opt in one.opts} for name in shoal.commands
    }
    unknown = {
        word for words in asked for word in words[1:] if word.startswith("--") and word not in known[words[0]]
    }
    assert unknown == set()
    named = {
        words[words.index("--method") + 1] if "--method" in words else "glove" for words in asked[: len(RUNS)]
    }
    assert named == set(METHODS)
    assert sum(len(damages) for damages in DAMAGES.values()) >= 50


@pytest.mark.parametrize(
    ("old", "new", "outcome"),
    [
        (VERDICT, VERDICT, Outcome.SAME),
        ({"shoal_version": "0.1.0"}, {"shoal_version": "0.2.0"}, Outcome.SAME),
        ({"note": "2 records are alike"}, {"note": "2 records agree"}, Outcome.WORDS),
        ({"note": "2 records are alike"}, {"note": "3 records are alike"}, Outcome.NUMBERS),
        ({"kind": "class-below-k"}, {"kind": "class-small"}, Outcome.DIFFERS),
        ({"holds": True}, {"holds": 1}, Outcome.DIFFERS),
        ({"k": 2, "p": 3}, {"p": 3, "k": 2}, Outcome.DIFFERS),
        ({"k": 2}, {}, Outcome.DIFFERS),
        ({"notes": ["a b"]}, {"notes": ["a b", "c d"]}, Outcome.DIFFERS),
        ({"share": float("nan")}, {"share": float("nan")}, Outcome.SAME),
        ({"share": 0.1}, {"share": 0.10000000000000002}, Outcome.DIFFERS),
    ],
)
def test_words_are_told_from_values(old: Any, new: Any, outcome: Outcome) -> None:
    assert of_documents(old, new) == outcome


def test_exit_codes_and_error_messages_are_compared() -> None:
    comparison = Comparison()
    comparison.answers(Answer(1, VERDICT, []), Answer(2, VERDICT, []))
    assert comparison.outcome == Outcome.DIFFERS
    log = '{"time": "t1", "level": "progress", "message": "merging", "done": 1, "total": 2}\n'
    log += '{"time": "t2", "level": "error", "message": "no column", "exit_code": 2}\nTraceback\n'
    messages = [
        {"level": "error", "message": "no column", "exit_code": 2},
        {"level": "none", "message": "Traceback"},
    ]
    assert list(messages_of(log)) == messages


def test_sentences_of_a_manifest_are_part_of_the_release_but_for_the_verdict(tmp_path: Path) -> None:
    for name, unit, note in (
        ("old", "each person", "all is well"),
        ("new", "each person here", "it is well"),
    ):
        (tmp_path / name / "release").mkdir(parents=True)
        (tmp_path / name / "release" / "report.html").write_text(f"<p>{note}</p>")
        manifest = {"unit_of_protection": unit, "verdict": {"notes": [note]}, "report_sha256": name}
        (tmp_path / name / "release" / "manifest.json").write_text(json.dumps(manifest))
    comparison = Comparison()
    comparison.files(tmp_path / "old", tmp_path / "new")
    assert [line.split(": ")[:2] for line in comparison.lines] == [
        ["DIFFERS", "manifest.unit_of_protection"],
        ["other words", "manifest.verdict.notes[0]"],
        ["other words", "report.html"],
    ]
    assert "report_sha256" in NOT_COMPARED
