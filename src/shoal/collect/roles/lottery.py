"""A member's part in a round until she knows her group.

Join the roster, commit, reveal, and draw the lots herself.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from nacl.bindings import crypto_sign_seed_keypair

from shoal.collect.crypto.chance import Chance
from shoal.collect.faults import PeerError
from shoal.collect.mix.grouping import MOST_RESTARTS, Lottery, commitment, divide
from shoal.collect.roles.authority import check_signature, signature
from shoal.collect.roles.wire import Call, Terms, channel_name, read_terms

_PARTS: Final = ("roster", "commits", "reveals")
_ENDED: Final = ("failed", "over")


@dataclass(frozen=True)
class Crowd:
    """A group: its members in order, the name under which they write to each other, and the terms of their round."""

    channel: bytes
    identities: tuple[bytes, ...]
    me: int
    terms: Terms


class Alone(Exception):  # noqa: N818  (no error: the lots fell so)
    """There is no group for her this time; the message says why."""


class Lots:
    """What the collector says of the round goes in, requests come out, until there is a crowd.

    terms: those that she consented to.
    """

    def __init__(self, signing_seed: bytes, terms: Terms, chance: Chance) -> None:
        self._seed, self._terms, self._chance = signing_seed, terms, chance
        self._me = bytes(crypto_sign_seed_keypair(signing_seed)[0])
        self._round: bytes | None = None
        self._secrets: dict[int, bytes] = {}
        self._commits: dict[int, dict[bytes, bytes]] = {}
        self._frozen: tuple[int, frozenset[bytes]] | None = (
            None  # after how many restarts, and who was on the roster then
        )
        self.crowd: Crowd | None = None

    def look(self) -> Call:
        """What to ask next."""
        return Call(
            "GET", "/v1/rounds" if self._round is None else f"/v1/rounds/{self._round.hex()}", poll=True
        )

    def told(self, view: Any) -> list[Call]:
        """Go as far as the round has come.

        Raises PeerError for a collector that cheats, Alone when there is no group.
        """
        try:
            name, phase, restarts = bytes.fromhex(view["round"]), str(view["phase"]), int(view["restarts"])
            roster, commits, reveals = (
                {bytes.fromhex(k): bytes.fromhex(v) for k, v in view[part].items()} for part in _PARTS
            )
            terms = read_terms(view["terms"])
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
            raise PeerError("bad-frame", "a description of a round that is none") from error
        if terms != self._terms:
            raise PeerError(
                "bad-answer",
                "a round on other terms than those you consented to; run the same command again to see them",
            )
        if self._round is None:
            self._round = name
            return [self._say("roster", signature(self._seed, b"join", terms.joined_by(name)))]
        if name != self._round:
            raise PeerError("bad-answer", "a collector that answers with another round")
        for identity, signed in roster.items():
            check_signature(
                identity, b"join", terms.joined_by(name), signed
            )  # all have joined on the same terms
        if phase in _ENDED:
            raise Alone("too few people answered in time, or the collector changed its terms")
        if self._me not in roster:
            if phase != "joining":  # it froze without her, or went on without her: the next one
                self._round = self._frozen = None
                self._secrets.clear()
                self._commits.clear()
            return []
        if phase != "joining":
            self._check_frozen(restarts, frozenset(roster))
        return self._play(Lottery(name, tuple(sorted(roster)), restarts), phase, commits, reveals)

    def _check_frozen(self, restarts: int, roster: frozenset[bytes]) -> None:
        """A frozen roster only loses members, by a restart, and seldom: the collector hears secrets first.

        Raises PeerError.
        """
        before, there = self._frozen or (0, roster)
        stays = roster == there if restarts == before else roster < there
        if not (before <= restarts <= MOST_RESTARTS and (stays or self._frozen is None)):
            raise PeerError(
                "bad-answer",
                "a collector that draws lots again, or over another roster, than the protocol allows",
            )
        self._frozen = restarts, roster

    def _play(
        self, lots: Lottery, phase: str, commits: Mapping[bytes, bytes], reveals: Mapping[bytes, bytes]
    ) -> list[Call]:
        if phase == "committing" and lots.restarts not in self._secrets:
            self._secrets[lots.restarts] = self._chance.seed()
            return [self._say("commits", commitment(lots.roster, self._me, self._secrets[lots.restarts]))]
        if phase == "revealing" and lots.restarts not in self._commits:
            return [self._reveal(lots, commits)]
        if phase == "grouped":
            self._find_crowd(lots, reveals)
        return []

    def _reveal(self, lots: Lottery, commits: Mapping[bytes, bytes]) -> Call:
        """Not before everybody has committed to this very roster; these commitments count from now on."""
        for identity, said in commits.items():
            lots.commit(identity, said)
        own = self._secrets.get(lots.restarts)
        if (
            own is None
            or len(commits) != len(lots.identities)
            or commits[self._me] != commitment(lots.roster, self._me, own)
        ):
            raise PeerError("bad-answer", "a collector that asks for secrets before everybody has committed")
        self._commits[lots.restarts] = dict(commits)
        return self._say("reveals", own)

    def _find_crowd(self, lots: Lottery, reveals: Mapping[bytes, bytes]) -> None:
        lots.commits.update(self._commits.get(lots.restarts, {}))
        for identity, secret in reveals.items():
            lots.reveal(identity, secret)
        if lots.seed is None:
            raise PeerError("bad-answer", "groups before everybody has revealed")
        groups, _ = divide(lots.seed, lots.identities, self._terms.group_size)
        mine = next((group for group in groups if self._me in group), None)
        if mine is None:
            raise Alone("the number of people left no group for you")
        self.crowd = Crowd(
            channel_name(lots.round_name, lots.seed, mine), mine, mine.index(self._me), self._terms
        )

    def _say(self, what: str, body: bytes) -> Call:
        if self._round is None:
            raise AssertionError("nothing is said before a round is known")
        return Call("POST", f"/v1/rounds/{self._round.hex()}/{what}", body)
