"""Every page in a real browser, at desk and phone width.

Nothing asked of a network, nothing complained about, nothing cut off.
"""

from functools import cache
from pathlib import Path

import pytest

import shoal
from browser import Browser
from shoal.model.verdicts import Verdict
from shoal.release_folder.manifest import Statement
from shoal.report.pages.assessment import assessment_report
from small_points import crowd
from small_releases import naive_release, plausible_gap, random_people, record_of

LAEA = "+proj=laea +lat_0=48.9 +lon_0=2.3 +datum=WGS84 +units=m +no_defs"


@pytest.mark.parametrize("kind", ["public", "private", "tiny", "points", "assessment"])
def test_a_page_works_offline_at_desk_and_on_a_phone(kind: str, tmp_path: Path, browser: Browser) -> None:
    html = page_of(kind)
    file = tmp_path / f"{kind}.html"
    file.write_text(html, encoding="utf-8")
    seen = browser.visit(file)
    assert len(html) < 200_000
    assert seen.cut_off == ()
    assert seen.requests == ()
    assert seen.complaints == ()
    assert seen.overflowing == ()
    assert seen.clashes == ()
    assert (
        seen.drawn == seen.plots == {"public": 7, "private": 7, "tiny": 4, "points": 4, "assessment": 3}[kind]
    )


def test_the_checker_finds_nothing_on_a_dark_phone(tmp_path: Path, browser: Browser) -> None:
    checker = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-core is not installed")
    file = tmp_path / "page.html"
    file.write_text(page_of("public"), encoding="utf-8")
    tab = browser.context.new_page()
    tab.emulate_media(color_scheme="dark")
    tab.set_viewport_size({"width": 390, "height": 900})
    tab.goto(file.as_uri())
    tab.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
    found = checker.Axe().run(tab).response["violations"]
    colors = tab.evaluate(
        "[document.body, document.querySelector('.plot .line, .plot .outline')].map("
        "one => [getComputedStyle(one).backgroundColor, getComputedStyle(one).stroke])"
    )
    tab.close()
    assert [(one["id"], [node["html"] for node in one["nodes"]]) for one in found] == []
    assert colors[0][0] == "rgb(18, 24, 30)"
    assert colors[1][1] not in {"none", "rgb(0, 0, 0)"}


def test_an_attack_is_one_line_and_no_line_ends_within_an_option(tmp_path: Path, browser: Browser) -> None:
    file = tmp_path / "page.html"
    file.write_text(page_of("public"), encoding="utf-8")
    tab = browser.context.new_page()
    tab.set_viewport_size({"width": 1280, "height": 800})
    tab.goto(file.as_uri())
    beside = tab.evaluate(
        "[...document.querySelectorAll('#risk td .of')].map("
        "one => one.getBoundingClientRect().top < one.previousElementSibling.getBoundingClientRect().bottom)"
    )
    lines = []
    for width in range(380, 440, 4):  # some of these end a line within a broken option
        tab.set_viewport_size({"width": width, "height": 800})
        lines += tab.evaluate(
            "[...document.querySelectorAll('.whole')].map(one => one.getClientRects().length).filter(Boolean)"
        )
    tab.close()
    assert beside
    assert all(beside)
    assert set(lines) == {1}


@cache
def page_of(kind: str) -> str:
    if kind == "points":
        return page_of_points()
    original = random_people(
        3 if kind == "tiny" else 302, 4 if kind == "tiny" else 30, crs=None if kind == "tiny" else LAEA
    )
    release, linkage = naive_release(original, k=3, publishable=kind != "private", suppress=kind == "public")
    gaps = [plausible_gap(original.n_subjects, k) for k in (2, 5)]
    return (
        assessment_report(original, gaps)
        if kind == "assessment"
        else record_of(
            original,
            release,
            linkage,
            Verdict.of([], checked=release.n_records),
            gaps,
            tries=20 if kind == "tiny" else 1000,
            statement=Statement(
                purpose="To see whether long words of a purpose leave their place on a phone " * 3
            ),
            private=kind == "private",
        )
    )


def page_of_points() -> str:
    original = crowd(60)
    release, linkage = shoal.W4m(k=3).anonymize(original, shoal.Randomness.from_system())
    return record_of(
        original,
        release,
        linkage,
        shoal.verify(original, release, linkage),
        [plausible_gap(original.n_subjects, k) for k in (2, 5)],
        tries=1000,
        statement=Statement(
            purpose="To see whether long words of a purpose leave their place on a phone " * 3
        ),
    )


def test_the_visit_itself_notices_what_it_is_for(tmp_path: Path, browser: Browser) -> None:
    file = tmp_path / "bad.html"
    file.write_text(
        '<!DOCTYPE html><div class="plot" style="width: 3000px">wide</div>'
        '<b class="matters" style="position: absolute; left: 500px">rate</b>'
        '<img src="http://127.0.0.1:9/absent.png"><script>throw new Error("broken")</script>',
        encoding="utf-8",
    )
    seen = browser.visit(file)
    assert seen.requests
    assert any("broken" in complaint for complaint in seen.complaints)
    assert seen.overflowing == (1280, 390)
    assert seen.cut_off == ("at 390: rate",)
    assert (seen.plots, seen.drawn) == (1, 0)
