"""What a method declares about itself is what the command line, studies, manifests, records and docs say."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import click
import numpy as np
import pytest

import shoal
from shoal.cli import main as cli
from shoal.cli.methods import MethodCommand, take_settings
from shoal.cli.options import take_reading
from shoal.comparison.study import read_study
from shoal.errors import MisuseError
from shoal.methods import METHODS, About, Method
from shoal.methods.assembly import EquivalenceClass, assemble
from shoal.methods.method import rounding
from shoal.methods.parameters import (
    ABOVE_0,
    declared_parameters,
    default_text,
    k_parameter,
    parameter,
    parameter_values,
    parse_value,
    require_declared,
)
from shoal.model.claims import KAnonymity
from shoal.model.grid import Grid
from shoal.model.release import BOX_COLUMNS, Boxes, Linkage, Losses, Points, Release
from shoal.model.trajectories import Trajectories
from shoal.report.words.settings import method_name, settings_of, techniques_of
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from small_points import town

ROOT = Path(__file__).parents[2]
SUFFIXES = {"m": "_m", "s": "_s", "m/s": "_m_s"}

methods = pytest.mark.parametrize("name", METHODS)
every_parameter = pytest.mark.parametrize(
    ("name", "field"),
    [(name, field) for name, method in METHODS.items() for field in declared_parameters(method)],
)


def release_of(name: str, losses: Losses | None = None, **settings: Any) -> Release:
    """The smallest release that a method of this name could have made."""
    method = METHODS[name](**settings)
    boxes = METHODS[name].about.publishes == "boxes"
    one, zero = np.ones(1, dtype=np.int64), np.zeros(1)
    return Release(
        trajectory_ids=("a" * 16,),
        offsets=np.array([0, 1]),
        payload=Boxes.of_samples(one, one, one) if boxes else Points(t=zero, x=zero, y=zero),
        claim=method.claim(),
        grid=Grid() if boxes else None,
        method=name,
        parameters=method.parameters(),
        losses=losses or Losses(),
        crs=None,
        unit_of_protection="each subject",
        publishable=True,
    )


def options() -> dict[str, click.Option]:
    """The options of ``shoal anonymize`` by what the user writes."""
    return {
        option.opts[0]: option
        for option in cli.shoal.commands["anonymize"].params
        if isinstance(option, click.Option)
    }


def test_a_parameter_whose_option_would_accept_no_value_is_no_declaration() -> None:
    with pytest.raises(MisuseError, match="has neither a unit nor choices"):
        parameter(default="well", help="How it goes.", meaning="how it went")


@methods
def test_a_method_says_everything_about_itself(name: str) -> None:
    method = METHODS[name]
    about = method.about
    assert about.name == name
    assert about.title
    assert about.techniques
    assert all(technique.family and technique.name and technique.use for technique in about.techniques)
    assert type(method().claim()) is about.claim
    assert (ROOT / "docs" / f"{about.page}.md").exists()
    assert list(method().parameters()) == list(declared_parameters(method))
    documented = re.search(r"Parameters\n    -+\n(.*?)\n\n    [A-Z]", method.__doc__ or "", re.DOTALL)
    assert documented
    told = re.findall(r"^    (\w[\w, ]*)$", documented[1], re.MULTILINE)
    assert ", ".join(told).split(", ") == list(declared_parameters(method))


@every_parameter
def test_a_parameter_says_everything_about_itself(name: str, field: str) -> None:
    each = declared_parameters(METHODS[name])[field]
    assert each.help.endswith(".")
    assert each.help[0].isupper()
    assert each.meaning
    assert not each.meaning.endswith(".")
    assert field.endswith(SUFFIXES.get(each.unit or "", ""))
    assert "seed" not in field
    each.require(field, each.default)


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("glove", {"suppress_time_s": float("nan")}, "suppress_time_s = nan would drop every sample; choose"),
        ("glove", {"time_cap_s": 0}, "time_cap_s = 0 must be finite and greater than 0, for example 28800"),
        ("glove", {"leftover": "lose"}, "leftover = 'lose' is not known; choose one of merge, suppress"),
        ("kte-hide", {"hiding": "all"}, "hiding = 'all' is not known; choose one of neighbors, clusters"),
        (
            "kte-hide",
            {"k": 3, "neighborhood": 5},
            "neighborhood = 5 leaves no choice among 3 people; choose at least 6",
        ),
        ("kte-hide", {"space_weight_s": -1}, "must be finite and at least 0, for example 14400"),
        ("nwa", {"pi_s": float("inf")}, "pi_s = inf must be finite and greater than 0, for example 3600"),
        ("nwa", {"step_s": 0}, "step_s = 0 must be finite and greater than 0, for example 600"),
        (
            "nwa",
            {"trash": float("nan")},
            "trash = nan must be a share of at least 0 and below 1, for example 0.1",
        ),
        (
            "reach-locations",
            {"most_off_street_m": 0},
            "the largest distance from a street 0 m must be finite",
        ),
        ("static", {"slot_s": -1.0}, "slot_s = -1.0 must be finite and greater than 0, for example 7200"),
        ("swap-locations", {"paths": "none"}, "paths = 'none' is not known; choose one of disjoint, all"),
        ("w4m", {"speed_m_s": 0}, "speed_m_s = 0 must be finite and greater than 0, for example 1"),
        ("w4m", {"chunk": -9}, "chunk = -9 must be at least 0, for example 1000"),
        *((name, {"k": 1}, "k = 1 hides nobody; choose k >= 2") for name in METHODS),
    ],
)
def test_a_bound_is_checked_with_value_bound_and_remedy(
    name: str, settings: dict[str, Any], message: str
) -> None:
    with pytest.raises(MisuseError, match=re.escape(message)):
        METHODS[name](**settings)


@every_parameter
def test_the_command_line_has_an_option_for_every_parameter(name: str, field: str) -> None:
    each = declared_parameters(METHODS[name])[field]
    if each.street_graph:
        shown = [options()[f"--streets-{part}"] for part in ("nodes", "edges", "crs")]
        assert f"{name} works on it" in (shown[0].help or "")
        return
    option = options()[f"--{each.option_of(field)}"]
    text = option.help or ""
    assert f"{each.help} [default: {default_text(each)}]" in text
    knowing = [method for method in METHODS.values() if field in declared_parameters(method)]
    assert len(knowing) == len(METHODS) or re.search(rf"(^|[ ,]){name}[,:]", text)


def taken(method: str, given: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """The settings of the reading and those of the method."""
    settings = take_settings(method, given)
    return take_reading(given), settings


@pytest.mark.parametrize(
    ("name", "field"),
    [
        (name, field)
        for name, method in METHODS.items()
        for field, each in declared_parameters(method).items()
        if each.default is not None
    ],
)
def test_what_an_option_takes_is_what_the_method_gets(name: str, field: str) -> None:
    each = declared_parameters(METHODS[name])[field]
    option = options()[f"--{each.option_of(field)}"]
    value = option.type.convert(default_text(each), option, None)
    assert taken(name, {str(option.name): value}) == ({}, {field: each.default})
    assert parse_value(each, default_text(each)) == each.default


def test_a_bound_that_allows_0_has_an_option_that_takes_it() -> None:
    """What a preset sets, or a method allows, can be written."""
    allowed = [
        (name, field, each)
        for name, method in METHODS.items()
        for field, each in declared_parameters(method).items()
        if each.unit in ("m", "s") and (each.zero or (each.bound is not None and each.bound.holds(0)))
    ]
    assert {field for _, field, _ in allowed} == {"delta_m", "grid_offset_m", "space_weight_s"}
    for name, field, each in allowed:
        option = options()[f"--{each.option_of(field)}"]
        for text in ("0", f"0{each.unit}"):
            assert option.type.convert(text, option, None) == 0
            assert parse_value(each, text) == 0
        METHODS[name](**{field: 0.0})


def test_no_option_means_two_kinds_of_things() -> None:
    """Methods that share an option agree on its type, and no method takes an option of the command itself."""
    kinds: dict[str, set[Any]] = {}
    for method in METHODS.values():
        for field, each in declared_parameters(method).items():
            kinds.setdefault(each.option_of(field), set()).add(
                (each.unit, each.spelled is None, each.choices)
            )
    assert {option: len(kind) for option, kind in kinds.items()} == dict.fromkeys(kinds, 1)
    spelled = [text for option in cli.shoal.commands["anonymize"].params for text in option.opts]
    assert sorted(spelled) == sorted(set(spelled))


def test_switches_and_units_on_the_command_line() -> None:
    assert taken("reach-locations", {"reach": "leader", "k": None}) == ({}, {"both_sides": False})
    assert taken("nwa", {"delta": options()["--delta"].type.convert("0m", None, None)}) == (
        {},
        {"delta_m": 0.0},
    )
    assert options()["--refine"].secondary_opts == ["--no-refine"]
    assert taken("glove", {"refine": True}) == ({}, {"refine": True})
    with pytest.raises(click.UsageError, match="glove knows no --most-off-street"):
        take_settings("glove", {"most_off_street": 5.0})


def test_the_slot_of_the_reading_and_the_coarse_slot_are_two_options() -> None:
    """Where a method has a slot of its own, --slot means that, and the reading's could not be set."""
    assert taken("static", {"slot_s": 3600.0, "reading_slot_s": 300.0}) == (
        {"slot_s": 300.0},
        {"slot_s": 3600.0},
    )
    assert taken("static", {"cell_m": 50.0}) == ({"cell_m": 50.0}, {})
    assert taken("glove", {"slot_s": 300.0}) == ({"slot_s": 300.0}, {})
    assert taken("glove", {"reading_slot_s": 300.0}) == ({"slot_s": 300.0}, {})
    with pytest.raises(click.UsageError, match="--slot and --reading-slot say the same with glove"):
        taken("glove", {"slot_s": 300.0, "reading_slot_s": 300.0})
    assert "static: Length of the coarse slots. [default: 2h]" in (options()["--slot"].help or "")
    assert "static: " in (options()["--reading-slot"].help or "")


@methods
def test_the_record_explains_every_parameter_once(name: str) -> None:
    graphs = {
        field: town() for field, each in declared_parameters(METHODS[name]).items() if each.street_graph
    }
    release = release_of(name, None, **graphs)
    settings = settings_of(release)
    shown = [setting.name for setting in settings]
    assert len(set(shown)) == len(shown)
    assert len({setting.meaning for setting in settings}) == len(settings)
    own = declared_parameters(METHODS[name])
    options = [f"--{parameter.option_of(field)}" for field, parameter in own.items()]
    assert [setting.name for setting in settings[: len(own)]] == options
    assert [setting.meaning for setting in settings[: len(own)]] == [each.meaning for each in own.values()]
    assert method_name(name) == METHODS[name].about.title


def test_parameters_of_one_name_keep_their_meanings() -> None:
    rows = {(name, setting.name): setting for name in METHODS for setting in settings_of(release_of(name))}
    assert rows["static", "--slot"].value == "2 h"
    assert "coarse" in rows["static", "--slot"].meaning
    assert rows["static", "--reading-slot"].value == "1 min"
    assert "rounded" in rows["static", "--reading-slot"].meaning
    assert "along the streets" in rows["reach-locations", "--space-threshold"].meaning
    assert "leads its swap set" in rows["swap-locations", "--space-threshold"].meaning
    assert rows["w4m", "--speed"].value == "1 m/s"
    assert rows["w4m", "--chunk"].value == "1,000"
    assert rows["nwa", "--k"].meaning != rows["glove", "--k"].meaning


@pytest.mark.parametrize("look_up", [settings_of, techniques_of], ids=["settings", "techniques"])
def test_a_method_without_a_row_is_an_error(look_up: Any) -> None:
    release = replace(release_of("glove"), method="blur")
    with pytest.raises(MisuseError, match=r"'blur' is no method; choose from glove, kte-hide, nwa, "):
        look_up(release)


def test_a_parameter_without_a_declaration_is_an_error() -> None:
    release = replace(release_of("glove"), parameters={"k": 2, "tau_s": 1800.0})
    with pytest.raises(MisuseError, match="GLOVE has no parameter 'tau_s', so nothing says what it means"):
        settings_of(release)


@methods
def test_every_release_is_classified(name: str) -> None:
    lossy = release_of(name, losses=Losses(samples_suppressed=3, subjects_suppressed=1))
    on_grid = METHODS[name].about.publishes == "boxes"
    own = [technique.name for technique in METHODS[name].about.techniques]
    plain = ["pseudonymization", *(["rounding"] if on_grid else []), *own]
    assert [technique.name for technique in techniques_of(release_of(name))] == plain
    assert [technique.name for technique in techniques_of(lossy)] == [
        *plain,
        "local suppression",
        "record suppression",
    ]


def rows_of_tables(page: Path) -> list[list[str]]:
    """The cells of every row of every table of a page."""
    return [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in page.read_text().splitlines()
        if line.startswith("| ")
    ]


def test_the_readme_lists_every_method() -> None:
    listed = {
        name: row
        for row in rows_of_tables(ROOT / "README.md")
        for name in re.findall(r"`([a-z0-9-]+)`", row[0])
        if len(row) == 4 and not name.startswith("--")
    }
    assert set(listed) == set(METHODS)
    told = {
        name: (row[1].startswith("boxes"), re.findall(r"\(docs/(.*?)\.md\)", row[0]))
        for name, row in listed.items()
    }
    assert told == {
        name: (method.about.publishes == "boxes", [method.about.page]) for name, method in METHODS.items()
    }


@methods
def test_the_page_of_a_method_lists_its_options_with_their_defaults(name: str) -> None:
    def plain(text: str) -> str:
        return re.sub(r"[` ]", "", re.sub(r"(?<=\d),(?=\d)", "", text))

    defaults: dict[str, str] = {}
    for row in rows_of_tables(ROOT / "docs" / f"{METHODS[name].about.page}.md"):
        named = re.findall(r"`--([a-z-]+)`", row[0])
        values = row[-1].split(", ")
        defaults |= dict(
            zip(named, values if len(values) == len(named) else values * len(named), strict=True)
        )
    own = {
        each.option_of(field): plain(default_text(each))
        for field, each in declared_parameters(METHODS[name]).items()
        if not each.street_graph
    }
    assert {option: plain(defaults.get(option, "missing")) for option in own} == own


@dataclass(frozen=True, kw_only=True)
class Everybody:
    """A method for this test alone: everybody in one class."""

    about: ClassVar[About] = About(
        name="everybody",
        title="Everybody in One",
        techniques=(rounding("everybody is rounded to everywhere"),),
        claim=KAnonymity,
        publishes="boxes",
        page="glove",
    )

    k: int = k_parameter(meaning="how many there must be")
    margin_m: float = parameter(
        default=50.0, unit="m", bound=ABOVE_0, help="How much wider the box is.", meaning="the margin"
    )

    def claim(self) -> KAnonymity:
        return KAnonymity(k=self.k)

    def parameters(self) -> dict[str, Any]:
        return parameter_values(self)

    def anonymize(
        self, original: Trajectories, rng: Randomness, run: Run | None = None
    ) -> tuple[Release, Linkage]:
        t, x, y = original.t, original.x, original.y
        hull = [[t.min()], [t.max() + 1], [x.min()], [y.min()], [x.max() + 1], [y.max() + 1]]
        everybody = EquivalenceClass(
            members=np.arange(original.n_subjects),
            boxes=Boxes(**dict(zip(BOX_COLUMNS, map(np.array, hull), strict=True))),
        )
        return assemble(
            original,
            [everybody],
            self,
            rng,
        )


def test_a_row_in_the_table_is_all_that_a_new_method_needs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    rows: Mapping[str, type[Method]] = {"everybody": Everybody}
    monkeypatch.setitem(METHODS, "everybody", rows["everybody"])
    config = click.Option(["--config"])
    command = MethodCommand("try", params=[config], examples=())
    added = {option.name: option for option in command.params if isinstance(option, click.Option)}
    assert added["margin"].help == "everybody: How much wider the box is. [default: 50m]"
    assert added["method"].type.convert("everybody", None, None) == "everybody"
    assert taken("everybody", {"margin": 70.0}) == ({}, {"margin_m": 70.0})
    (tmp_path / "study.toml").write_text('[[runs]]\nmethod = "everybody"\nmargin = ["1km", "2km"]\n')
    (first, second) = read_study(tmp_path / "study.toml").settings
    assert (first.label, second.method.parameters()) == ("everybody margin=1km", {"k": 5, "margin_m": 2000.0})
    people = Trajectories.from_rows(
        ["a", "b", "c", "d", "e"], [1, 2, 3, 3, 3], [4, 4, 5, 5, 5], [6, 6, 6, 6, 6], grid=Grid()
    )
    release, _ = Everybody().anonymize(people, Randomness.from_system())
    assert [(row.name, row.value, row.meaning) for row in settings_of(release)][:2] == [
        ("--k", "5", "how many there must be"),
        ("--margin", "50 m", "the margin"),
    ]
    assert [technique.use for technique in techniques_of(release)][2:] == [
        "everybody is rounded to everywhere"
    ]
    published = shoal.publish(
        people, Everybody(), tmp_path / "release", rng=Randomness.from_system(), tries=0
    )
    assert "Everybody in One" in (published.folder / "report.html").read_text()
    with pytest.raises(MisuseError, match="margin_m = 0 must be finite and greater than 0, for example 50"):
        require_declared(Everybody(margin_m=0))
