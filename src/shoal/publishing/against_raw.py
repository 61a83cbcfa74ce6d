"""Release folders against their raw input, read again as the manifest says."""

import glob
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any, Final

from shoal.errors import MisuseError
from shoal.io import read_with
from shoal.io.disk.storing import store_people
from shoal.model.claims import Claim, claim_from_json, claim_to_json
from shoal.model.claims.expected import ExpectedClaim
from shoal.model.intake import Intake
from shoal.model.release import Linkage
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Verdict
from shoal.publishing.exported import as_release_folder, is_read_at_once
from shoal.publishing.promised import add_claim_shortfalls, open_folder, verify_opened
from shoal.release_folder.folder import raw_reading
from shoal.release_folder.manifest import MANIFEST_FILE, RELEASE_FILE, Manifest, read_manifest
from shoal.runtime.files import sha256_of
from shoal.runtime.run import Engine, Run
from shoal.runtime.staging import explain_write_errors
from shoal.scale.engines import require_shared
from shoal.verification.files.folder import with_notes
from shoal.verification.files.streamed import require_streamed, verify_streamed_folder

_COLUMNS: Final = ("id", "person", "time", "lat", "lon", "x", "y")
_CHECK: Final = ".check-"  # in the name of a scratch folder


@dataclass(frozen=True, eq=False, kw_only=True)
class VerificationResult:
    """A verdict, its manifest, how the raw data was read, and the SHA-256 of the files of the release.

    sha256: by file; of an export, the manifest alone.
    """

    verdict: Verdict
    manifest: Manifest
    intake: Intake
    sha256: Mapping[str, str]

    @property
    def claim(self) -> Claim:
        """The claim that was checked."""
        return claim_from_json(self.manifest.claim)

    @property
    def columns(self) -> dict[str, str]:
        """The columns that were read, by role."""
        named = {name: getattr(self.intake.reading, name) for name in _COLUMNS}
        return {name: column for name, column in named.items() if column is not None}

    def to_json(self) -> dict[str, Any]:
        """As ``verified`` in ``shoal verify --json``."""
        manifest = self.manifest
        return {
            "method": manifest.method,
            "claim": claim_to_json(self.claim),
            "unit_of_protection": self.intake.unit_of_protection,
            "crs": manifest.crs,
            "cell_m": manifest.cell_m,
            "slot_s": manifest.slot_s,
            "columns": self.columns,
            "rows_read": self.intake.rows_read,
            "rows_dropped": dict(self.intake.dropped),
            "rows_repaired": dict(self.intake.repaired),
            "sha256": dict(self.sha256),
        }


def verify_against_raw(
    raw: Any,
    folder: Path,
    linkage: Linkage | None,
    run: Run,
    *,
    expected: str | None = None,
    **overrides: Any,
) -> VerificationResult:
    """Read raw input as the manifest says (but ``overrides``), and check the folder."""
    with open_folder(folder, run) as opened:
        original = read_raw_of(raw, folder, run, **overrides)
        verdict = verify_opened(original, opened, linkage, expected=expected, run=run)
        table = opened.looked.rows().sha256 if (folder / RELEASE_FILE).is_file() else None
    return VerificationResult(
        verdict=verdict,
        manifest=read_manifest(folder),
        intake=original.intake,
        sha256=_digests(folder, table),
    )


def _digests(folder: Path, table: str | None) -> dict[str, str]:
    manifest = folder / MANIFEST_FILE
    digests = {RELEASE_FILE: table, MANIFEST_FILE: sha256_of(manifest) if manifest.is_file() else None}
    return {name: digest for name, digest in digests.items() if digest is not None}


def stream_against_raw(
    raw: Any,
    folder: Path,
    linkage: Linkage,
    run: Run,
    *,
    engine: Engine | None = None,
    expected: str | None = None,
    **overrides: Any,
) -> VerificationResult:
    """As ``verify_against_raw``, with little memory, and secret scratch files."""
    if is_read_at_once(folder):
        raise MisuseError(
            "a release in another format is read and checked as a whole, but for parquet-parts; leave out "
            "--streamed, or check the release that it was made from"
        )
    require_streamed(folder)
    beside, prefix = _scratch_place(folder), f".{folder.resolve().name}{_CHECK}"
    with (
        explain_write_errors(beside),
        TemporaryDirectory(dir=beside, prefix=prefix) as scratch,
        as_release_folder(folder, Path(scratch)) as (checked, findings, notes),
    ):
        require_shared(engine, Path(scratch))
        people = store_people(
            raw, raw_reading(folder, **overrides), Path(scratch) / "people", run, engine=engine
        )
        (Path(scratch) / "spread").mkdir()
        spread = Path(scratch) / "spread"
        verdict = verify_streamed_folder(people, checked, linkage, spread, run, engine=engine)
        verdict = with_notes(verdict.with_findings(findings), notes)
        manifest = read_manifest(folder)
        least = None if expected is None else ExpectedClaim.parse(expected)
        table = folder / RELEASE_FILE
        return VerificationResult(
            verdict=add_claim_shortfalls(verdict, manifest, least),
            manifest=manifest,
            intake=people.intake,
            sha256=_digests(folder, sha256_of(table) if table.is_file() else None),
        )


def leftover_scratch_folders(folder: Path) -> list[Path]:
    """Scratch folders of streamed checks that were killed or are still running."""
    pattern = f".{glob.escape(folder.resolve().name)}{_CHECK}*"
    return sorted(_scratch_place(folder).glob(pattern))


def _scratch_place(folder: Path) -> Path:
    """Next to the folder, or the system's temporary folder where nothing can be written there."""
    parent = folder.resolve().parent
    return parent if os.access(parent, os.W_OK) else Path(gettempdir())


def read_raw_of(raw: Any, folder: Path, run: Run, **overrides: Any) -> Trajectories:
    """Read the raw input as the manifest says, but overrides."""
    return read_with(raw, raw_reading(folder, **overrides), run)
