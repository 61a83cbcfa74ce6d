"""Draw the pictures of the tutorial: python docs/site/pictures.py.

It needs Chromium, as the tests of reports do. The blocks of the page run as they stand, and what they made
is photographed as a reader sees it.
"""

import contextlib
import io
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any, Final

from notebook import page_of, steps

FOLDER: Final = page_of("tutorial").with_suffix("")
WIDTH: Final = 760
RECORD: Final = "record.png"
SHOWS: Final = "shows"
PICTURES: Final = {
    "people.png": ("calls", 460),
    "release.png": ("release", 460),
    RECORD: ("release/report.html", 620),
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
            words = shown_words(file) if name == RECORD else ""
            _store(page.screenshot(), FOLDER / name, words)
        browser.close()


def _run_page() -> dict[str, Any]:
    """The names that the blocks of the page leave behind."""
    names: dict[str, Any] = {}
    with contextlib.redirect_stdout(io.StringIO()):
        for code, _ in steps(page_of("tutorial").read_text(encoding="utf-8")):
            exec(compile(code, page_of("tutorial").name, "exec"), names)
    return names


def shown_words(report: Path) -> str:
    """The words at the top of a record, without numbers and the attack, which differ from draw to draw.

    They lie in the picture, too, so that a test sees when the record has changed since.
    """
    page = re.sub(r'<p id="strongest">.*?</p>', "", report.read_text(encoding="utf-8"), flags=re.DOTALL)
    top = page[page.index("<h1>") : page.index("</dl>")]
    return " ".join(re.sub(r"<[^>]+>|[0-9][0-9,.]*", " ", top).split())


def words_in(picture: Path) -> str:
    """The words that were stored with a picture; empty where there are none."""
    data, position = picture.read_bytes(), 8
    while position < len(data):
        length = int.from_bytes(data[position : position + 4])
        kind, body = data[position + 4 : position + 8], data[position + 8 : position + 8 + length]
        if kind == b"iTXt" and body.startswith(SHOWS.encode()):
            return body.split(b"\0", 5)[-1].decode()
        position += 12 + length
    return ""


def _store(screenshot: bytes, target: Path, words: str) -> None:
    """The picture with few colors, which keeps the repository small, and with the words that it shows."""
    from PIL import Image
    from PIL.PngImagePlugin import PngInfo

    about = PngInfo()
    about.add_text(SHOWS, words)
    picture = Image.open(io.BytesIO(screenshot)).convert("RGB").quantize(64)
    picture.save(target, optimize=True, pnginfo=about)


if __name__ == "__main__":
    main()
