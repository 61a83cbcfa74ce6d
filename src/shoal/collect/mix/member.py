"""A member of a group in one mix run, as a state machine: bytes and the time in, bytes and events out.

Commit, show keys, commit, show ciphertexts, strip and re-mask and permute in turn, vote. On GO by all over
one transcript the inner keys are given and the records open. Otherwise each erases her inner key first, and
then shows all else, so that the culprit is found by replay; no honest member ever gives both.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from shoal.collect.crypto import envelope
from shoal.collect.crypto.chance import Chance
from shoal.collect.crypto.elgamal import Ciphertext, combined_key, prove_key
from shoal.collect.faults import PeerError
from shoal.collect.mix.blame import Findings, audit, read_testimonies
from shoal.collect.mix.messages import (
    Attestation,
    Confession,
    Key,
    Kind,
    Opening,
    Session,
    Signed,
    Vote,
    encode_list,
    open_frame,
    sign,
)
from shoal.collect.mix.transcript import (
    Slots,
    commitment,
    make_hop,
    make_input,
    read_hop,
    read_input,
    read_key,
    transcript_hash,
)
from shoal.errors import MisuseError

PHASE_LIMIT_S: Final = 120.0


@dataclass(frozen=True)
class Broadcast:
    """Bytes for all other members."""

    frame: bytes


@dataclass(frozen=True)
class Opened:
    """All records of the group in canonical order, and how many envelopes held none."""

    records: tuple[bytes, ...]
    spoiled: int


@dataclass(frozen=True)
class Aborted:
    """The run is over and nothing was opened here."""

    findings: Findings


@dataclass(frozen=True)
class Ignored:
    """Bytes that had no effect, and why."""

    fault: PeerError


Event = Broadcast | Opened | Aborted | Ignored
_DONE: Final = None


class Member:
    """One member; ``start`` once, then ``receive`` and ``tick`` in any order.

    The same seed and the same calls give the same events.
    """

    def __init__(
        self,
        session: Session,
        me: int,
        signing_seed: bytes,
        records: Sequence[bytes],
        chance: Chance,
        limit_s: float = PHASE_LIMIT_S,
    ) -> None:
        if len(records) != session.n_records or {len(record) for record in records} != {session.record_bytes}:
            raise MisuseError(
                f"give exactly {session.n_records} records of {session.record_bytes} bytes, fakes included"
            )
        self.session, self.me, self._signing_seed, self._limit_s = session, me, signing_seed, limit_s
        self._records = tuple(records)
        self._key_chance = Chance(chance.seed())
        self._input_seed, self._hop_seed = chance.seed(), chance.seed()
        self._inner_chance: Chance | None = Chance(chance.seed())
        self._secret = session.group.draw_secret(self._key_chance)
        self._inner_secret: bytes | None = envelope.draw_secret(self._inner_chance)
        self._slots: Slots = {}
        self._conflicts: dict[int, Signed] = {}
        self._keys: list[Key] = []
        self._sealed: tuple[bytes, ...] = ()
        self._list: tuple[Ciphertext, ...] = ()
        self._finals: list[bytes] = []
        self._stage: Kind | None = Kind.KEY_COMMIT
        self._hop = 0
        self._deadline_s = 0.0
        self._events: list[Event] = []

    def start(self, now_s: float) -> list[Event]:
        """The first message."""
        self._key_body = self._make_key()
        self._post(Kind.KEY_COMMIT, commitment(self.session, self.me, self._key_body))
        self._enter(Kind.KEY_COMMIT, now_s)
        return self._drained()

    def receive(self, frame: bytes, now_s: float) -> list[Event]:
        """A message from anybody; what is not one of this session has no effect but to be reported."""
        try:
            signed = open_frame(self.session, frame)
            if self._stage is _DONE:
                raise PeerError("too-late", "a message for a run that is over")
            self._take(signed)
        except PeerError as fault:
            return [Ignored(fault)]
        self._advance(now_s)
        return self._drained()

    def tick(self, now_s: float) -> list[Event]:
        """Time passes: whoever keeps the others waiting beyond the limit ends the run."""
        if self._stage is not _DONE and now_s > self._deadline_s:
            self._give_up(now_s)
            self._advance(now_s)
        return self._drained()

    @property
    def waiting_for(self) -> frozenset[int]:
        """Who has to send next."""
        if self._stage is _DONE:
            return frozenset()
        if self._stage is Kind.HOP:
            return frozenset({self._hop}) - {sender for kind, sender in self._slots if kind is Kind.HOP}
        answers = (Kind.OPEN, Kind.BLAME) if self._stage in (Kind.OPEN, Kind.BLAME) else (self._stage,)
        silent = frozenset(
            m for m in range(self.session.n) if not any((kind, m) in self._slots for kind in answers)
        )
        return silent or self._overdue()

    def _overdue(self) -> frozenset[int]:
        """Before an audit: whose earlier messages others testify to, though they have not come yet (they may have been overtaken)."""
        if not any(kind is Kind.BLAME for kind, _ in self._slots):
            return frozenset()
        _, given = read_testimonies(self.session, self._slots)
        return frozenset(
            slot[1]
            for testimony in given.values()
            for slot in testimony.attestation
            if slot not in self._slots
        )

    @property
    def deadline_s(self) -> float:
        """When she stops waiting; ``tick`` has no effect before."""
        return self._deadline_s

    # what a member says; a cheater in the tests says something else

    def _make_key(self) -> bytes:
        group, context = self.session.group, self.session.context(self.me)
        share = group.secret_power(group.g, self._secret)
        proof = prove_key(group, self._secret, share, context, self._key_chance)
        inner_secret, chance = self._inner()
        inner = envelope.public_key(inner_secret)
        return Key(share, proof, inner, envelope.prove(inner_secret, inner, context, chance)).encode(group)

    def _make_input(self) -> bytes:
        _, chance = self._inner()
        inner_key = envelope.combined_key([key.inner for key in self._keys])
        self._sealed = tuple(
            envelope.seal(record, inner_key, self.session.name, chance) for record in self._records
        )
        y = combined_key(self.session.group, [key.share for key in self._keys])
        return encode_list(self.session.group, make_input(self.session, y, self._sealed, self._input_seed))

    def _make_hop(self) -> bytes:
        shares = [key.share for key in self._keys]
        keys = (shares[self.me], combined_key(self.session.group, shares[self.me + 1 :]))
        return make_hop(self.session, self.me, self._secret, keys, self._list, self._hop_seed).encode(
            self.session.group
        )

    def _make_vote(self) -> Vote:
        """GO when all own envelopes came through exactly once and nothing else is odd."""
        whole = len(set(self._finals)) == self.session.n * self.session.n_records and set(
            self._sealed
        ) <= set(self._finals)
        return Vote(whole, transcript_hash(self._slots))

    def _make_opening(self) -> bytes:
        inner_secret, _ = self._inner()
        return Opening(inner_secret, self._attestation()).encode()

    def _make_confession(self) -> bytes:
        sealed = self._sealed or (bytes(self.session.sealed_bytes),) * self.session.n_records
        return Confession(self._secret, self._input_seed, self._hop_seed, sealed, self._attestation()).encode(
            self.session.group
        )

    # the run

    def _take(self, signed: Signed) -> None:
        """Put a message in its place; raises PeerError for a copy.

        A second, different one is a proof of fault.
        """
        slot = (signed.kind, signed.sender)
        there = self._slots.get(slot)
        if there is None:
            self._slots[slot] = signed
        elif there.digest == signed.digest:
            raise PeerError("duplicate", "a message that is already there")
        elif signed.sender != self.me:
            self._conflicts[signed.sender] = signed
        if signed.kind is Kind.VOTE and there is None:
            self._take_evidence(signed)

    def _take_evidence(self, signed: Signed) -> None:
        """A NO-GO may bring the message that is to blame for it."""
        try:
            vote = Vote.decode(signed.body)
            if vote.evidence:
                evidence = open_frame(self.session, vote.evidence)
                if evidence.kind is not Kind.VOTE:
                    self._take(evidence)
        except PeerError:
            return  # a vote that cannot be read is judged in the audit, evidence that cannot be read is none

    def _advance(self, now_s: float) -> None:
        """Go as far as the messages allow."""
        while self._stage is not _DONE:
            stage, hop = self._stage, self._hop
            if stage < Kind.OPEN and self._conflicts:
                self._stop(now_s, next(iter(self._conflicts.values())))
            elif stage < Kind.OPEN and self._others_stop():
                self._confess(now_s)
            elif not self.waiting_for:
                self._complete(stage, now_s)
            if (stage, hop) == (self._stage, self._hop):
                return

    def _complete(self, stage: Kind, now_s: float) -> None:
        """Everything that a stage waits for is there."""
        if stage is Kind.KEY_COMMIT:
            self._post(Kind.KEY, self._key_body)
            self._enter(Kind.KEY, now_s)
        elif stage is Kind.KEY:
            self._read_keys(now_s)
        elif stage is Kind.INPUT_COMMIT:
            self._post(Kind.INPUT, self._input_body)
            self._enter(Kind.INPUT, now_s)
        elif stage is Kind.INPUT:
            self._read_inputs(now_s)
        elif stage is Kind.HOP:
            self._read_hop(now_s)
        elif stage is Kind.VOTE:
            self._count_votes(now_s)
        else:
            self._finish()

    def _read_keys(self, now_s: float) -> None:
        for member in range(self.session.n):
            try:
                self._keys.append(
                    read_key(
                        self.session, self._slots[Kind.KEY_COMMIT, member], self._slots[Kind.KEY, member]
                    )
                )
            except PeerError:
                return self._stop(now_s, self._slots[Kind.KEY, member])
        self._input_body = self._make_input()
        self._post(Kind.INPUT_COMMIT, commitment(self.session, self.me, self._input_body))
        return self._enter(Kind.INPUT_COMMIT, now_s)

    def _read_inputs(self, now_s: float) -> None:
        lists: list[Ciphertext] = []
        for member in range(self.session.n):
            try:
                lists += read_input(
                    self.session, self._slots[Kind.INPUT_COMMIT, member], self._slots[Kind.INPUT, member]
                )
            except PeerError:
                return self._stop(now_s, self._slots[Kind.INPUT, member])
        self._list = tuple(lists)
        return self._enter_hop(0, now_s)

    def _enter_hop(self, hop: int, now_s: float) -> None:
        self._hop = hop
        self._enter(Kind.HOP, now_s)
        if hop == self.me:
            self._post(Kind.HOP, self._make_hop())

    def _read_hop(self, now_s: float) -> None:
        shown = self._slots[Kind.HOP, self._hop]
        try:
            hop = read_hop(self.session, [key.share for key in self._keys], self._list, shown)
        except PeerError:
            return self._stop(now_s, shown)
        if self._hop < self.session.n - 1:
            self._list = hop.shuffled
            return self._enter_hop(self._hop + 1, now_s)
        try:
            self._finals = [
                self.session.group.decode(element, self.session.sealed_bytes) for element in hop.stripped
            ]
        except PeerError:
            # somebody's envelope was tampered with: vote NO-GO, and the replay will say whose hand it was
            self._finals = []
        vote = self._make_vote()
        self._post(Kind.VOTE, vote.encode())
        return self._enter(Kind.VOTE, now_s)

    def _count_votes(self, now_s: float) -> None:
        votes = [Vote.decode(self._slots[Kind.VOTE, member].body) for member in range(self.session.n)]
        if len({vote.transcript for vote in votes}) > 1:
            return self._confess(now_s)
        self._post(Kind.OPEN, self._make_opening())
        return self._enter(Kind.OPEN, now_s)

    def _others_stop(self) -> bool:
        """Whether somebody voted NO-GO, gave a vote that is none, or confesses already."""
        for (kind, _), signed in self._slots.items():
            if kind is Kind.BLAME:
                return True
            if kind is Kind.VOTE:
                try:
                    if not Vote.decode(signed.body).go:
                        return True
                except PeerError:
                    return True
        return False

    def _stop(self, now_s: float, evidence: Signed | None = None) -> None:
        """NO-GO, with the message that shows the fault when there is one."""
        self._inner_secret = self._inner_chance = None
        if (Kind.VOTE, self.me) not in self._slots:
            vote = Vote(False, transcript_hash(self._slots), b"" if evidence is None else evidence.frame)
            self._post(Kind.VOTE, vote.encode())
        self._confess(now_s)

    def _confess(self, now_s: float) -> None:
        """Erase the inner key first, then show everything else."""
        if (Kind.OPEN, self.me) in self._slots:
            raise AssertionError("no honest member gives both")
        self._inner_secret = self._inner_chance = None
        self._post(Kind.BLAME, self._make_confession())
        self._enter(Kind.BLAME, now_s)

    def _give_up(self, now_s: float) -> None:
        """The limit is over: before the vote is complete this is a NO-GO for want of a message, later the end."""
        if self._stage in (Kind.OPEN, Kind.BLAME):
            self._end(Aborted(self._audit()))
        else:
            self._stop(now_s)

    def _finish(self) -> None:
        """Everybody has opened or confessed."""
        openings = [signed for (kind, _), signed in sorted(self._slots.items()) if kind is Kind.OPEN]
        if self._stage is Kind.BLAME or len(openings) < self.session.n or self._conflicts:
            return self._end(Aborted(self._audit()))
        secrets = []
        wrong = set()
        for signed in openings:
            try:
                secret = Opening.decode(self.session, signed.body).inner_secret
                if not envelope.fits(secret, self._keys[signed.sender].inner):
                    raise PeerError("bad-commitment", "an inner key that does not fit")
                secrets.append(secret)
            except PeerError:
                wrong.add(signed.sender)
        if wrong:
            return self._end(
                Aborted(Findings(frozenset(wrong), reason="gave an inner key that does not fit"))
            )
        return self._open_all(envelope.combined_secret(secrets))

    def _open_all(self, secret: bytes) -> None:
        records = []
        for sealed in self._finals:
            try:
                records.append(envelope.unseal(sealed, secret, self.session.name))
            except PeerError:
                continue  # its sender spoiled it herself: nobody else could have, and it is counted
        self._end(Opened(tuple(sorted(records)), len(self._finals) - len(records)))

    def _audit(self) -> Findings:
        return audit(self.session, self._slots, frozenset(self._conflicts))

    def _end(self, outcome: Opened | Aborted) -> None:
        self._inner_secret = self._inner_chance = None
        self._stage = _DONE
        self._events.append(outcome)

    def _enter(self, stage: Kind, now_s: float) -> None:
        self._stage, self._deadline_s = stage, now_s + self._limit_s

    def _post(self, kind: Kind, body: bytes) -> None:
        signed = sign(self.session, kind, self.me, body, self._signing_seed)
        self._slots[kind, self.me] = signed
        self._events.append(Broadcast(signed.frame))

    def _inner(self) -> tuple[bytes, Chance]:
        if self._inner_secret is None or self._inner_chance is None:
            raise AssertionError("the inner key is erased")
        return self._inner_secret, self._inner_chance

    def _attestation(self) -> Attestation:
        """Digest and signature of everything received and sent so far."""
        return {slot: (signed.digest, signed.signature) for slot, signed in self._slots.items()}

    def _drained(self) -> list[Event]:
        events, self._events = self._events, []
        return events
