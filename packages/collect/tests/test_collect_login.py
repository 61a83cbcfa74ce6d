"""A registrar admits who logs in at an institution: a real provider, and every lie refused by name."""

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import urlopen

import pytest

from command_line import Shoal
from institution import CLIENT, SECRET, Institution
from service_town import identity_of, running, seed
from shoal.errors import MisuseError
from shoal_collect.device.admission import LoginNeededError, _read_login, request_entry
from shoal_collect.device.http_client import RemoteServer
from shoal_collect.faults import PeerError
from shoal_collect.roles.admission import Purpose, period_at
from shoal_collect.roles.participant_round import Device
from shoal_collect.roles.registrar import Registrar
from shoal_collect.roles.terms import RegistrarTerms
from shoal_collect.server.http_login import CONFIRM, RETURN, LoginDesk
from shoal_collect.server.http_registrar import registrar_application
from shoal_collect.server.login import LoginKeys, Provider, require_private
from shoal_collect.storage.database import Database
from shoal_collect.storage.logins import Logins
from shoal_collect.storage.migrations import AUTHORITY
from shoal_collect.storage.register import RegisterBook

pytest.importorskip("joserfc", reason="joserfc is not installed (the extra login)")
COLLECTOR = identity_of(seed("server"))


@pytest.fixture(scope="module")
def institution() -> Iterator[Institution]:
    provider = Institution()
    with running(provider.app) as url:
        provider.issuer = url
        yield provider


@dataclass
class Office:
    """A registrar with a login, without a socket."""

    institution: Institution
    database: Database
    now_s: float

    def __post_init__(self) -> None:
        self.logins, self.book = Logins(self.database), RegisterBook(self.database)
        issuer = self.institution.issuer
        provider = Provider(issuer, CLIENT, SECRET, f"http://127.0.0.1:1{RETURN}", clock=lambda: self.now_s)
        self.desk = LoginDesk(provider, LoginKeys(seed("registrar")), self.logins, lambda: self.now_s)

    def back(self, account: bytes) -> tuple[dict[str, str], str]:
        """Begin, and log in: what comes back, and the number."""
        begun = self.desk.begin(account)
        return self.institution.log_in(begun["url"]), begun["number"]

    def admit(self, account: bytes) -> None:
        answer, number = self.back(account)
        self.desk.take_return(**answer)
        self.desk.confirm(answer["state"], f"{number[:3]} {number[3:]}")


@pytest.fixture
def office(institution: Institution) -> Iterator[Office]:
    institution.__dict__.update(
        subject="ann",
        claims={},
        key=0,
        algorithm="ES256",
        stated_issuer=None,
        about={},
        requests=[],
        ahead_s=0.0,
    )
    with Database(None, AUTHORITY) as database:
        yield Office(institution, database, time.time())


def test_who_logs_in_is_admitted_and_the_database_does_not_name_her(office: Office) -> None:
    office.institution.subject = "ann@institution.example"
    office.admit(seed("ann"))
    assert office.book.knows(seed("ann"))
    tables = ("login", "logged_in", "person")
    everything = str([office.database.rows(f"SELECT * FROM {name}") for name in tables])
    assert "ann" not in everything
    assert office.database.rows("SELECT COUNT(*) FROM login") == [(0,)]
    assert [sent["client_secret"] for sent in office.institution.requests] == [SECRET]
    here, elsewhere = LoginKeys(seed("registrar")), LoginKeys(seed("another"))
    same = (
        here.person("https://a", "ann"),
        here.person("https://b", "ann"),
        elsewhere.person("https://a", "ann"),
    )
    assert len(set(same)) == 3
    assert SECRET not in repr(office.desk._provider)
    office.institution.stated_issuer = f"{office.institution.issuer}/"
    assert Provider(office.institution.stated_issuer, CLIENT, SECRET, "x").address("", "", ""), "one slash"


LIES: dict[str, tuple[dict[str, Any], str, str]] = {
    "another issuer": ({"claims": {"iss": "https://elsewhere.example"}}, "bad-answer", "another issuer"),
    "an issuer that is another": ({"stated_issuer": "https://x.example"}, "bad-answer", "another issuer"),
    "another client": ({"claims": {"aud": "somebody-else"}}, "wrong-receiver", "another client"),
    "several clients, made for another": (
        {"claims": {"aud": [CLIENT, "other"], "azp": "other"}}, "wrong-receiver", "another client",
    ),
    "another login": ({"claims": {"nonce": "0" * 64}}, "bad-answer", "made for another login"),
    "no nonce": ({"claims": {"nonce": None}}, "bad-answer", "made for another login"),
    "a token that is over": ({"claims": {"exp": 1_600_000_000}}, "too-late", "is over"),
    "a token without an end": ({"claims": {"exp": None}}, "bad-answer", "does not say"),
    "a token from the future": ({"claims": {"iat": 4_000_000_000}}, "bad-answer", "does not say"),
    "no person": ({"claims": {"sub": None}}, "bad-answer", "does not say"),
    "a person without a name": ({"claims": {"sub": ""}}, "bad-answer", "does not say"),
    "a number for a name": ({"claims": {"sub": 7}}, "bad-answer", "does not say"),
    "another key": ({"key": 1}, "bad-signature", "not signed"),
    "no signature": ({"algorithm": "none"}, "bad-signature", "not signed"),
    "the public key as a secret": ({"algorithm": "HS256"}, "bad-signature", "not signed"),
    "keys that others can read": ({"about": {"jwks_uri": "http://k.example"}}, "bad-answer", "describe"),
}  # fmt: skip


@pytest.mark.parametrize("lie", LIES)
def test_a_lie_of_the_login_is_refused_by_name(lie: str, office: Office) -> None:
    changed, name, words = LIES[lie]
    answer = None
    if not {"stated_issuer", "about"} & set(changed):
        answer, number = office.back(seed("ann"))
    office.institution.__dict__.update(changed)
    with pytest.raises(PeerError, match=words) as refused:
        office.back(seed("ann")) if answer is None else office.desk.take_return(**answer)
    assert refused.value.wire_name == name
    if answer is not None:
        with pytest.raises(PeerError, match="no one has logged in"):
            office.desk.confirm(answer["state"], number)
    assert not office.book.knows(seed("ann"))


def test_what_comes_back_counts_once_and_in_time(office: Office) -> None:
    answer, number = office.back(seed("ann"))
    with pytest.raises(PeerError, match="not begun here"):
        office.desk.take_return("0" * 64, answer["code"])
    office.desk.take_return(**answer)
    with pytest.raises(PeerError, match="used already") as replayed:
        office.desk.take_return(**answer)
    assert replayed.value.kind == "duplicate"
    again, _ = office.back(seed("bob"))
    with pytest.raises(PeerError, match="refused with status 400"):
        office.desk.take_return(again["state"], answer["code"])
    late, _ = office.back(seed("cat"))
    office.now_s += 601
    with pytest.raises(PeerError, match="longer than ten minutes"):
        office.desk.take_return(**late)
    with pytest.raises(PeerError, match="longer than ten minutes"):
        office.desk.confirm(answer["state"], number)
    assert office.book.counts()["persons"] == 0


def test_a_wrong_number_admits_no_one(office: Office) -> None:
    """Who gets an address from another person does not know the number on that person's device."""
    answer, number = office.back(seed("mallory"))
    office.desk.take_return(**answer)
    wrong = f"{(int(number) + 1) % 10**6:06}"
    for _ in range(3):
        with pytest.raises(PeerError, match="another number"):
            office.desk.confirm(answer["state"], wrong)
    with pytest.raises(PeerError, match="too many wrong numbers"):
        office.desk.confirm(answer["state"], number)
    assert not office.book.knows(seed("mallory"))


def test_one_account_a_person_and_period(office: Office) -> None:
    signer = Registrar(office.book, seed("registrar"), frozenset({COLLECTOR}), 7)
    office.admit(seed("first"))
    office.admit(seed("first"))
    office.admit(seed("second"))
    assert [office.book.knows(seed(name)) for name in ("first", "second")] == [False, True]
    period = period_at(office.now_s, 7)
    blinded = (3).to_bytes(384)
    purpose = Purpose(COLLECTOR, 7, period)
    assert not office.book.issue(purpose, seed("first"), seed("late")), (
        "asked before, signed after she was out"
    )
    signer.sign(seed("second"), COLLECTOR, 7, period, blinded, office.now_s)
    year = 365, period_at(office.now_s, 365)
    signer.sign(seed("second"), COLLECTOR, *year, blinded, office.now_s, "50-1-1")
    office.admit(seed("third"))
    assert [office.book.knows(seed(name)) for name in ("second", "third")] == [False, True]
    another = (5).to_bytes(384)
    for about, area in (((7, period), ""), (year, "50-1-1")):
        with pytest.raises(PeerError, match="duplicate"):
            signer.sign(seed("third"), COLLECTOR, *about, another, office.now_s, area)
    office.institution.subject = "bob"
    office.admit(seed("fourth"))
    assert [office.book.knows(seed(name)) for name in ("third", "fourth")] == [True, True]
    signer.sign(seed("fourth"), COLLECTOR, *year, another, office.now_s, "50-1-1")


def test_logins_under_way_are_bounded(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shoal_collect.storage.logins._MOST_OPEN", 2)
    first = office.desk.begin(seed(1))
    office.desk.begin(seed(2))
    office.desk.begin(seed(2))
    with pytest.raises(PeerError, match="too many logins"):
        office.desk.begin(seed(3))
    office.now_s += 1300
    office.desk.begin(seed(3))
    with pytest.raises(PeerError, match="not begun here"):
        office.desk.take_return(**office.institution.log_in(first["url"]))


def open_page(url: str, form: dict[str, str] | None = None) -> tuple[int, str, str]:
    try:
        with urlopen(url, None if form is None else urlencode(form).encode()) as reply:
            return reply.status, reply.read().decode(), reply.headers["content-security-policy"]
    except HTTPError as error:
        with error:
            return error.code, error.read().decode(), error.headers["content-security-policy"]


def test_a_device_gets_its_token_after_a_login(
    institution: Institution, office: Office, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over HTTP, from the device that is refused to the token that it spends."""
    monkeypatch.setattr("shoal_collect.device.admission._LOOK_S", 0.05)
    signer = Registrar(office.book, seed("registrar"), frozenset({COLLECTOR}), 1)
    office.now_s = time.time()
    app = registrar_application(signer, office.book, quiet=True, login=office.desk)
    with running(app) as url:
        terms = RegistrarTerms(url=url, key=signer.public_key.hex(), period=period_at(time.time(), 1))
        device = Device("ann", seed("sign"), seed("device"), COLLECTOR, bytes(32), bytes(32))
        server = RemoteServer(url, key=signer.public_key)
        with pytest.raises(LoginNeededError) as needed:
            request_entry(server, device, terms, None)
        assert needed.value.number in str(needed.value)
        messages: list[str] = []
        entries: list[Any] = []
        waiting = Thread(
            target=lambda: entries.append(request_entry(server, device, terms, None, messages.append))
        )
        waiting.start()
        until = time.monotonic() + 10
        while not messages and time.monotonic() < until:
            time.sleep(0.01)
        words = messages[0].split()
        address, number = next(word for word in words if word.startswith("http")), words[-1]
        answer = institution.log_in(address)
        status, html, policy = open_page(f"{url}{RETURN}?{urlencode(answer)}")
        assert (status, "six digits" in html, number in html) == (200, True, False)
        assert "form-action 'self'" in policy
        assert open_page(f"{url}{RETURN}?{urlencode(answer)}")[0] == 409
        status, html, _ = open_page(f"{url}{CONFIRM}", {"state": answer["state"], "number": "x"})
        assert (status, "Another number" in html) == (403, True)
        assert open_page(f"{url}{CONFIRM}", {"state": "<script>", "number": "1"})[0] == 404
        assert open_page(f"{url}{CONFIRM}", {"x": "y" * 5000})[0] == 400
        for query in ("", "error=access_denied&state=x", f"code=x&state={'0' * 5000}"):
            assert open_page(f"{url}{RETURN}?{query}")[0] in (400, 403)
        status, html, policy = open_page(f"{url}{CONFIRM}", {"state": answer["state"], "number": number})
        assert (status, "You are admitted" in html) == (200, True)
        waiting.join(timeout=10)
        server.close()
    assert len(entries) == 1
    assert entries[0].token is not None


@pytest.mark.parametrize(
    "url",
    [
        "http://login.example",
        "ftp://login.example",
        "https://",
        "https://me:pw@x.example",
        "https://[a",
        "https://a:99999",
    ],
)
def test_a_login_that_others_can_read_is_refused(url: str) -> None:
    with pytest.raises(MisuseError, match="is not a login"):
        require_private(url, "a login")


def test_the_command_needs_all_of_a_login(
    shoal: Shoal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SHOAL_LOGIN_SECRET", raising=False)
    Path("secret").write_text(SECRET)
    base = (
        "collect",
        "registrar",
        "--database",
        "sqlite:///r.sqlite",
        "--collector-key",
        "ab" * 32,
        "--quiet",
    )
    login = (
        "--login",
        "https://login.example",
        "--login-client",
        CLIENT,
        "--login-address",
        "https://r.example",
    )
    for words, said in (
        ((*base, *login[:4]), "--login-address"),
        ((*base, *login[2:]), "have no effect without --login"),
        ((*base, *login), "SHOAL_LOGIN_SECRET"),
        ((*base, *login, "--login-secret", "none"), "cannot be read"),
        ((*base, *login[:4], "--login-address", "http://r.example"), "https://"),
        ((*base, *login, "--login-secret", "secret", "--login-ca", "none"), "certificates in none"),
    ):
        ended = shoal(*words)
        assert (ended.code, said in ended.err) == (2, True), ended.err


@pytest.mark.parametrize(
    "begun",
    [
        "{",
        "[]",
        '{"url": "https://a.example", "number": "12345", "until_s": 1}',
        '{"url": "https://a.example", "number": "12345x", "until_s": 1}',
        '{"url": "https://a.example", "number": "123456", "until_s": "soon"}',
        '{"url": "http://127.0.0.1.a.example", "number": "123456", "until_s": 1}',
        '{"url": "http://a.example", "number": "123456", "until_s": 1}',
        '{"url": "javascript:alert(1)", "number": "123456", "until_s": 1}',
        '{"url": "https://[a", "number": "123456", "until_s": 1}',
        '{"url": "https://a.example/\\u001b[2J", "number": "123456", "until_s": 1}',
    ],
)
def test_a_registrar_sends_no_one_to_an_address_that_others_read(begun: str) -> None:
    with pytest.raises(PeerError, match="bad-answer"):
        _read_login(begun.encode())
    sound = b'{"url": "https://a.example/login", "number": "123456", "until_s": 1}'
    assert _read_login(sound) == ("https://a.example/login", "123456", 1.0)


def test_logins_in_every_database(institution: Institution, office: Office, database_url: str) -> None:
    """Two processes share logins: what one has begun the other ends."""
    with Database(database_url, AUTHORITY) as one, Database(database_url, AUTHORITY) as other:
        first, second = Office(institution, one, office.now_s), Office(institution, other, office.now_s)
        answer, number = first.back(seed("ann"))
        second.desk.take_return(**answer)
        first.desk.confirm(answer["state"], number)
        assert second.book.knows(seed("ann"))
        first.admit(seed("ann again"))
        assert [second.book.knows(seed(name)) for name in ("ann", "ann again")] == [False, True]
