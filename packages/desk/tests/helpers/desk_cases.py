"""A case that is ready for its last steps, made once; each test gets a copy."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from desk_visits import Visitor
from shoal.synthetic import synthesize


@pytest.fixture(scope="session")
def desk_city(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty people over a day, as a CSV file."""
    file = tmp_path_factory.mktemp("desk-data") / "city.csv"
    lines = ["uid,t,lat,lon"]
    lines += [",".join(map(str, row.values())) for row in synthesize(40, 1, 1, layout="city").to_pylist()]
    file.write_text("\n".join(lines) + "\n")
    return file


@pytest.fixture(scope="session")
def prepared(desk_city: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A case up to the choice of a method."""
    visitor = Visitor(tmp_path_factory.mktemp("desk-case") / "case")
    visitor.post("data", "start:data", source=str(desk_city))
    found = visitor.desk.work(visitor.desk.case.choices()).data
    assert found is not None
    assert found.state == "done"
    visitor.post("data", "next", confirm="yes", confirmed=list(found.result()["notes"]))
    visitor.post("people", "start:unit", unit="person")
    visitor.post("whom", "next", recipient="research", knows__research=["points:4", "downcoding"])
    visitor.post("trade", "next", direct="yes", method="glove", k="4")
    return visitor.folder


@pytest.fixture
def visitor(prepared: Path, tmp_path: Path) -> Visitor:
    """Somebody at a case up to the choice of a method."""
    shutil.copytree(prepared, tmp_path / "case")
    return Visitor(tmp_path / "case")


@pytest.fixture
def newcomer(tmp_path: Path) -> Visitor:
    """Somebody at an empty desk."""
    return Visitor(tmp_path / "case")


@pytest.fixture(scope="session")
def released(prepared: Path, tmp_path_factory: pytest.TempPathFactory) -> Visitor:
    """Somebody whose release is written, verified and attacked, and whose record is there."""
    folder = tmp_path_factory.mktemp("desk-released") / "case"
    shutil.copytree(prepared, folder)
    visitor = Visitor(folder)
    places: dict[str, Any] = {name: str(folder / name) for name in ("output", "linkage", "private_report")}
    page = visitor.post("release", "start:release", private="yes", **places)
    assert page.sentence == ""
    visitor.post("record", "start:record", data_set="Calls <of> Northport", version="2027-1")
    return visitor
