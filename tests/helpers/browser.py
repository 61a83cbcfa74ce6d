"""Open a page from a file in headless Chromium, without a network, and say what it did."""

import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

_NAMES: Final = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_FLAGS: Final = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@dataclass(frozen=True, kw_only=True)
class Visit:
    """What a page did. requests: addresses other than the page itself.

    complaints: console errors and warnings, uncaught exceptions.

    overflowing: widths in pixels at which the page scrolls sideways. plots, drawn: places for drawings, and
    those that hold one. clashes: labels of a drawing that lie on one another or are cut off, at some width.
    cut_off: the columns of tables that matter and need a sideways scroll to be read.
    """

    requests: tuple[str, ...]
    complaints: tuple[str, ...]
    overflowing: tuple[int, ...]
    plots: int
    drawn: int
    clashes: tuple[str, ...]
    cut_off: tuple[str, ...]


def chromium() -> str:
    """The installed browser; the test is skipped, visibly, where there is none."""
    path = next((found for name in _NAMES if (found := shutil.which(name))), None)
    if path is None:
        pytest.skip(f"no Chromium on the path (looked for {', '.join(_NAMES)})")
    return path


@contextmanager
def browsing(folder: Path) -> Iterator["Browser"]:
    """A browser with a fresh profile in a folder, for several visits."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    with playwright.sync_playwright() as session:
        context = session.chromium.launch_persistent_context(
            str(folder / "profile"),
            executable_path=chromium(),
            headless=True,
            args=list(_FLAGS),
            viewport={"width": 1280, "height": 900},
        )
        context.set_default_timeout(600_000)  # milliseconds; a busy machine compiles for minutes
        yield Browser(context)
        context.close()


class Tab:
    """A tab, with everything that it asked for and complained of, and the pages that were too wide."""

    def __init__(self, browser: "Browser") -> None:
        self.page = browser.context.new_page()
        self.requests: list[str] = []
        self.complaints: list[str] = []
        self.wide: list[str] = []
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on(
            "console",
            lambda said: self.complaints.append(said.text) if said.type in {"error", "warning"} else None,
        )

    def look(self, name: str, width: int) -> None:
        """Note a page that scrolls sideways at this width; without its styles any page does."""
        self.page.wait_for_load_state()
        self.page.set_viewport_size({"width": width, "height": 900})
        if self.page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
            self.wide.append(f"{name} at {width}")


@dataclass(frozen=True)
class Browser:
    """context: of playwright."""

    context: Any

    def visit(self, page_file: Path, widths: Sequence[int] = (1280, 390)) -> Visit:
        """Open ``page_file`` at each width, in a tab of its own."""
        requests: list[str] = []
        complaints: list[str] = []
        overflowing: list[int] = []
        clashes: list[str] = []
        cut_off: list[str] = []
        plots = drawn = 0
        address = page_file.resolve().as_uri()
        page = self.context.new_page()
        page.on("request", lambda request: requests.append(request.url))
        page.on(
            "console",
            lambda message: complaints.append(message.text) if message.type in {"error", "warning"} else None,
        )
        page.on("pageerror", lambda error: complaints.append(str(error)))
        for width in widths:
            page.set_viewport_size({"width": width, "height": 900})
            page.goto(address)
            if page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
                overflowing.append(width)
            plots = page.locator(".plot").count()
            drawn = page.evaluate(
                "[...document.querySelectorAll('.plot')].filter(plot => "
                "plot.querySelector('svg .axis')).length"
            )
            cut_off += [f"at {width}: {text}" for text in page.evaluate(_CUT_OFF)]
            clashes += [f"at {width}: {pair}" for pair in page.evaluate(_CLASHES)]
        page.close()
        return Visit(
            requests=tuple(url for url in requests if url != address and not url.startswith("data:")),
            complaints=tuple(complaints),
            overflowing=tuple(overflowing),
            plots=plots,
            drawn=drawn,
            clashes=tuple(clashes),
            cut_off=tuple(cut_off),
        )


_CUT_OFF: Final = """
[...document.querySelectorAll('.matters')].filter(column => column.getBoundingClientRect().right > innerWidth)
  .map(column => column.textContent)
"""
_CLASHES: Final = """
[...document.querySelectorAll('.plot')].flatMap(plot => {
  const frame = plot.getBoundingClientRect();
  const texts = [...plot.querySelectorAll('text, .legend li')];
  const boxes = texts.map(text => [text.textContent, text.getBoundingClientRect()])
    .filter(([, box]) => box.width > 0);
  const beyond = p => p.left < frame.left - 1 || p.right > frame.right + 1
    || p.top < frame.top - 1 || p.bottom > frame.bottom + 1;
  const cut = boxes.filter(([, p]) => beyond(p));
  const upon = boxes.flatMap(([a, p], i) => boxes.slice(i + 1).filter(([, q]) =>
    p.left < q.right - 1 && q.left < p.right - 1 && p.top < q.bottom - 1 && q.top < p.bottom - 1
  ).map(([b]) => plot.id + ': ' + a + ' / ' + b));
  return [...upon, ...cut.map(([a]) => plot.id + ': ' + a + ' is cut off')];
})
"""
