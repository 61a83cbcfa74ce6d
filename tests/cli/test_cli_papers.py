"""Options that the papers ask for: their own way to run a method, and who was active."""

import json
from pathlib import Path

import pytest

from command_line import Shoal
from shoal.methods import METHODS
from shoal.methods.parameters import declared_parameters


def test_a_method_runs_as_published_and_options_still_win(shoal: Shoal, tmp_path: Path) -> None:
    calls = tmp_path / "calls.parquet"
    assert shoal("synthesize", calls, "--subjects", 40, "--days", 2, "--layout", "abi").code == 0
    made = shoal(
        "anonymize", calls, "--method", "glove", "--as-published", "--k", 2, "--min-active-days", "all",
        "--risk-tries", 0, "--research-seed", 1, "--output", tmp_path / "release",
    )  # fmt: skip
    assert made.code == 0
    manifest = json.loads((tmp_path / "release" / "manifest.json").read_text())
    assert manifest["parameters"]["generalize"] == "reshape-each"
    assert manifest["parameters"]["suppress_by"] == "boxes"
    assert manifest["reading"]["min_active_days"] == -1
    refused = shoal("anonymize", calls, "--method", "static", "--paper", "--output", tmp_path / "other")
    assert refused.code == 2
    assert "the defaults of static are its paper's" in refused.err
    assert not (tmp_path / "other").exists()


def test_a_preset_names_parameters_of_its_method_with_values_other_than_shoals() -> None:
    presets = {name: method for name, method in METHODS.items() if method.about.as_published}
    assert set(presets) == {"glove", "kte-hide", "reach-locations", "swap-locations"}
    for method in presets.values():
        own = declared_parameters(method)
        given = dict(method.about.as_published)
        assert all(given[name] != own[name].default for name in given)
        method(**given)


@pytest.mark.parametrize("written", ["-3", "half", "1.5"])
def test_days_that_are_no_number_are_refused(shoal: Shoal, written: str) -> None:
    refused = shoal("inspect", "calls.csv", "--min-active-days", written)
    assert refused.code == 2
    assert f"'{written}' is no number of days; write for example 10, or all" in refused.err
