"""The figures of the papers on tiny data: each is measured, named as the paper names it, and written."""

import csv
import json
import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import update_pages
from command_line import Shoal
from shoal.errors import InputError, MisuseError
from shoal.methods.swapping.reach_locations import place_points
from shoal.model.grid import Grid
from shoal.model.intake import Intake, Reading
from shoal.model.trajectories import Trajectories
from shoal.runtime.run import Run
from shoal_papers.data import TINY, World
from shoal_papers.experiment import Cell, Experiment, Measured, collect_outcome
from shoal_papers.folder import write_outcomes
from shoal_papers.kte_tau import over_a_week
from shoal_papers.kte_tuples import _home_tuples, _static_share
from shoal_papers.running import reproduce
from shoal_papers.swap_cabs import trips_of
from shoal_papers.table import experiments_of, papers
from shoal_papers.town import STEPS, drives, town
from shoal_papers.writing import (
    cell_words,
    csv_text,
    digits,
    markdown,
    paper_words,
    plot_page,
    table_rows,
    text_lines,
)
from small_data import population

ROOT = Path(__file__).resolve().parents[3]
EVERY = [(paper, one) for paper, those in papers().items() for one in those]
# on tiny data, too, these take more than a few seconds; the commands of the docs run them
LONG = {
    ("kte", "figure-8"),
    ("kte", "trade-off"),
    ("swap", "figure-3b"),
    ("swap", "table-3"),
    ("swap", "table-5"),
    ("swap", "table-7"),
}
SHORT = [(paper, one) for paper, one in EVERY if (paper, one.figure) not in LONG and not one.needs]


@pytest.mark.parametrize(("paper", "one"), SHORT, ids=lambda each: getattr(each, "figure", each))
def test_a_figure_is_measured_with_each_seed(paper: str, one: Experiment) -> None:
    (found,) = reproduce([one], replace(TINY, seeds=1), Run(threads=1))
    assert not found.skipped
    assert found.cells
    assert all(len(cell.values) == 1 for cell in found.cells)
    assert not one.printed or any(cell.paper is not None for cell in found.cells)
    assert paper in papers()


def test_what_wide_tables_measure_is_what_the_paper_prints() -> None:
    """With every setting, rows and columns are the paper's, all of them and no other."""
    wide = [one for one in papers()["swap"] if one.figure in ("table-1", "table-4")]
    found = reproduce(wide, replace(TINY, seeds=1, thin=1, drives=40), Run(threads=1))
    for outcome in found:
        assert {(cell.row, cell.column) for cell in outcome.cells} <= set(outcome.experiment.printed)
    assert [len(outcome.cells) for outcome in found][1] == 72


def test_data_that_cannot_be_made_are_asked_for_and_errors_of_shoal_skip_one_figure() -> None:
    def fails(_: World) -> list[Measured]:
        raise MisuseError("no")

    asked = [
        Experiment(figure="cabs", title="", function=fails, needs="cabs"),
        Experiment(figure="fails", title="", function=fails),
        Experiment(figure="seed", title="", function=lambda world: [Measured("a", "b", world.seed)]),
    ]
    found = reproduce(asked, replace(TINY, seeds=3), Run(threads=1))
    assert [one.skipped for one in found] == ["needs --input cabs=FILE", "no", ""]
    assert found[2].cells[0].values == (1, 2, 3)


def test_a_missing_library_leaves_a_figure_out_and_is_no_result(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sklearn.cluster", None)
    (found,) = reproduce(experiments_of("kte", ["figure-8"]), replace(TINY, seeds=1), Run(threads=1))
    assert found.skipped.endswith("pip install 'shoal[spectral]'")
    assert found.cells == ()


def test_intervals_are_students() -> None:
    cell = Cell(row="", column="", paper=None, values=(1.0, 2.0, 3.0, 4.0, 5.0))
    assert cell.mean == 3
    assert cell.margin == pytest.approx(2.776 * math.sqrt(2.5 / 5))
    assert math.isnan(Cell(row="", column="", paper=None, values=(1.0,)).margin)
    assert Cell(row="", column="", paper=None, values=(0.1, 0.1, 0.1)).margin == 0  # whose sum is not 0.3
    assert Cell(row="", column="", paper=None, values=(1.0, math.nan, 3.0)).mean == 2
    assert cell_words(replace(cell, paper=(1.0, 2.5))) == "3.00 ± 1.96 (1 to 2.5)"
    assert cell_words(Cell(row="", column="", paper=34, values=(33.333,))) == "33.3 (34)"


def test_a_figure_measured_twice_is_an_error_and_one_that_a_seed_lacks_is_missing() -> None:
    experiment = Experiment(figure="f", title="", function=lambda _: [], printed={("a", "b"): 1.0})
    with pytest.raises(MisuseError, match="f measures 'a', 'b' twice"):
        collect_outcome(experiment, [[Measured("a", "b", 1.0), Measured("a", "b", 2.0)]])
    found = collect_outcome(experiment, [[Measured("a", "b", 1.0)], [], [Measured("c", "b", 2.0)]])
    values = {cell.row: [None if math.isnan(one) else one for one in cell.values] for cell in found.cells}
    assert values == {"a": [1.0, None, None], "c": [None, None, 2.0]}
    assert [cell.paper for cell in found.cells] == [1.0, None]


def test_an_unknown_figure_is_named() -> None:
    with pytest.raises(
        MisuseError, match="collect has no figure 'table-9'; choose from data, tables, messages"
    ):
        experiments_of("collect", ["table-9"])
    with pytest.raises(MisuseError, match="glove has no figure '6'"):
        experiments_of("glove", ["6"])


def test_a_number_names_a_figure_with_its_parts() -> None:
    for asked, named in {
        ("3",): ["figure-3a", "figure-3b"],
        ("figure-3",): ["figure-3a", "figure-3b"],
        ("3b", "5"): ["figure-3b", "figure-5"],
        ("1",): [],
        ("10", "table-2"): ["table-2", "figure-10"],
    }.items():
        if named:
            assert [one.figure for one in experiments_of("glove", asked)] == named
        else:
            with pytest.raises(MisuseError):
                experiments_of("glove", asked)


def test_outcomes_are_written_in_every_form() -> None:
    found = reproduce(experiments_of("collect", ["messages"]), replace(TINY, seeds=2), Run(threads=1))
    assert table_rows(found[0])[1] == ["first of 3", "12.0 ± 0 (12)", "14.0 ± 0"]
    assert "| first of 3 | 12.0 ± 0 (12) | 14.0 ± 0 |" in markdown(found[0])
    assert any(line.split()[:3] == ["first", "of", "3"] for line in text_lines(found[0]))
    rows = list(csv.DictReader(csv_text(found).splitlines()))
    assert len(rows) == 6
    assert (rows[0]["row"], rows[0]["paper"], rows[0]["mean"], rows[0]["seeds"]) == (
        "first of 3",
        "12",
        "12",
        "2",
    )
    assert "messages of one member" in plot_page("Costs", found, ["Data, traces: none."])


def test_the_command_writes_a_folder_and_json(shoal: Shoal, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    done = shoal("reproduce", "collect", "--figure", "messages", "--seeds", "2", "--output", folder, "--json")
    assert done.code == 0
    told = json.loads(done.out)
    assert told["papers"]["collect"][0]["cells"][0]["mean"] == 12
    assert told["data"] == {"collect": {"traces": "60 made-up people of a city, others for each seed"}}
    assert "Data, traces: 60 made-up people of a city" in (folder / "collect.md").read_text(encoding="utf-8")
    assert "Data, traces: 60 made-up people of a city" in (folder / "collect.html").read_text(
        encoding="utf-8"
    )
    assert sorted(path.name for path in folder.iterdir()) == ["collect.csv", "collect.html", "collect.md"]
    again = shoal("reproduce", "collect", "--figure", "messages", "--output", folder)
    assert again.code == 2
    assert "exists; choose another --output" in again.err
    for arguments, message in {
        ("all", "--figure", "messages"): "--figure needs one paper",
        ("all", "--input", "calls.csv"): "says no kind; write one of people=FILE",
        ("swap", "--quick", "--full"): "either --quick or --full",
    }.items():
        refused = shoal("reproduce", *arguments)
        assert refused.code == 2
        assert message in refused.err


def test_trips_are_cut_at_three_minutes_and_dropped_for_a_step_of_twelve_kilometers() -> None:
    t = np.array([0, 60, 300, 360, 420, 0, 60, 120], dtype=np.float64)
    x = np.array([0, 10, 20, 30, 12_031, 0, 5, 9], dtype=np.float64)
    cabs = Trajectories.from_rows(["a"] * 5 + ["b"] * 3, t, x, np.zeros(8))
    trips, number, left_out = trips_of(cabs)
    assert (number, left_out, trips.n_subjects) == (3, 1, 2)
    assert trips.lengths.tolist() == [2, 3]


def test_objects_of_the_town_drive_on_its_streets_from_step_to_step() -> None:
    found = drives(80, np.random.default_rng(3))
    assert found.n_subjects == 80
    placed = place_points(town().on_plane(None), found.x, found.y, 1.0)
    assert (placed.edge >= 0).all()
    first, last = found.t[found.offsets[:-1]], found.t[found.offsets[1:] - 1]
    assert first.tolist() == [number * STEPS // 80 for number in range(80)]
    assert last.max() == STEPS - 1
    assert (found.lengths == last - first + 1).all()


def test_home_tuples_share_their_most_frequent_place_and_static_success_counts_their_samples() -> None:
    rows = [("a", 0, 0), ("a", 1, 0), ("a", 2, 9), ("b", 0, 0), ("b", 5, 0), ("c", 0, 9), ("d", 9, 9)]
    ids, t, x = zip(*rows, strict=True)
    people = Trajectories.from_rows(
        list(ids), np.array(t), np.array(x), np.zeros(len(t), dtype=np.int64), grid=population([1], 0).grid
    )
    tuples = _home_tuples(people, 2, 20, np.random.default_rng(1))
    assert {"".join(one.ids) for one in tuples} == {"ab", "cd"}
    assert _home_tuples(people, 3, 5, np.random.default_rng(1)) == []
    together = [one for one in tuples if one.ids == ("a", "b")][:1]
    assert _static_share(together, 60, 100) == (2 / 5, 0)  # both are at 0 at the first minute
    assert _static_share(together, 3600, 5000) == (1, 1)


PAGES = sorted(path.stem for path in (ROOT / "docs" / "reproduction").glob("*.csv"))


def test_hours_of_data_handed_in_are_those_of_the_zone_they_were_read_with() -> None:
    """20:00 to 21:00 UTC is 4:00 to 5:00 in Shanghai, also where only the first days are taken."""
    rows = [(f"p{who}", 1_704_139_200 + 86_400 * day + 600 * step, 0, 0)
            for who in range(4) for day in range(6) for step in range(6)]  # fmt: skip
    ids, t, x, y = (list(column) for column in zip(*rows, strict=True))
    intake = Intake(reading=Reading(time_zone="Asia/Shanghai"))
    people = Trajectories.from_rows(
        ids, np.array(t) // 60, x, y, grid=Grid(cell_m=100.0, slot_s=60.0), intake=intake
    )
    world = World(size=TINY, seed=1, inputs={"people": people})
    assert {one.row for one in over_a_week(world)} == {"abi, 0 to 6 h", "dak, 0 to 6 h"}


def test_every_paper_has_a_page() -> None:
    assert set(papers()) <= set(PAGES)
    assert {page.split("-")[0] for page in PAGES} == set(papers())


@pytest.mark.parametrize("name", PAGES)
def test_a_page_of_the_docs_shows_the_figures_of_its_table(name: str) -> None:
    """Made by the command from the same outcomes; every number of the CSV stands in its section."""
    page = (ROOT / "docs" / "reproduction" / f"{name}.md").read_text(encoding="utf-8")
    named = {part.split("`")[0]: part for part in page.split("`--figure ")[1:]}
    order = [one.figure for one in papers()[name.split("-", maxsplit=1)[0]]]
    assert list(named) == [figure for figure in order if figure in named or name in papers()]
    kept = (ROOT / "docs" / "reproduction" / f"{name}.csv").read_text(encoding="utf-8")
    rows = list(csv.DictReader(kept.splitlines()))
    assert rows
    seeds: dict[str, int] = {}
    for row in rows:
        seeds[row["figure"]] = max(seeds.get(row["figure"], 0), int(row["seeds"]))
        low, high = row["paper"], row["paper_high"]
        told = (float(low), float(high)) if high else float(low) if low else None
        mean, margin = (float(row[name] or "nan") for name in ("mean", "margin"))
        words = digits(mean) + ("" if math.isnan(margin) else f" ± {digits(margin)}")
        assert words in named[row["figure"]]
        assert told is None or paper_words(told) in named[row["figure"]]
    for figure, section in named.items():
        assert (figure in seeds) != ("Not measured" in section.split("\n## ")[0])
        number = seeds.get(figure)
        assert number is None or section.splitlines()[0].endswith(
            f"`, {number} seed{'s' if number > 1 else ''}"
        )


def test_figures_of_a_folder_take_their_places_on_the_page(tmp_path: Path) -> None:
    docs, made = tmp_path / "docs", tmp_path / "made"
    (docs / "reproduction").mkdir(parents=True)
    page, kept = docs / "reproduction" / "collect.md", docs / "reproduction" / "collect.csv"
    asked = experiments_of("collect", ["messages", "exponentiations"])
    old = reproduce(asked, replace(TINY, seeds=1), Run(threads=1))
    page.write_text("\n\n".join(["# Words", *map(markdown, old[::-1])]) + "\n", encoding="utf-8")
    kept.write_text(csv_text(old[::-1]), encoding="utf-8")
    new = reproduce(asked[:1], replace(TINY, seeds=2), Run(threads=1))
    write_outcomes({"collect": new}, made, {"collect": {"traces": "none"}})
    wanted = [new[0], old[1]]
    for _ in range(2):
        update_pages.main([str(made), "--docs", str(docs)])
        assert page.read_text(encoding="utf-8") == "\n\n".join(["# Words", *map(markdown, wanted)]) + "\n"
        assert kept.read_text(encoding="utf-8") == csv_text(wanted)
    (docs / "reproduction" / "collect-many.md").write_text("# More\n", encoding="utf-8")
    update_pages.main([str(made), "--docs", str(docs), "--part", "many"])
    assert (docs / "reproduction" / "collect-many.csv").read_text(encoding="utf-8") == csv_text(new)
    assert (docs / "reproduction" / "collect-many.md").read_text(encoding="utf-8") == (
        f"# More\n\n{markdown(new[0])}\n"
    )
    page.write_text("# W\n\n## A\n\n`--figure messages`\n\n## B\n\nno name\n", encoding="utf-8")
    with pytest.raises(InputError, match="'B' stands among the figures and names none"):
        update_pages.main([str(made), "--docs", str(docs)])
