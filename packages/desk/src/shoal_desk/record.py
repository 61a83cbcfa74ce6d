"""The record to sign.

A digest of raw data confirms a guess of the data: this page stays with the publisher.
"""

import json
import math
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from shoal.attacks import AttackScope, Rate, attack
from shoal.attacks.attacking import NO_CONTROL
from shoal.attacks.knowledge import parse_knowledge
from shoal.errors import InputError, MisuseError, OutputError
from shoal.messages import messages_in, restore_messages
from shoal.model.claims import GENERAL_LIMITS
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories, digest_of_data
from shoal.model.verdicts import Verdict
from shoal.publishing.verifying import read_raw_of, verify_folder
from shoal.publishing.writing import write_page
from shoal.release_folder.folder import read_linkage, read_release
from shoal.release_folder.manifest import (
    MANIFEST_FILE,
    RELEASE_FILE,
    REPORT_FILE,
    Manifest,
    Statement,
    read_manifest,
)
from shoal.report.facts.evidence import READER, hour_cautions, station_cautions
from shoal.report.facts.ground import NO_GROUND, MapGround
from shoal.report.words.settings import method_name, techniques_of
from shoal.runtime.files import sha256_of
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run
from shoal.runtime.staging import staged_file
from shoal.units import percent
from shoal.utility import Facts
from shoal.utility.usefulness import Usefulness, usefulness_of, ways_out
from shoal_desk.maps import density_map
from shoal_desk.pages import render
from shoal_desk.pdf import pdf_of, require_printing
from shoal_desk.recipients import BANDS, RECIPIENTS
from shoal_desk.risk import RecipientRisk, risks_of, strongest_first
from shoal_desk.words import Words

_REPLAYED: Final = 10  # victims of each attack
_FALSE_ALARMS: Final = 1e-6
_ROUNDING: Final = 1e-9  # an interval ends at its rate where nobody wins or everybody does
_RATE: Final[dict[str, type | tuple[type, ...]]] = {
    "name": str,
    "knowledge": str,
    "target": str,
    "tries": int,
    "successes": (int, float),
    "rate": (int, float),
    "low": (int, float),
    "high": (int, float),
    "baseline": (int, float),
    "worst": (int, float),
    "attacker": str,
    "asked": str,
}
_DIGEST: Final = re.compile("[0-9a-f]{64}")
_UNPLAYED: Final = re.compile(r"(\S+) was not played against [^:]*\brelease\b")  # a note of `shoal attack`
_AGAIN: Final = "run shoal attack --json again"


@dataclass(frozen=True, kw_only=True)
class SignedRecord:
    """A record's place, its verdicts, and what it names.

    usefulness: None where the claim does not hold. strongest: as in `shoal attack --json`. data_file_sha256:
    None unless the data is one file. data_sha256: of the samples as read.
    """

    record: Path
    pdf: Path | None
    holds: bool
    usefulness: Usefulness | None
    strongest: Mapping[str, Any] | None
    risks: Sequence[RecipientRisk]
    data_file_sha256: str | None
    data_sha256: str
    release_sha256: str

    def to_json(self) -> dict[str, Any]:
        """The document of ``--json``."""
        attack = self.strongest
        return {
            **{name: value for name, value in vars(self).items() if name != "risks"},
            "record": str(self.record),
            "pdf": None if self.pdf is None else str(self.pdf),
            "usefulness": self.usefulness and self.usefulness.to_json(),
            "recipients": {one.name: one.to_json() for one in self.risks},
            "strongest": None if attack is None else attack["name"],
            "strongest_rate": None if attack is None else attack["rate"],
        }


@dataclass(frozen=True, kw_only=True)
class RecordOptions:
    """A record's content.

    recipients: adversaries' knowledge of each. ground: of the map.
    """

    recipients: Mapping[str, Sequence[str]]
    statement: Statement
    language: str = "en"
    ground: MapGround = NO_GROUND
    pdf: Path | None = None

    @property
    def unstated(self) -> list[str]:
        """What a release is judged for and the publisher did not state."""
        return [name for name in ("purpose", "recipients") if not getattr(self.statement, name)]


def sign_off(
    raw: str,
    folder: Path,
    linkage_file: Path,
    output: Path,
    *,
    attacks_file: Path,
    options: RecordOptions,
    run: Run | None = None,
    **overrides: Any,
) -> SignedRecord:
    """Verify a release again, and write the record to sign.

    Parameters
    ----------
    raw, folder, linkage_file
        The raw data, the release folder, and the linkage.
    output
        The page to write; it must not exist yet, and must lie outside the release folder.
    attacks_file
        The output of ``shoal attack --json`` on this release.
    options
        The content of the page.
    run
        Progress and threads.
    **overrides
        Settings of the reading instead of the manifest's.

    Raises
    ------
    InputError
        When something cannot be read, or the attacks were on another release.
    OutputError
        When a file exists or cannot be written.
    MissingExtraError
        When a PDF is requested and no library makes one.
    """
    run, pdf = run or Run(), options.pdf
    _require_free(output, "--output", folder)
    if pdf is not None:
        _require_free(pdf, "--pdf", folder)
        if pdf.resolve() == output.resolve():
            raise OutputError(f"{pdf} is named for the page and for the PDF; choose another --pdf")
        require_printing()
    released = sha256_of_release(folder)
    attacks = read_attacks(attacks_file, released)
    original = read_raw_of(raw, folder, run, **overrides)
    release, linkage = read_release(folder), read_linkage(linkage_file)
    verdict = verify_folder(original, folder, linkage, run=run)
    wanted = {text for texts in options.recipients.values() for text in texts}
    attacks = replayed(attacks, original, release, linkage, run, wanted)
    facts = Facts(original, release, linkage, run=run)
    useful = usefulness_of(facts) if verdict.holds else None
    file = Path(raw)
    digests = {
        "data_file": sha256_of(file) if file.is_file() else None,
        "data": digest_of_data(original),
        "release": released,
        "manifest": sha256_of(folder / MANIFEST_FILE),
        "report": sha256_of(folder / REPORT_FILE) if (folder / REPORT_FILE).is_file() else None,
    }
    risks = risks_of(
        options.recipients,
        attacks["attacks"],
        release.kind,
        claim=type(release.claim),
        no_victims=attacks["no_victims"],
        tries=attacks["command"]["tries"],
    )
    html = record_page(
        folder=folder,
        data=file.name if file.exists() else None,
        facts=facts,
        verdict=verdict,
        usefulness=useful,
        attacks=attacks,
        risks=risks,
        digests=digests,
        options=options,
    )
    printed = nullcontext() if pdf is None else staged_file(pdf, lambda file: file.write(pdf_of(html)))
    with printed:
        write_page(html, output)
        output.chmod(0o600)
    rates = strongest_first(attacks["attacks"], read_manifest(folder).kind)
    return SignedRecord(
        record=output,
        pdf=pdf,
        holds=verdict.holds,
        usefulness=useful,
        strongest=rates[0] if rates else None,
        risks=risks,
        data_file_sha256=digests["data_file"],
        data_sha256=str(digests["data"]),
        release_sha256=released,
    )


def _require_free(output: Path, option: str, folder: Path) -> None:
    if output.resolve().is_relative_to(folder.resolve()):
        raise OutputError(
            f"the record {output} names raw data by their digest; write it outside the release folder"
        )
    if output.exists():
        raise OutputError(f"{output} exists; choose another {option} or remove it first")


def record_page(
    *,
    folder: Path,
    data: str | None,
    facts: Facts,
    verdict: Verdict,
    usefulness: Usefulness | None,
    attacks: Mapping[str, Any],
    risks: Sequence[RecipientRisk],
    digests: Mapping[str, str | None],
    options: RecordOptions,
) -> str:
    """One file without scripts. data: the raw file's name."""
    original, release = facts.original, facts.release
    reader = (one for one in attacks["attacks"] if (one["name"], one["target"]) == (READER, "release"))
    manifest: Manifest = read_manifest(folder)
    words = Words(options.language)
    messages = [NO_CONTROL, *messages_in([original.intake.unit_of_protection, original.intake.dropped])]
    rates = strongest_first(attacks["attacks"], release.kind)
    stations = station_cautions(facts, next(reader, None))
    useless, above = usefulness is not None and not usefulness.is_useful, any(one.is_above for one in risks)
    return render(
        "signed.html.j2",
        words,
        style=_style("signed.css"),
        data=data,
        made=datetime.now(UTC).date().isoformat(),
        folder=folder.name,
        manifest=manifest,
        release=release,
        method=method_name(release.method),
        techniques=techniques_of(release),
        intake=original.intake,
        unit=restore_messages(release.unit_of_protection, messages),
        rows_lost=restore_messages(manifest.losses.rows, messages),
        limits=(*release.claim.limits, *GENERAL_LIMITS),
        people=original.n_subjects,
        units="unit.days" if release.reading.per_day else "unit.people",
        samples=original.n_samples,
        verdict=verdict,
        usefulness=usefulness,
        rates=rates,
        cautions=(*hour_cautions(original.intake.notes), *stations),
        tries=max((rate["tries"] for rate in rates), default=0),
        raw_rates={
            (rate["name"], rate["asked"]): rate["rate"]
            for rate in strongest_first(attacks["attacks"], release.kind, "raw")
        },
        earlier=attacks["together"]["releases"][1:],
        joined=strongest_first(attacks["together"]["attacks"], release.kind)[:1],
        notes=restore_messages(attacks["notes"], messages),
        risks=risks,
        ways=ways_out(
            for_use=useless,
            for_risk=above,
            made_with={
                **manifest.parameters,
                "per_day": release.reading.per_day,
                "series": release.series is not None,
            },
            stations=bool(stations),
        ),
        statement=options.statement,
        unstated=[words(f"stated.{name}") for name in options.unstated],
        digests=digests,
        bands=BANDS,
        recipients=RECIPIENTS.values(),
        map=density_map(release, words("release.map_label"), options.ground, style=_style("map.css")),
    )


def _style(name: str) -> str:
    return files("shoal_desk").joinpath("static", name).read_text(encoding="utf-8")


def sha256_of_release(folder: Path) -> str:
    """Of the table."""
    try:
        return sha256_of(folder / RELEASE_FILE)
    except OSError as error:
        raise InputError(f"{folder} is not a release folder: it has no {RELEASE_FILE}") from error


def read_attacks(file: Path, released: str) -> dict[str, Any]:
    """``shoal attack --json`` of this release, else InputError."""
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
        # the intersection answers no knowledge that can be asked for
        rates = [rate for rate in document["attacks"] if rate.get("asked", "") is not None]
        notes, joined = document["notes"], document.get("together", {"releases": [released], "attacks": []})
        sound = (
            all(
                isinstance(rate[name], kind)
                for rate in [*rates, *joined["attacks"]]
                for name, kind in _RATE.items()
            )
            and all(map(_adds_up, [*rates, *joined["attacks"]]))
            and all(isinstance(one, str) and _DIGEST.fullmatch(one) for one in joined["releases"])
            and joined["releases"][:1] == [released]
        )
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"{file} is not what `shoal attack --json` prints") from error
    if not sound or not isinstance(notes, list) or not all(isinstance(note, str) for note in notes):
        raise InputError(f"{file} is not what `shoal attack --json` prints")
    command = document.get("command")
    numbers = [command.get(name) for name in ("seed", "tries")] if isinstance(command, dict) else [None]
    if not isinstance(command, dict) or any(type(one) is not int or one < 0 for one in numbers):
        raise InputError(f"{file} does not say seed and tries of its attacks; run shoal attack --json again")
    if command.get("like") is not None:
        raise InputError(f"{file} holds attacks on one crowd alone; run shoal attack --json without --like")
    if document.get("release_sha256") != released:
        raise InputError(f"{file} holds the attacks on another release; run shoal attack --json on this one")
    return {**document, "attacks": rates, "together": joined}


def replayed(
    attacks: Mapping[str, Any],
    original: Trajectories,
    release: Release,
    linkage: Linkage,
    run: Run,
    wanted: Collection[str] = (),
) -> dict[str, Any]:
    """The attacks, each played again on ten victims, with the greater of both maxima.

    no_victims: those wanted that met nobody whom they know enough of, then and now. Raise InputError where a
    stated rate cannot be true, or a rate is left out.
    """
    greatest = {_key_of(rate): rate["worst"] for rate in attacks["attacks"]}
    asked = {rate["asked"] for rate in attacks["attacks"] if rate["target"] != "control"}
    met_nobody = {note[1] for note in map(_UNPLAYED.match, attacks["notes"]) if note} & set(wanted)
    no_victims = []
    for knowledge in sorted((asked | met_nobody) - {"series"}):  # needs the earlier release
        try:
            played = attack(
                original,
                release,
                linkage,
                knowledge=[knowledge],
                rng=Randomness.for_research(attacks["command"]["seed"]),
                tries=_REPLAYED,
                scope=AttackScope(targets=("raw", "release")),
                run=run,
            )
        except MisuseError:
            if knowledge not in met_nobody:
                raise
            no_victims.append(knowledge)
            continue
        for rate in played.rates:
            key = (rate.name, rate.asked, rate.target)
            if rate.target == "release" and knowledge in asked and key not in greatest:
                raise InputError(f"the file of attacks leaves out {rate.name} of {knowledge}; {_AGAIN}")
            for stated in attacks["attacks"]:
                if _key_of(stated) == key:
                    _require_possible(stated, rate)
                    greatest[key] = max(greatest[key], rate.worst or 0.0)
    rates = [{**rate, "worst": greatest[_key_of(rate)]} for rate in attacks["attacks"]]
    return {**attacks, "attacks": rates, "no_victims": no_victims}


def _key_of(rate: Mapping[str, Any]) -> tuple[str, str, str]:
    return rate["name"], rate["asked"], rate["target"]


def _require_possible(stated: Mapping[str, Any], played: Rate) -> None:
    """Raise InputError if so many successes, or so few, come in fewer than one of a million replays."""
    least, most = math.floor(played.successes), math.ceil(played.successes)
    for rate, wins in ((stated["high"], range(least, played.tries + 1)), (stated["low"], range(most + 1))):
        chance = sum(math.comb(played.tries, n) * rate**n * (1 - rate) ** (played.tries - n) for n in wins)
        if chance < _FALSE_ALARMS:
            raise InputError(
                f"the attack {stated['asked']} wins {played.successes:g} of {played.tries} victims of this "
                f"release; the file of attacks says {percent(stated['rate'])}; {_AGAIN}"
            )


def _adds_up(rate: dict[str, Any]) -> bool:
    """It is successes per try, lies within its interval, and is no more than its maximum."""
    tries = rate["tries"]
    return bool(
        rate["name"] in parse_knowledge(rate["asked"]).adversary.answers
        and tries >= 1
        and rate["rate"] == min(rate["successes"] / tries, 1.0)
        and rate["low"] - _ROUNDING <= rate["rate"] <= rate["high"] + _ROUNDING
        and 0 <= rate["baseline"] <= 1
        and rate["rate"] - _ROUNDING <= rate["worst"] <= 1 + _ROUNDING
    )
