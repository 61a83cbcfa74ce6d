"""Release folders of one series: what they reveal together."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, NamedTuple

from shoal.attacks.lines import attack_lines
from shoal.attacks.rate import Rate
from shoal.attacks.together import attack_together
from shoal.errors import InputError, MisuseError
from shoal.io import read_with
from shoal.model.trajectories import Trajectories
from shoal.publishing.verifying import read_raw_of
from shoal.release_folder.folder import raw_reading, read_linkage, read_release
from shoal.release_folder.manifest import RELEASE_FILE
from shoal.runtime.files import sha256_of
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.units import counted, percent
from shoal.verification.composition.candidates import IssuedRelease
from shoal.verification.composition.crowds import is_in_crowds, read_crowds
from shoal.verification.composition.series import SERIES_PART, Series, examine_series
from shoal.verification.composition.several import Composition, require_claim_holds, reveal_together

NO_CROWDS: Final = (
    "who remains in releases of other raw data, not all of them in crowds (needs crowds; shoal attack "
    "--earlier measures it)"
)


class EarlierRelease(NamedTuple):
    """A folder, its linkage, and its raw data (None = that of the newest release)."""

    folder: Path
    linkage: Path | None
    raw: str | None

    @property
    def label(self) -> str:
        """For messages."""
        return f"the release {self.folder}"


@dataclass(frozen=True, eq=False, kw_only=True)
class Together:
    """What several releases reveal: a series of crowds, or a composition of releases of other claims."""

    series: Series | None = None
    composition: Composition | None = None
    unchecked: str | None = None
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Entries of ``shoal verify --json``."""
        if self.series is not None:
            return {"together": self.series.newest_to_json(), "series": self.series.to_json()}
        return {} if self.composition is None else {"together": self.composition.to_json()}


def verify_together(
    raw: Any,
    newest: EarlierRelease,
    earlier: Sequence[EarlierRelease],
    run: Run,
    *,
    ids_as_they_are: bool = False,
    **overrides: Any,
) -> Together:
    """The check of several releases; a release without linkage leaves it unchecked."""
    every = [newest, *earlier]
    linked = [(one, one.linkage) for one in every if one.linkage is not None]
    unchecked = None if len(linked) == len(every) else SERIES_PART.words
    if not all(is_in_crowds(one.folder) for one in every):
        if any(one.raw not in (None, raw) for one in earlier):
            unchecked = NO_CROWDS
        if unchecked is not None:
            return Together(unchecked=unchecked)
        issued = read_issued_releases(raw, newest, earlier, run, **overrides)
        return Together(composition=reveal_together(issued[0], issued[1:]))
    for one in earlier:
        if one.raw is not None and one.linkage is not None:
            require_claim_holds(_issued(read_raw_of(one.raw, one.folder, run, **overrides), one, one.linkage))
    as_found = sum(one.raw is None for one in earlier)
    notes = (
        f"{counted(as_found, 'earlier release was', 'earlier releases were')} taken as published, not "
        "checked against raw data: verify each, or give FOLDER=LINKAGE=RAW",
    ) * (as_found > 0)
    if newest.linkage is None or len(linked) < 2:
        return Together(unchecked=unchecked, notes=notes)
    crowds = (read_crowds(one.folder, read_linkage(file), one.label) for one, file in linked)
    series = examine_series(crowds, ids_as_they_are=ids_as_they_are)
    return Together(series=series, unchecked=unchecked, notes=(*series.notes(), *notes))


@dataclass(frozen=True, eq=False, kw_only=True)
class AttackTogether:
    """Attacks on several releases.

    releases: SHA-256 of each table, newest first. k: the least k, None = a claim has no crowds. joined: rates
    on lines of records. intersection: rates by who could be whom.
    """

    releases: tuple[str, ...]
    k: int | None
    joined: tuple[Rate, ...]
    intersection: tuple[Rate, ...]
    notes: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        """As ``together`` in ``shoal attack --json``."""
        return {
            "releases": list(self.releases),
            "k": self.k,
            "promised": None if self.k is None else 1 / self.k,
            "attacks": [rate.to_json() for rate in self.joined],
        }

    def in_words(self, alone: Sequence[Rate]) -> list[str]:
        """A line for each rate, next to that of the newest release alone and to what k promises."""
        if not self.joined:
            return []
        rate_alone = {(rate.name, rate.asked): rate.rate for rate in alone if rate.target == "release"}
        promise = (
            ""
            if self.k is None
            else f"; k-anonymity over the series, k = {self.k}, allows linkage of at most "
            f"{percent(1 / self.k)} where absences are not known"
        )
        lines = [f"together, {len(self.releases)} releases joined, as much known of each{promise}"]
        for rate in self.joined:
            one = rate_alone.get((rate.name, rate.asked))
            beside = "" if one is None else f"; this release alone {percent(one)}"
            lines.append(
                f"  {rate.name:18} {percent(rate.rate):>8}  ({percent(rate.low)} to {percent(rate.high)}"
                f"{beside}; {rate.knowledge})"
            )
        return lines


def attack_series_of(
    raw: Any,
    newest: EarlierRelease,
    earlier: Sequence[EarlierRelease],
    knowledge: Sequence[str],
    *,
    rng: Randomness,
    tries: int,
    run: Run,
    original: Trajectories,
    **overrides: Any,
) -> AttackTogether:
    """Attack several releases together; InputError for what does not belong or fails its own claim.

    original: the raw data of the newest release.
    """
    issued = read_issued_releases(raw, newest, earlier, run, original=original, **overrides)
    linked = [(one.original, one.release, one.linkage) for one in issued]
    in_crowds = all(one.release.claim.in_classes for one in issued)
    intersection: list[Rate] = []
    if in_crowds or all(one.raw is None for one in earlier):
        reveal_together(issued[0], issued[1:])
        intersection = attack_together(linked)
    else:
        for one in issued[1:]:
            require_claim_holds(one)
    joined: tuple[Rate, ...] = ()
    notes: tuple[str, ...] = ()
    try:
        joined = tuple(attack_lines(linked, knowledge, rng=rng.generator(), tries=tries, run=run))
    except MisuseError as error:
        notes = (f"the records of the releases were not joined: {error.cli_message}",)
    return AttackTogether(
        releases=tuple(sha256_of(one.folder / RELEASE_FILE) for one in [newest, *earlier]),
        k=min(one.release.claim.k for one in issued) if in_crowds else None,
        joined=joined,
        intersection=tuple(intersection),
        notes=notes,
    )


def read_issued_releases(
    raw: Any,
    newest: EarlierRelease,
    earlier: Sequence[EarlierRelease],
    run: Run,
    *,
    original: Trajectories | None = None,
    **overrides: Any,
) -> list[IssuedRelease]:
    """Releases with raw data and linkage, the newest first; InputError without a linkage.

    original: the raw data of the newest, if it was read before. What is read alike is read once.
    """
    data = {} if original is None else {(raw, raw_reading(newest.folder, **overrides)): original}
    issued = []
    for one in [newest, *earlier]:
        if one.linkage is None:
            raise InputError(f"{one.label} was given without its linkage; write FOLDER=LINKAGE.parquet")
        source, reading = raw if one.raw is None else one.raw, raw_reading(one.folder, **overrides)
        if (source, reading) not in data:
            data[source, reading] = read_with(source, reading, run)
        issued.append(_issued(data[source, reading], one, one.linkage))
    return issued


def _issued(original: Trajectories, one: EarlierRelease, linkage: Path) -> IssuedRelease:
    return IssuedRelease(
        label=one.label, original=original, release=read_release(one.folder), linkage=read_linkage(linkage)
    )
