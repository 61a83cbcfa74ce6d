"""Two publications at one place: the first is kept whole, and of the second nothing stays, no secret."""

from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal.errors import OutputError
from shoal.model.trace import trace_path
from shoal.publishing import publish as publishing


def test_of_the_later_one_no_secrets_stay(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place, links = tmp_path / "release", tmp_path / "linkage.parquet"
    finish = publishing.finish_release

    def meanwhile(*given: Any, **more: Any) -> Any:
        place.mkdir()
        (place / "of the first").touch()
        return finish(*given, **more)

    monkeypatch.setattr(publishing, "finish_release", meanwhile)
    city = shoal.read(shoal.synthesize(12, 1, 1))
    rng = shoal.Randomness.from_system()
    with pytest.raises(OutputError, match="release exists; choose another"):
        shoal.publish(city, shoal.Glove(k=2), place, rng=rng, tries=0, linkage_file=links)
    assert [path.name for path in tmp_path.iterdir()] == ["release"]
    assert [path.name for path in place.iterdir()] == ["of the first"]


def test_what_a_stopped_run_left_beside_the_linkage_is_named_at_once(tmp_path: Path) -> None:
    city, links = shoal.read(shoal.synthesize(12, 1, 1), snap=False), tmp_path / "linkage.parquet"

    def refusal() -> str:
        method, rng = shoal.SwapLocations(k=2, time_threshold_s=7_200.0), shoal.Randomness.for_research(1)
        with pytest.raises(OutputError) as refused:
            shoal.publish(city, method, tmp_path / "release", rng=rng, tries=0, linkage_file=links)
        return str(refused.value)

    links.touch()
    assert refusal().endswith("remove it first")
    (tmp_path / ".release.partial-0").mkdir()
    assert refusal().endswith(f"left {tmp_path / '.release.partial-0'}, remove both")
    trace_path(links).touch()
    left = f"{tmp_path / '.release.partial-0'}, {trace_path(links)}"
    assert refusal().endswith(f"left {left}, remove them all")
