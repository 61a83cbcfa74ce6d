"""The rendered site: complete, without a dead link, and readable with no network."""

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import shoal
from browser import chromium

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "docs" / "site" / "build.py"


def render(source: Path, target: Path, *options: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(
        [sys.executable, str(BUILD), str(source), str(target), *options],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The whole site, rendered from a copy of the pages, by one of the workers for all of them."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "rendered-site"
    outcome = folder / "outcome"
    try:
        folder.mkdir()
    except FileExistsError:  # another worker is at it
        while not outcome.exists():
            time.sleep(0.5)
    else:
        _render_all(folder, outcome)
    assert outcome.read_text() == ""
    return folder / "built" / "html"


def _render_all(folder: Path, outcome: Path) -> None:
    """Render the site and say what went wrong, nothing if all is well; whatever happens, say something."""
    said = "rendering did not come to its end"
    try:
        for page in ("CONTRIBUTING.md", "CHANGELOG.md"):
            shutil.copy(ROOT / page, folder)
        ignored = shutil.ignore_patterns("_build", "reference", "site")
        shutil.copytree(ROOT / "docs", folder / "docs", ignore=ignored)
        done = render(folder / "docs", folder / "built")
        said = "" if done.returncode == 0 else done.stderr or f"exit code {done.returncode}"
    finally:
        whole = outcome.with_suffix(".part")
        whole.write_text(said)
        whole.rename(outcome)


def test_every_page_and_every_public_name_is_rendered(site: Path) -> None:
    pages = {page.relative_to(ROOT / "docs").with_suffix(".html") for page in ROOT.glob("docs/**/*.md")}
    pages = {page for page in pages if page.parts[0] not in ("_build", "site", "reference")}
    assert len(pages) > 50
    assert {page for page in pages if not (site / page).exists()} == set()
    reference = "".join(page.read_text() for page in (site / "reference").glob("*.html"))
    named = set(re.findall(r'<dt [^>]*id="shoal\.(\w+)"', reference))
    assert named == set(shoal.__all__) - {"__version__"}


def test_no_page_loads_anything_from_a_network(site: Path) -> None:
    elsewhere = re.compile(r"<(?:script|img|iframe|link)\b[^>]*(?:src|href)=\"(?:https?:)?//[^>]*>")
    pages = list(site.rglob("*.html"))
    assert len(pages) > 50
    assert [found for page in pages for found in elsewhere.findall(page.read_text())] == []
    styles = list(site.rglob("*.css"))
    assert styles
    assert [sheet for sheet in styles if re.search(r"url\(['\"]?(https?:)?//", sheet.read_text())] == []


def test_the_site_works_from_a_file_and_so_does_its_search(site: Path, tmp_path: Path) -> None:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    requests, complaints = [], []
    with playwright.sync_playwright() as session:
        browser = session.chromium.launch(executable_path=chromium(), args=["--no-sandbox"])
        page = browser.new_page()
        page.on("request", lambda request: requests.append(request.url))
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.goto((site / "index.html").as_uri())
        page.goto((site / "search.html").as_uri() + "?q=co-location")
        page.wait_for_selector("#search-results li a")
        results = page.locator("#search-results li a").all_text_contents()
        browser.close()
    assert any("NWA" in result for result in results)
    assert complaints == []
    assert {url for url in requests if not url.startswith(("file:", "data:"))} == set()


def test_a_dead_link_stops_the_site(tmp_path: Path) -> None:
    source = tmp_path / "docs"
    source.mkdir()
    (source / "page.md").write_text("# Page\n\n[a](gone.md)\n[b](#nowhere)\n[c](index.md#no-heading)\n")
    (source / "index.md").write_text("# All\n\n```{toctree}\npage\n```\n")
    done = render(source, tmp_path / "built", "-t", "without_reference")
    assert done.returncode != 0
    assert [wrong for wrong in ("gone.md", "nowhere", "no-heading") if f"'{wrong}'" not in done.stderr] == []
