"""What a mix run's public messages mean, to the members during the run and to the audit after it."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence

from gmpy2 import mpz

from shoal_collect.crypto import envelope
from shoal_collect.crypto.chance import Chance
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
from shoal_collect.mix.messages import Hop, Key, decode_list
from shoal_collect.mix.session import Kind, Session, Signed

Slots = dict[tuple[Kind, int], Signed]
BEFORE_VOTE = (Kind.KEY_COMMIT, Kind.KEY, Kind.INPUT_COMMIT, Kind.INPUT, Kind.HOP)


def commitment(session: Session, sender: int, body: bytes) -> bytes:
    """Commit to a body before it is shown."""
    return hashlib.blake2b(session.context(sender) + body, digest_size=32, person=b"shoal commit").digest()


def read_key(session: Session, commit: Signed, shown: Signed) -> Key:
    """Read a member's keys; raise PeerError unless she committed to them and knows their secrets."""
    _require_commitment(session, commit, shown)
    key = Key.decode(session, shown.body)
    require_key_proof(session.group, key.share, key.proof, session.context(shown.sender))
    envelope.require_proof(key.inner, key.inner_proof, session.context(shown.sender))
    return key


def read_input(session: Session, commit: Signed, shown: Signed) -> tuple[Ciphertext, ...]:
    """Read a member's ciphertexts; raise PeerError unless she committed to them."""
    _require_commitment(session, commit, shown)
    return decode_list(session, shown.body)


def read_hop(session: Session, shares: Sequence[mpz], before: Sequence[Ciphertext], shown: Signed) -> Hop:
    """Read what a mixer made of the list ``before``.

    Raises PeerError unless she proves that she stripped it and, in sessions that ask for it, that she
    shuffled it.
    """
    hop = Hop.decode(session, shown.body, last=shown.sender == session.n - 1)
    group, context = session.group, session.context(shown.sender)
    require_strip_proof(group, shares[shown.sender], before, hop.stripped, hop.proof, context)
    if hop.shuffle is not None:
        stripped = [Ciphertext(one.c1, c2) for one, c2 in zip(before, hop.stripped, strict=True)]
        require_shuffle_proof(
            group,
            combined_key(group, shares[shown.sender + 1 :]),
            stripped,
            hop.shuffled,
            hop.shuffle,
            context,
        )
    return hop


def make_hop(
    session: Session, me: int, secret: mpz, keys: tuple[mpz, mpz], before: Sequence[Ciphertext], seed: bytes
) -> Hop:
    """Strip, re-mask for those who come after, permute (Sec. 3.3.5, step 3).

    Parameters
    ----------
    session, me
        The run, and the mixer's place in it.
    secret
        The secret of her share.
    keys
        Her own share, and the combined key of those after her.
    before
        The list that she received.
    seed
        Where all chance comes from, so that the hop can be replayed.
    """
    share, rest = keys
    chance = Chance(seed)
    stripped = [strip(session.group, secret, one) for one in before]
    shuffled: list[Ciphertext] = []
    order: list[int] = []
    masks: list[mpz] = []
    if me < session.n - 1:
        masks = [session.group.draw_secret(chance) for _ in stripped]
        remasked = [
            remask_with(session.group, rest, one, mask) for one, mask in zip(stripped, masks, strict=True)
        ]
        order = chance.permutation(len(remasked))
        shuffled = [remasked[place] for place in order]
    second, context = tuple(one.c2 for one in stripped), session.context(me)
    proof = prove_strip(session.group, secret, share, before, second, context, chance)
    if not session.proven or not shuffled:
        return Hop(second, proof, tuple(shuffled))
    shown = prove_shuffle(
        session.group, rest, stripped, shuffled, order, list(map(int, masks)), context, chance
    )
    return Hop(second, proof, tuple(shuffled), shown)


def make_input(session: Session, y: mpz, sealed: Sequence[bytes], seed: bytes) -> tuple[Ciphertext, ...]:
    """Encrypt the envelopes (step 1), all chance from one seed."""
    chance = Chance(seed)
    return tuple(
        encrypt(session.group, y, session.group.encode(one, session.sealed_bytes), chance) for one in sealed
    )


def transcript_hash(slots: Mapping[tuple[Kind, int], Signed]) -> bytes:
    """Hash everything that came before the vote."""
    state = hashlib.blake2b(digest_size=32, person=b"shoal transcript")
    for slot in sorted(slots):
        if slot[0] in BEFORE_VOTE:
            state.update(bytes(slot) + slots[slot].digest)
    return state.digest()


def all_slots(session: Session, kinds: Iterable[Kind] = BEFORE_VOTE) -> set[tuple[Kind, int]]:
    """Return the slots of a complete transcript."""
    return {(kind, member) for kind in kinds for member in range(session.n)}


def _require_commitment(session: Session, commit: Signed, shown: Signed) -> None:
    if commit.body != commitment(session, shown.sender, shown.body):
        raise PeerError("bad-commitment", "what was shown is not what was committed to")
