"""One publication computes each fact once, and the raw data passes few rooms on its way."""

import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from pkgutil import resolve_name
from types import FrameType
from typing import Any

import pytest

import shoal
from shoal.model.trajectories import Trajectories
from small_points import crowd
from small_releases import random_people

FACTS = {
    "covered samples": "shoal.utility.accuracy.covering_extents",
    "accuracy": "shoal.utility.facts.accuracy_of",
    "k-gaps": "shoal.utility.facts.k_gaps",
    "nearest others": "shoal.measures.nearest_pairs.NearPairs.nearest_others",
    "lost samples of points": "shoal.utility.facts._without_a_point",
    "distances of points": "shoal.utility.facts.space_distortion",
    "range queries": "shoal.utility.facts.ask",
    "who belongs to whom": "shoal.utility.facts.require_linked_records",
    "numbers of the record": "shoal.report.facts.evidence.release_facts",
    "density": "shoal.report.facts.release.density_map",
    "what was suppressed": "shoal.report.facts.evidence.vanished_of",
    "three questions": "shoal.report.facts.evidence.assess_release",
}
OF_BOXES = FACTS.keys() - {"lost samples of points", "distances of points"}
OF_POINTS = FACTS.keys()
CASES: dict[str, tuple[Callable[[], Trajectories], Callable[[], Any], set[str]]] = {
    "boxes": (lambda: random_people(30, 8, seed=1), lambda: shoal.Glove(k=2), set(OF_BOXES)),
    "points": (lambda: crowd(24), lambda: shoal.SwapLocations(k=3), set(OF_POINTS)),
}


def publish(kind: str, folder: Path) -> None:
    people, method, _ = CASES[kind]
    shoal.publish(
        people(),
        method(),
        folder / "release",
        rng=shoal.Randomness.for_research(1),
        linkage_file=folder / "linkage.parquet",
        tries=5,
        options=shoal.PublishOptions(private_report=folder / "private.html" if kind == "boxes" else None),
    )


@pytest.mark.parametrize("kind", CASES)
def test_each_fact_is_computed_once(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: Counter[str] = Counter()

    def counted(fact: str, honest: Callable[..., Any]) -> Callable[..., Any]:
        def call(*parts: Any, **named: Any) -> Any:
            calls[fact] += 1
            return honest(*parts, **named)

        return call

    for fact, place in FACTS.items():
        monkeypatch.setattr(place, counted(fact, resolve_name(place)))
    publish(kind, tmp_path)
    # as given and on the grid; of everybody, and of the few whose extents are compared with the least
    twice = {"who belongs to whom": 2} if kind == "points" else {"covered samples": 2}
    assert calls == dict.fromkeys(CASES[kind][2], 1) | twice


@pytest.mark.parametrize("kind", CASES)
def test_raw_data_passes_at_most_eight_rooms_on_its_way(kind: str, tmp_path: Path) -> None:
    people, method, _ = CASES[kind]
    original, rooms = people(), set()

    def seen(frame: FrameType, event: str, _arg: object) -> None:
        module = frame.f_globals.get("__name__", "")
        if event == "call" and module.startswith("shoal."):
            code = frame.f_code
            names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            if any(frame.f_locals.get(name) is original for name in names if name != "self"):
                rooms.add(module.split(".")[1])

    threading.setprofile(seen)
    sys.setprofile(seen)
    try:
        shoal.publish(original, method(), tmp_path / "release", rng=shoal.Randomness.for_research(1), tries=5)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    assert {"publishing", "methods", "verification", "utility"} <= rooms
    assert len(rooms) <= 8, rooms
    assert "report" not in rooms, "pages are made from facts"


METHODS_TRIED: dict[str, tuple[Callable[[], Any], bool]] = {
    "glove": (lambda: shoal.Glove(k=2), True),
    "kte-hide": (lambda: shoal.KteHide(k=2, tau_s=3600, epsilon_s=3600), True),
    "static": (lambda: shoal.StaticGeneralization(k=2, grid_m=20_000, slot_s=28_800), True),
    "swap-locations": (lambda: shoal.SwapLocations(k=3, time_threshold_s=3600), False),
    "nwa": (lambda: shoal.Nwa(k=2, delta_m=1000), False),
}


@pytest.mark.parametrize("name", METHODS_TRIED)
def test_a_claim_is_checked_once(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is read back from the files is what was checked, so its claim is not checked again."""
    make, snap = METHODS_TRIED[name]
    original = shoal.read(shoal.synthesize(30, 2, 1, layout="city"), snap=snap)

    def again(*_: object, **__: object) -> None:
        raise AssertionError("checked again")

    monkeypatch.setattr("shoal.verification.files.folder.verdict_on", again)
    published = shoal.publish(
        original, make(), tmp_path / "release", rng=shoal.Randomness.for_research(1), tries=0
    )
    assert published.manifest.verdict["holds"]
