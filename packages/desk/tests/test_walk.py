"""Who never used a terminal goes from a CSV to a record to sign, in a real browser, every step clicked."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pyarrow.parquet as pq

from browser import Browser, Tab
from desk_server import desk_at

WIDTHS = (1280, 390)


class Walker(Tab):
    """Who clicks through the steps."""

    def __init__(self, browser: Browser, address: str) -> None:
        super().__init__(browser)
        self.page.goto(address)
        self.home = address.partition("/enter")[0]

    def at(self, step: str) -> None:
        """Wait for a step, and look whether its page fits every screen."""
        self.page.wait_for_url(f"**/{step}")
        self.everywhere(step)

    def everywhere(self, name: str) -> None:
        for width in WIDTHS:
            self.look(name, width)

    def press(self, do: str, then: str = "") -> None:
        """Press a button, and wait for what it brings."""
        self.page.click(f'main button[value="{do}"]')
        if then:
            self.page.wait_for_selector(then)
            self.everywhere(then)

    def fill(self, **fields: str) -> None:
        for name, text in fields.items():
            self.page.fill(f'[name="{name.replace("__", "-")}"]', text)

    def choose(self, *selectors: str) -> None:
        for one in selectors:
            self.page.check(one)


def test_from_a_file_to_a_signed_record(desk_city: Path, tmp_path: Path, browser: Browser) -> None:
    folder = tmp_path / "case"
    with desk_at(folder) as address:
        walker = Walker(browser, address)
        page = walker.page
        walker.at("data")
        page.click('a[href$="/browse"]')
        page.goto(f"{walker.home}/browse?at={desk_city.parent}")
        page.click("button:has-text('city.csv')")
        page.wait_for_selector("#found")
        walker.everywhere("what was read")
        assert page.inner_text("#people") == "40"
        for box in page.query_selector_all("input[name=confirmed]"):
            box.check()
        walker.press("next")
        walker.at("people")
        walker.choose("input[value=person]")
        walker.press("start:unit", "#found")
        page.click("a.button")
        walker.at("whom")
        walker.choose("input[name=recipient][value=research]")
        walker.fill(purpose="Plan the night bus.", recipients_words="Two universities.")
        walker.press("next")
        walker.at("trade")
        page.uncheck("input[value=static]")
        page.uncheck("input[value=kte-hide]")
        walker.fill(ks="3", sample="20", tries="10")
        walker.press("start:study", "#found")
        assert page.inner_text("#found td[data-label='samples left out']") == "0 %"
        walker.choose("input[name=pick]")
        page.click("#found button")
        walker.at("release")
        walker.choose("input[name=private]")
        walker.press("start:release", "#risk")
        page.wait_for_selector("#written:focus")  # a screen reader says what came
        assert "The promise holds." in page.inner_text("#verdict")
        walker.press("start:shown_class", "#beliefs")
        row = pq.read_table(folder / "release" / "release.parquet").to_pylist()[0]
        lon, lat = inside(row)
        begins = datetime.fromtimestamp(row["t_start"], UTC)
        walker.fill(when__0=f"{begins:%Y-%m-%dT%H:%M}", lat__0=str(lat), lon__0=str(lon))
        walker.press("find", "#fit")
        assert page.inner_text("#fit strong").split()[0] >= "3"
        page.click("#risk a.button")
        walker.at("record")
        walker.fill(
            data_set="Calls of Northport", version="2027-1", reassess_on="2027-11-01", contact="dpo@x.example"
        )
        walker.press("start:record", "#signed")
        with browser.context.expect_page() as opened:
            page.click("#signed a.button")
        record = opened.value
        record.wait_for_load_state()
        told = record.inner_text("main")
        record.close()
        page.close()
    assert walker.wide == []
    assert walker.complaints == []
    places = {urlsplit(url).netloc for url in walker.requests if not url.startswith("data:")}
    assert places == {urlsplit(address).netloc}
    assert len(walker.requests) > 20
    assert_signed(told, folder, desk_city)


def inside(row: dict[str, Any]) -> tuple[float, float]:
    """A place inside a box, in degrees."""
    from shapely import wkb

    middle = wkb.loads(row["geometry"]).centroid
    return middle.x, middle.y


def assert_signed(told: str, folder: Path, desk_city: Path) -> None:
    """The record names what is signed, by digests that anybody can compute."""
    from shoal.runtime.files import sha256_of

    manifest = json.loads((folder / "release" / "manifest.json").read_text())
    wanted: Sequence[str] = (
        "Calls of Northport, 2027-1",
        "Plan the night bus.",
        "Two universities.",
        "2027-11-01",
        sha256_of(desk_city),
        sha256_of(folder / "release" / "release.parquet"),
        manifest["release_sha256"],
        "Strongest attack of any kind",
    )
    assert [text for text in wanted if text not in told] == []
    assert sorted(path.name for path in (folder / "release").iterdir()) == [
        "manifest.json",
        "release.parquet",
        "report.html",
    ]
    assert manifest["record"] == {"purpose": "Plan the night bus.", "recipients": "Two universities."}
