"""Releases where they lie, also in another format, and how they describe themselves (``shoal inspect``)."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np

from shoal.errors import InputError
from shoal.io.sources import object_stores, servers
from shoal.messages import program
from shoal.model.claims import claim_to_json
from shoal.model.claims.expected import numbers_in_words
from shoal.model.release import Boxes, Release
from shoal.model.verdicts import Finding
from shoal.publishing.exported import as_release_folder, is_export
from shoal.publishing.exporting import PACKAGE_FILE
from shoal.publishing.in_database import fetch_from_database
from shoal.release_folder.manifest import MANIFEST_FILE, RELEASE_FILE
from shoal.units import counted

_NAME: Final = "release"


@dataclass(frozen=True, kw_only=True)
class LocalRelease:
    """A local release, with findings and notes on its storage."""

    folder: Path
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def remarks(self) -> tuple[str, ...]:
        """Findings and notes in sentences."""
        return (
            *(f"look at it with shoal verify: {finding.message}" for finding in self.findings),
            *self.notes,
        )


@contextmanager
def open_release(place: Path | str, *, as_written: bool = False) -> Iterator[LocalRelease]:
    """A release (folder, store, tables) as a local folder, while the block lasts.

    A copy can be read by its owner only. as_written: leave another format, for ``verify_folder``.
    """
    with ExitStack() as stack:
        opened = _fetch(place, stack)
        if not as_written:
            folder, findings, notes = stack.enter_context(as_release_folder(opened.folder))
            opened = LocalRelease(
                folder=folder, findings=(*opened.findings, *findings), notes=(*opened.notes, *notes)
            )
        yield opened


def _fetch(place: Path | str, stack: ExitStack) -> LocalRelease:
    if isinstance(place, Path):
        return LocalRelease(folder=place)
    in_store = object_stores.is_address(place)
    if not in_store and not servers.is_place(place):
        return LocalRelease(folder=Path(place))
    folder = Path(stack.enter_context(TemporaryDirectory(prefix="shoal-"))) / _NAME
    folder.mkdir()
    stack.enter_context(_without_copy_path(folder))
    if not in_store:
        findings, notes = fetch_from_database(place, folder)
        return LocalRelease(folder=folder, findings=tuple(findings), notes=tuple(notes))
    object_stores.fetch(place, folder)
    if not (folder / RELEASE_FILE).exists() and not (folder / PACKAGE_FILE).exists():
        raise InputError(
            f"there is no complete release at that address: it has neither {RELEASE_FILE} nor "
            f"{PACKAGE_FILE}, which is written last"
        )
    return LocalRelease(folder=folder)


@contextmanager
def _without_copy_path(folder: Path) -> Iterator[None]:
    try:
        yield
    except InputError as error:
        message = error.cli_message.replace(f"{folder}/", "").replace(str(folder), "the release")
        raise InputError(message) from error


@dataclass(frozen=True, eq=False, kw_only=True)
class ReleaseFacts:
    """A release, its first and last second since 1970, and its extent in meters."""

    release: Release
    first_s: float
    last_s: float
    east_m: float
    north_m: float

    def to_json(self) -> dict[str, Any]:
        """The document of ``shoal inspect --json``."""
        release = self.release
        return {
            "release_of": release.kind,
            "method": release.method,
            "claim": claim_to_json(release.claim),
            "promise": release.claim.promise,
            "unit_of_protection": release.unit_of_protection,
            "records": release.n_records,
            "rows": release.n_samples,
            "first_time": _format_time(self.first_s),
            "last_time": _format_time(self.last_s),
            "extent_east_km": round(self.east_m / 1000, 3),
            "extent_north_km": round(self.north_m / 1000, 3),
            "crs": release.crs,
            "publishable": release.publishable,
            "next": f"{program()} verify RAW RELEASE --linkage LINKAGE.parquet",
        }

    def lines(self) -> list[str]:
        """The same as lines of text."""
        release = self.release
        bare = [f"this is no anonymity: {release.claim.no_anonymity}"] if release.claim.no_anonymity else []
        return [
            f"a release of {release.kind} by {release.method}: {counted(release.n_records, 'record')}, "
            f"{counted(release.n_samples, 'row')}",
            f"claim, as its manifest states it: {release.claim.name} ({numbers_in_words(release.claim)})",
            f"it promises: {release.claim.promise}",
            *bare,
            f"protected: {release.unit_of_protection}",
            f"from {_format_time(self.first_s)} to {_format_time(self.last_s)} (UTC), "
            f"{self.east_m / 1000:,.1f} km x {self.north_m / 1000:,.1f} km",
            *([] if release.publishable else ["made with a research seed: NOT FOR PUBLICATION"]),
            "nothing of this was checked: shoal verify RAW RELEASE --linkage LINKAGE.parquet does",
        ]


def is_release(source: str) -> bool:
    """Whether a source is a release, not raw data."""
    if object_stores.is_address(source):
        return object_stores.holds(source, MANIFEST_FILE)
    if servers.is_place(source):
        return "#" in source
    folder = Path(source)
    has_table = (folder / RELEASE_FILE).is_file() or is_export(folder)
    return has_table and (folder / MANIFEST_FILE).is_file()


def facts_of(release: Release) -> ReleaseFacts:
    """Times and extent; raises InputError for no rows, or impossible times."""
    if not release.n_samples:
        raise InputError("the release holds no rows, so there is nothing to tell of them")
    payload = release.payload
    if isinstance(payload, Boxes):
        grid = release.snapped_grid()
        times = payload.t_start * grid.slot_s, payload.t_end * grid.slot_s
        reach = [
            grid.cell_m * float(high.max() - low.min())
            for low, high in ((payload.x_min, payload.x_max), (payload.y_min, payload.y_max))
        ]
    else:
        times = payload.t, payload.t
        reach = [float(np.ptp(payload.x)), float(np.ptp(payload.y))]
    first_s, last_s = float(times[0].min()), float(times[1].max())
    return ReleaseFacts(release=release, first_s=first_s, last_s=last_s, east_m=reach[0], north_m=reach[1])


def _format_time(seconds: float) -> str:
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    except (ValueError, OverflowError, OSError) as error:
        raise InputError(
            f"the release has a time that no calendar knows: {seconds:g} s since 1970"
        ) from error
