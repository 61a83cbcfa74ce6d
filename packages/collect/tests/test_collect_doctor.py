"""The look from outside: what keeps people from taking part is said, and how to mend it."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from command_line import Shoal
from service_town import PLACES, TERMS, identity_of, running, seed
from shoal_collect.cli.documents import CollectDoctorDocument
from shoal_collect.roles.terms import RegistrarTerms
from shoal_collect.server.http_authority import ClaimBook, authority_application
from shoal_collect.server.http_collector import CollectorSettings, collector_application
from shoal_collect.server.registrar import RegisterBook, Registrar
from shoal_collect.storage.database import AUTHORITY, Database

STATED = dict.fromkeys(("controller", "purpose", "recipients", "retention", "contact"), "said")


@pytest.fixture
def authority() -> Iterator[tuple[str, bytes]]:
    keys = frozenset({identity_of(seed("server"))})
    with Database(None, AUTHORITY) as database:
        book = ClaimBook(database, seed("authority"), keys)
        registrar = Registrar(RegisterBook(database), seed("authority"), keys, 1, book.signing_seed)
        with running(authority_application(book, quiet=True, registrar=registrar)) as url:
            yield url, registrar.public_key


def looked(shoal: Shoal, authority_url: str, collector: bytes, **terms: object) -> tuple[int, dict[str, str]]:
    """The exit status, and the level of each finding."""
    with Database() as database:
        app = collector_application(
            database,
            collector,
            TERMS.model_copy(update=terms),
            CollectorSettings(PLACES, round_size=3, join_s=60),
            seed,
            quiet=True,
        )
        with running(app) as url:
            ended = shoal("collect", "doctor", "--server", url, "--authority", authority_url, "--json")
    document = TypeAdapter(CollectDoctorDocument).validate_python(json.loads(ended.out))
    return ended.code, {found["text"]: found["level"] for found in document["findings"]}


def test_a_sound_collection_is_well_and_each_fault_is_said(
    shoal: Shoal, authority: tuple[str, bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    url, key = authority
    registrar = RegistrarTerms(url=url, key=key.hex())
    code, found = looked(shoal, url, seed("server"), registrar=registrar, **STATED)
    assert code == 0
    assert {text: level for text, level in found.items() if level != "well"} == {
        "a collector that lies is believed, until somebody else checks the counts (--witness)": "note",
        "groups of 3 are drawn from at least 3 people (least_roster); the more, the rarer accomplices are "
        "everybody else in one": "note",
    }
    other = registrar.model_copy(update={"key": "ab" * 32, "days": 7})
    code, found = looked(shoal, url, seed("another"), registrar=other)
    assert code == 1
    mended = [text for text, level in found.items() if level == "mend"]
    for words in (
        "--collector-key",
        "--registrar has the registrar's key",
        "--token-days is 7",
        "does not say: responsible",
    ):
        assert any(words in text for text in mended), words
    code, found = looked(shoal, url, seed("server"))
    assert code == 1
    assert any("anybody can join" in text for text in found)
    monkeypatch.setattr("shoal_collect.cli.doctor.time.time", lambda: 0.0)
    assert any(
        "its clock is" in text and level == "mend"
        for text, level in looked(shoal, url, seed("server"), registrar=registrar, **STATED)[1].items()
    )


def test_servers_that_do_not_answer_are_said(shoal: Shoal, tmp_path: Path) -> None:
    ended = shoal("collect", "doctor", "--server", "http://127.0.0.1:1", "--authority", "http://127.0.0.1:1")
    assert ended.code == 1
    assert ended.out.count("mend  the ") == 2
    assert "does not answer" in ended.out
