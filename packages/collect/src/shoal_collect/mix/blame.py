"""Who broke a run: an audit of the signed messages, and a replay once the inner keys are gone.

No honest member is ever named: each rule names somebody only for a message that she signed, or for a part
that does not replay from the secrets that she gave.
"""

from collections.abc import Callable
from dataclasses import dataclass

from shoal_collect.crypto.elgamal import Ciphertext, combined_key
from shoal_collect.faults import PeerError
from shoal_collect.mix.messages import Confession, Hop, Key, Opening, Vote, encode_list
from shoal_collect.mix.session import Kind, Session, Signed, attests, open_frame
from shoal_collect.mix.transcript import (
    BEFORE_VOTE,
    Slots,
    all_slots,
    make_hop,
    make_input,
    read_hop,
    read_input,
    read_key,
    transcript_hash,
)

_KEYS = (Kind.KEY_COMMIT, Kind.KEY)
_INPUTS = (Kind.INPUT_COMMIT, Kind.INPUT)


@dataclass(frozen=True)
class Findings:
    """What an audit found.

    Attributes
    ----------
    culprits
        Members against whom there is proof.
    silent
        Members who did not answer, which may be the network's fault.
    disputed
        Members of whom one says that the other's message is missing, and the other that it was sent. Nobody
        can tell which is true.
    reason
        What happened, in words.
    """

    culprits: frozenset[int] = frozenset()
    silent: frozenset[int] = frozenset()
    disputed: frozenset[int] = frozenset()
    reason: str = ""

    def __str__(self) -> str:
        """Say it in words; members are called by their places in the group, from 0."""
        said = (
            ("proven against", self.culprits),
            ("silent", self.silent),
            ("disputed between", self.disputed),
        )
        named = [
            f"{word} member {' and '.join(map(str, sorted(members)))}" for word, members in said if members
        ]
        return "; ".join([self.reason or "no reason was found", *named])


def audit(session: Session, slots: Slots, conflicts: frozenset[int]) -> Findings:
    """Find the first proof of a fault, in the order of the protocol.

    Parameters
    ----------
    session
        The run.
    slots
        What one member has received and sent.
    conflicts
        Members who sent her two different messages for one place.
    """
    if conflicts:
        return Findings(conflicts, reason="told different things to different members")
    bad, testimonies = read_testimonies(session, slots)
    if bad:
        return Findings(bad, reason="sent a testimony that cannot be read")
    return (
        liars(session, slots, testimonies)
        or _early_openers(session, slots, testimonies)
        or _bad_messages(session, slots)
        or _bad_replays(session, slots, testimonies)
        or _groundless(session, slots, testimonies)
    )


Testimonies = dict[int, Opening | Confession]


def read_testimonies(session: Session, slots: Slots) -> tuple[frozenset[int], Testimonies]:
    """Read what each member gave after the vote; first those whose testimony cannot be read."""
    bad: set[int] = set()
    given: Testimonies = {}
    for member in range(session.n):
        try:
            if (Kind.VOTE, member) in slots:
                Vote.decode(slots[Kind.VOTE, member].body)
        except PeerError:
            bad.add(member)
        for kind, decode in ((Kind.OPEN, Opening.decode), (Kind.BLAME, Confession.decode)):
            signed = slots.get((kind, member))
            if signed is not None:
                try:
                    given[member] = decode(session, signed.body)
                except PeerError:
                    bad.add(member)
        if (Kind.OPEN, member) in slots and (Kind.BLAME, member) in slots:
            bad.add(member)
    return frozenset(bad), given


def liars(session: Session, slots: Slots, testimonies: Testimonies) -> Findings | None:
    """Members who signed two different messages for one place, or who invent messages that nobody signed."""
    seen = {slot: signed.digest for slot, signed in slots.items()}
    inventors, equivocators = set(), set()
    for witness, testimony in testimonies.items():
        for slot, (digest, signature) in testimony.attestation.items():
            if not attests(session, *slot, digest, signature):
                inventors.add(witness)
            elif seen.setdefault(slot, digest) != digest:
                equivocators.add(slot[1])
    if inventors:
        return Findings(frozenset(inventors), reason="testifies to messages that were never signed")
    if equivocators:
        return Findings(frozenset(equivocators), reason="told different things to different members")
    return None


def _early_openers(session: Session, slots: Slots, testimonies: Testimonies) -> Findings | None:
    """Members who gave an inner key without a GO from everybody, perhaps to escape the replay."""
    early = set()
    for member, given in testimonies.items():
        if isinstance(given, Opening):
            seen = all_slots(session, (Kind.VOTE,)) <= given.attestation.keys()
            if not seen or any(
                kind is Kind.VOTE and not Vote.decode(signed.body).go for (kind, _), signed in slots.items()
            ):
                early.add(member)
    return Findings(frozenset(early), reason="opened without everybody's GO") if early else None


def _bad_messages(session: Session, slots: Slots) -> Findings | None:
    """Members whose messages show their own faults; only the earliest phase counts."""

    def faults(read: Callable[[int], object]) -> frozenset[int]:
        found = set()
        for member in range(session.n):
            try:
                read(member)
            except PeerError:
                found.add(member)
            except KeyError:
                continue  # not received: nothing to judge
        return frozenset(found)

    bad = faults(lambda member: read_key(session, slots[Kind.KEY_COMMIT, member], slots[Kind.KEY, member]))
    bad = bad or faults(
        lambda member: read_input(session, slots[Kind.INPUT_COMMIT, member], slots[Kind.INPUT, member])
    )
    if bad:
        return Findings(bad, reason="keys or ciphertexts that show their own fault")
    if not all_slots(session, (*_KEYS, *_INPUTS)) <= slots.keys():
        return None
    shares = [Key.decode(session, slots[Kind.KEY, member].body).share for member in range(session.n)]
    current: tuple[Ciphertext, ...] = _inputs(session, slots)
    for member in range(session.n):
        if (Kind.HOP, member) not in slots:
            break
        try:
            current = read_hop(session, shares, current, slots[Kind.HOP, member]).shuffled
        except PeerError:
            return Findings(frozenset({member}), reason="a bad hop message")
    return None


def _bad_replays(session: Session, slots: Slots, testimonies: Testimonies) -> Findings | None:
    """Members whose part of the mix does not follow from the secrets that they gave."""
    group = session.group
    if not all_slots(session, _KEYS) <= slots.keys():
        return None
    shares = [Key.decode(session, slots[Kind.KEY, member].body).share for member in range(session.n)]
    confessions = {member: given for member, given in testimonies.items() if isinstance(given, Confession)}
    wrong = {
        member
        for member, given in confessions.items()
        if group.power(group.g, given.secret) != shares[member]
    }
    if wrong:
        return Findings(frozenset(wrong), reason="gave a secret that is not hers")
    y = combined_key(group, shares)
    for member, given in confessions.items():
        shown = slots.get((Kind.INPUT, member))
        if shown is None:
            continue
        same = encode_list(group, make_input(session, y, given.sealed, given.input_seed)) == shown.body
        if not same or len(set(given.sealed)) < session.n_records:
            wrong.add(member)
    wrong = wrong or _agreed_on_envelopes(
        {member: given for member, given in confessions.items() if (Kind.INPUT, member) in slots}
    )
    if wrong:
        return Findings(frozenset(wrong), reason="put in what she cannot account for")
    if not all_slots(session, _INPUTS) <= slots.keys():
        return None
    current = _inputs(session, slots)
    for member in range(session.n):
        shown, given_here = slots.get((Kind.HOP, member)), confessions.get(member)
        if shown is None:
            break
        if given_here is not None:
            keys = (shares[member], combined_key(group, shares[member + 1 :]))
            if (
                make_hop(session, member, given_here.secret, keys, current, given_here.hop_seed).encode(group)
                != shown.body
            ):
                return Findings(frozenset({member}), reason="mixed another list than she received")
        current = _passed_on(session, shown)
    return None


def _agreed_on_envelopes(confessions: dict[int, Confession]) -> set[int]:
    """Members who put in the same envelope: it is random, and nobody can copy another's in time."""
    owners: dict[bytes, set[int]] = {}
    for member, given in confessions.items():
        for sealed in given.sealed:
            owners.setdefault(sealed, set()).add(member)
    return set[int]().union(*(shared for shared in owners.values() if len(shared) > 1))


def _groundless(session: Session, slots: Slots, testimonies: Testimonies) -> Findings:
    """After a sound mix: members who did not answer, lacked a message, or stopped the run for nothing."""
    votes = {
        member: Vote.decode(slots[Kind.VOTE, member].body)
        for member in range(session.n)
        if (Kind.VOTE, member) in slots
    }
    silent = frozenset(set(range(session.n)) - testimonies.keys())
    stoppers = {member for member, vote in votes.items() if not vote.go}
    needed = all_slots(session)
    if not stoppers and len(votes) < session.n:
        silent |= frozenset(set(range(session.n)) - votes.keys() - testimonies.keys())
    if not stoppers and len(votes) == session.n and len({vote.transcript for vote in votes.values()}) == 1:
        stoppers = {
            member for member, given in testimonies.items() if isinstance(given, Confession)
        }  # all voted GO: none had a reason
        needed = all_slots(session, (Kind.VOTE,))
    groundless = {
        member
        for member, given in testimonies.items()
        if isinstance(given, Confession) and _uncalled(given, member, votes)
    }
    disputed = set[int]()
    for member in stoppers & testimonies.keys():
        missing = sorted(needed - testimonies[member].attestation.keys())
        if member in votes and not votes[member].go and silent - {member}:
            continue  # somebody who keeps silent may have given her the reason
        checked = needed <= slots.keys()  # somebody who lacks a message cannot say that it held no fault
        if (checked and not missing) or (member in votes and _accuses_falsely(session, slots, votes[member])):
            groundless.add(member)
        elif missing and missing[0][1] in testimonies:
            disputed |= {member, missing[0][1]}
    wrong = _wrong_hashes(votes, slots) if all_slots(session) <= slots.keys() else frozenset()
    if groundless or wrong:
        return Findings(frozenset(groundless) | wrong, silent, reason="stopped a sound run")
    return Findings(silent=silent, disputed=frozenset(disputed), reason="a message is missing")


def _uncalled(given: Confession, member: int, votes: dict[int, Vote]) -> bool:
    """Whether she confesses though she neither voted nor saw a NO-GO or another confession."""
    seen = given.attestation
    may_have_cause = any(
        kind is Kind.BLAME or (kind is Kind.VOTE and not (m in votes and votes[m].go)) for kind, m in seen
    )
    return not may_have_cause and (Kind.VOTE, member) not in seen


def _accuses_falsely(session: Session, slots: Slots, vote: Vote) -> bool:
    """Whether a NO-GO brings a message that is sound together with everything that it builds on."""
    if not vote.evidence:
        return False
    try:
        shown = open_frame(session, vote.evidence)
    except PeerError:
        return True
    hops = {(Kind.HOP, member) for member in range(shown.sender + 1)} if shown.kind is Kind.HOP else set()
    before = all_slots(session, (kind for kind in BEFORE_VOTE if kind < shown.kind)) | hops
    return before <= slots.keys()


def _wrong_hashes(votes: dict[int, Vote], slots: Slots) -> frozenset[int]:
    """Members who voted GO over a transcript that differs from the one that all testimonies agree on."""
    return frozenset(
        member for member, vote in votes.items() if vote.go and vote.transcript != transcript_hash(slots)
    )


def _inputs(session: Session, slots: Slots) -> tuple[Ciphertext, ...]:
    lists = (read_input(session, slots[Kind.INPUT_COMMIT, m], slots[Kind.INPUT, m]) for m in range(session.n))
    return tuple(one for ciphertexts in lists for one in ciphertexts)


def _passed_on(session: Session, shown: Signed) -> tuple[Ciphertext, ...]:
    """The list that a mixer passed on, which was checked before."""
    return Hop.decode(session, shown.body, last=shown.sender == session.n - 1).shuffled
