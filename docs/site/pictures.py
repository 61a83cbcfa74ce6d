"""Draw the pictures of the tutorial: python docs/site/pictures.py.

It needs Chromium, as the tests of reports do. The blocks of the page run as they stand, and what they made
is photographed as a reader sees it.
"""

import contextlib
import io
import shutil
import tempfile
from pathlib import Path
from typing import Any, Final

from notebook import PAGE, steps

FOLDER: Final = PAGE.parent / "tutorial"
WIDTH: Final = 760
PICTURES: Final = {
    "people.png": ("calls", 460),
    "release.png": ("release", 460),
    "record.png": ("release/report.html", 620),
}
"""What each picture shows (a name of the page whose ``plot()`` is drawn, or a file), and its height in px."""


def main() -> None:
    """Run the page in a scratch folder and photograph what it made."""
    from playwright.sync_api import sync_playwright

    FOLDER.mkdir(exist_ok=True)
    browser_file = shutil.which("chromium") or shutil.which("google-chrome")
    with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch), sync_playwright() as session:
        names = _run_page()
        browser = session.chromium.launch(executable_path=browser_file, args=["--no-sandbox"])
        for name, (shown, height) in PICTURES.items():
            file = Path(scratch) / shown
            if not file.suffix:
                file = Path(scratch) / f"{shown}.html"
                names[shown].plot().update_layout(width=WIDTH, height=height).write_html(file)
            page = browser.new_page(viewport={"width": WIDTH, "height": height})
            page.goto(file.as_uri())
            page.wait_for_timeout(1000)
            _store(page.screenshot(), FOLDER / name)
        browser.close()


def _run_page() -> dict[str, Any]:
    """The names that the blocks of the page leave behind."""
    names: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        for code, _ in steps(PAGE.read_text(encoding="utf-8")):
            exec(compile(code, PAGE.name, "exec"), names)
    return names


def _store(screenshot: bytes, target: Path) -> None:
    """The picture with few colors, which keeps the repository small."""
    from PIL import Image

    Image.open(io.BytesIO(screenshot)).convert("RGB").quantize(64).save(target, optimize=True)


if __name__ == "__main__":
    main()
