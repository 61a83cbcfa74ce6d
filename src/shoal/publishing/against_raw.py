"""Release folders against their raw input, read again as the manifest says."""

import glob
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
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
from shoal.release_folder.manifest import Manifest, read_manifest
from shoal.runtime.run import Engine, Run
from shoal.runtime.staging import explain_write_errors
from shoal.scale.engines import require_shared
from shoal.verification.files.folder import with_notes
from shoal.verification.files.streamed import require_streamed, verify_streamed_folder

_COLUMNS: Final = ("id", "person", "time", "lat", "lon", "x", "y")
_CHECK: Final = ".check-"  # in the name of a scratch folder


@dataclass(frozen=True, eq=False, kw_only=True)
class VerificationResult:
    """A verdict, its manifest, and how the raw data was read."""

    verdict: Verdict
    manifest: Manifest
    intake: Intake

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
    return VerificationResult(verdict=verdict, manifest=read_manifest(folder), intake=original.intake)


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
    whole = folder.resolve()
    with (
        explain_write_errors(folder),
        TemporaryDirectory(dir=whole.parent, prefix=f".{whole.name}{_CHECK}") as scratch,
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
        return VerificationResult(
            verdict=add_claim_shortfalls(verdict, manifest, least), manifest=manifest, intake=people.intake
        )


def leftover_scratch_folders(folder: Path) -> list[Path]:
    """Scratch folders of streamed checks that were killed or are still running."""
    whole = folder.resolve()
    return sorted(whole.parent.glob(f".{glob.escape(whole.name)}{_CHECK}*"))


def read_raw_of(raw: Any, folder: Path, run: Run, **overrides: Any) -> Trajectories:
    """Read the raw input as the manifest says, but overrides."""
    return read_with(raw, raw_reading(folder, **overrides), run)
