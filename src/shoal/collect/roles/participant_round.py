"""A device's way through one round, as a state machine: replies and the time in, requests out.

Its state can be kept and resumed.

Join, draw lots, mix the questions, ask, trim, mix the releases, have them stored, claim. Every request may be
sent again: the servers take the same for the same.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from nacl.bindings import crypto_sign_seed_keypair

from shoal.collect.crypto.chance import Chance
from shoal.collect.faults import PeerError
from shoal.collect.matching.cylinders import Cylinder
from shoal.collect.matching.records import Release, encode_release
from shoal.collect.matching.subtrajectories import Places, Prior
from shoal.collect.matching.trimming import needed, trim
from shoal.collect.roles.authority import Receipt, check_signature, claim
from shoal.collect.roles.collection import Draft, Participant, Questions, ask_for, check_rules, draft, phi_of
from shoal.collect.roles.collector import check_answer
from shoal.collect.roles.consent import date_of
from shoal.collect.roles.group_session import Circle
from shoal.collect.roles.lottery import Alone, Crowd, Lots
from shoal.collect.roles.wire import (
    DAY_S,
    LIFETIME_S,
    SKEW_S,
    Call,
    OtherCollector,
    Reply,
    Terms,
    read_json,
    snapshot_day,
)

_STORE_LIMITS: Final = 2  # phases that the others have to bring the same releases


@dataclass
class Device:
    """What lasts between rounds.

    Her name at the authority, keys, the servers' keys as first seen, what was sent and on which day.
    """

    user: str
    signing_seed: bytes
    device_key: bytes
    server_key: bytes
    authority_key: bytes
    authority_signing_key: bytes
    witnesses: tuple[OtherCollector, ...] = ()
    sent: list[tuple[tuple[Cylinder, ...], int]] = field(default_factory=list)

    @property
    def identity(self) -> bytes:
        """Her public identity key."""
        return bytes(crypto_sign_seed_keypair(self.signing_seed)[0])


@dataclass(frozen=True)
class Ending:
    """kind: shared, nothing-left (all was rare), alone (no group this time), failed.

    checked: phi of what was asked, by places.

    bootstrap_until: the day (since 1970) on which a record of nobody is forgotten; bootstrap_records: how
    many of them there were.
    """

    kind: Literal["shared", "nothing-left", "alone", "failed"]
    message: str
    checked: Mapping[Places, int] = field(default_factory=dict)
    snapshot_day: int | None = None
    kept: Places = ()
    released: tuple[Cylinder, ...] = ()
    identifier: str | None = None
    k: int = 0
    bootstrap_until: int | None = None
    bootstrap_records: int | None = None


class Journey:
    """One person in one round.

    member: her wishes; points: hers, blurred; terms: those that she consented to.
    """

    def __init__(
        self,
        device: Device,
        member: Participant,
        points: tuple[Cylinder, ...],
        terms: Terms,
        prior: Prior,
        chance: Chance,
    ) -> None:
        self.device, self.member, self.points, self.terms, self._prior, self._chance = (
            device,
            member,
            points,
            terms,
            prior,
            chance,
        )
        self._bootstrap_records: int | None = None
        self.ending: Ending | None = None
        self.requests = self.messages = self.bytes_out = 0
        self._outbox: list[Call] = []
        self._lots = Lots(device.signing_seed, terms, Chance(chance.seed()))
        self._circle: Circle | None = None
        self._questions: Questions | None = None
        self._phi: dict[Places, int] = {}
        self._snapshot: int | None = None
        self._kept: Places = ()
        self._draft: Draft | None = None
        self._store_until_s = 0.0
        self._identifier: str | None = None

    @property
    def phase(self) -> str:
        """Where she is: lots, questions, asking, releases, mixed (to be stored), claiming, over."""
        if self.ending is not None:
            return "over"
        if self._identifier is not None:
            return "claiming"
        return "lots" if self._circle is None else self._circle.stage

    @property
    def waiting_calls(self) -> list[Call]:
        """What is still to be sent, in order."""
        return self._outbox if self._circle is None else self._circle.outbox

    def next_call(self) -> Call:
        """What to send now: the first that waits, or a look whether there is something new."""
        if self.waiting_calls:
            return self.waiting_calls[0]
        if self._circle is None:
            return self._lots.look()
        if self._circle.stage == "mixed":
            return Call(
                "POST",
                f"/v1/groups/{self._circle.crowd.channel.hex()}/releases",
                b"".join(self._circle.records),
                poll=True,
            )
        return self._circle.look()

    def replied(self, call: Call, reply: Reply, now_s: float) -> bool:
        """Take a reply; whether anything has changed that has to be kept before the next request."""
        self.requests += 1
        self.messages += not call.poll
        self.bytes_out += len(call.body)
        if self.waiting_calls and call == self.waiting_calls[0]:
            self.waiting_calls.pop(0)
        before = self._state()
        try:
            if reply.refusal is not None:
                self._refused(call, *reply.refusal)
            elif self._circle is None:
                self._draw(read_json(reply.body), now_s)
            else:
                self._go_on(self._circle, call, reply.body, now_s)
        except Alone as lots:
            self._end("alone", f"{lots}; try again later")
        except PeerError as error:
            self._end("failed", str(error))
        return before != self._state()

    def _state(self) -> tuple[Any, ...]:
        return (
            self.phase,
            len(self.waiting_calls),
            self._circle and (self._circle.after, len(self._circle.answers)),
        )

    def _refused(self, call: Call, kind: str, message: str) -> None:
        """What a refusal means depends on what was asked."""
        if self._circle is None and kind in ("too-late", "bad-frame", "unknown-member"):
            return  # the roster was frozen, or the phase was over: the next look says what became of us
        if self._circle is not None and call.target.endswith("/questions") and kind == "too-many":
            self._circle.refused(call.body)
            return
        self._end("failed", f"the {call.to} refused: {message}")

    def _draw(self, view: Any, now_s: float) -> None:
        self._outbox += self._lots.told(view)
        crowd = self._lots.crowd
        if crowd is not None:
            self._enter(crowd, now_s)

    def _enter(self, crowd: Crowd, now_s: float) -> None:
        check_rules(crowd.terms.rules, len(self.points))
        self._questions = ask_for(self.member, self.points, self._prior, crowd.terms.rules, self._chance)
        records = list(self._questions.records)
        self._circle = Circle(
            crowd,
            self.device.signing_seed,
            self.device.server_key,
            records,
            Chance(self._chance.seed()),
            now_s,
        )
        self._chance = Chance(self._chance.seed())  # as in the circle: no way back to its keys

    def _go_on(self, circle: Circle, call: Call, body: bytes, now_s: float) -> None:
        if call.to == "authority":
            self._claimed(body)
        elif call.target.endswith("/releases"):
            self._stored(circle, read_json(body), now_s)
        elif "/questions" in call.target:
            circle.answered(call, body)
        elif call.poll:
            circle.received(body, now_s)
        if circle.complete:
            self._trim(circle, now_s)
        if circle.stage == "mixed" and not self._store_until_s:
            self._store_until_s = now_s + _STORE_LIMITS * circle.crowd.terms.phase_limit_s

    def _trim(self, circle: Circle, now_s: float) -> None:
        """Steps 7 and 8: her own counts, what she keeps of her points, the second mix."""
        if self._questions is None:
            raise AssertionError("the answers are to questions")
        answers = {
            record: check_answer(self.device.server_key, record, said)
            for record, said in circle.answers.items()
        }
        self._phi = phi_of(self.member, self._questions, answers, circle.crowd.terms.rules.likeness)
        days = {answers[record].snapshot for record in self._questions.records}
        if (
            not snapshot_day(now_s - LIFETIME_S - SKEW_S)
            <= min(days)
            <= max(days)
            <= snapshot_day(now_s + SKEW_S)
        ):
            raise PeerError(
                "bad-answer", "a collector that answers from the state of another day; send it nothing"
            )
        self._snapshot = min(days)
        self._kept = trim(
            len(self.points), self._phi, needed(self.member.k, self.member.reading), self.member.trimming
        )
        self._draft = draft(
            self.member,
            self.points,
            self._kept,
            self._chance,
            of_nobody=self.terms.bootstrap_until is not None,
        )
        release = None if self._draft is None else self._draft.release
        if release is not None and self.terms.bootstrap_until is None:
            # from now on others may have it stored, whatever she gets to know: her own count must not exceed
            # the truth
            self.device.sent.append((release.points, int((now_s - SKEW_S) // DAY_S)))
        circle.release(encode_release(release, circle.crowd.terms.n_pieces, self._chance), now_s)

    def _stored(self, circle: Circle, said: Any, now_s: float) -> None:
        """The collector's word that the group's releases are stored; raises PeerError when hers is not."""
        if not isinstance(said, dict):
            raise PeerError("bad-frame", "a word about releases that is none")
        if not said.get("stored"):
            if now_s > self._store_until_s:
                raise PeerError(
                    "too-late", "too few of the group brought its releases; the collector has not stored them"
                )
            return
        if self._draft is None:
            self._end("nothing-left", "nothing was shared: every part of it was too rare")
            return
        release = self._draft.release
        until = self.terms.bootstrap_until
        if until is not None:
            self._kept_of_nobody(release, said, until)
            return
        try:
            one = said["receipts"][release.name.hex()]
            receipt = Receipt(
                str(one["identifier"]), bytes.fromhex(one["claim_key"]), bytes.fromhex(one["signed"])
            )
        except (KeyError, TypeError, ValueError) as error:
            raise PeerError(
                "bad-answer", "a collector that gives no receipt for a release; ask its operator"
            ) from error
        check_signature(
            self.device.server_key,
            b"receipt",
            receipt.identifier.encode() + release.claim_key,
            receipt.signed,
        )
        self._identifier = receipt.identifier
        sealed = claim(
            receipt, self.device.user, self._draft.claim_seed, self.device.authority_key, self._chance
        )
        circle.outbox.append(Call("POST", "/v1/claims", sealed, to="authority"))

    def _kept_of_nobody(self, release: Release, said: Any, until: int) -> None:
        """In the bootstrapping phase.

        No identifier, nothing to claim, and nothing that would count as hers later.
        """
        names, n = said.get("of_nobody"), said.get("bootstrap_records")
        if not isinstance(names, list) or release.name.hex() not in names or not isinstance(n, int):
            raise PeerError(
                "bad-answer", "a collector that does not say that it keeps a release; ask its operator"
            )
        self._bootstrap_records = n
        self._end("shared", f"shared without identifier, as a record of nobody until {date_of(until)}")

    def _claimed(self, body: bytes) -> None:
        said = read_json(body)
        text = f"{self._identifier} {self.device.user}".encode()
        try:
            proof = bytes.fromhex(said["proof"])
        except (KeyError, TypeError, ValueError) as error:
            raise PeerError("bad-answer", "an authority that does not confirm the claim") from error
        check_signature(self.device.authority_signing_key, b"claimed", text, proof)
        self._end("shared", "shared, and claimed at the authority")

    def _end(self, kind: Literal["shared", "nothing-left", "alone", "failed"], message: str) -> None:
        stored = self._identifier is not None or self._bootstrap_records is not None
        released = self._draft.release.points if self._draft is not None and stored else ()
        if kind == "failed" and self._draft is not None and not stored:
            message += "; what you released may be stored all the same, without your claim to it"
        self.ending = Ending(
            kind,
            message,
            self._phi,
            self._snapshot,
            self._kept,
            released,
            self._identifier,
            k=self.member.k,
            bootstrap_until=self.terms.bootstrap_until,
            bootstrap_records=self._bootstrap_records,
        )
