"""Adding a thing touches as few files as CONTRIBUTING.md says, and then the thing is everywhere.

Toys are added to a copy of the source by the steps of that page; shoal is then run from the copy.
"""

import json
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from package_copies import CHECKOUT, Copy, run_on_a_copy
from toy_additions import ATTACK, FIGURE, FORMAT, METHOD_OF_BOXES, METHOD_OF_POINTS, METRIC

STUDY = """
knowledge = ["toy:2"]
tries = 20
hold_out = 0.2
seed = 1

[budget]
attack = "toy-linkage"
knowledge = "toy:1"
at_most = 0.9
utility = "toy-published"

[[runs]]
method = "toy-boxes"
k = [2, 3]
left_out = 2
"""


ADDITIONS = {
    "a method": METHOD_OF_BOXES,
    "a method of points with a new claim": METHOD_OF_POINTS,
    "an attack": ATTACK,
    "a metric": METRIC,
    "a format": FORMAT,
    "a figure of the report": FIGURE,
}
GO_OVER_TABLES = (
    "tests/contracts/test_claims.py",
    "tests/contracts/test_expected.py",
    "tests/contracts/test_given.py",
    # it reads all source files, of which most are links here
    "--deselect=tests/contracts/test_given.py::test_what_errors_name_is_an_argument_of_a_public_function",
    "tests/contracts/test_public_names.py",
    "tests/methods/test_declarations.py",
    "tests/attacks/test_table_of_attacks.py",
    "tests/attacks/test_attacks.py::test_every_adversary_states_itself",
    "tests/attacks/test_contest.py::test_every_adversary_that_links_enters_or_says_why_not",
    "tests/attacks/test_strongest_attacks.py::test_a_cell_has_every_adversary_that_suits_it",
    "tests/attacks/test_strongest_attacks.py::"
    "test_a_cell_whose_time_is_spent_keeps_what_it_found_and_says_what_it_lacks",
    "tests/report/test_points_record.py::"
    "test_every_number_is_marked_and_is_what_public_functions_give[swap-locations]",
    "tests/report/test_points_record.py::"
    "test_every_text_with_a_number_is_that_of_the_manifest[swap-locations]",
    "tests/io/test_sources.py::test_a_source_is_read_as_its_program_writes_it[Toy]",
    "tests/io/test_sources.py::test_every_preset_and_every_format_has_its_file",
    "tests/io/test_sources.py::test_the_page_of_formats_has_a_row_for_every_file",
    "tests/project/test_prose.py::test_pages_end_before_a_reader_does",
    "tests/project/test_docs.py::test_the_page_on_utility_lists_every_metric",
    "tests/project/test_docs.py::test_the_page_on_attacks_lists_every_knowledge",
    "tests/project/test_docs.py::test_links_between_pages_lead_somewhere",
    "tests/project/test_docs.py::test_commands_in_the_docs_exist",
    "packages/desk/tests/test_words.py",
    "packages/desk/tests/test_library.py",
    # toys speak English alone
    "--deselect=packages/desk/tests/test_library.py::test_every_sentence_of_a_claim_is_said_in_every_language",
    "packages/desk/tests/test_settings.py",
    "packages/desk/tests/test_trade.py",
)


@pytest.mark.parametrize("name", ADDITIONS)
def test_an_addition_touches_the_files_that_contributing_says(name: str) -> None:
    page = (CHECKOUT / "CONTRIBUTING.md").read_text()
    row = next(line for line in page.splitlines() if line.startswith(f"| {name} |"))
    assert row == "| {} | {} | {} | {} |".format(name, *ADDITIONS[name].files, len(ADDITIONS[name].pages))


def test_the_tests_of_every_package_that_go_over_tables_pass_with_toys(tmp_path: Path) -> None:
    printed = run_on_a_copy(tmp_path, list(ADDITIONS.values()), GO_OVER_TABLES)
    assert " failed" not in printed, printed
    assert " error" not in printed, printed
    assert " passed" in printed, printed


def test_a_format_is_read(tmp_path: Path) -> None:
    with Copy.with_added(tmp_path, FORMAT) as copy:
        (tmp_path / "calls.toy").write_text("amy|1700000000|45.1|5.1\nbob|1700000060|45.2|5.2\n")
        assert copy.json("inspect", "calls.toy")["subjects"] == 2
        (tmp_path / "folder").mkdir()
        (tmp_path / "calls.toy").rename(tmp_path / "folder" / "calls.toy")
        assert copy.json("inspect", "folder")["samples"] == 2


def test_a_method_an_attack_a_metric_and_a_figure_are_everywhere(tmp_path: Path) -> None:
    with Copy.with_added(tmp_path, METHOD_OF_BOXES, ATTACK, METRIC, FIGURE) as copy:
        copy.run("synthesize", "calls.parquet", "--subjects", "30", "--days", "2")

        help_text = copy.run("anonymize", "--method", "toy-boxes", "--help")
        assert "toy-boxes" in help_text
        assert "Leave out so many toy people. [default: 0]" in help_text
        made = ("--method", "toy-boxes", "--k", "3", "--left-out", "2", "--linkage", "links.parquet")
        copy.run("anonymize", "calls.parquet", *made, "--output", "release")
        manifest = json.loads(copy.text("release/manifest.json"))
        assert manifest["parameters"] == {"k": 3, "left_out": 2}
        assert manifest["losses"]["subjects_suppressed"] == 2
        against = ("calls.parquet", "release", "--linkage", "links.parquet")
        assert copy.json("verify", *against)["holds"]

        assert "toy:N" in copy.run("attack", "--help")
        rates = {(rate["name"], rate["target"]) for rate in copy.json("attack", *against)["attacks"]}
        assert {("toy-linkage", "raw"), ("toy-linkage", "release"), ("linkage", "release")} <= rates
        values = {each["name"]: each["value"] for each in copy.json("measure", *against)["measurements"]}
        assert values["toy-published"] == 28

        record = copy.text("release/report.html")
        shown = (
            "One Toy Box",
            "all samples become one toy box",
            "so many toy people were left out",
            "names one of the longest records",
            "people with a record of a toy",
            "A toy figure",
        )
        assert [words for words in shown if words not in record] == []

        (tmp_path / "study.toml").write_text(STUDY)
        compared = copy.json("compare", "calls.parquet", "--config", "study.toml", "--output", "compared")
        assert {release["method"] for release in compared["releases"]} == {"toy-boxes"}
        assert compared["failed"] == {}
        assert [point["utility"] for point in compared["points"]] == [22.0, 22.0]


def test_a_method_of_points_with_its_claim_is_everywhere(tmp_path: Path) -> None:
    with Copy.with_added(tmp_path, METHOD_OF_POINTS) as copy:
        copy.run("synthesize", "calls.parquet", "--subjects", "30", "--days", "2")
        made = ("--method", "toy-points", "--most-points", "4", "--linkage", "links.parquet")
        copy.run("anonymize", "calls.parquet", *made, "--output", "release")
        manifest = json.loads(copy.text("release/manifest.json"))
        assert manifest["claim"] == {"type": "true-points", "k": 5}
        against = ("calls.parquet", "release", "--linkage", "links.parquet")
        assert copy.json("verify", *against)["holds"]
        assert copy.json("attack", *against, "--knowledge", "points:2")["attacks"]
        assert copy.json("measure", *against)["measurements"]
        record = copy.text("release/report.html")
        shown = (
            "toy truth of 5",
            "Every toy point is true.",
            "A toy protects nobody.",
            "A toy sample vanished when it came late.",
            "none but a toy",
            "First Toy Points",
            "toy points stay where they are",
            "so many toy points of everybody were published",
        )
        assert [words for words in shown if words not in record] == []

        table = pq.read_table(tmp_path / "release" / "release.parquet")
        moved = table.set_column(table.column_names.index("x"), "x", [pc.add(table["x"], 0.5)])
        pq.write_table(moved, tmp_path / "release" / "release.parquet")
        assert "invented-point" in copy.run("verify", *against, "--json", "--quiet", code=1)
