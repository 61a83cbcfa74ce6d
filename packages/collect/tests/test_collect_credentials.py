"""k counts people: every way to count twice, by accounts, tags, rounds, areas, periods, groups and copies."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import pytest
from gmpy2 import mpz

from red_team_oracle import question
from service_town import (
    PLACES,
    START_S,
    TERMS,
    TODAY,
    Town,
    identity_of,
    kinds,
    own_round_for,
    running,
    seed,
    vouched,
)
from shoal.errors import InputError
from shoal_collect.crypto.blind_signatures import SignKey, VerifyKey
from shoal_collect.crypto.chance import Chance
from shoal_collect.crypto.signatures import verify_key
from shoal_collect.device.http_client import RemoteServer
from shoal_collect.device.participation import request_credentials
from shoal_collect.faults import PeerError
from shoal_collect.matching.cylinders import Cylinder
from shoal_collect.matching.records import Query, Release, encode_query, encode_release
from shoal_collect.matching.similarity import Scoping
from shoal_collect.roles.admission import (
    MOST_AREAS,
    Entry,
    Purpose,
    TokenRequest,
    areas_of,
    purpose_in,
    require_one_key,
    require_scope,
    sign_release,
)
from shoal_collect.roles.participant_round import Device
from shoal_collect.roles.terms import Terms
from shoal_collect.roles.wire import DAY_S, write_json
from shoal_collect.server.mailbox import Mailbox, collector_for
from shoal_collect.server.registrar import registrar_application
from shoal_collect.storage.database import Database
from shoal_collect.storage.days import ClosedDays, StoredReleases
from shoal_collect.storage.phi import PhiStore
from test_collect_admission import (
    CODES,
    COLLECTOR,
    Office,
    another_office,
    join,
    open_second,
    terms_of,
    town_of,
)

SERVER = seed("server")
HERE = (
    Cylinder(29_000_000, 30, 39_900_000, 116_300_000, 500),
    Cylinder(29_000_060, 30, 39_910_000, 116_310_000, 500),
)
SCOPING = Scoping(50, 365)


@pytest.fixture(scope="module")
def office() -> Office:
    made = Office("registrar")
    for number in range(4):
        made.entry(seed("device", number), CODES[number])
    return made


@pytest.fixture
def store() -> Iterator[PhiStore]:
    with PhiStore() as opened:
        yield opened


def credential(office: Office, device: int = 0, at: Cylinder = HERE[0], now_s: float = START_S) -> Entry:
    terms = terms_on(office, now_s)
    assert terms.registrar is not None
    purpose = purpose_in(COLLECTOR, terms, terms.registrar, SCOPING.area_of(at))
    return office.entry(seed("device", device), now_s=now_s, purpose=purpose)


def terms_on(office: Office, now_s: float = START_S) -> Terms:
    registrar = office.terms.model_copy(update={"period": int(now_s // DAY_S)})
    return terms_of(office).model_copy(update={"registrar": registrar})


def drafted(name: object, points: tuple[Cylinder, ...] = HERE) -> Release:
    return Release(seed("name", name)[:16], bytes(16), identity_of(seed("claim", name)), points)


def deliver(store: PhiStore, terms: Terms, session: bytes, *releases: Release, day: int = TODAY) -> int:
    """How many a collector stores of what one group brings."""
    records = [piece for one in releases for piece in encode_release(one, 12, Chance(bytes(32)))]
    return len(collector_for(store, SERVER, terms, session).accept(records, day)[0])


def people(store: PhiStore, terms: Terms, points: tuple[Cylinder, ...] = HERE) -> int:
    """Whom a later question of a round on these terms counts."""
    rules = terms
    return store.count(points, rules.thresholds, TODAY + 800, proven=terms.registrar is not None)


def invented_tags(office: Office, store: PhiStore) -> None:
    """One admitted person with one token put in four releases under four invented tags."""
    several = [replace(drafted(i), contributor=seed("tag", i)[:16]) for i in range(4)]
    assert deliver(store, terms_on(office), seed("group"), *several) == 0


def tags_over_her_proof(office: Office, store: PhiStore) -> None:
    sound = sign_release(drafted(1), credential(office), seed("group"))
    several = [replace(sound, name=seed(i)[:16], contributor=seed("tag", i)[:16]) for i in range(4)]
    assert deliver(store, terms_on(office), seed("group"), *several) == 0


def many_rounds(office: Office, store: PhiStore) -> None:
    for number in range(4):
        group = seed("group", number)
        one = sign_release(drafted(number), credential(office), group)
        assert deliver(store, terms_on(office), group, one, day=TODAY + number) == 1


def copies_of_a_device(office: Office, store: PhiStore) -> None:
    for number in range(2):
        group = seed("copy", number)
        again = office.entry(seed("device", 0), purpose=_purpose(office))
        assert deliver(store, terms_on(office), group, sign_release(drafted(number), again, group)) == 1


def periods(office: Office, store: PhiStore) -> None:
    for number, later_s in enumerate((0, 365 * DAY_S)):
        now_s, group = START_S + later_s, seed("group", number)
        one = sign_release(drafted(number), credential(office, now_s=now_s), group)
        assert deliver(store, terms_on(office, now_s), group, one, day=TODAY + number) == 1


def areas(office: Office, store: PhiStore) -> tuple[Cylinder, ...]:
    """From both sides of a border of areas, on ways that one question meets."""
    side = 50 * 8993
    border = ((HERE[0].lat_udeg + 90_000_000) // side + 1) * side - 90_000_000
    points: tuple[Cylinder, ...] = HERE
    group = seed("group")
    for number, lat in enumerate((border - 100, border + 100)):
        points = tuple(replace(one, lat_udeg=lat + 10_000 * i) for i, one in enumerate(HERE))
        wrong = sign_release(drafted((number, "wrong"), points), credential(office, at=HERE[0]), group)
        in_her_area = SCOPING.area_of(points[0]) == SCOPING.area_of(HERE[0])
        assert deliver(store, terms_on(office), group, wrong) == in_her_area
        right = sign_release(drafted(number, points), credential(office, at=points[0]), group)
        assert deliver(store, terms_on(office), group, right) == 1
    assert store.database.rows("SELECT COUNT(*) FROM contributor") == [(2,)], "a tag on either side"
    return points


def another_group(office: Office, store: PhiStore) -> None:
    """What a member has read in her group is worth nothing in another, nor is another's key hers."""
    one = sign_release(drafted(1), credential(office), seed("group"))
    assert deliver(store, terms_on(office), seed("group"), one) == 1
    assert deliver(store, terms_on(office), seed("another"), one) == 0
    proof = seed("another") + one.proof[32:]
    assert (
        deliver(store, terms_on(office), seed("another"), replace(one, name=seed(9)[:16], proof=proof)) == 0
    )


def a_round_without_registrar(office: Office, store: PhiStore) -> None:
    open_to_all = terms_on(office).model_copy(update={"registrar": None})
    several = [replace(drafted(("open", i)), contributor=seed("tag", i)[:16]) for i in range(4)]
    assert deliver(store, open_to_all, seed("group"), *several) == 4
    assert people(store, open_to_all) == 4, "where anybody can join nothing holds"
    many_rounds(office, store)


def another_registrar(office: Office, store: PhiStore) -> None:
    """Also after the operator has changed from one to the other."""
    foreign = another_office().entry(seed("device", 0), purpose=_purpose(office))
    one = sign_release(drafted(1), foreign, seed("group"))
    assert deliver(store, terms_on(office), seed("group"), one) == 0
    assert deliver(store, terms_on(another_office()), seed("group"), one) == 1
    many_rounds(office, store)


def twice_in_one_group(office: Office, store: PhiStore) -> None:
    """In the place of a member who shares nothing."""
    both = [sign_release(drafted(n), credential(office), seed("group")) for n in range(2)]
    assert deliver(store, terms_on(office), seed("group"), *both) == 2


def taken_back_and_again(office: Office, store: PhiStore) -> None:
    first, second = (sign_release(drafted(n), credential(office), seed("group")) for n in range(2))
    assert deliver(store, terms_on(office), seed("group"), first) == 1
    identifier = store.identifier(first.name)
    assert identifier is not None
    StoredReleases(store.database).withdraw(identifier, first.claim_key, TODAY)
    assert deliver(store, terms_on(office), seed("group"), second, first, day=TODAY + 1) == 2


def terms_with_other_areas(office: Office, store: PhiStore) -> None:
    """Her operator makes the areas larger, so that she gets a second credential."""
    many_rounds(office, store)
    terms = terms_on(office).model_copy(update={"area_km": 60})
    assert terms.registrar is not None
    purpose = purpose_in(COLLECTOR, terms, terms.registrar, terms.scoping.area_of(HERE[0]))
    another = sign_release(drafted(5), office.entry(seed("device", 0), purpose=purpose), seed("group"))
    assert deliver(store, terms, seed("group"), another) == 1
    assert store.database.rows("SELECT COUNT(*) FROM contributor") == [(2,)], "a tag by either"


def a_token_of_a_round(office: Office, store: PhiStore) -> None:
    """There is a new one each day."""
    one = sign_release(drafted(1), office.entry(seed("device", 0)), seed("group"))
    assert deliver(store, terms_on(office), seed("group"), one) == 0


def another_collector(office: Office, store: PhiStore) -> None:
    """Who shares the registrar, and whose releases are brought here."""
    one = sign_release(drafted(1), credential(office), seed("group"))
    elsewhere = collector_for(store, seed("another server"), terms_on(office), seed("group"))
    assert not elsewhere.accept(encode_release(one, 12, Chance(bytes(32))), TODAY)[0]


WAYS: dict[str, tuple[Callable[[Office, PhiStore], tuple[Cylinder, ...] | None], int]] = {
    one.__name__: (one, n)
    for one, n in (
        (invented_tags, 0),
        (tags_over_her_proof, 0),
        (many_rounds, 1),
        (copies_of_a_device, 1),
        (periods, 1),
        (areas, 1),
        (another_group, 1),
        (a_round_without_registrar, 1),
        (another_registrar, 1),
        (twice_in_one_group, 1),
        (taken_back_and_again, 1),
        (terms_with_other_areas, 1),
        (a_token_of_a_round, 0),
        (another_collector, 0),
    )
}


def _purpose(office: Office) -> Purpose:
    terms = terms_on(office)
    assert terms.registrar is not None
    return purpose_in(COLLECTOR, terms, terms.registrar, SCOPING.area_of(HERE[0]))


@pytest.mark.parametrize("way", WAYS)
def test_one_person_counts_once(office: Office, store: PhiStore, way: str) -> None:
    cheat, expected = WAYS[way]
    query = cheat(office, store) or HERE
    assert people(store, terms_on(office), query) == expected


def test_two_people_are_two(office: Office, store: PhiStore) -> None:
    group = seed("group")
    both = [sign_release(drafted(n), credential(office, n), group) for n in range(2)]
    assert deliver(store, terms_on(office), group, *both) == 2
    assert people(store, terms_on(office)) == 2


def test_an_account_gets_one_credential_of_an_area_and_period(office: Office) -> None:
    mine = credential(office)
    assert credential(office) == mine, "a lost reply is asked for again"
    account = verify_key(TokenRequest(seed("device", 0), COLLECTOR, office.terms).account_seed)
    here = Purpose(COLLECTOR, 365, TODAY // 365, SCOPING.area_of(HERE[0]))
    with pytest.raises(PeerError, match="on another device"):
        office.registrar.sign(here, account, (5).to_bytes(384), START_S)
    for area, days, period in (("x", 365, TODAY // 365), ("50-1-1", 364, TODAY // 364), ("50-1-1", 365, 1)):
        with pytest.raises(PeerError, match=r"not-entitled|too-late"):
            office.registrar.sign(Purpose(COLLECTOR, days, period, area), account, (5).to_bytes(384), START_S)
    with pytest.raises(PeerError, match="not admitted"):
        office.registrar.key_of(replace(here, area="50-1-1"), seed("stranger"), START_S)


def test_one_person_does_not_keep_the_registrar_from_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each invented area was half a second of work: 60 requests at once kept others waiting for a minute."""
    own, period = Office("busy"), TODAY // 365
    people = [verify_key(seed("account", number)) for number in range(2)]
    for code, person in zip(CODES, people, strict=False):
        own.registrar.admit(person, code)
    monkeypatch.setattr(
        "shoal_collect.server.registrar.draw_key", lambda _: SignKey(VerifyKey(mpz(15)), mpz(1))
    )
    monkeypatch.setattr("shoal_collect.server.registrar.prove_key", lambda _: b"")

    def asks(person: bytes, area: int) -> int:
        return len(own.registrar.key_of(Purpose(COLLECTOR, 365, period, f"50-{area}-1"), person, START_S))

    served = {asks(people[0], area) for area in range(2 * MOST_AREAS)}
    with pytest.raises(PeerError, match="too-many"):
        asks(people[0], 1_000)
    assert {asks(people[0], 5), asks(people[1], 1_000)} == served, "what is known costs nothing"


def test_accomplices_who_break_their_round_off_do_not_ask_again(office: Office) -> None:
    """A group that has asked has spent its tokens of the period, whatever becomes of its round."""
    with Database() as database:
        town = town_of(office, database)
        while any(one.group is None for one in town.own_rounds.values()):
            for number in range(3):
                town.step(number)
        rounds = list(town.own_rounds.values())
        group = rounds[0].group
        assert group is not None
        seeds = {
            group.identities.index(identity_of(one.entry.signing_seed)): one.entry.signing_seed
            for one in rounds
        }
        n = town.terms.n_questions
        asked = [encode_query(Query(bytes((at,)) * 16, question(39.9, 116.3, 0, 0))) for at in range(3 * n)]
        slices = [b"".join(asked[at::3]) for at in range(3)]
        for place, who in enumerate(group.identities):
            town.mailbox.ask(who, group.channel, vouched(group.channel, seeds, slices, place), town.now_s)
        town.now_s += 7_200  # all of them are silent
        second = open_second(database, terms_of(office))
        for one in rounds:
            with pytest.raises(PeerError, match="spent for another round"):
                join(town, second, one.entry)


def test_a_group_brings_no_more_releases_than_it_has_members() -> None:
    with Database() as database:
        group, who = seed("group"), identity_of(seed("sign", 0))
        columns = "(round, identity, signed, dropped, session, place)"
        for place in range(3):
            row = (1, identity_of(seed("sign", place)), bytes(64), group, place)
            database.change(f"INSERT INTO ticket {columns} VALUES (?, ?, ?, 0, ?, ?)", row)
        database.change(
            "INSERT INTO round (name, terms, phase, restarts, deadline_s) VALUES (?, ?, 'grouped', 0, 9e9)",
            (bytes(32), TERMS.model_copy(update={"n_pieces": 2}).model_dump_json()),
        )
        several = [replace(drafted(i), contributor=seed(i)[:16]) for i in range(4)]
        body = b"".join(piece for one in several for piece in encode_release(one, 1, Chance(bytes(32))))
        with pytest.raises(PeerError, match="4 releases of 3 members"):
            Mailbox(database, SERVER).deliver(who, group, body, START_S)


def test_a_round_of_admitted_people_counts_each_of_them_once(office: Office) -> None:
    """Who have brought as much again in other groups: the next day each has two others, and not four."""
    with Database() as database:
        town = town_of(office, database)
        assert kinds(town.run()) == {"shared"}
        for number, before in town.own_rounds.items():
            mine = before.credentials[SCOPING.area_of(before.points[0])]
            again = sign_release(drafted(number, before.points), mine, seed("group", number))
            assert deliver(PhiStore(database), terms_on(office), seed("group", number), again) == 1
        town.now_s += DAY_S
        terms = terms_on(office, town.now_s)
        for number, before in town.own_rounds.items():
            device = before.device
            device.sent.append((before.points, TODAY))
            entry = office.entry(device.device_key, now_s=town.now_s)
            credentials = office.credentials(device.device_key, terms, town.now_s)
            town.own_rounds[number] = own_round_for(
                device, 2, name=1, terms=terms, entry=entry, credentials=credentials
            )
        endings = town.run()
        assert kinds(endings) == {"shared"}, endings
        assert {phi for one in endings.values() for phi in one.checked.values()} == {2}
        assert database.rows("SELECT COUNT(*) FROM contributor") == [(3,)]


def test_a_witness_takes_over_no_invented_person(office: Office) -> None:
    require = partial(require_scope, collector_key=COLLECTOR, registrar_key=office.registrar.public_key)
    for invented in (False, True):
        with PhiStore() as store, Database() as own:
            group = seed("group")
            assert (
                deliver(store, terms_on(office), group, sign_release(drafted(1), credential(office), group))
                == 1
            )
            if invented:
                scope = store.database.rows("SELECT name FROM scope")[0][0]
                store.add(replace(drafted(2), contributor=seed("nobody")[:16]), TODAY, bytes(scope))
            days = ClosedDays(store.database)
            days.state_before(TODAY + 1)
            document = json.loads(write_json(days.batch(TODAY)))
            if invented:
                with pytest.raises(PeerError, match="without a contributor's credential"):
                    ClosedDays(own).take(TODAY, document, require)
            else:
                ClosedDays(own).take(TODAY, document, require)
                assert people(PhiStore(own), terms_on(office)) == 1


def test_a_registrar_cannot_mark_people_by_keys_of_their_own(office: Office) -> None:
    mine, theirs = credential(office), another_office().entry(seed("device", 0), purpose=_purpose(office))
    release = sign_release(drafted(1), mine, seed("group"))
    area = SCOPING.area_of(HERE[0])
    require_one_key([release, drafted(2)], SCOPING, {area: mine})
    assert release.proof.endswith(mine.statement)
    with pytest.raises(PeerError, match="tell people apart"):
        require_one_key([release], SCOPING, {area: theirs})


def test_a_device_asks_for_every_area_of_the_collection(office: Office) -> None:
    """So that the registrar, which signs blindly, does not learn where she was either."""
    terms = terms_on(office)
    areas = areas_of(PLACES, SCOPING)
    app = registrar_application(office.registrar, office.book, quiet=True, clock=lambda: START_S)
    device = Device("u", seed("sign", 0), seed("device", 0), COLLECTOR, bytes(32), bytes(32))
    with running(app) as url, pytest.MonkeyPatch.context() as patch:
        patch.setattr("shoal_collect.device.participation.time.time", lambda: START_S)
        server = RemoteServer(url, key=office.registrar.public_key)
        assert request_credentials(server, device, terms, areas) == office.credentials(
            seed("device", 0), terms
        )
        with pytest.raises(InputError, match="not admitted"):
            request_credentials(server, replace(device, device_key=seed("stranger")), terms, areas)
        server.close()
    assert request_credentials(server, device, terms.model_copy(update={"registrar": None}), areas) == {}


def test_the_areas_of_a_collection_surround_its_places() -> None:
    """A town on the corner of four areas, places far apart, and the edges of the map."""
    assert len(areas_of(PLACES, SCOPING)) == 4
    for lat, lon in ((39.8, 116.1), (39.8, 116.5), (40.1, 116.1), (40.1, 116.5), (39.93, 116.35)):
        assert SCOPING.area_at(round(lat * 1e6), round(lon * 1e6)) in areas_of(PLACES, SCOPING)
    far = PLACES.model_copy(update={"lat_deg": (39.9, 52.0)})
    assert len(areas_of(far, SCOPING)) == 33
    for lat, lon in ((90.0, 0.0), (-90.0, -180.0), (0.0, 180.0)):
        assert areas_of(PLACES.model_copy(update={"lat_deg": (lat,), "lon_deg": (lon,)}), SCOPING)


def test_a_device_without_a_credential_of_the_area_shares_nothing(office: Office) -> None:
    with Database() as database:
        town = Town(
            database,
            3,
            terms=terms_of(office),
            entry_of=lambda device: office.entry(device.device_key),
        )
        endings = town.run()
        assert kinds(endings) == {"failed"}
        assert town.n_records == 0
