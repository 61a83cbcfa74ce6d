"""Rounds of the service in which every mixer has to prove her shuffle, and terms that everybody signs."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import ValidationError

from command_line import Shoal
from mix_runs import Tag
from service_town import TERMS, Town, identity_of, own_round_for, seed
from shoal_collect.mix.member import Member
from shoal_collect.mix.messages import Hop, Session, encode
from shoal_collect.roles import group_session as mixing
from shoal_collect.roles.terms import Terms
from shoal_collect.roles.wire import Call, Reply
from shoal_collect.storage.database import Database

PROVEN = TERMS.model_copy(update={"n_real": 1, "proven_shuffle": True})


def build_with(cheater: type[Member], cheaters: list[int], sessions: list[Session]) -> Callable[..., Member]:
    """What a session makes its members with: everybody is honest but those at these places."""

    def build(session: Session, me: int, *rest: object) -> Member:
        sessions.append(session)
        # as the session gives them
        return (cheater if me in cheaters else Member)(session, me, *rest)  # type: ignore[arg-type]

    return build


def test_a_whole_round_with_proofs(monkeypatch: pytest.MonkeyPatch) -> None:
    sessions: list[Session] = []
    monkeypatch.setattr(mixing, "Member", build_with(Member, [], sessions))
    with Database() as database:
        town = Town(database, 3, terms=PROVEN)
        endings = town.run()
        assert {one.kind for one in endings.values()} == {"shared"}, endings
        assert town.n_records == 3
    assert len(sessions) == 6, "two mixes of three"
    assert all(one.proven for one in sessions)


class NoProof(Member):
    """Mixes soundly, and keeps the proof to herself."""

    def _make_hop(self) -> bytes:
        hop = Hop.decode(self.session, super()._make_hop(), last=self.me == self.session.n - 1)
        return encode(self.session.group, Hop(hop.stripped, hop.proof, hop.shuffled))


@pytest.mark.parametrize("cheater", [NoProof, Tag], ids=lambda kind: kind.__name__)
def test_whoever_does_not_prove_her_shuffle_is_named_before_anybody_goes_on(
    cheater: type[Member], monkeypatch: pytest.MonkeyPatch
) -> None:
    sessions: list[Session] = []
    monkeypatch.setattr(mixing, "Member", build_with(cheater, [0], sessions))
    with Database() as database:
        town = Town(database, 3, terms=PROVEN)
        endings = town.run()
        assert {one.kind for one in endings.values()} == {"failed"}, endings
        order = [one.group.me for one in (town.own_rounds[i]._session for i in range(3)) if one is not None]
        for number, place in enumerate(order):
            if place != 0:
                assert endings[number].message.endswith("a bad hop message; proven against member 0")
        assert town.n_records == 0
    assert len(sessions) == 3, "the second mix was never begun"


def test_the_same_tag_without_proofs_is_found_by_replay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mixing, "Member", build_with(Tag, [0], []))
    with Database() as database:
        endings = Town(database, 3).run()
    assert [one.message.split("run: ")[1] for one in endings.values()].count(
        "mixed another list than she received; proven against member 0"
    ) >= 2


def test_a_collector_that_shows_members_different_terms_makes_nobody_a_culprit() -> None:
    """One is told of proofs and the others are not.

    They find out at the roster, before anybody can be blamed for a missing proof.
    """
    with Database() as database:
        town = Town(database, 3)
        other_terms = TERMS.model_copy(update={"proven_shuffle": True})
        town.own_rounds[1] = own_round_for(
            town.own_rounds[1].device, 0, terms=other_terms
        )  # from the first word on she was told of others
        honest = town.answer

        def lie(identity: bytes, call: Call) -> Reply:
            if identity != identity_of(seed("sign", 1)) or "/rounds" not in call.target:
                return honest(identity, call)
            if call.target.endswith("/roster"):  # an honest collector would refuse her signature
                database.change(
                    "INSERT INTO ticket (round, identity, signed, dropped) VALUES (1, ?, ?, 0)",
                    (identity, call.body),
                )
                return lie(identity, Call("GET", "/v1/rounds"))
            said = json.loads(honest(identity, call).body)
            said["terms"]["proven_shuffle"] = True
            return Reply(200, json.dumps(said).encode())

        town.answer = lie  # type: ignore[method-assign]  # the lie
        endings = town.run()
        assert {number: (one.kind, one.message[:13]) for number, one in endings.items()} == dict.fromkeys(
            range(3), ("failed", "bad-signature")
        )
        assert database.rows("SELECT COUNT(*) FROM letter") == [(0,)]


def test_terms_that_leave_no_time_for_proofs_are_refused(shoal: Shoal, tmp_path: Path) -> None:
    assert Terms(proven_shuffle=True, phase_limit_s=22).proven_shuffle
    with pytest.raises(ValidationError, match="21 s a hop"):
        Terms(proven_shuffle=True, phase_limit_s=21)
    assert not Terms().proven_shuffle
    (tmp_path / "places.csv").write_text("lat,lon,weight\n39.9,116.3,2\n")
    options = (
        "--database",
        f"sqlite:///{tmp_path / 'c.sqlite'}",
        "--places",
        str(tmp_path / "places.csv"),
        "--key",
        str(tmp_path / "k"),
    )
    for term, message in (
        ("phase_limit_s = 9", "21 s a hop"),  # shuffles are proven unless the file says otherwise
        ("group_size = 99", "group_size must be at most 24"),
        ("groups = 3", "groups is no term"),
        ("witnesses = []", "use the option"),
    ):
        (tmp_path / "terms.toml").write_text(term)
        ended = shoal("collect", "server", *options, "--terms", str(tmp_path / "terms.toml"))
        assert (ended.code, message in ended.err) == (2, True), ended.err
