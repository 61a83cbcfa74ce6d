"""Release folders against their raw data, and their claim against their method's and the expected one."""

import glob
import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import Any, Final

from shoal.errors import MisuseError
from shoal.io import read_with
from shoal.io.disk.storing import store_people
from shoal.methods import METHODS
from shoal.methods.method import NeedsWholeSteps
from shoal.methods.parameters import declared_parameters
from shoal.model.argument_checks import require_linkage, require_trajectories
from shoal.model.claims import Claim, claim_from_json, claim_to_json
from shoal.model.claims.expected import ExpectedClaim
from shoal.model.intake import Intake, Reading
from shoal.model.release import Linkage
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Finding, Verdict
from shoal.publishing.exported import OTHER_DIGEST, as_release_folder, is_read_at_once
from shoal.release_folder.folder import raw_reading
from shoal.release_folder.manifest import MANIFEST_FILE, RELEASE_FILE, Manifest, UsefulnessJson, read_manifest
from shoal.runtime.argument_types import typed
from shoal.runtime.files import local_path, sha256_of
from shoal.runtime.run import Engine, Run
from shoal.runtime.staging import explain_write_errors
from shoal.scale.engines import require_shared
from shoal.utility.usefulness import USES
from shoal.verification.files.folder import FolderReading, read_in_background, verify_reading, with_notes
from shoal.verification.files.streamed import require_streamed, verify_streamed_folder
from shoal.verification.leaks.digests import find_hashed_names
from shoal.verification.leaks.raw_identifiers import RawIdentifiers
from shoal.version import __version__

STRANGE_METHOD: Final = (
    "this version does not know the method that the manifest names: name and parameters were not looked at"
)
_STRANGE: Final = (MisuseError, TypeError, ValueError, ArithmeticError)  # for what no release of a method has
_DIGEST_OF_ONE: Final = f"{MANIFEST_FILE}: the SHA-256 of its table is that of a raw identifier"
UNKNOWN_METHOD: Final = (
    "whether this is the whole claim of the method that the manifest names (needs a method and parameters "
    "that this version knows, or an expected claim: --claim)"
)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class FolderInCheck:
    """A release folder that is being read; findings, notes: on an export's files."""

    folder: Path
    reading: FolderReading
    findings: list[Finding]
    notes: list[str]


@contextmanager
def open_folder(folder: Path, run: Run) -> Iterator[FolderInCheck]:
    """Read a release folder, or an export, in the background of the block."""
    with as_release_folder(folder) as (whole, findings, notes), read_in_background(whole, run) as reading:
        yield FolderInCheck(folder=folder, reading=reading, findings=findings, notes=notes)


@typed
def verify_folder(
    original: Trajectories,
    folder: Path | str,
    linkage: Linkage | None = None,
    *,
    expected: str | None = None,
    run: Run | None = None,
) -> Verdict:
    """Check a written release folder against the raw data it was made from.

    What can be read and is wrong is a finding, not an error.

    Parameters
    ----------
    original
        The raw data, read as the manifest says.
    folder
        The release folder, or what ``shoal publish`` made of it in another format.
    linkage
        Who became which record. Without it, parts of every claim are unchecked, and the claim does not hold.
    expected
        The least that the release must claim, such as ``"k-anonymity:5,truthful"``. None: what releases of
        its method claim.
    run
        How to carry out the work; local and silent by default.

    Returns
    -------
    Verdict
        On the claim, and whether it is the whole one; on the agreement of table and manifest; and on what
        leaks around the claim.

    Raises
    ------
    InputError
        When the folder cannot be read.
    MisuseError
        When the raw data is not snapped and the folder holds boxes, or the other way round; or when what is
        expected cannot be read.

    Examples
    --------
    >>> import shoal
    >>> calls = shoal.read(shoal.synthesize(n_subjects=20, days=1, seed=1))
    >>> rng, file = shoal.Randomness.for_research(1), "linkage.parquet"
    >>> _ = shoal.publish(calls, shoal.Glove(k=2), "release", rng=rng, linkage_file=file, tries=0)
    >>> linkage = shoal.read_linkage(file)
    >>> shoal.verify_folder(calls, "release", linkage, expected="k-anonymity:2").holds
    True
    """
    require_trajectories(original)
    require_linkage(linkage)
    folder, run = local_path(folder, "a release folder"), run or Run()
    with open_folder(folder, run) as opened:
        return verify_opened(original, opened, linkage, expected=expected, run=run)


def verify_opened(
    original: Trajectories, opened: FolderInCheck, linkage: Linkage | None, *, expected: str | None, run: Run
) -> Verdict:
    """As ``verify_folder``, of a folder that is being read."""
    least = None if expected is None else ExpectedClaim.parse(expected)
    verdict = verify_reading(original, opened.reading, linkage, run=run)
    verdict = with_notes(verdict.with_findings(opened.findings), opened.notes)
    manifest = read_manifest(opened.folder)
    if manifest.release_sha256 != opened.reading.manifest.release_sha256:  # of an export
        verdict = with_notes(verdict, [OTHER_DIGEST])
        if find_hashed_names(RawIdentifiers.of(original).digests, [manifest.release_sha256]):
            verdict = verdict.with_findings([Finding("raw-identifier", _DIGEST_OF_ONE)])
    return add_claim_shortfalls(verdict, manifest, least)


def add_claim_shortfalls(verdict: Verdict, manifest: Manifest, expected: ExpectedClaim | None) -> Verdict:
    """Findings where the claim is less than its method's, or than expected."""
    claim = claim_from_json(manifest.claim)
    whole = claim_of_method(manifest)
    reading = Reading(**manifest.reading)
    findings = list(_shortfalls(claim, expected, reading, "is expected"))
    if whole is not None:
        usual = "releases of its method and parameters claim"
        findings += _shortfalls(claim, ExpectedClaim.of(whole), reading, usual)
    elif expected is None:
        verdict = verdict.with_unchecked(UNKNOWN_METHOD)
    if manifest.method not in METHODS:
        verdict = with_notes(verdict, [STRANGE_METHOD])
    elif manifest.shoal_version == __version__ and not _parameters_restate(manifest):
        message = f"{MANIFEST_FILE}: its parameters are not as {manifest.method} states its own"
        findings.append(Finding("false-statement", message))
    if (
        manifest.shoal_version == __version__
        and manifest.usefulness is not None
        and not _usefulness_restates(manifest.usefulness)
    ):
        message = f"{MANIFEST_FILE}: its usefulness has uses or answers that shoal does not give"
        findings.append(Finding("false-statement", message))
    return verdict.with_findings(findings)


def claim_of_method(manifest: Manifest) -> Claim | None:
    """The claim of the manifest's method and parameters; None when unknown."""
    try:
        return (
            None
            if manifest.method not in METHODS
            else METHODS[manifest.method](**_settings(manifest)).claim()
        )
    except _STRANGE:
        return None


def _settings(manifest: Manifest) -> dict[str, Any]:
    """The parameters but sizes of streets, which are not checked."""
    declared = declared_parameters(METHODS[manifest.method])
    streets = {name for name, one in declared.items() if one.street_graph}
    return {name: value for name, value in manifest.parameters.items() if name not in streets}


def _parameters_restate(manifest: Manifest) -> bool:
    settings = _settings(manifest)
    try:
        method = METHODS[manifest.method](**settings)
        if manifest.grid is not None and isinstance(method, NeedsWholeSteps):
            method.require_steps(manifest.grid)
        restated = method.parameters()
    except _STRANGE:
        return False
    declared = declared_parameters(METHODS[manifest.method]).items()
    switches = [name for name, one in declared if one.switch or one.spelled]
    if any(type(settings.get(name, True)) is not bool for name in switches):
        return False
    restated |= {name: value for name, value in manifest.parameters.items() if name not in settings}
    return json.dumps(restated) == json.dumps(manifest.parameters)


def _usefulness_restates(usefulness: UsefulnessJson) -> bool:
    return [use.name for use in USES] == list(usefulness.uses) and all(
        verdict.answer in ({"no", "unknown"} if verdict.score is None else use.answers_near(verdict.score))
        for use, verdict in zip(USES, usefulness.uses.values(), strict=True)
    )


def _shortfalls(
    claim: Claim, expected: ExpectedClaim | None, reading: Reading, whose: str
) -> Iterator[Finding]:
    if expected is not None:
        for fault in expected.shortfalls(claim, reading):
            yield Finding("weaker-claim", f"the release claims less than {whose}: {fault}")


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
        table = opened.reading.rows().sha256 if (folder / RELEASE_FILE).is_file() else None
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
