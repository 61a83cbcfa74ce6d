"""The pages are for everybody: an accessibility checker, the keyboard alone, both widths, light and dark."""

import re
import threading
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

import shoal.local_pages
from browser import Browser
from desk_visits import Visitor
from shoal.local_pages.guard import COOKIE, HOST
from shoal.local_pages.serving import open_server
from shoal_desk.steps import STEPS
from shoal_desk.words import LANGUAGES

STYLE = (Path(shoal.local_pages.__file__).parent / "static" / "desk.css").read_text()
AS_SEEN = (("light", 1280), ("dark", 390))


class Outline(HTMLParser):
    """What a page has that its readers need, and what it lacks."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.headings: list[int] = []
        self.ids: Counter[str] = Counter()
        self.labels: set[str] = set()
        self.fields: list[tuple[dict[str, str | None], bool]] = []
        self.language: str | None = None
        self._inside_label = 0
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "html":
            self.language = given.get("lang")
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        if given.get("id"):
            self.ids[str(given["id"])] += 1
        if tag == "label":
            self._inside_label += 1
            self.labels.add(str(given.get("for")))
        if tag in ("input", "select") and given.get("type") != "hidden":
            self.fields.append((given, self._inside_label > 0))

    def handle_endtag(self, tag: str) -> None:
        self._inside_label -= tag == "label"


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_page_has_labels_headings_and_a_language(language: str, released: Visitor) -> None:
    choices = released.desk.case.choices()
    released.desk.case.change(choices.version, language=language)
    assert len(STEPS) == 6
    for step in STEPS:
        page = Outline(released.get(step).html)
        assert page.language == language
        assert page.headings[0] == 1
        assert page.headings.count(1) == 1
        assert max(b - a for a, b in zip(page.headings, page.headings[1:], strict=False)) <= 1
        assert [name for name, count in page.ids.items() if count > 1] == []
        unlabeled = [
            field
            for field, inside in page.fields
            if not inside and field.get("id") not in page.labels and "aria-label" not in field
        ]
        assert unlabeled == []
    released.desk.case.change(released.desk.case.choices().version, language="en")


def luminance(color: str) -> float:
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_text_stands_out_from_its_ground(scheme: int) -> None:
    colors = dict(
        re.findall(r"--([\w-]+): (#[0-9a-f]{6})", re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)[scheme])
    )
    pairs = [
        *(("ink", ground) for ground in ("ground", "panel", "good-bg", "bad-bg", "warn-bg")),
        *(("quiet", ground) for ground in ("ground", "panel")),
        *(("link", ground) for ground in ("ground", "panel", "bad-bg")),
        ("on-link", "link"),
        ("good", "good-bg"),
        ("bad", "bad-bg"),
        ("warn", "warn-bg"),
        ("ground", "good"),
    ]
    assert {pair for pair in pairs if contrast(colors[pair[0]], colors[pair[1]]) < 4.5} == set()
    assert contrast(colors["edge"], colors["ground"]) >= 3


@pytest.fixture(scope="module")
def address(released: Visitor) -> Iterator[str]:
    """Where the desk of somebody who has done everything answers."""
    server, listening, at = open_server(released.app, HOST, 0)  # type: ignore[arg-type]  # any ASGI application
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    yield f"{at}/{released.keys.prefix}"
    server.should_exit = True
    thread.join()
    listening.close()


@pytest.fixture
def page(browser: Browser, released: Visitor, address: str) -> Iterator[Any]:
    """A tab that may come in."""
    path = f"/{released.keys.prefix}/"
    cookie = {"name": COOKIE, "value": released.keys.cookie, "domain": HOST, "path": path}
    browser.context.add_cookies([{**cookie, "httpOnly": True, "sameSite": "Strict"}])
    tab = browser.context.new_page()
    yield tab
    tab.close()


@pytest.mark.parametrize(("scheme", "width"), AS_SEEN)
def test_the_checker_finds_nothing(
    scheme: str, width: int, page: Any, address: str, released: Visitor
) -> None:
    checker = pytest.importorskip("axe_playwright_python.sync_playwright", reason="axe-core is not installed")
    page.emulate_media(color_scheme=scheme)
    page.set_viewport_size({"width": width, "height": 900})
    record = Path(released.desk.case.choices().record).as_uri()
    for url in [*(f"{address}/{step}" for step in STEPS), f"{address}/browse", record]:
        page.goto(url)
        found = checker.Axe().run(page).response["violations"]
        assert [(url, one["id"], [node["html"] for node in one["nodes"]]) for one in found] == []


def test_the_keyboard_alone_sends_a_form(page: Any, address: str) -> None:
    page.goto(f"{address}/data")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    for _ in range(3):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "f-source":
            break
    assert page.evaluate("document.activeElement.id") == "f-source"
    page.keyboard.press("Control+A")
    page.keyboard.type("/nowhere/calls.csv")
    page.keyboard.press("Enter")
    page.wait_for_selector("#refused")
    assert "no file or folder" in page.inner_text("#refused")


def test_no_page_is_wider_than_its_screen_in_any_language(page: Any, address: str, released: Visitor) -> None:
    page.set_viewport_size({"width": 390, "height": 900})
    wide = []
    for language in LANGUAGES:
        released.desk.case.change(released.desk.case.choices().version, language=language)
        for step in STEPS:
            page.goto(f"{address}/{step}")
            if page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
                wide.append((language, step))
    released.desk.case.change(released.desk.case.choices().version, language="en")
    assert wide == []
