"""The meaning of a run's public messages, for members and audit."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from gmpy2 import mpz

from shoal_collect.crypto import envelope
from shoal_collect.crypto.chance import bound_chance
from shoal_collect.crypto.elgamal import (
    Ciphertext,
    combined_key,
    encrypt,
    prove_strip,
    remask_with,
    require_key_proof,
    require_strip_proof,
    strip,
)
from shoal_collect.crypto.shuffle_proof import prove_shuffle, require_shuffle_proof
from shoal_collect.faults import PeerError
from shoal_collect.mix.messages import Hop, Key, decode_list, encode_list
from shoal_collect.mix.session import Kind, Session, SignedMessage

Slots = dict[tuple[Kind, int], SignedMessage]
BEFORE_VOTE = (Kind.KEY_COMMIT, Kind.KEY, Kind.INPUT_COMMIT, Kind.INPUT, Kind.HOP)


def commitment(session: Session, sender: int, body: bytes) -> bytes:
    """Commit to a body before showing it."""
    return hashlib.blake2b(session.context(sender) + body, digest_size=32, person=b"shoal commit").digest()


def read_key(session: Session, commit: SignedMessage, opened: SignedMessage) -> Key:
    """A member's keys; PeerError unless committed to and proven."""
    _require_commitment(session, commit, opened)
    key = Key.decode(session, opened.body)
    require_key_proof(session.group, key.share, key.proof, session.context(opened.sender))
    envelope.require_proof(key.inner, key.inner_proof, session.context(opened.sender))
    return key


def read_input(session: Session, commit: SignedMessage, opened: SignedMessage) -> tuple[Ciphertext, ...]:
    """A member's ciphertexts; PeerError unless committed to."""
    _require_commitment(session, commit, opened)
    return decode_list(session, opened.body)


def read_hop(
    session: Session, shares: Sequence[mpz], before: Sequence[Ciphertext], signed: SignedMessage
) -> Hop:
    """A mixer's step; PeerError unless stripping (and, if required, shuffling) is proven."""
    hop = Hop.decode(session, signed.body, last=signed.sender == session.n - 1)
    group, context = session.group, session.context(signed.sender)
    require_strip_proof(group, shares[signed.sender], before, hop.stripped, hop.proof, context)
    if hop.shuffle is not None:
        stripped = [
            Ciphertext(ciphertext.c1, c2) for ciphertext, c2 in zip(before, hop.stripped, strict=True)
        ]
        require_shuffle_proof(
            group,
            combined_key(group, shares[signed.sender + 1 :]),
            stripped,
            hop.shuffled,
            hop.shuffle,
            context,
        )
    return hop


@dataclass(frozen=True)
class MixedList:
    """A list stripped, re-masked and permuted; the last mixer shuffles nothing.

    ``shuffled[i]`` was at ``order[i]``.
    """

    stripped: tuple[Ciphertext, ...]
    shuffled: tuple[Ciphertext, ...]
    order: tuple[int, ...]
    masks: tuple[mpz, ...]


def mix_list(
    session: Session, me: int, secret: mpz, keys: tuple[mpz, mpz], before: Sequence[Ciphertext], seed: bytes
) -> MixedList:
    """Strip, re-mask for later members, and permute (Sec. 3.3.5, step 3).

    ``keys``: own share, and the combined key of later ones. Seed and list decide everything: a replay is
    possible, and another list gets other masks and another order.
    """
    group = session.group
    stripped = tuple(strip(group, secret, ciphertext) for ciphertext in before)
    if me == session.n - 1:
        return MixedList(stripped, (), (), ())
    chance = bound_chance(seed, encode_list(group, before), *map(group.to_bytes, keys))
    masks = tuple(group.draw_secret(chance) for _ in stripped)
    remasked = [
        remask_with(group, keys[1], ciphertext, mask)
        for ciphertext, mask in zip(stripped, masks, strict=True)
    ]
    order = tuple(chance.permutation(len(remasked)))
    return MixedList(stripped, tuple(remasked[place] for place in order), order, masks)


def make_hop(
    session: Session,
    me: int,
    secret: mpz,
    keys: tuple[mpz, mpz],
    before: Sequence[Ciphertext],
    seed: bytes,
    fresh: bytes,
) -> Hop:
    """Mix a list, and prove it; ``fresh``: entropy of this moment for the proofs, which no replay needs.

    With a repeated nonce, proofs about two lists would give away the secret.
    """
    group, mixed = session.group, mix_list(session, me, secret, keys, before, seed)
    second, context = tuple(ciphertext.c2 for ciphertext in mixed.stripped), session.context(me)
    chance = bound_chance(seed, fresh, encode_list(group, before), *map(group.to_bytes, keys), context)
    proof = prove_strip(group, secret, keys[0], before, second, context, chance)
    if not session.proven or not mixed.shuffled:
        return Hop(second, proof, mixed.shuffled)
    shuffle_proof = prove_shuffle(
        group,
        keys[1],
        mixed.stripped,
        mixed.shuffled,
        mixed.order,
        list(map(int, mixed.masks)),
        context,
        chance,
    )
    return Hop(second, proof, mixed.shuffled, shuffle_proof)


def make_input(session: Session, y: mpz, sealed: Sequence[bytes], seed: bytes) -> tuple[Ciphertext, ...]:
    """Encrypt the envelopes (step 1), from a seed; other envelopes or another key get other masks."""
    chance = bound_chance(seed, session.group.to_bytes(y), *sealed)
    return tuple(
        encrypt(session.group, y, session.group.encode(envelope_bytes, session.sealed_bytes), chance)
        for envelope_bytes in sealed
    )


def transcript_hash(slots: Mapping[tuple[Kind, int], SignedMessage]) -> bytes:
    """Hash all messages before the vote."""
    state = hashlib.blake2b(digest_size=32, person=b"shoal transcript")
    for slot in sorted(slots):
        if slot[0] in BEFORE_VOTE:
            state.update(bytes(slot) + slots[slot].digest)
    return state.digest()


def all_slots(session: Session, kinds: Iterable[Kind] = BEFORE_VOTE) -> set[tuple[Kind, int]]:
    """Of a complete transcript."""
    return {(kind, member) for kind in kinds for member in range(session.n)}


def _require_commitment(session: Session, commit: SignedMessage, opened: SignedMessage) -> None:
    if commit.body != commitment(session, opened.sender, opened.body):
        raise PeerError("bad-commitment", "a body that differs from the commitment to it")
