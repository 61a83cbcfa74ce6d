"""Blind signatures against RFC 9474, and what they refuse."""

import json
from functools import cache
from typing import Any

import pytest
from gmpy2 import invert, mpz

from service_town import seed
from shoal.errors import MisuseError
from shoal_collect.crypto import blind_signatures as blind
from shoal_collect.crypto.chance import Chance
from shoal_collect.faults import PeerError
from vector_cases import FOLDER

RFC = json.loads((FOLDER / "rfc9474.json").read_text())


def h(text: str) -> bytes:
    return bytes.fromhex(text)


def number(text: str) -> mpz:
    return mpz(text, 16)


@cache
def key() -> blind.SignKey:
    return blind.draw_key(Chance(seed("signer")))


@pytest.mark.parametrize("vector", RFC["vectors"], ids=lambda vector: vector["name"])
def test_blinding_signing_and_unblinding_are_those_of_rfc_9474(vector: dict[str, Any]) -> None:
    signer = blind.SignKey(blind.VerifyKey(number(RFC["n"])), number(RFC["d"]))
    salt, prepared = h(vector["salt"]), h(vector["prepared_msg"])
    assert prepared == h(vector["msg_prefix"]) + h(vector["msg"])
    assert blind.encode(prepared, salt, 4095) == h(vector["encoded_msg"])
    blinded = blind.blind_with(signer.public, prepared, salt, number(vector["inv"]))
    assert blinded.text == h(vector["blinded_msg"])
    signed = blind.blind_sign(signer, blinded.text)
    assert signed == h(vector["blind_sig"])
    if salt:  # the variant without a salt is not ours; its signatures are checked below
        assert blind.finalize(signer.public, prepared, signed, blinded.inverse) == h(vector["sig"])
    blind.require_blind_signature(signer.public, prepared, h(vector["sig"]), len(salt))
    for wrong in (len(salt) + 1, 48 - len(salt)):
        with pytest.raises(PeerError, match="does not hold"):
            blind.require_blind_signature(signer.public, prepared, h(vector["sig"]), wrong)


def test_the_names_of_the_four_variants() -> None:
    assert [one["name"] for one in RFC["vectors"]] == [
        f"RSABSSA-SHA384-{salt}-{prefix}"
        for prefix in ("Randomized", "Deterministic")
        for salt in ("PSS", "PSSZERO")
    ]
    assert number(RFC["p"]) * number(RFC["q"]) == number(RFC["n"])


def test_what_is_signed_blindly_holds_and_shows_nothing() -> None:
    public, chance = key().public, Chance(seed("client"))
    prepared = blind.prepare(b"a key", chance)
    first, second = (blind.blind(public, prepared, chance) for _ in range(2))
    assert first.text != second.text
    signed = [
        blind.finalize(public, prepared, blind.blind_sign(key(), one.text), one.inverse)
        for one in (first, second)
    ]
    assert signed[0] != signed[1], "another salt each time"
    for one in signed:
        blind.require_blind_signature(public, prepared, one)
    # unconditionally: some blind leads from any signature to any request
    encoded = invert(mpz(int.from_bytes(first.text)), public.n)
    opened = pow(mpz(int.from_bytes(signed[1])), blind.EXPONENT, public.n)
    root = pow(opened * encoded % public.n, key().d, public.n)
    assert blind.blind_with(public, prepared, _salt_of(opened, public), root).text == first.text


def _salt_of(opened: mpz, public: blind.VerifyKey) -> bytes:
    encoded = int(opened).to_bytes(public.length)
    digest = encoded[-49:-1]
    stretched = blind._stretch(digest, len(encoded) - 49)
    data = bytes(a ^ b for a, b in zip(encoded[:-49], stretched, strict=True))
    return data[-48:]


def test_signatures_and_blind_messages_that_are_refused() -> None:
    public, chance = key().public, Chance(seed("client 2"))
    prepared = blind.prepare(b"a key", chance)
    blinded = blind.blind(public, prepared, chance)
    answer = blind.blind_sign(key(), blinded.text)
    signed = blind.finalize(public, prepared, answer, blinded.inverse)
    other = blind.draw_key(Chance(seed("other signer"))).public
    for bad_key, text, proof in (
        (public, prepared[:-1] + b"z", signed),
        (public, prepared, signed[:-1] + bytes((signed[-1] ^ 1,))),
        (public, prepared, signed[1:]),
        (public, prepared, signed + b"\0"),
        (public, prepared, b"\xff" * public.length),
        (public, prepared, bytes(public.length)),
        (public, prepared, b""),
        (other, prepared, signed),
    ):
        with pytest.raises(PeerError) as caught:
            blind.require_blind_signature(bad_key, text, proof)
        assert caught.value.kind == "bad-signature"
    with pytest.raises(PeerError, match="does not hold"):  # a signer who answers something else
        blind.finalize(public, prepared, blind.blind_sign(key(), signed), blinded.inverse)
    with pytest.raises(PeerError, match="instead of 384"):
        blind.finalize(public, prepared, answer[1:], blinded.inverse)
    for text in (b"", bytes(384), b"\xff" * 384, blinded.text[1:], int(public.n).to_bytes(384)):
        with pytest.raises(PeerError) as caught:
            blind.blind_sign(key(), text)
        assert caught.value.kind == "bad-length"
    with pytest.raises(MisuseError, match="too short"):
        blind.encode(b"", bytes(48), 511)


def test_a_key_under_which_blinding_hides_nothing_is_refused() -> None:
    """With an exponent that divides the order, the signer knows the class of what was blinded."""
    sound, proof = key().public, blind.prove_key(key())
    blind.require_key_proof(sound, proof)
    for bad in (proof[:-1], proof + b"\0"):
        with pytest.raises(PeerError, match="bytes for a signer"):
            blind.require_key_proof(sound, bad)
    for bad in (bytes(len(proof)), proof[384:] + proof[:384], b"\xff" * len(proof)):
        with pytest.raises(PeerError) as caught:
            blind.require_key_proof(sound, bad)
        assert caught.value.kind == "bad-proof"
    with pytest.raises(PeerError, match="hide nothing"):
        blind.require_key_proof(blind.draw_key(Chance(seed("another"))).public, proof)
    for modulus in (b"", bytes(384), int(sound.n - 1).to_bytes(384), sound.to_bytes()[1:], b"\x01" * 384):
        with pytest.raises(PeerError) as caught:
            blind.read_key(modulus)
        assert caught.value.kind == "bad-element"
    assert blind.read_key(sound.to_bytes()) == sound


def test_few_numbers_have_a_root_under_a_key_that_leaks() -> None:
    """Exhaustive, with 7 in the place of 65,537: it divides 43 - 1, so one number in 7 has a root."""
    n = 43 * 47
    units = [x for x in range(1, n) if x % 43 and x % 47]
    powers = {pow(x, 7, n) for x in units}
    assert len(powers) * 7 == len(units)
