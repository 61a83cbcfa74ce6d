"""An argument of another type is refused in words, by every public function and constructor of settings."""

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import shoal
from shoal.methods.parameters import declared_parameters
from shoal.runtime.argument_types import typed

TABLES = {"register_attack", "register_method", "register_metric"}  # whose rows are checked one by one
CALLS = shoal.Trajectories.from_rows(["al", "al", "bo"], [0, 1, 0], [0, 1, 0], [0, 1, 0], grid=shoal.Grid())
FRAME = pd.DataFrame({"uid": ["secret"], "t": [1.7e9], "lat": [48.0], "lon": [2.0]})

WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: shoal.Glove(refine="no"), "refine = 'no' is not True or False"),  # type: ignore[arg-type]
    (lambda: shoal.Glove(extent_at_most=5), "extent_at_most = 5 is not text, such as LENGTH,DURATION"),  # type: ignore[arg-type]
    (lambda: shoal.Glove(hull=np.ones(2)), r"hull = \(of type ndarray\) is not text"),  # type: ignore[arg-type]
    (lambda: shoal.ReachLocations(streets="streets.osm"), "streets = 'streets.osm' is not a StreetGraph"),  # type: ignore[arg-type]
    (lambda: shoal.read(FRAME, cell_m="500m"), "cell_m = '500m' is not a number"),  # type: ignore[arg-type]
    (lambda: shoal.read(FRAME, snap="no"), "snap = 'no' is not True or False"),  # type: ignore[arg-type]
    (lambda: shoal.read(FRAME, id=FRAME["uid"]), r"id = \(of type Series\) is not text or None$"),
    (lambda: shoal.read(FRAME, run="quick"), "run = 'quick' is not a Run or None"),  # type: ignore[arg-type]
    (lambda: shoal.Grid(cell_m="100"), "cell_m = '100' is not a number"),  # type: ignore[arg-type]
    (lambda: shoal.Caps(space_cap_m=None), "space_cap_m = None is not a number"),  # type: ignore[arg-type]
    (lambda: shoal.k_gap(CALLS, caps=20_000), "caps = 20000 is not a Caps or None"),  # type: ignore[arg-type]
    (lambda: shoal.k_gaps(CALLS, 2), r"ks is a list; write ks=\[2\]"),  # type: ignore[arg-type]
    (lambda: shoal.AttackScope(targets="raw"), r"targets is a list; write targets=\['raw'\]"),  # type: ignore[arg-type]
    (lambda: shoal.AttackScope(targets=["row"]), "is not a list, each one of raw, release, control"),  # type: ignore[list-item]
    (lambda: shoal.PublishOptions(resume=1), "resume = 1 is not True or False"),  # type: ignore[arg-type]
    (lambda: shoal.SeriesOptions(state=5), "state = 5 is not a path"),  # type: ignore[arg-type]
    (lambda: shoal.Run(threads="two"), "threads = 'two' is not a whole number"),  # type: ignore[arg-type]
    (lambda: shoal.KAnonymity(k=2, truthful="yes"), "truthful = 'yes' is not True or False"),  # type: ignore[arg-type]
    (lambda: shoal.Statement(publisher=5), "publisher: must be a text"),
    (lambda: shoal.Statement(reassess_on="soon"), "reassess_on: must be a date such as 2024-01-31"),
    (lambda: shoal.Statement(owner="me"), "owner: no such entry; known: data_set, version"),
    (lambda: shoal.Statement(reasses_on="2027-01-31"), "reasses_on: .*; did you mean reassess_on. known"),
    (
        lambda: shoal.Statement(earlier_releases=[{"name": "a", "overlaps": "b"}]),
        "; did you mean overlap. known",
    ),
    (lambda: shoal.synthesize("60", 1, 1), "n_subjects = '60' is not a whole number"),  # type: ignore[arg-type]
    (lambda: CALLS.plot(at_most="all"), "at_most = 'all' is not a whole number"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("call", "words"), WRONG)
def test_a_wrong_type_is_one_line(call: Callable[[], Any], words: str) -> None:
    with pytest.raises(shoal.MisuseError, match=words) as refused:
        call()
    assert "secret" not in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1


@pytest.mark.parametrize("name", shoal.METHODS)
def test_a_switch_of_a_method_takes_no_text(name: str) -> None:
    declared = declared_parameters(shoal.METHODS[name])
    switches = [each for each, about in declared.items() if about.switch or about.spelled]
    wrong: Any
    for each in (*switches, "k"):
        for wrong in ("no", 0, None, np.ones(2)):
            with pytest.raises(shoal.MisuseError, match=f"{each} = "):
                shoal.METHODS[name](**{each: wrong})


def test_every_public_function_refuses_wrong_types() -> None:
    functions = {name for name in shoal.__all__ if inspect.isfunction(getattr(shoal, name))}
    assert len(functions) > 20
    assert {name for name in functions if not hasattr(getattr(shoal, name), "__wrapped__")} == TABLES


def test_numbers_of_numpy_and_paths_of_text_are_taken() -> None:
    @typed
    def echo(number: float, whole: int = 1, flag: bool = True, path: Path | None = None) -> tuple[Any, ...]:
        return number, whole, flag, path

    assert echo(np.float32(0.5), np.int64(3), np.bool_(False), "a") == (0.5, 3, False, Path("a"))  # type: ignore[arg-type]
    with pytest.raises(TypeError, match=r"echo\(\) missing 1 required positional argument: 'number'"):
        echo()  # type: ignore[call-arg]
