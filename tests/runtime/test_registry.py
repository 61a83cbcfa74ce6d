"""Registries: rows are checked, names are taken once, and entry points are loaded when they are needed."""

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pytest

import shoal
from shoal.attacks import ATTACKS
from shoal.attacks.adversary import require_complete as require_attack
from shoal.errors import MisuseError
from shoal.methods import METHODS, About
from shoal.methods.method import require_complete as require_method
from shoal.methods.parameters import k_parameter
from shoal.runtime import registry
from shoal.runtime.registry import Registry, RowKind
from shoal.utility import METRICS, Value, metrics_of_every_release
from shoal.utility.measuring import require_complete as require_metric

METRIC = shoal.Metric(
    name="mine", question="a number", unit="1", better="higher", function=lambda _: Value(value=1.0)
)
ATTACK = shoal.Adversary(
    name="mine", sentence="Knows nothing.", answers={"mine-linkage": "link"}, evaluate=lambda *_, rng: []
)


@dataclass(frozen=True)
class Dist:
    name: str = "my-package"


@dataclass(frozen=True)
class Entry:
    """An entry point as importlib gives it."""

    name: str
    row: Any
    dist: Dist | None = Dist()

    def load(self) -> Any:
        if isinstance(self.row, Exception):
            raise self.row
        return self.row


def table(*rows: str) -> Registry[str]:
    def check(row: str) -> None:
        registry.require_row_name(row, "row")

    return Registry(RowKind(word="row", name_of=lambda row: row, check=check), rows)


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch) -> list[Entry]:
    """What installed packages offer; reads counts how often it was asked for."""
    entries: list[Entry] = []
    monkeypatch.setattr(
        "importlib.metadata.entry_points", lambda group: entries if group == "shoal.rows" else []
    )
    return entries


def test_a_registered_row_is_found_listed_last_and_can_be_replaced_if_asked(offered: list[Entry]) -> None:
    rows = table("own")
    rows.register("mine")
    assert list(rows) == ["own", "mine"]
    with pytest.raises(MisuseError, match=r"'mine' is registered already.*replace=True"):
        rows.register("mine")
    rows.register("mine", replace=True)
    with pytest.raises(MisuseError, match="'own' is a row of shoal"):
        rows.register("own", replace=True)
    assert len(rows) == 2
    assert offered == []


@pytest.mark.parametrize("name", ["", "My-row", "my_row", "-row", "row-", "my--row", "9row", "row\n", None])
def test_a_name_that_no_option_could_hold_is_refused(name: Any, offered: list[Entry]) -> None:
    with pytest.raises(MisuseError, match="of a row must be small"):
        table().register(name)


def test_entry_points_are_loaded_once_and_only_when_a_name_is_unknown(
    offered: list[Entry], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def entry_points(group: str) -> list[Entry]:
        asked.append(group)
        return [Entry("theirs", "theirs")]

    monkeypatch.setattr("importlib.metadata.entry_points", entry_points)
    rows = table("own")
    assert rows["own"] == "own"
    assert "own" in rows
    assert asked == []
    assert rows["theirs"] == "theirs"
    assert list(rows) == ["own", "theirs"]
    assert "nothing" not in rows
    assert asked == ["shoal.rows"]


@pytest.mark.parametrize("row", [ImportError("no such module"), "own", "Bad name"])
def test_an_entry_point_that_cannot_be_used_names_its_package(row: Any, offered: list[Entry]) -> None:
    offered.append(Entry("theirs", row))
    rows = table("own")
    for _ in range(2):
        with pytest.raises(
            MisuseError, match=r"my-package offers the row 'theirs', which cannot be used: .*uninstall"
        ):
            list(rows)


def test_all_rows_of_shoal_are_complete() -> None:
    for method in METHODS.values():
        require_method(method)
    for attack in ATTACKS.values():
        require_attack(attack)
    for metric in METRICS.values():
        require_metric(metric)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "My attack"}, "name 'My attack' of a row must"),
        ({"sentence": "Knows nothing"}, "ends with a period"),
        ({"answers": {}}, "answers must give each rate its question"),
        ({"answers": {"mine-linkage": "find"}}, "answers must give each rate its question"),
        ({"wins": {"other": "win {rate}"}}, "wins of 'other'"),
        ({"wins": {"mine-linkage": "win"}}, "wins of 'mine-linkage'"),
        ({"evaluate": None}, "evaluate must be a function"),
        ({"example": "mine:4"}, "mine:4 is not a knowledge"),
    ],
)
def test_an_incomplete_attack_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(MisuseError, match=message):
        shoal.register_attack(replace(ATTACK, **changes))
    assert "mine" not in ATTACKS


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"name": "My metric"}, "name 'My metric' of a row must"),
        ({"question": ""}, "question is empty"),
        ({"better": "more"}, "must be higher or lower"),
        ({"takes": ()}, "tuples of boxes and points"),
        ({"in_record_of": ("lines",)}, "tuples of boxes and points"),
        ({"function": None}, "function must be a function"),
    ],
)
def test_an_incomplete_metric_is_refused(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(MisuseError, match=message):
        shoal.register_metric(replace(METRIC, **changes))
    assert "mine" not in METRICS


def test_what_is_no_row_is_refused() -> None:
    with pytest.raises(MisuseError, match="an attack is an Adversary"):
        shoal.register_attack("points:4")  # type: ignore[arg-type]
    with pytest.raises(MisuseError, match="a metric is a Metric"):
        shoal.register_metric(len)  # type: ignore[arg-type]
    with pytest.raises(MisuseError, match="a method is a class"):
        shoal.register_method(shoal.Glove())  # type: ignore[type-var]


def test_an_incomplete_method_is_refused() -> None:
    mine = About(name="mine", title="Mine", techniques=(), claim=shoal.KAnonymity, publishes="boxes")

    @dataclass(frozen=True, kw_only=True)
    class Mine:
        k: int = k_parameter(meaning="nothing")

    with pytest.raises(MisuseError, match="Mine has no about"):
        shoal.register_method(Mine)  # type: ignore[type-var]
    Mine.about = mine  # type: ignore[attr-defined]
    with pytest.raises(MisuseError, match=r"the method 'mine' has no claim\(\)"):
        shoal.register_method(Mine)  # type: ignore[type-var]

    @dataclass(frozen=True, kw_only=True)
    class Undeclared(shoal.Glove):
        about: ClassVar[About] = mine
        width_m: float = 1.0

    with pytest.raises(MisuseError, match="parameter width_m of 'mine' needs a default"):
        shoal.register_method(Undeclared)

    @dataclass(frozen=True, kw_only=True)
    class Strange(shoal.Glove):
        about: ClassVar[About] = replace(mine, claim=str)  # type: ignore[arg-type]

    with pytest.raises(MisuseError, match="which no check is for; choose from KAnonymity"):
        shoal.register_method(Strange)
    assert "mine" not in METHODS


def test_an_attack_has_plain_words_by_default() -> None:
    assert (ATTACK.form, ATTACK.example, ATTACK.words) == ("mine", "mine", "knows nothing")
    assert ATTACK.wins == {"mine-linkage": "finds the right record of {rate} of the people"}


def test_a_metric_that_comes_later_can_be_a_budgets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(METRICS, "_rows", dict(METRICS._rows))
    shoal.register_metric(METRIC)
    assert metrics_of_every_release()[-1] == "mine"
    assert np.isclose(METRICS["mine"].function(None).value, 1)  # type: ignore[arg-type]
