"""The manifest; unknown, repeated, mistyped or unbounded entries are refused."""

import json
import re
from collections.abc import Mapping
from dataclasses import asdict
from datetime import date
from difflib import get_close_matches
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, Final, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    StringConstraints,
    ValidationError,
    field_validator,
    model_serializer,
    model_validator,
)

from shoal.errors import InputError, MisuseError, mistake_in_words
from shoal.model.claims import PayloadKind, claim_to_json
from shoal.model.grid import Grid
from shoal.model.intake import Reading, require_types
from shoal.model.release import Release
from shoal.model.verdicts import Verdict
from shoal.release_folder.files import require_plain_file
from shoal.runtime.argument_types import typed
from shoal.runtime.files import NotJsonError, read_settings, require_unique_keys, sha256_of
from shoal.units import rounded_counts
from shoal.version import __version__

Text = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=4000)]


class EarlierRelease(BaseModel):
    """An earlier release of the same people. overlap: in the publisher's words."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: Text
    published_on: date | None = None
    overlap: Text | None = None


class Statement(BaseModel):
    """What a publisher says about a release; every entry is optional.

    Parameters
    ----------
    data_set, version, publisher
        What the release is of, and whose it is.
    purpose, recipients, conditions
        What it is for, who gets it, and under which conditions.
    data_source
        Where the raw data comes from.
    unit
        What one id stands for.
    adversary
        Against whom it protects.
    earlier_releases
        Of the same people; None = not stated, empty = none are known.
    reassess_on
        The day by which the risk is judged again.
    contact
        Whom to ask.

    Raises
    ------
    MisuseError
        For an unknown entry, or a value of another type.

    Examples
    --------
    >>> import shoal
    >>> shoal.Statement(publisher="City of Oldenburg", purpose="bus lines").to_json()
    {'publisher': 'City of Oldenburg', 'purpose': 'bus lines'}
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    data_set: Text | None = None
    version: Text | None = None
    publisher: Text | None = None
    purpose: Text | None = None
    recipients: Text | None = None
    conditions: Text | None = None
    data_source: Text | None = None
    unit: Text | None = None
    adversary: Text | None = None
    earlier_releases: tuple[EarlierRelease, ...] | None = None
    reassess_on: date | None = None
    contact: Text | None = None

    def __init__(self, **entries: Any) -> None:
        try:
            super().__init__(**entries)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(part) for part in first["loc"])
            known = (EarlierRelease if len(first["loc"]) > 1 else type(self)).model_fields
            why = mistake_in_words(first)
            if first["type"] == "extra_forbidden":
                near = "".join(get_close_matches(str(first["loc"][-1]), known, n=1))
                why = f"no such entry; {near and f'did you mean {near}? '}known: {', '.join(known)}"
            raise MisuseError(f"{where}: {why}") from error

    def to_json(self) -> dict[str, Any]:
        """The stated entries, dates as text."""
        return self.model_dump(mode="json", exclude_none=True)


NOTHING_STATED: Final = Statement()


@typed
def read_statement(path: Path | str) -> Statement:
    """Read a statement from a TOML file.

    Parameters
    ----------
    path
        A file with the entries of ``Statement``.

    Returns
    -------
    Statement
        Its entries.

    Raises
    ------
    InputError
        When the file cannot be read, or has an unknown or wrong entry.

    Examples
    --------
    >>> from pathlib import Path
    >>> import shoal
    >>> _ = Path("statement.toml").write_text('publisher = "City of Oldenburg"')
    >>> shoal.read_statement("statement.toml").publisher
    'City of Oldenburg'
    """
    entries = read_settings(path)
    try:
        return Statement(**entries)
    except MisuseError as error:
        raise InputError(f"{path}: {error.cli_message}") from error


RELEASE_FILE: Final = "release.parquet"
MANIFEST_FILE: Final = "manifest.json"
REPORT_FILE: Final = "report.html"
FORMAT_VERSION: Final = 2


_LARGEST: Final = 1 << 24  # bytes of a readable manifest
_MOST_COUNTED: Final = 1 << 53
_MOST_ENTRIES: Final = 64
_LONGEST_SETTING: Final = 4000

Count = Annotated[int, Field(ge=0, le=_MOST_COUNTED)]
Reason = Annotated[str, StringConstraints(max_length=200)]
Counts = Annotated[dict[Reason, Count], Field(max_length=_MOST_ENTRIES)]
Word = Annotated[str, StringConstraints(max_length=60, pattern=r"^[A-Za-z0-9][A-Za-z0-9.+_-]*$")]
Version = Annotated[
    str,
    StringConstraints(
        pattern=r"^[0-9]{1,3}(\.[0-9]{1,3}){1,2}((a|b|rc|\.post|\.dev)[0-9]{1,3})?(\+[a-z0-9]{1,12})?$"
    ),
]
Digest = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]
Length = Annotated[float, Field(gt=0, allow_inf_nan=False)]
_SETTING: Final = (bool, int, float, NoneType)
_WORD: Final = re.compile(r"[A-Za-z0-9.,_:-]{1,60}")  # such as outward:3 or 5km,2h
_VERDICT: Final[Mapping[str, Any]] = Verdict.of((), checked=1).to_json()  # its entries, each with its type


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True)


class LossesJson(_Strict):
    """``losses`` in the manifest; rows and samples are rounded up."""

    rows: Counts
    samples_suppressed: Count
    subjects_suppressed: Count
    samples_created: Count
    subjects_by_reason: Counts
    samples_by_reason: Counts = Field(default_factory=dict)

    @model_serializer(mode="wrap")
    def _without_empty(self, entries: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Only boxes that lost samples have such reasons; earlier versions wrote none."""
        return {
            name: value for name, value in entries(self).items() if value != {} or name != "samples_by_reason"
        }


class UseJson(_Strict):
    """What a release is worth for one use. score: null where it is unknown."""

    answer: Literal["yes", "roughly", "no", "unknown"]
    score: Annotated[float, Field(allow_inf_nan=False)] | None


class UsefulnessJson(_Strict):
    """``usefulness`` in the manifest, as the maker measured it; extents: null of none."""

    uses: Annotated[dict[Word, UseJson], Field(max_length=_MOST_ENTRIES)]
    median_space_m: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None
    median_time_s: Annotated[float, Field(ge=0, allow_inf_nan=False)] | None
    zone_m: Length


class SeriesJson(_Strict):
    """``series`` in the manifest: the place of the release in its series, as its maker says."""

    series: Annotated[int, Field(ge=1, le=_MOST_COUNTED)]
    number: Annotated[int, Field(ge=1, le=_MOST_COUNTED)]
    waiting: Count
    newcomers: Count
    crowds: Count


class Manifest(_Strict):
    """The manifest's top level. cell_m, slot_s: the grid of boxes; null for a release of points."""

    format_version: Literal[2]
    shoal_version: Version
    method: Word
    parameters: Annotated[dict[Word, Any], Field(max_length=_MOST_ENTRIES)]
    claim: Annotated[dict[Word, Any], Field(max_length=_MOST_ENTRIES)]
    crs: Annotated[str, StringConstraints(max_length=4000)] | None
    cell_m: Length | None
    slot_s: Length | None
    unit_of_protection: Annotated[str, StringConstraints(max_length=1000)]
    verdict: dict[str, Any]
    losses: LossesJson
    rows_repaired: Counts
    reading: Annotated[dict[str, Any], Field(max_length=_MOST_ENTRIES)]
    n_records: Count
    n_samples: Count
    publishable: bool
    record: dict[str, Any]
    release_sha256: Digest
    report_sha256: Digest | None
    usefulness: UsefulnessJson | None = None
    series: SeriesJson | None = None

    @field_validator("parameters")
    @classmethod
    def _are_settings(cls, parameters: dict[str, Any]) -> dict[str, Any]:
        """Of larger values (a street graph) their sizes."""
        for value in parameters.values():
            inner = value if isinstance(value, dict) and len(value) <= _MOST_ENTRIES else {"value": value}
            for name, one in inner.items():
                plain = type(one) in _SETTING or (isinstance(one, str) and _WORD.fullmatch(one))
                if not (plain and _WORD.fullmatch(name)):
                    raise ValueError("a value is no number, no switch and no plain word")
        return parameters

    @field_validator("reading")
    @classmethod
    def _are_short(cls, reading: dict[str, Any]) -> dict[str, Any]:
        if any(isinstance(value, str) and len(value) > _LONGEST_SETTING for value in reading.values()):
            raise ValueError(f"a setting has more than {_LONGEST_SETTING} characters")
        return reading

    @field_validator("verdict")
    @classmethod
    def _is_a_verdict(cls, verdict: dict[str, Any]) -> dict[str, Any]:
        if {name: type(value) for name, value in verdict.items()} != {
            name: type(value) for name, value in _VERDICT.items()
        }:
            raise ValueError(f"it must have the entries {', '.join(_VERDICT)} and no others")
        return verdict

    @field_validator("record")
    @classmethod
    def _is_a_statement(cls, record: dict[str, Any]) -> dict[str, Any]:
        Statement.model_validate(record)
        return record

    @model_validator(mode="after")
    def _have_one_grid(self) -> "Manifest":
        if (self.cell_m is None) != (self.slot_s is None):
            raise ValueError("cell_m and slot_s are both numbers (boxes) or both null (points)")
        return self

    @property
    def kind(self) -> PayloadKind:
        """Boxes have a grid, points have none."""
        return "points" if self.cell_m is None else "boxes"

    @property
    def grid(self) -> Grid | None:
        """The grid of the boxes; None for points."""
        if self.cell_m is None or self.slot_s is None:
            return None
        return Grid(cell_m=self.cell_m, slot_s=self.slot_s)


def build_manifest(
    release: Release, verdict: Verdict, parquet: Path, statement: Statement = NOTHING_STATED
) -> Manifest:
    """The manifest of a release, its verdict, its table, and its page."""
    grid = release.grid
    report = parquet.with_name(REPORT_FILE)
    entries = {
        "format_version": FORMAT_VERSION,
        "shoal_version": __version__,
        "method": release.method,
        "parameters": dict(release.parameters),
        "claim": claim_to_json(release.claim),
        "crs": release.crs,
        "cell_m": None if grid is None else grid.cell_m,
        "slot_s": None if grid is None else grid.slot_s,
        "unit_of_protection": release.unit_of_protection,
        "verdict": verdict.to_json(),
        "losses": LossesJson(**asdict(release.losses.rounded())),
        "rows_repaired": rounded_counts(release.rows_repaired),
        "reading": asdict(release.reading),
        "n_records": release.n_records,
        "n_samples": release.n_samples,
        "publishable": release.publishable,
        "record": statement.to_json(),
        "release_sha256": sha256_of(parquet),
        "report_sha256": sha256_of(report) if report.exists() else None,
        "series": None if release.series is None else asdict(release.series),
    }
    try:
        return Manifest.model_validate(entries)
    except ValidationError as error:
        raise MisuseError(f"no manifest can say this of a release: {_first_error(error)}") from error


def write_manifest(manifest: Manifest, path: Path) -> None:
    """Write the manifest as indented JSON."""
    path.write_text(manifest_text(manifest), encoding="utf-8")


def manifest_text(manifest: Manifest) -> str:
    """The manifest as indented JSON, entries in the order of the format; usefulness and series if any."""
    entries = {
        name: value
        for name, value in manifest.model_dump().items()
        if value is not None or name not in {"usefulness", "series"}
    }
    return json.dumps(entries, indent=2, ensure_ascii=False) + "\n"


def read_manifest(folder: Path) -> Manifest:
    """The manifest of a release folder."""
    path = folder / MANIFEST_FILE
    if not folder.exists():
        raise InputError(f"there is no folder {folder}; check the path")
    if not folder.is_dir():
        raise InputError(f"{folder} is a file, not a release folder; name the folder that holds it")
    if not path.exists() and not path.is_symlink():
        raise InputError(f"{folder} is not a release folder: it has no {MANIFEST_FILE}")
    require_plain_file(path, _LARGEST)
    try:
        entries = json.loads(
            path.read_bytes(), object_pairs_hook=require_unique_keys, parse_constant=_no_number
        )
    except (ValueError, RecursionError) as error:
        reason = str(error) if isinstance(error, (NotJsonError, json.JSONDecodeError)) else "no JSON"
        raise InputError(f"{path} cannot be read: {reason}") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    if isinstance(entries, dict) and entries.get("format_version") == 1:
        raise InputError(
            f"{path} is of format 1, which this version no longer reads; make the release again, or check it "
            "with the version of shoal that made it"
        )
    try:
        return Manifest.model_validate(entries)
    except ValidationError as error:
        raise InputError(f"{path} cannot be read: {_first_error(error)}") from error


def manifest_reading(folder: Path, manifest: Manifest) -> Reading:
    """How the raw input was read, as the manifest says."""
    try:
        require_types(Reading, manifest.reading)
        return Reading(**manifest.reading)
    except MisuseError as error:
        raise InputError(f"{folder / MANIFEST_FILE} cannot be read: reading: {error.cli_message}") from error


def _first_error(error: ValidationError) -> str:
    """Without names chosen by others, which may name a person."""
    first = error.errors(include_url=False, include_input=False)[0]
    if first["type"] == "extra_forbidden":
        parents = [part for part in first["loc"][:-1] if part in _NAMES]
        return f"{'.'.join(map(str, parents)) or 'the document'}: it has an entry that no manifest has"
    where = ".".join(str(part) for part in first["loc"] if part in _NAMES)
    return f"{where or 'the document'}: {mistake_in_words(first)}"


def _no_number(_text: str) -> float:
    raise NotJsonError("a number is not finite")


_NAMES: Final = frozenset(
    {*Manifest.model_fields, *LossesJson.model_fields, *SeriesJson.model_fields, *Statement.model_fields}
)
