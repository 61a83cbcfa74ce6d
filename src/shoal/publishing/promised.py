"""Verify a release folder, and compare its claim with its method's and the expected one."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from shoal.errors import MisuseError
from shoal.methods import METHODS
from shoal.methods.method import NeedsWholeSteps
from shoal.methods.parameters import declared_parameters
from shoal.model.argument_checks import require_linkage, require_trajectories
from shoal.model.claims import Claim, claim_from_json
from shoal.model.claims.expected import ExpectedClaim
from shoal.model.intake import Reading
from shoal.model.release import Linkage
from shoal.model.trajectories import Trajectories
from shoal.model.verdicts import Finding, Verdict
from shoal.publishing.exported import OTHER_DIGEST, as_release_folder
from shoal.release_folder.manifest import MANIFEST_FILE, Manifest, UsefulnessJson, read_manifest
from shoal.runtime.argument_types import typed
from shoal.runtime.files import local_path
from shoal.runtime.run import Run
from shoal.utility.usefulness import USES
from shoal.verification.files.folder import FolderReading, read_in_background, verify_reading, with_notes
from shoal.verification.leaks.digests import find_hashed_names
from shoal.verification.leaks.raw_identifiers import RawIdentifiers
from shoal.version import __version__

STRANGE_METHOD: Final = (
    "this version does not know the method that the manifest names: name and parameters were not looked at"
)
_DIGEST_OF_ONE: Final = f"{MANIFEST_FILE}: the SHA-256 of its table is that of a raw identifier"
UNKNOWN_METHOD: Final = (
    "whether this is the whole claim of the method that the manifest names (needs a method and parameters "
    "that this version knows, or an expected claim: --claim)"
)


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class FolderInCheck:
    """A release folder that is being read; findings, notes: on an export's files."""

    folder: Path
    looked: FolderReading
    findings: list[Finding]
    notes: list[str]


@contextmanager
def open_folder(folder: Path, run: Run) -> Iterator[FolderInCheck]:
    """Read a release folder, or an export, in the background of the block."""
    with as_release_folder(folder) as (whole, findings, notes), read_in_background(whole, run) as looked:
        yield FolderInCheck(folder=folder, looked=looked, findings=findings, notes=notes)


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
    verdict = verify_reading(original, opened.looked, linkage, run=run)
    verdict = with_notes(verdict.with_findings(opened.findings), opened.notes)
    manifest = read_manifest(opened.folder)
    if manifest.release_sha256 != opened.looked.manifest.release_sha256:  # of an export
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
    method = METHODS.get(manifest.method)
    if method is None:
        return None
    declarations = declared_parameters(method)
    if any(name not in declarations for name in manifest.parameters):
        return None
    settings = {
        name: value for name, value in manifest.parameters.items() if not declarations[name].street_graph
    }
    try:
        return method(**settings).claim()
    except (MisuseError, TypeError, ValueError, ArithmeticError):  # numbers that no release of it has
        return None


def _parameters_restate(manifest: Manifest) -> bool:
    """Sizes of streets are not checked."""
    declarations = declared_parameters(METHODS[manifest.method])
    streets = {name for name, one in declarations.items() if one.street_graph} & manifest.parameters.keys()
    settings = {name: value for name, value in manifest.parameters.items() if name not in streets}
    try:
        method = METHODS[manifest.method](**settings)
        if manifest.grid is not None and isinstance(method, NeedsWholeSteps):
            method.require_steps(manifest.grid)
        restated = method.parameters()
    except (MisuseError, TypeError, ValueError, ArithmeticError):
        return False
    switches = [name for name, one in declarations.items() if one.switch or one.spelled]
    if any(type(settings.get(name, True)) is not bool for name in switches):
        return False
    restated |= {name: manifest.parameters[name] for name in streets}
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
