"""Known answers: transcripts byte for byte, bad ones refused by name, primitives against their RFCs."""

import re
from pathlib import Path
from typing import Final

import pytest
from nacl.bindings import (
    crypto_aead_chacha20poly1305_ietf_decrypt,
    crypto_aead_chacha20poly1305_ietf_encrypt,
    crypto_scalarmult,
    crypto_scalarmult_base,
    crypto_sign,
    crypto_sign_open,
    crypto_sign_seed_keypair,
)
from nacl.exceptions import BadSignatureError, CryptoError

import shoal_collect
from shoal_collect.faults import PeerError
from shoal_collect.mix.member import Broadcast, OpenedRecords
from vector_cases import FOLDER, judge, load, member_of, raw, session_of

BAD: Final = sorted(path.stem for path in FOLDER.glob("bad_*.json"))


@pytest.mark.parametrize("name", ["good_mix", "good_mix_proven"])
def test_a_recorded_run_comes_out_again_byte_for_byte(name: str) -> None:
    vector = load(name)
    frames = [(sender, bytes.fromhex(frame)) for sender, frame in vector["frames"]]
    assert session_of(vector).frame_limit() > max(len(frame) for _, frame in frames)
    for me in range(3):
        member = member_of(vector, me)
        events = member.start(0.0)
        for sender, frame in frames:
            events += [] if sender == me else member.receive(frame, 0.0)
        assert [event.frame for event in events if isinstance(event, Broadcast)] == [
            frame for sender, frame in frames if sender == me
        ]
        assert events[-1] == OpenedRecords(tuple(raw(vector["opened"])), 0)
    assert sorted(raw(vector["opened"])) == sorted(
        record for one in vector["members"] for record in raw(one["records"])
    )


@pytest.mark.parametrize("name", ["good_letters", "good_claim"])
def test_recorded_letters_and_claims_still_open(name: str) -> None:
    judge(load(name))


@pytest.mark.parametrize("name", BAD)
def test_bad_vectors_are_refused_by_name(name: str) -> None:
    vector = load(name)
    with pytest.raises(PeerError) as caught:
        judge(vector)
    assert caught.value.kind == vector["error"]


def test_every_fault_that_the_protocol_names_has_a_vector() -> None:
    folder = Path(shoal_collect.__path__[0])
    rooms = [folder / room for room in ("crypto", "matching", "mix", "roles")]
    modules = [module for room in rooms for module in room.glob("*.py")]
    assert len(modules) > 20
    named = {
        kind
        for module in modules
        for kind in re.findall(r'(?:PeerError|Refusal)\(\s*"([a-z-]+)"', module.read_text(encoding="utf-8"))
    }
    assert named <= {load(name)["error"] for name in BAD}
    assert len(named) >= 15


def h(text: str) -> bytes:
    return bytes.fromhex(text)


def test_x25519_is_that_of_rfc_7748() -> None:
    """Sec. 5.2, both vectors and a thousand iterations; Sec. 6.1, Alice and Bob."""
    for scalar, point, product in (
        (
            "a546e36bf0527c9d3b16154b82465edd62144c0ac1fc5a18506a2244ba449ac4",
            "e6db6867583030db3594c1a424b15f7c726624ec26b3353b10a903a6d0ab1c4c",
            "c3da55379de9c6908e94ea4df28d084f32eccf03491c71f754b4075577a28552",
        ),
        (
            "4b66e9d4d1b4673c5ad22691957d6af5c11b6421e0ea01d42ca4169e7918ba0d",
            "e5210f12786811d3f4b7959d0538ae2c31dbe7106fc03c3efc4cd549c715a493",
            "95cbde9476e8907d7aade45cb4b873f88b595a68799fa152e6f8f7647aac7957",
        ),
    ):
        assert crypto_scalarmult(h(scalar), h(point)) == h(product)
    k = u = (9).to_bytes(32, "little")
    for _ in range(1000):
        k, u = crypto_scalarmult(k, u), k
    assert k == h("684cf59ba83309552800ef566f2f4d3c1c3887c49360e3875f2eb94d99532c51")
    alice = h("77076d0a7318a57d3c16c17251b26645df4c2f87ebc0992ab177fba51db92c2a")
    bob = h("5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb")
    assert crypto_scalarmult_base(alice) == h(
        "8520f0098930a754748b7ddcb43ef75a0dbf3a0d26381af4eba4a98eaa9b4e6a"
    )
    assert crypto_scalarmult_base(bob) == h(
        "de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f"
    )
    shared = h("4a5d9d5ba4ce2de1728e3bf480350f25e07e21c947d19e3376f09b3c1e161742")
    assert (
        crypto_scalarmult(alice, crypto_scalarmult_base(bob))
        == crypto_scalarmult(bob, crypto_scalarmult_base(alice))
        == shared
    )


def test_ed25519_is_that_of_rfc_8032() -> None:
    """Sec. 7.1, tests 1 to 3."""
    for seed, key, text, signature in (
        (
            "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
            "",
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e06522490155"
            "5fb8821590a33bacc61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b",
        ),
        (
            "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
            "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
            "72",
            "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
            "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00",
        ),
        (
            "c5aa8df43f9f837bedb7442f31dcb7b166d38535076f094b85ce3a2e0b4458f7",
            "fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025",
            "af82",
            "6291d657deec24024827e69c3abe01a30ce548a284743a445e3680d7db5ac3ac"
            "18ff9b538d16f290ae67f760984dc6594a7c15e9716ed28dc027beceea1ec40a",
        ),
    ):
        public, secret = crypto_sign_seed_keypair(h(seed))
        assert public == h(key)
        assert crypto_sign(h(text), secret) == h(signature) + h(text)
        assert crypto_sign_open(h(signature) + h(text), public) == h(text)
        with pytest.raises(BadSignatureError):
            crypto_sign_open(h(signature) + h(text) + b"x", public)


def test_chacha20_poly1305_is_that_of_rfc_8439() -> None:
    """Sec. 2.8.2."""
    key, nonce, head = bytes(range(0x80, 0xA0)), h("070000004041424344454647"), h("50515253c0c1c2c3c4c5c6c7")
    text = (
        b"Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, "
        b"sunscreen would be it."
    )
    sealed = h(
        "d31a8d34648e60db7b86afbc53ef7ec2a4aded51296e08fea9e2b5a736ee62d6"
        "3dbea45e8ca9671282fafb69da92728b1a71de0a9e060b2905d6a5b67ecd3b36"
        "92ddbd7f2d778b8c9803aee328091b58fab324e4fad675945585808b4831d7bc3ff4def08e4b7a9de576d26586cec64b6116"
        "1ae10b594f09e26a7e902ecbd0600691"
    )
    assert crypto_aead_chacha20poly1305_ietf_encrypt(text, head, nonce, key) == sealed
    assert crypto_aead_chacha20poly1305_ietf_decrypt(sealed, head, nonce, key) == text
    with pytest.raises(CryptoError):
        crypto_aead_chacha20poly1305_ietf_decrypt(sealed, head + b"x", nonce, key)
