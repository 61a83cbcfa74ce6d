"""Folders that a publisher would make who wants to say more than a release, or less than the truth.

Each of them held, or ended in a traceback, before it stood here.
"""

import base64
import codecs
import json
import shutil
import struct
import zlib
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import shoal
from folder_damages import edit_manifest, edit_page
from naive_release import PLANE, small_city
from shoal.errors import InputError
from shoal.model.claims import KDeltaAnonymity
from shoal.model.release import Linkage, Losses, Points, Release
from shoal.model.trajectories import Trajectories
from shoal.publishing.verifying import STRANGE_METHOD
from shoal.release_folder.folder import read_release
from shoal.release_folder.manifest import (
    RELEASE_FILE,
    REPORT_FILE,
)
from shoal.release_folder.packing import ROWS_PER_GROUP, parquet_writer
from shoal.release_folder.tables import write_table
from shoal.runtime.files import sha256_of
from shoal.verification.files.written import TOO_MANY_GROUPS
from shoal.verification.leaks.identifiers import picture_text
from shoal.verification.points import co_location
from written_folders import PAGE, write_folder

Case = tuple[Trajectories, Path, Linkage]
Damage = Callable[[Path, Linkage], Linkage | None]
PLACE = "37.774929_-122.419416"
UID = "caller-0007"


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Case:
    """A release of GLOVE with a person left out and a page, of people with telling names."""
    city = small_city(crs=PLANE).keep(np.arange(11))
    original = replace(city, ids=tuple(f"caller-{person:04d}" for person in range(city.n_subjects)))
    release, linkage = shoal.Glove(k=3, leftover="suppress").anonymize(
        original, shoal.Randomness.from_system()
    )
    assert release.losses.subjects_suppressed
    verdict = shoal.verify(original, release, linkage)
    assert verdict.holds, verdict.findings
    folder = write_folder(tmp_path_factory.mktemp("by_hand") / "release", release, verdict, PAGE)
    return original, folder, linkage


def verdict_on(case: Case, to: Path, damage: Damage) -> shoal.Verdict:
    original, folder, linkage = case
    shutil.copytree(folder, to)
    changed = damage(to, linkage)
    return shoal.verify_folder(original, to, changed or linkage, expected="k-anonymity:3,truthful")


def told(change: Callable[[dict[str, Any]], object]) -> Damage:
    return lambda folder, _: edit_manifest(folder, change)


def parameter(**values: object) -> Damage:
    return told(lambda manifest: manifest["parameters"].update(values))


def named(name_of: Callable[[str], str]) -> Damage:
    """Other pseudonyms, made of whose record each is; the linkage follows."""

    def damage(folder: Path, linkage: Linkage) -> Linkage:
        release = read_release(folder)
        uid_of = dict(zip(linkage.trajectory_ids, linkage.uids, strict=True))
        new = {name: name_of(uid_of[name]) for name in release.trajectory_ids}
        write_table(replace(release, trajectory_ids=tuple(new.values())), folder / RELEASE_FILE)
        edit_manifest(folder, lambda m: m.update(release_sha256=sha256_of(folder / RELEASE_FILE)))
        return replace(linkage, trajectory_ids=tuple(new[name] for name in linkage.trajectory_ids))

    return damage


def packed(columns: Callable[[list[str]], list[str]] = lambda own: own, rows: int = ROWS_PER_GROUP) -> Damage:
    """The same rows, packed as shoal packs, with other columns or groups."""

    def damage(folder: Path, _: Linkage) -> None:
        table = pq.read_table(folder / RELEASE_FILE)
        metadata, table = table.schema.metadata, table.select(columns(table.column_names))
        table = table.replace_schema_metadata(None)
        with parquet_writer(folder / RELEASE_FILE, table.schema) as writer:
            writer.write_table(table, row_group_size=rows)
            writer.add_key_value_metadata(metadata)
        edit_manifest(folder, lambda m: m.update(release_sha256=sha256_of(folder / RELEASE_FILE)))

    return damage


def page(text: str) -> Damage:
    return lambda folder, _: edit_page(folder, (folder / REPORT_FILE).read_text() + f"<p>{text}</p>")


def png(kind: bytes, content: bytes, behind: bytes = b"") -> str:
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 0, 0, 0, 0)),
        (kind, content),
        (b"IDAT", zlib.compress(b"\0\0")),
        (b"IEND", b""),
    ]
    body = b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
        for name, data in chunks
    )
    return embedded("png", b"\x89PNG\r\n\x1a\n" + body + behind)


def jpeg(marker: int, content: bytes) -> str:
    segment = struct.pack(">BBH", 0xFF, marker, len(content) + 2) + content
    return embedded("jpeg", b"\xff\xd8" + segment + b"\xff\xda\0\x02dots\xff\xd9")


def embedded(kind: str, picture: bytes) -> str:
    return f'<img src="data:image/{kind};base64,{base64.b64encode(picture).decode()}">'


def purpose(text: str) -> Damage:
    return told(lambda manifest: manifest["record"].update(purpose=text))


FOUND: dict[str, tuple[Damage, str]] = {
    "a place as a setting": (parameter(generalize=f"home_{PLACE}"), "false-statement"),
    "a place as a parameter's name": (parameter(**{PLACE: True}), "false-statement"),
    "thirty numbers more": (parameter(**{f"p{n}": n + 0.774929 for n in range(30)}), "false-statement"),
    "a number with a point": (parameter(k=3.0), "false-statement"),
    "a switch as a number": (parameter(refine=0), "false-statement"),
    "parameters in another order": (
        told(lambda m: m.update(parameters=dict(reversed(m["parameters"].items())))),
        "false-statement",
    ),
    "words as a reason": (
        told(
            lambda m: m["losses"].update(
                subjects_by_reason={"bob of elm street": m["losses"]["subjects_suppressed"]}
            )
        ),
        "false-statement",
    ),
    "raw samples as pseudonyms": (named(lambda uid: f"{uid[-4:]} {PLACE} 08:10"), "unexpected-pseudonym"),
    "words as pseudonyms": (named(lambda uid: f"the tall man of house {uid[-2:]}"), "unexpected-pseudonym"),
    "names backward": (named(lambda uid: uid[::-1]), "unexpected-pseudonym"),
    "names by rot13": (named(lambda uid: codecs.encode(uid, "rot13")), "unexpected-pseudonym"),
    "names with what nobody sees": (named("\u200b".join), "unexpected-pseudonym"),
    "names in wide letters": (named(lambda uid: "\uff43" + uid[1:]), "unexpected-pseudonym"),
    "names as addresses write them": (
        named(lambda uid: "".join(f"%{byte:02x}" for byte in uid.encode())),
        "unexpected-pseudonym",
    ),
    "pseudonyms of any length": (named(lambda uid: uid[-4:] * 900), "unexpected-pseudonym"),
    "pseudonyms that steer": (named(lambda uid: f"\x1b[2J{uid[-4:]}"), "unexpected-pseudonym"),
    "names in hexadecimal": (named(lambda uid: uid[-8:].encode().hex()), "raw-identifier"),
    "names in base32": (named(lambda uid: base64.b32encode(uid.encode()).decode()), "raw-identifier"),
    "names in base64": (named(lambda uid: base64.b64encode(uid.encode()).decode()), "raw-identifier"),
    "a name with what nobody sees": (purpose(f"for {chr(0x200B).join(UID)} alone"), "raw-identifier"),
    "a name in wide letters": (purpose(f"for \uff43{UID[1:]} alone"), "raw-identifier"),
    "a name in the page, with tags": (page(f"cal<b>ler</b>-<i>{UID[-4:]}</i>"), "raw-identifier"),
    "a name in the page, with a comment": (page(f"cal<!-- x -->ler{UID[-5:]}"), "raw-identifier"),
    "a name in the page, with soft hyphens": (page(f"cal&shy;ler{UID[-5:]}"), "raw-identifier"),
    "a name in the page, with what nobody sees": (page("\u200b".join(UID)), "raw-identifier"),
    "a name in a picture's text": (page(png(b"tEXt", b"Author\0" + UID.encode())), "raw-identifier"),
    "a name in a picture's packed text": (
        page(png(b"zTXt", b"Author\0\0" + zlib.compress(UID.encode()))),
        "raw-identifier",
    ),
    "a name in a picture's packed text of a language": (
        page(png(b"iTXt", b"Author\0\x01\0en\0\0" + zlib.compress(UID.encode()))),
        "raw-identifier",
    ),
    "a name behind a picture": (page(png(b"tEXt", b"a\0b", behind=UID.encode())), "raw-identifier"),
    "a name in a picture's comment": (page(jpeg(0xFE, UID.encode())), "raw-identifier"),
    "a name in a camera's words": (
        page(jpeg(0xE1, b"Exif\0\0II*\0" + UID.encode() + b"\0")),
        "raw-identifier",
    ),
    "a name in a drawing as a picture": (
        page(embedded("svg+xml", f"<svg><desc>{UID}</desc></svg>".encode())),
        "raw-identifier",
    ),
    "a name in a script, escaped": (page(f"<script>show('\\x63{UID[1:]}')</script>"), "raw-identifier"),
    "columns in another order": (packed(lambda own: [own[0], *own[:0:-1]]), "unexpected-column"),
}


@pytest.mark.parametrize("name", FOUND)
def test_a_damage_by_hand_is_found(name: str, sound: Case, tmp_path: Path) -> None:
    damage, kind = FOUND[name]
    assert kind in verdict_on(sound, tmp_path / "r", damage).kinds


def test_how_pictures_are_packed_are_no_words() -> None:
    """The usual table of JPEG reads 456789:CDEFGHIJ; a palette and dots of PNG are by chance, too."""
    assert "456789" not in picture_text(jpeg(0xC4, b"456789:CDEFGHIJSTUVWXYZ"))
    assert "456789" in picture_text(jpeg(0xE5, b"456789:CDEFGHIJSTUVWXYZ"))
    assert "456789" not in picture_text(png(b"PLTE", b"456789"))


REFUSED: dict[str, dict[str, Any]] = {
    "a place as the version": {"shoal_version": PLACE},
    "a k that no number holds": {"claim": {"type": "k-anonymity", "k": 10**30}},
    "a tau beyond all numbers": {
        "claim": {"type": "kte-anonymity", "k": 2, "tau_s": 1e300, "epsilon_s": 1e300}
    },
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_manifest_by_hand_is_refused(name: str, sound: Case, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        verdict_on(sound, tmp_path / "r", told(lambda manifest: manifest.update(REFUSED[name])))


NOTED: dict[str, tuple[Damage, str]] = {
    "rows in groups of two": (packed(rows=2), TOO_MANY_GROUPS),
    "a method of nobody's": (told(lambda m: m.update(method=f"bob_{PLACE}")), STRANGE_METHOD),
    "more in the plane": (
        told(lambda m: m.update(crs=f"{PLANE} +title=bob")),
        "neither a code",
    ),
    "a parameter that PROJ passes over": (
        told(lambda m: m.update(crs=f"{PLANE} +bob=37.774929")),
        "neither a code nor parameters",
    ),
}


@pytest.mark.parametrize("name", NOTED)
def test_what_may_be_honest_is_noted(name: str, sound: Case, tmp_path: Path) -> None:
    damage, words = NOTED[name]
    assert not any(words in note for note in verdict_on(sound, tmp_path / "a", lambda *_: None).notes)
    assert any(words in note for note in verdict_on(sound, tmp_path / "b", damage).notes)


def test_a_sound_folder_packed_again_holds(sound: Case, tmp_path: Path) -> None:
    verdict = verdict_on(sound, tmp_path / "r", packed())
    assert verdict.holds, verdict.findings
    assert not verdict.unchecked


def test_records_that_no_search_can_tell_apart_in_time_are_not_decided(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of each three records at one time two are apart, all others near: 3^12 sets of 12, and none of 13."""
    threes, delta_m = 12, 100.0
    corner = delta_m * 0.6 * np.exp(2j * np.pi * np.arange(3) / 3)
    places = np.zeros((3 * threes, threes), dtype=complex)
    for time in range(threes):
        places[3 * time : 3 * time + 3, time] = corner
    ids = [f"p{record:02d}" for record in range(3 * threes) for _ in range(threes)]
    t, place = np.tile(np.arange(threes) * 60.0, 3 * threes), places.ravel()
    people = Trajectories.from_rows(ids, t, place.real, place.imag)
    release = Release(
        trajectory_ids=people.ids,
        offsets=people.offsets,
        payload=Points(t=people.t, x=people.x, y=people.y),
        claim=KDeltaAnonymity(k=threes, delta_m=delta_m),
        method="by hand",
        parameters={},
        losses=Losses(),
        grid=None,
        crs=None,
        unit_of_protection="each subject",
        publishable=False,
    )
    monkeypatch.setattr(co_location, "_MOST_LOOKED_AT", 1_000_000)
    assert not {"company-changes", "not-decided"} & shoal.verify(people, release).kinds
    impossible = replace(release, claim=KDeltaAnonymity(k=threes + 1, delta_m=delta_m))
    verdict = shoal.verify(people, impossible)
    assert verdict.kinds >= {"not-decided"}
    assert len([finding for finding in verdict.findings if finding.kind == "not-decided"]) == 3 * threes
    assert json.dumps(verdict.to_json())
