"""Two publications at one place: the first is kept whole, and of the second nothing stays, no secret."""

from pathlib import Path
from typing import Any

import pytest

import shoal
from shoal.errors import OutputError
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
