"""Real devices and servers complete a round over HTTP, with SQLite and PostgreSQL, and through kills."""

import time
from pathlib import Path

import pytest

from collect_history import check_round, stored_before
from command_line import Shoal
from ports import free_port
from service_processes import OF_THREE, Site, finish
from service_town import SCOPING, TERMS, identity_of, seed, volunteers
from shoal.errors import InputError
from shoal_collect.cli.collector import _public_places
from shoal_collect.crypto.signatures import verify_key
from shoal_collect.device.disk import StateFolder
from shoal_collect.matching.cylinders import Cylinder, Point
from shoal_collect.matching.similarity import Thresholds, scoped_tag
from shoal_collect.roles.admission import TokenRequest, purpose_in, sign_release, tag_of
from shoal_collect.roles.terms import RegistrarTerms
from shoal_collect.roles.wire import DAY_S
from shoal_collect.server.http_authority import secrets_of
from shoal_collect.server.registrar import CODE_BYTES, RegisterBook, Registrar, code_digest, write_code
from shoal_collect.storage.database import AUTHORITY, Database
from shoal_collect.storage.phi import PhiStore


def place_of(
    folder: Path,
    database_url: str,
    ks: tuple[int, ...],
    *more: str,
    admit: bool = False,
    deployed: bool = False,
    proven: bool = False,
) -> Site:
    """A site whose database holds what three people released the day before yesterday on the common way."""
    minutes = int(time.time() // DAY_S) * 1440 - 2000
    way = [Point(39.9 + 0.01 * i, 116.3 + 0.01 * i, minutes + 60 * i) for i in range(3)]
    with PhiStore(Database(database_url)) as store:
        if admit:
            admitted_volunteers(folder, store, way)
        else:
            volunteers(store, 3, int(time.time() // DAY_S) - 2, way)
    return Site(folder, database_url, ks, minutes, more=more, admit=admit, deployed=deployed, proven=proven)


COLLECTOR, OFFICE = bytes(range(1, 33)), bytes(range(33, 65))  # what stands in the servers' key files
AREA = SCOPING.area_at(39_900_000, 116_300_000)


def request_of(device_key: bytes) -> TokenRequest:
    """For a device's credential of the area where all these trips begin."""
    key = verify_key(COLLECTOR)
    registrar = RegistrarTerms(
        url="http://a", key=verify_key(secrets_of(OFFICE)[1]).hex(), period=int(time.time() // DAY_S)
    )
    return TokenRequest(device_key, key, registrar, purpose_in(key, TERMS, registrar, AREA))


def admitted_volunteers(folder: Path, store: PhiStore, way: list[Point]) -> None:
    """Three admitted people on the common way, the day before yesterday."""
    (folder / "collector.key").write_text(COLLECTOR.hex() + "\n")
    (folder / "authority.key").write_text(OFFICE.hex() + "\n")
    book, now_s = RegisterBook(Database(None, AUTHORITY)), time.time()
    office = Registrar(book, OFFICE, frozenset({verify_key(COLLECTOR)}), 1, secrets_of(OFFICE)[1])
    with PhiStore() as unproven:
        volunteers(unproven, 3, 0, way)
        releases = stored_before(unproven.database, 1)
    for number, release in enumerate(releases):
        request = request_of(seed("volunteer", number))
        purpose, account = request.purpose, verify_key(request.account_seed)
        code = write_code(seed("invitation", number)[:CODE_BYTES])
        book.invite([code_digest(code)])
        office.admit(account, code)
        said = office.key_of(purpose, account, now_s)
        body = request.ask_for_token(said).body
        credential = request.entry(said, office.sign(purpose, account, body, now_s))
        proven = sign_release(release, credential, bytes(32))
        store.add(proven, int(now_s // DAY_S) - 2, office.public_key + purpose.text)


def own_tag(site: Site, device_key: bytes, first: Cylinder) -> bytes:
    if site.admit:
        return tag_of(verify_key(request_of(device_key)._signing_seed))
    return scoped_tag(SCOPING.scope_of(first), device_key)


def check_everything(site: Site, least: int) -> None:
    """Each stored release against the database's own history.

    At least so many checked sub-trajectories in all.
    """
    n = 0
    with Database(site.database) as database:
        assert PhiStore(database).n_records == 3 + len(site.ks)
        for number, k in enumerate(site.ks):
            kept = StateFolder(site.state(number)).load()
            assert kept is not None
            assert kept.own_round is None
            noted = site.noted(number)
            own = own_tag(site, kept.device.device_key, Cylinder(*noted["released"]["points"][0]))
            n += check_round(database, noted, own, k, Thresholds(theta_m=1000, theta_min=60))
    assert n >= least, f"{n} checked sub-trajectories are whole in {len(site.ks)} releases"


def test_four_devices_complete_a_round(postgres_url: str, tmp_path: Path) -> None:
    """By the compose file: two collectors over one PostgreSQL, and an authority that admits, behind TLS.

    Those who prove their shuffles and are killed use SQLite.
    """
    with place_of(tmp_path, postgres_url, (1, 2, 3, 3), admit=True, deployed=True) as site:
        said = finish([site.join(number) for number in range(4)])
        assert all(one.startswith("shared") for one in said)
        check_everything(site, 12)
        asked = (
            "--database",
            f"sqlite:///{tmp_path / 'authority.sqlite'}",
            "--key",
            str(tmp_path / "authority.key"),
        )
        listing = site.start("authority", *asked, "--identifiers-of", "user 2")
        assert finish([listing]) == [f"{site.noted(2)['identifier']}\n"]


PHASES = ("asking how many", "having it stored")  # every step is killed in tests/test_collect_service.py


def test_a_device_and_the_collector_are_killed(tmp_path: Path) -> None:
    """SIGKILL to one device as it enters each phase, and to the collector.

    Both start again and the round goes on, with the tokens that the authority's registrar issued, with
    shuffles that are proven, and with a witness that gives the same answers.
    """
    url, port = f"sqlite:///{tmp_path / 'collect.sqlite'}", free_port()
    there = f"http://127.0.0.1:{port}", identity_of(seed("witness")).hex()
    (tmp_path / "witness.key").write_text(seed("witness").hex())
    options = ("--key", str(tmp_path / "witness.key"), "--port", str(port), "--quiet")
    with place_of(tmp_path, url, (3, 3, 3), *OF_THREE, "--witness", *there, admit=True, proven=True) as site:
        follow = ("--follow", f"http://127.0.0.1:{site.ports[0]}", site.collector.rsplit(" ", 1)[1])
        own = ("--database", f"sqlite:///{tmp_path / 'witness.sqlite'}")
        _, line = site._serve("witness", *own, *follow, *options)
        assert line == "witness at {}, key {}".format(*there)
        others = [site.join(number) for number in (1, 2)]
        killed = []
        for phase in PHASES:
            device = site.join(0)
            assert device.stderr is not None
            for line in device.stderr:
                if line.startswith(phase):
                    killed.append(phase)
                    break
            site.kill(device)
            site.kill(site.server)
            site.start_server()
        assert killed, "killed at least where the device could be seen"
        kept = StateFolder(site.state(0)).load()
        assert kept is not None
        assert [(witness.url, witness.key) for witness in kept.device.witnesses] == [there]
        # a device that ended before the signal came would begin another round, alone
        said = finish([*others, *([] if kept.rounds else [site.join(0)])])
        assert all(one.startswith("shared") for one in said)
        check_everything(site, 9)
        with Database(url) as database:
            assert database.rows("SELECT COUNT(*), COUNT(DISTINCT identity) FROM spent") == [(3, 3)]


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ("", "give 1 to 10,000"),
        ("1,2,0\n", "give 1 to 10,000"),
        ("1,2,1\n95,2,1\n", "lat_deg in row 2 is out"),
    ],
)
def test_places_that_cannot_be_used_are_told_in_words(tmp_path: Path, rows: str, why: str) -> None:
    places = tmp_path / "places.csv"
    places.write_text(f"lat,lon,weight\n{rows}")
    with pytest.raises(InputError, match=f"holds no usable places: {why}"):
        _public_places(places, 30)


def test_what_a_person_does_wrong_is_said_in_words(shoal: Shoal, tmp_path: Path) -> None:
    places = tmp_path / "places.csv"
    places.write_text("lat,lon\n95,1\nx,y\n")
    url = f"sqlite:///{tmp_path / 'c.sqlite'}"
    nowhere = ["--server", "http://127.0.0.1:1", "--authority", "http://127.0.0.1:1"]
    nowhere += ["--patience", "0.1s"]
    (tmp_path / "mine.csv").write_text("uid,t,lat,lon\na,1714557600,48.85,2.35\na,1714558200,48.86,2.35\n")
    (tmp_path / "mine.toml").write_text("k = 3\n[blur]\nradius = '500m'\ngap = '30min'\n")
    mine, own = ["--data", str(tmp_path / "mine.csv")], ["--profile", str(tmp_path / "mine.toml")]
    state = ["--state", str(tmp_path / "state"), "--yes"]
    for arguments, message in (
        (
            ["server", "--database", url, "--places", str(places), "--key", str(tmp_path / "k")],
            "does not hold places",
        ),
        (
            ["server", "--database", url, "--places", "none.csv", "--key", str(tmp_path / "k")],
            "none.csv cannot be read: No such file or directory; check the path",
        ),
        (["authority", "--database", url, "--key", str(tmp_path / "k")], "--collector-key"),
        (["join", *nowhere, "--data", "none.csv", *own, *state], "no file or folder none.csv"),
        (["join", *nowhere, *mine, *own, *state, "--trip", "2"], "trip 2 of 1"),
        (["join", *nowhere, *mine, "--profile", "none.toml", *state], "cannot read none.toml"),
        (["join", *nowhere, *mine, *own, *state], "does not answer"),
    ):
        ended = shoal("collect", *arguments)
        assert ended.code == 2
        assert message in ended.err
        assert "Traceback" not in ended.err
