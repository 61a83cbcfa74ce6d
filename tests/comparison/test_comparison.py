"""Frontiers where the right answer is known, and a study of small releases: complete, resumable, readable."""

import json
import math
import shutil
import stat
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import shoal as shoal_api
from browser import Browser
from command_line import Shoal
from figures import Figure, figures_of
from shoal.attacks import attack
from shoal.attacks.attacking import AttackScope
from shoal.attacks.rate import Rate
from shoal.attacks.table import ATTACKS
from shoal.comparison import compare as comparison
from shoal.comparison import one_release
from shoal.comparison.study import read_study
from shoal.errors import InputError, OutputError
from shoal.io import read
from shoal.methods import METHODS
from shoal.methods.glove.glove import Glove
from shoal.model.release import Boxes, Linkage, Release
from shoal.report.facts.ground import comparable_densities
from shoal.report.figures.svg import draw_svg
from shoal.report.pages.comparison import RAW_DATA, frontier_figure
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.synthetic import write_synthetic
from shoal.utility import METRICS, Metric, Value, facts, measure, measure_facts
from shoal.utility.accuracy import measure_accuracy
from shoal.utility.frontier import (
    Budget,
    Point,
    Recommendation,
    at_equal_risk,
    best_within,
    frontier,
    recommend,
)

STUDY = """
knowledge = ["points:1", "top:2"]
hold_out = 0.2
tries = 200
seed = 3
frontier = "omit-at-most"
[budget]
at_most = 0.5
[[runs]]
method = "glove"
k = [2, 4]
[[runs]]
method = "glove"
k = 2
suppress-time = "2h"
"""


def test_without_a_study_file_the_default_study_is_made_and_written(shoal: Shoal, tmp_path: Path) -> None:
    write_synthetic(tmp_path / "calls.parquet", 24, 1, 1)
    done = shoal("compare", str(tmp_path / "calls.parquet"), "--output", str(tmp_path / "out"))
    assert done.code == 0
    assert "glove k=5 refine=True hull=grid:500m" in done.out
    assert f"study: {tmp_path}/out/study.toml\n  # The study of `shoal compare`" in done.out
    study = read_study(tmp_path / "out/study.toml")
    assert (len(study.settings), study.people, study.budget.at_most) == (9, 24, 0.2)


def point(label: str, risk: float, utility: float, *, method: str = "a", spread: float = 0.0) -> Point:
    return Point(
        label=label,
        method=method,
        risk=risk,
        risk_low=max(0.0, risk - spread),
        risk_high=risk + spread,
        utility=utility,
    )


PLANTED = [
    point("safe", 0.01, 0.9),
    point("dominated", 0.05, 0.95),
    point("balanced", 0.05, 0.5),
    point("sharp", 0.3, 0.1, method="b"),
    point("twin", 0.3, 0.1),
    point("unknown", 0.0, math.nan),
]


def test_the_frontier_is_what_no_other_beats() -> None:
    assert [p.label for p in frontier(PLANTED, "lower")] == ["safe", "balanced", "sharp", "twin"]
    assert [p.label for p in frontier(PLANTED, "higher")] == ["safe", "dominated"]


@pytest.mark.parametrize(
    ("at_most", "wanted"),
    [(0.02, "safe"), (0.05, "balanced"), (0.2, "balanced"), (0.3, "sharp"), (1.0, "sharp")],
)
def test_the_recommendation_is_the_best_within_the_budget(at_most: float, wanted: str) -> None:
    found = recommend(PLANTED, Budget(at_most=at_most), "lower")
    assert found.label == wanted
    assert any(f"{100 * at_most:g} %" in reason for reason in found.reasons)


def test_an_interval_that_reaches_over_the_budget_does_not_keep_it() -> None:
    unsure = [point("unsure", 0.04, 0.1, spread=0.02), point("sure", 0.02, 0.7, spread=0.02)]
    assert recommend(unsure, Budget(at_most=0.05), "lower").label == "sure"
    none = recommend(unsure[:1], Budget(at_most=0.05), "lower")
    assert none.label is None
    assert "more tries" in " ".join(none.reasons)
    assert recommend([], Budget(), "lower").label is None


def test_methods_meet_at_equal_risk() -> None:
    rows = at_equal_risk(PLANTED, (0.001, 0.05, 0.3), "lower")
    assert [
        (level, {method: best and best.label for method, best in row.items()}) for level, row in rows
    ] == [
        (0.05, {"a": "balanced", "b": None}),
        (0.3, {"a": "twin", "b": "sharp"}),
    ]
    assert best_within(PLANTED, 0.001, "lower") is None


@pytest.mark.parametrize("kind", ["metric", "attack", "method"])
def test_nothing_is_taken_from_an_earlier_run_of_code_that_may_have_changed(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Registered rows have any code, which nothing tells from the code of the run before."""
    for table, name in ((METRICS, "toy"), (ATTACKS, "toy"), (METHODS, "toy")):
        monkeypatch.delitem(table, name, raising=False)
        monkeypatch.setattr(table, "_rows", dict(table._rows))
    calls = shoal_api.read(shoal_api.synthesize(n_subjects=20, days=1, seed=1))

    def register(value: float) -> None:
        if kind == "metric":
            row = Metric(
                name="toy", question="a toy", unit="1", better="lower", function=lambda _: Value(value=value)
            )
            shoal_api.register_metric(row, replace=True)
        elif kind == "attack":

            def evaluate(evaluation: Any, **_: Any) -> list[Rate]:
                words = {"name": "toy", "knowledge": "nothing", "attacker": "A toy.", "baseline": 0.0}
                wins = np.full(len(evaluation.victims), value)
                return [
                    Rate.of(wins, target=evaluation.label, clusters=evaluation.clusters, **words)  # type: ignore[arg-type]
                ]

            shoal_api.register_attack(
                shoal_api.Adversary(
                    name="toy", sentence="A toy.", answers={"toy": "link"}, evaluate=evaluate
                ),
                replace=True,
            )
        else:

            class Toy(Glove):
                about = replace(Glove.about, name="toy")

                def classes(self, *words: Any) -> Any:
                    return Glove(k=2 if value < 0.5 else 10).classes(*words)

            shoal_api.register_method(Toy, replace=True)

    def compared() -> str:
        attack = ("toy", "toy") if kind == "attack" else ("points:1", "linkage")
        (tmp_path / "study.toml").write_text(
            f'tries = 10\nseed = 1\nhold_out = 0\nknowledge = ["{attack[0]}"]\n'
            f'[budget]\nknowledge = "{attack[0]}"\nattack = "{attack[1]}"\n'
            f'[[runs]]\nmethod = "{"toy" if kind == "method" else "glove"}"\nk = 2\n'
        )
        study = read_study(tmp_path / "study.toml")
        found = comparison.compare(calls, study, tmp_path / "study")
        return json.dumps(found.to_json()["releases"], sort_keys=True)

    register(0.25)
    first = compared()
    register(0.75)
    assert compared() != first


@pytest.fixture(scope="module")
def city(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("data") / "city.parquet"
    write_synthetic(path, 60, 2, 5)
    return path


@pytest.fixture(scope="module")
def finished(city: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("study")
    (folder / "study.toml").write_text(STUDY)
    comparison.compare(read(city), read_study(folder / "study.toml"), folder / "out")
    return folder


def test_every_figure_is_that_of_the_public_functions(city: Path, finished: Path) -> None:
    from shoal.release_folder.folder import read_linkage, read_release

    shown = json.loads((finished / "out/comparison.json").read_text())
    study = read_study(finished / "study.toml")
    published, control = comparison._split_people(read(city), study)
    assert control is not None
    assert (published.n_subjects, control.n_subjects) == (48, 12)
    assert not set(published.ids) & set(control.ids)
    for result in shown["releases"]:
        folder = finished / "out" / result["folder"]
        release, linkage = read_release(folder), read_linkage(folder.parent / "linkage.parquet")
        assert set(linkage.uids) <= set(published.ids)
        for text, entries in result["attacks"].items():
            again = attack(
                published,
                release,
                linkage,
                knowledge=[text],
                rng=Randomness.for_research(3),
                tries=200,
                scope=AttackScope(control=control),
            )
            assert [rate.to_json() for rate in again.rates] == entries
        assert [one.to_json() for one in measure(published, release, linkage)] == result["measurements"]


def test_the_frontier_of_omission_is_what_glove_would_have_made(city: Path, finished: Path) -> None:
    """The crowds are read off the release; boxes and losses are those of a release with that option."""
    shown = json.loads((finished / "out/comparison.json").read_text())
    of = {result["label"]: result["omission"] for result in shown["releases"]}
    assert of["glove k=2 suppress-time=2h"] is None
    published, _ = comparison._split_people(read(city), read_study(finished / "study.toml"))
    rows = {row["may_be_missing"]: row for row in of["glove k=4"]["rows"]}
    assert list(rows) == [0.0, 0.01, 0.02, 0.05, 0.1, 0.2]
    for share in (0.0, 0.1):
        release, linkage = Glove(k=4, omit_at_most=share).anonymize(published, Randomness.for_research(1))
        raw = measure_accuracy(published, release, linkage).raw
        assert rows[share] == {
            "may_be_missing": share,
            "samples_missing": release.losses.samples_suppressed / published.n_samples,
            "people_missing": release.losses.subjects_suppressed / published.n_subjects,
            **{name: getattr(raw, name) for name in list(rows[share])[3:]},
        }
    assert rows[0.1]["mean_space_m"] < rows[0.0]["mean_space_m"]
    html = (finished / "out/comparison.html").read_text()
    assert html.count('id="plot-omission-') == 2


def test_what_is_written_says_all_and_stays_with_its_owner(finished: Path) -> None:
    out = finished / "out"
    shown = json.loads((out / "comparison.json").read_text())
    labels = ["glove k=2", "glove k=4", "glove k=2 suppress-time=2h"]
    assert [result["label"] for result in shown["releases"]] == labels
    assert shown["recommendation"]["release"] in {*labels, None}
    assert {entry["target"] for result in shown["releases"] for entry in result["attacks"]["points:4"]} == {
        "raw",
        "release",
        "control",
    }
    assert stat.S_IMODE(out.stat().st_mode) == 0o700
    assert stat.S_IMODE((out / "comparison.json").stat().st_mode) == 0o600
    html = (out / "comparison.html").read_text()
    assert all(label in html for label in labels)
    assert "anonymous" not in html.split("<script>")[0]


def test_a_study_goes_on_where_it_was(
    city: Path, finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = tmp_path / "study"
    shutil.copytree(finished, study)
    before = {path: path.stat().st_mtime_ns for path in (study / "out/runs").rglob("*") if path.is_file()}
    made = []
    honest = Glove.anonymize

    def counted(self: Glove, *rest: Any) -> tuple[Release, Linkage]:
        made.append(self.k)
        return honest(self, *rest)

    monkeypatch.setattr(Glove, "anonymize", counted)
    (study / "more.toml").write_text(STUDY.replace("[2, 4]", "[2, 3, 4]"))
    found = comparison.compare(read(city), read_study(study / "more.toml"), study / "out")
    assert made == [3]
    assert len(found.points) == 4
    assert all(path.stat().st_mtime_ns == time for path, time in before.items())


def test_results_of_another_version_do_not_stand_beside_those_of_this_one(
    city: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "study.toml").write_text('tries = 10\nknowledge = []\n[[runs]]\nmethod = "glove"\nk = [2]\n')
    study, made, asked = read_study(tmp_path / "study.toml"), [], []

    def counted(*parts: Any) -> Any:
        asked.append(1)
        return measure_facts(*parts)

    monkeypatch.setattr(one_release, "measure_facts", counted)
    for version in ("1.0", "1.0", "2.0"):
        monkeypatch.setattr(one_release, "__version__", version)
        comparison.compare(read(city), study, tmp_path / "out")
        made.append(len(asked))
    assert made == [1, 1, 2]


def test_a_release_of_boxes_is_measured_once(
    city: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "study.toml").write_text('tries = 10\nknowledge = []\n[[runs]]\nmethod = "glove"\nk = [2]\n')
    asked, honest = [], facts.ask

    def counted(*parts: Any) -> Any:
        asked.append(1)
        return honest(*parts)

    monkeypatch.setattr(facts, "ask", counted)
    found = comparison.compare(read(city), read_study(tmp_path / "study.toml"), tmp_path / "out")
    assert len(found.points) == len(asked) == 1


def test_an_interruption_loses_only_the_release_under_way(
    city: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "study.toml").write_text(STUDY)
    study = read_study(tmp_path / "study.toml")
    calls = []

    def interrupted(*parts: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return measure_facts(*parts)

    monkeypatch.setattr(one_release, "measure_facts", interrupted)
    with pytest.raises(KeyboardInterrupt):
        comparison.compare(read(city), study, tmp_path / "out")
    assert not (tmp_path / "out/comparison.html").exists()
    assert len(list((tmp_path / "out/runs").glob("*/result-*.json"))) == 1
    assert len(comparison.compare(read(city), study, tmp_path / "out", Run()).points) == 3
    assert len(calls) == 4
    assert not [path for path in (tmp_path / "out").rglob("*") if "partial" in path.name]


def test_settings_without_a_release_are_told(city: Path, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(
        'hold_out = 0\ntries = 50\nknowledge = []\n[[runs]]\nmethod = "glove"\nk = [2, 61]\n'
    )
    found = comparison.compare(read(city), read_study(tmp_path / "study.toml"), tmp_path / "out")
    assert list(found.failed) == ["glove k=61"]
    assert "glove k=61" in (tmp_path / "out/comparison.html").read_text()


def test_an_attack_that_few_people_do_not_allow_is_named_and_the_others_are_played(
    shoal: Shoal, tmp_path: Path
) -> None:
    calls = read(shoal_api.synthesize(n_subjects=20, days=1, seed=1))
    methods = {"of 2": Glove(k=2), "of 3": Glove(k=3)}
    found = comparison.compare(calls, methods, tmp_path / "out")
    assert not found.failed
    assert list(found.to_dataframe()["label"]) == ["of 2", "of 3"]
    unplayed = "membership:4 was not played against raw, release, control: membership needs 4 people"
    assert [any(note.startswith(unplayed) for note in one["notes"]) for one in found.results] == [True, True]
    assert found.results[0]["attacks"]["membership:4"] == []
    assert found.results[0]["attacks"]["points:4"] != []
    write_synthetic(tmp_path / "calls.parquet", 20, 1, 1)
    (tmp_path / "study.toml").write_text('[[runs]]\nmethod = "glove"\nk = 2\n')
    told = shoal(
        "compare", tmp_path / "calls.parquet", "--config", tmp_path / "study.toml", "--output", tmp_path / "2"
    )
    assert f"note: {unplayed}" in told.out
    assert "note: no control group" not in told.out


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("roughly", "Usefulness: roughly for: busy areas; not for: routes."),
        ("no", "OF NO USE: the release keeps its promise, and is good for none of the five uses that were "
         "measured; usefulness: not for: busy areas, routes."),
    ],
)  # fmt: skip
def test_a_recommendation_says_first_what_its_release_is_good_for(answer: str, words: str) -> None:
    uses = {"areas": {"answer": answer, "score": 0.3}, "routes": {"answer": "no", "score": 0.0}}
    recommended = Recommendation(label="b", reasons=("It keeps the budget.",))
    results: list[dict[str, Any]] = [{"label": "a"}, {"label": "b", "usefulness": {"uses": uses}}]
    assert comparison._with_uses(recommended, results).reasons == (words, "It keeps the budget.")
    none = Recommendation(label=None, reasons=("No release keeps it.",))
    assert comparison._with_uses(none, results) == none


def test_where_every_setting_failed_the_recommendation_is_the_failure(tmp_path: Path) -> None:
    calls = read(shoal_api.synthesize(n_subjects=20, days=1, seed=1))
    found = comparison.compare(calls, {"of 50": Glove(k=50)}, tmp_path / "out")
    assert list(found.failed) == ["of 50"]
    assert found.recommendation.label is None
    assert found.recommendation.reasons == (f"No setting gave a release: {found.failed['of 50']}",)
    empty = found.to_dataframe()
    assert (len(empty), {"label", "worst", "utility"} <= set(empty.columns)) == (0, True)


def test_a_budget_for_an_attack_that_was_not_played_fails_with_its_reason(tmp_path: Path) -> None:
    calls = read(shoal_api.synthesize(n_subjects=20, days=1, seed=1))
    (tmp_path / "study.toml").write_text(
        '[budget]\nattack = "membership"\nknowledge = "membership:4"\n[[runs]]\nmethod = "glove"\nk = 2\n'
    )
    found = comparison.compare(calls, read_study(tmp_path / "study.toml"), tmp_path / "out")
    assert (
        "membership:4 was not played against raw, release, control: membership needs 4"
        in found.failed["glove k=2"]
    )


def test_methods_of_points_are_judged_beside_those_of_boxes(
    city: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    runs = (
        '[[runs]]\nmethod = "swap-locations"\ntime-threshold = "4h"\n[[runs]]\nmethod = "static"\ngrid = '
        '"20km"\nslot = "8h"\n'
    )
    (tmp_path / "study.toml").write_text('knowledge = ["points:2"]\ntries = 20\n' + runs, encoding="utf-8")
    shoal = Shoal(capsys)
    shown = json.loads(
        shoal(
            "compare", city, "--config", tmp_path / "study.toml", "--output", tmp_path / "out", "--json"
        ).out
    )
    assert not shown["failed"], shown["failed"]
    by_method = {release["method"]: release for release in shown["releases"]}
    assert set(by_method) == {"swap-locations", "static"}
    (tried,) = (
        e
        for e in by_method["swap-locations"]["attacks"]["points:2"]
        if (e["name"], e["target"]) == ("linkage", "release")
    )
    assert 0 <= tried["rate"] <= 1
    assert tried["tries"] > 0


def test_moved_points_are_judged_by_whoever_wins_most(
    city: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Points that were moved are in other cells.

    Nobody is found by cells, nearly everybody by the record that passes nearest.
    """
    runs = (
        '[[runs]]\nmethod = "nwa"\nk = 2\ndelta = "20km"\nstep = "1h"\n[budget]\n'
        'attack = "linkage"\nknowledge = "points:4"\nat_most = 0.2\n'
    )
    (tmp_path / "study.toml").write_text(
        'knowledge = ["points:4"]\ntries = 60\nhold_out = 0.2\n' + runs, encoding="utf-8"
    )
    shown = json.loads(
        Shoal(capsys)(
            "compare", city, "--config", tmp_path / "study.toml", "--output", tmp_path / "out", "--json"
        ).out
    )
    assert not shown["failed"], shown["failed"]
    rates = {(e["name"], e["target"]): e["rate"] for e in shown["releases"][0]["attacks"]["points:4"]}
    assert {target for name, target in rates if name == "nearest-linkage"} == {"raw", "release", "control"}
    assert rates["nearest-linkage", "release"] > rates["linkage", "release"]
    assert shown["points"][0]["risk"] == max(
        rates[name, "release"] for name in ("linkage", "triples-linkage", "nearest-linkage")
    )
    assert "the record that passes nearest" in (tmp_path / "out/comparison.html").read_text()


def test_shares_are_percent_and_what_is_no_anonymity_has_a_hollow_mark() -> None:
    points = [point("a", 0.1, 0.2, method="glove"), point("b", 0.2, 0.8, method="w4m")]
    shown = frontier_of(points)
    assert (shown.x.labels[-1][-2:], shown.y.labels[-1]) == (" %", "80 %")
    assert shown.legend == ["best trade-offs", "glove", "w4m (no anonymity)"]
    assert shown.marks["glove"] == [pytest.approx((0.1, 0.2), abs=2e-3)]
    assert shown.marks["w4m (no anonymity)"] == [pytest.approx((0.2, 0.8), abs=2e-3)]
    assert [" hollow" in shown.classes[name] for name in shown.legend[1:]] == [False, True]
    every = frontier_of([point(name, 0.1, 0.2, method=name) for name in METHODS])
    shapes = {name: look.partition(" m ")[2] for name, look in every.classes.items() if name in every.marks}
    assert len(shapes) == len(set(shapes.values())) == len(METHODS)


def frontier_of(points: list[Point]) -> Figure:
    figure = draw_svg(frontier_figure(points, "higher", "samples covered", "share"), "risk and use")
    return figures_of(f'<div class="plot" id="plot-it" data-figure>{figure}</div><figcaption>')["it"]


def test_the_raw_data_and_the_best_releases_lie_on_maps_of_one_window(finished: Path) -> None:
    page = (finished / "out/comparison.html").read_text()
    best = json.loads((finished / "out/comparison.json").read_text())["frontier"]
    shown = page.partition('<section id="maps">')[2].partition("</section>")[0]
    assert [line[4:-5] for line in shown.splitlines() if line.startswith("<h3>")] == [RAW_DATA, *best]
    assert shown.count("samples per km²") == 1
    assert shown.count("boxes per km²") == len(best) > 0
    everything = {
        "whole": Boxes.of_samples(np.arange(4), np.array([0, 10, 20, 30]), np.array([0, 10, 20, 30])),
        "half": Boxes.of_samples(np.arange(2), np.array([0, 10]), np.array([0, 500])),
    }
    whole, half = comparable_densities(everything, 32).values()
    assert whole.window == half.window
    assert [whole.share_outside, half.share_outside] == pytest.approx([0.0, 0.5])


def test_the_page_works_offline_at_desk_and_on_a_phone(finished: Path, browser: Browser) -> None:
    seen = browser.visit(finished / "out/comparison.html")
    assert (seen.requests, seen.complaints, seen.overflowing, seen.clashes) == ((), (), (), ())
    assert seen.cut_off == ()
    assert seen.drawn == seen.plots > 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "needs something to compare"),
        ("x = 1", "sets 'x'"),
        ("x = ", "not valid TOML"),
        ('[[runs]]\nmethod = "magic"', "'magic' is no method"),
        ('[[runs]]\nmethod = "glove"\nkk = 2', "'kk' is no setting of glove"),
        ('[[runs]]\nmethod = "glove"\nk = 1', "k = 1 hides nobody"),
        ('[budget]\nat_most = 5\n[[runs]]\nmethod = "glove"', "at_most"),
        ('[budget]\nwish = 5\n[[runs]]\nmethod = "glove"', "no budget has 'wish'; known: "),
        ('[budget]\nutility = "beauty"\n[[runs]]\nmethod = "glove"', "'beauty' is no metric"),
        ('knowledge = ["magic"]\n[[runs]]\nmethod = "glove"', "'magic' is not a knowledge"),
        ('knowledge = "points:4"\n[[runs]]\nmethod = "glove"', "knowledge = 'points:4' must be a list"),
        ('knowledge = [4]\n[[runs]]\nmethod = "glove"', "an entry of knowledge = 4 must be text"),
        ('runs = ["glove"]', "an entry of runs = 'glove' must be a table"),
        ('runs = [["method", "glove"]]', "an entry of runs = .* must be a table"),
        ('budget = 5\n[[runs]]\nmethod = "glove"', "budget = 5 must be a table"),
        ('tries = "many"\n[[runs]]\nmethod = "glove"', "tries = 'many' must be a whole number"),
        ('[budget]\nknowledge = ["points:4"]\n[[runs]]\nmethod = "glove"', "must be text in quotes"),
        ('[budget]\nat_most = "5 %"\n[[runs]]\nmethod = "glove"', "at_most = '5 %' must be a number"),
        ('frontier = "none"\n[[runs]]\nmethod = "glove"', "frontier = 'none' is not known"),
        ('hold_out = 0.9\n[[runs]]\nmethod = "glove"', "hold_out"),
    ],
)
def test_a_study_that_cannot_be_is_said(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "study.toml").write_text(text)
    with pytest.raises(InputError, match=message):
        read_study(tmp_path / "study.toml")


def test_a_folder_of_something_else_and_a_foreign_attack_are_refused(
    city: Path, finished: Path, tmp_path: Path
) -> None:
    (tmp_path / "letter.txt").write_text("dear")
    with pytest.raises(OutputError, match="no earlier comparison"):
        comparison.compare(read(city), read_study(finished / "study.toml"), tmp_path)
    for asked, told in (
        ("home", r"attack 'home' is nothing that is tried with points:4; choose unicity or linkage or"),
        ("top:2", r"'top:2' is what an adversary knows, .*; choose top-locations or .* = \"top:2\" beside"),
    ):
        (tmp_path / "study.toml").write_text(STUDY.replace("[budget]", f'[budget]\nattack = "{asked}"'))
        with pytest.raises(InputError, match=told):  # before any release is made
            read_study(tmp_path / "study.toml")


def test_from_the_command_line(city: Path, finished: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shoal = Shoal(capsys)
    words = ("compare", city, "--config", finished / "study.toml", "--output", finished / "out")
    outcome = shoal(*words, "--frontier", "omit-at-most", "--json")
    assert outcome.code == 0
    assert {"recommendation", "frontier", "at_equal_risk", "releases", "report"} <= json.loads(
        outcome.out
    ).keys()
    assert "recommended: " in shoal(*words).out
    assert shoal("compare", city, "--config", finished / "none.toml", "--output", finished / "x").code == 2


@pytest.mark.parametrize(
    ("lines", "values"),
    [
        ('method = "glove"\nomit-at-most = "5%"', {"omit_at_most": 0.05}),
        ('method = "glove"\nomit_at_most = 0.05', {"omit_at_most": 0.05}),
        ('method = "glove"\nrefine = "on"\nk = "3"', {"refine": True, "k": 3}),
        ('method = "swap-locations"\ndistance-paths = "all"', {"paths": "all"}),
        ('method = "reach-locations"\nreach = "leader"', {"both_sides": False}),
        ('method = "static"\ngrid = "2km"\nslot = 3600', {"grid_m": 2000.0, "slot_s": 3600.0}),
    ],
)
def test_settings_are_written_as_on_the_command_line(
    lines: str, values: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "study.toml").write_text(f"[[runs]]\n{lines}")
    (setting,) = read_study(tmp_path / "study.toml").settings
    assert {name: getattr(setting.method, name) for name in values} == values
