"""Release folders written without a method, some with a page whose numbers look like identifiers."""

from pathlib import Path

from naive_release import naive_release
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Verdict
from shoal.release_folder.files import PUBLIC
from shoal.release_folder.manifest import (
    MANIFEST_FILE,
    RELEASE_FILE,
    REPORT_FILE,
    build_manifest,
    write_manifest,
)
from shoal.release_folder.tables import write_table
from shoal.verification import verify

REPORT = (
    f"<!doctype html><html><head>{PUBLIC}<style>:root {{ --ink: #1f77b4 }} .u17 "
    "{ margin: 0.5rem }</style></head><body><h1>Released with glove</h1><p>k = 2, 12 people, each subject, "
    "2008-06-03, day 10. The median is 0.123456789 km; 37.774929123 degrees.</p><p>curve = "
    "[0.1234567890123456, 27000000, 1212451200];</p></body></html>"
)


PAGE = f"<!doctype html>{PUBLIC}<h1>A release for k = 2</h1></body></html>"


def write_folder(folder: Path, release: Release, verdict: Verdict, page: str | None = None) -> Path:
    """A new folder with the table, the manifest and a page of this release, without asking what it holds."""
    folder.mkdir(parents=True)
    write_table(release, folder / RELEASE_FILE)
    if page is not None:
        (folder / REPORT_FILE).write_text(page, encoding="utf-8")
    write_manifest(build_manifest(release, verdict, folder / RELEASE_FILE), folder / MANIFEST_FILE)
    return folder


def written(original: Trajectories, folder: Path, report: str = REPORT) -> tuple[Path, Linkage]:
    """A sound release of these people, written as a folder."""
    release, linkage = naive_release(original, n_boxes=2)
    return write_folder(folder, release, verify(original, release, linkage), report), linkage
