"""The parameters of the chosen method at the desk: all, as declared; what is wrong stands at the field."""

import re
import shlex
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from desk_visits import Visitor
from shoal.cli.methods import take_settings
from shoal.cli.release import anonymize
from shoal.methods import METHODS
from shoal.methods.parameters import Parameter, choices_of, declared_parameters, default_text, parse_value
from shoal_desk.case import Choices
from shoal_desk.commands import anonymize_command, release_plan
from shoal_desk.settings import fields_of, needs_streets, options_of

OTHERS = {
    "m": "3km",
    "s": "90min",
    "m/s": "2.5",
    "share": "20%",
    "people": "70",
    "records": "6",
    "rounds": "2",
    "kinds": "2",
}
ALONE = {
    "suppress-by": "boxes",
    "start": "greedy",
    "extent-at-most": "5km,2h",
    "hull": "outward:2",
    "generalize": "overlap-split",
}  # valid without a second setting


def another(option: str, each: Parameter) -> str:
    """A value that is not the default, as somebody writes it."""
    if option in ALONE:
        return ALONE[option]
    if choices_of(each):
        return next(text for text in choices_of(each) if text != default_text(each))
    return "outward:2" if each.unit is None else OTHERS[each.unit]


def shown_in(html: str) -> dict[str, str]:
    """Every field of a parameter on a page, by its option, with what stands in it."""
    found = dict(re.findall(r'name="set-([a-z-]+)" type="text" value="([^"]*)"', html))
    for option, inside in re.findall(r'name="set-([a-z-]+)"[^>]*>\s*(<option.*?)</select>', html, re.DOTALL):
        found[option] = re.findall(r"<option selected>([^<]*)<", inside)[0]
    return found


@pytest.mark.parametrize("method", METHODS)
def test_a_method_has_its_own_parameters_on_the_page_and_no_other(method: str, visitor: Visitor) -> None:
    choices = visitor.desk.case.choices()
    visitor.desk.case.change(
        choices.version, method=method, k=7, settings={}, streets={"streets-nodes": "/streets.graphml"}
    )
    html = unescape(visitor.get("release").html)
    wanted = {
        each.option_of(name): default_text(each)
        for name, each in declared_parameters(METHODS[method]).items()
        if not each.street_graph
    }
    assert shown_in(html) == wanted | {"k": "7"}
    first, _, folded = html.partition('id="more-settings"')
    assert 'name="set-k"' in first
    for name, each in declared_parameters(METHODS[method]).items():
        assert each.street_graph or each.help in html
        assert each.bound is None or each.bound.words in html
        assert each.street_graph or f'name="set-{each.option_of(name)}"' in first + folded


@pytest.mark.parametrize("method", METHODS)
def test_what_the_page_takes_is_what_the_command_line_gives_the_method(method: str) -> None:
    """Each parameter on its own, through the words of the command, to the value of the dataclass."""
    tried = 0
    for name, each in declared_parameters(METHODS[method]).items():
        option = each.option_of(name)
        if each.street_graph or option == "k":
            continue
        text = another(option, each)
        choices = Choices(
            source="calls.csv", method=method, k=6, output="out", linkage="l", settings={option: text}
        )
        command = anonymize_command(choices, Path("case"))
        given = anonymize.make_context("anonymize", command.arguments()[1:]).params
        own = {key: given[key] for key in given if key in keys_of(method)}
        assert take_settings(method, own) == {"k": 6, name: parse_value(each, text)}
        tried += 1
    assert tried >= 1


def keys_of(method: str) -> set[str]:
    own = declared_parameters(METHODS[method])
    return set(own) | {each.option_of(name).replace("-", "_") for name, each in own.items()}


def test_the_slot_of_the_reading_does_not_become_a_coarse_slot() -> None:
    choices = Choices(source="c.csv", method="static", k=3, output="o", linkage="l", reading={"slot": "5min"})
    words = shlex.split(anonymize_command(choices, Path("case")).shell_line())
    assert words[words.index("--reading-slot") + 1] == "5min"
    assert "--slot" not in words
    assert options_of("glove", {"refine": "off"}) == {"refine": False}


def test_switches_of_the_reading_become_options_without_a_value() -> None:
    reading = {"ids-as-they-are": "yes", "lose-people": "", "time-zone": "UTC"}
    choices = Choices(source="c.csv", method="glove", k=2, output="o", linkage="l", reading=reading)
    words = shlex.split(anonymize_command(choices, Path("case")).shell_line())
    assert words[words.index("--ids-as-they-are") + 1].startswith("--")
    assert "--lose-people" not in words


WRONG: dict[str, tuple[str, dict[str, str], str, str]] = {
    "a length without a unit": ("glove", {"suppress-space": "5"}, "suppress-space", "is not a length"),
    "a share above one": ("glove", {"omit-at-most": "300%"}, "omit-at-most", "no share"),
    "everything left out": ("glove", {"omit-at-most": "100%"}, "omit-at-most", "below 1"),
    "a choice that is none": ("glove", {"generalize": "magic"}, "generalize", "choose one of"),
    "a switch in words": ("glove", {"refine": "perhaps"}, "refine", "choose one of off, on"),
    "a crowd of one": ("glove", {"k": "1"}, "k", "hides nobody"),
    "half a person": ("glove", {"k": "2.5"}, "k", "not a whole number"),
    "a hull that is none": ("glove", {"hull": "round"}, "hull", "--hull round is not known"),
    "extents the wrong way round": (
        "glove",
        {"extent-at-most": "2h,5km"},
        "extent-at-most",
        "--extent-at-most = '2h,5km' does not name",
    ),
    "two that do not go together": (
        "glove",
        {"refine": "on", "generalize": "none"},
        "refine",
        "refine lowers the extents",
    ),
    "tau that is no multiple": ("kte-hide", {"tau": "50min"}, "tau", "--tau"),
    "too few neighbors": ("kte-hide", {"neighborhood": "4"}, "neighborhood", "at least 8"),
    "a speed in words": ("w4m", {"speed": "fast"}, "speed", "not a number"),
    "an endless speed": ("w4m", {"speed": "inf"}, "speed", "must be finite"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_stands_at_the_field_and_the_entry_stays(name: str, visitor: Visitor) -> None:
    method, entered, field, words = WRONG[name]
    before = visitor.desk.case.change(visitor.desk.case.choices().version, method=method, settings={})
    out: dict[str, Any] = {
        "output": str(visitor.folder / "out"),
        "linkage": str(visitor.folder / "l.parquet"),
    }
    fields: dict[str, Any] = {f"set__{option}".replace("-", "__"): text for option, text in entered.items()}
    page = visitor.post("release", "start:release", **out, **fields)
    assert page.status == 422
    assert "stands at each" in page.sentence
    beside = re.search(rf'id="h-set-{field}">\s*<strong>([^<]*)<', page.html)
    assert beside is not None
    assert words in beside[1].replace("&#39;", "'")
    assert re.search(rf'name="set-{field}"[^>]*aria-invalid="true"', page.html)
    kept = shown_in(page.html) if field not in ("refine", "generalize") else {field: entered[field]}
    assert kept[field] == entered[field]
    assert visitor.desk.case.choices() == before
    assert not (visitor.folder / "out").exists()


def test_settings_are_kept_and_shown_until_the_method_changes(visitor: Visitor) -> None:
    out: dict[str, Any] = {
        "output": str(visitor.folder / "out"),
        "linkage": str(visitor.folder / "l.parquet"),
    }
    page = visitor.post("release", "keep", **out, set__k="3", set__suppress__space="15km", set__hull="tight")
    assert page.status == 200
    assert "--k 3 --suppress-space 15km --refine --output" in page.html
    assert 'value="15km"' in page.html.partition('id="more-settings"')[0]
    choices = visitor.desk.case.choices()
    assert (choices.k, choices.settings) == (3, {"suppress-space": "15km", "refine": "on"})
    job = visitor.desk.work(choices).release
    assert job is not None
    assert "--suppress-space 15km" in job.plan.commands[0].shell_line()
    assert 'suppress-space = "15km"' in visitor.get("kept/release.toml").html
    (visitor.folder / "out").mkdir()
    (visitor.folder / "l.parquet").touch()
    html = visitor.get("release").html
    assert f'value="{visitor.folder}/out-2"' in html
    assert f'value="{visitor.folder}/l-2.parquet"' in html
    visitor.post("trade", "next", direct="yes", method="static", k="4")
    assert visitor.desk.case.choices().settings == {}


def test_every_report_has_the_ground_and_only_a_check_of_paths_the_streets() -> None:
    assert [name for name in METHODS if needs_streets(name)] == ["reach-locations"]
    ground = {"streets-nodes": "/n.csv", "streets-edges": "/e.csv", "tiles": "/t.mbtiles"}
    for method in ("glove", "reach-locations"):
        choices = Choices(source="c.csv", method=method, k=3, output="o", linkage="l", streets=ground)
        first, second, *_ = release_plan(choices, Path("case"), Path("attacks.json")).commands
        assert {f"--{name}" for name in ground} <= set(first.arguments())
        assert ("--streets-nodes" in second.arguments()) == (method == "reach-locations")
        assert "--tiles" not in second.arguments()
    assert [one.option for one in fields_of("nwa", {}) if one.first] == ["k", "delta"]
