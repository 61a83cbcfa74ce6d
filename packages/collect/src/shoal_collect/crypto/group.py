"""The subgroup of quadratic residues modulo a safe prime.

Z_p* would leak one bit of each plaintext; in the subgroup of prime order q = (p - 1) / 2 all elements are
indistinguishable. Elements from outside are checked by their Jacobi symbol and against 0, 1 and p - 1.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Final

from gmpy2 import invert, jacobi, mpz, powmod, powmod_sec

from shoal.errors import MisuseError
from shoal_collect.crypto.chance import Chance
from shoal_collect.faults import PeerError

_WINDOW_BITS: Final = 6
# RFC 7919, appendix A.2 asks for at least 275 with this prime; short exponents are 10 times faster
_SHORT_BITS: Final = 288


@dataclass(frozen=True)
class Group:
    """Modulo the safe prime p, with a generator of the subgroup."""

    p: mpz
    g: mpz

    @property
    def q(self) -> mpz:
        """The subgroup's order."""
        return self.p >> 1

    @property
    def element_bytes(self) -> int:
        """Length of an element."""
        return (int(self.p.bit_length()) + 7) // 8

    @property
    def text_bytes(self) -> int:
        """The longest text in one element."""
        return (int(self.q.bit_length()) - 1) // 8 - 1

    @property
    def secret_bits(self) -> int:
        """Most bits of a secret exponent."""
        return min(_SHORT_BITS, int(self.q.bit_length()))

    def power(self, base: mpz, exponent: mpz) -> mpz:
        """Of public numbers."""
        return powmod(base, exponent, self.p)

    def secret_power(self, base: mpz, exponent: mpz) -> mpz:
        """In a time that does not depend on the exponent."""
        return powmod_sec(base, exponent, self.p)

    def product_of_powers(self, bases: Sequence[mpz], exponents: Sequence[int], bits: int) -> mpz:
        """The product of all bases[i]^exponents[i] for public exponents (Pippenger's buckets).

        ``bits``: higher ones are ignored.
        """
        window = min(range(1, 13), key=lambda one: -(-bits // one) * (len(bases) + (2 << one)))
        digits, total = (1 << window) - 1, mpz(1)
        for row in reversed(range(-(-bits // window))):
            total = powmod(total, 1 << window, self.p)
            buckets = [mpz(1)] * (digits + 1)
            for base, exponent in zip(bases, exponents, strict=True):
                digit = exponent >> (window * row) & digits
                buckets[digit] = buckets[digit] * base % self.p
            above = mpz(1)
            for bucket in buckets[:0:-1]:
                above = above * bucket % self.p
                total = total * above % self.p
        return total

    def secret_product(self, bases: Sequence[mpz], exponents: Sequence[int]) -> mpz:
        """The product of all bases[i]^exponents[i] for secret exponents: no table is read by them."""
        total = mpz(1)
        for base, exponent in zip(bases, exponents, strict=True):
            total = self.times(total, self.secret_power(base, mpz(exponent)))
        return total

    def times(self, a: mpz, b: mpz) -> mpz:
        """Multiply."""
        return a * b % self.p

    def product(self, elements: Sequence[mpz]) -> mpz:
        """1 without any."""
        return reduce(self.times, elements, mpz(1))

    def over(self, a: mpz, b: mpz) -> mpz:
        """Divide."""
        return a * invert(b, self.p) % self.p

    def draw_secret(self, chance: Chance) -> mpz:
        """Never 0."""
        return mpz(1 + chance.below(int(min(self.q - 1, mpz(1) << _SHORT_BITS))))

    def draw_mask(self, chance: Chance) -> mpz:
        """Full size: completely hides a secret added to it."""
        return mpz(1 + chance.below(int(self.q - 1)))

    def encode(self, text: bytes, length: int) -> mpz:
        """A text of ``length`` bytes as m or p - m, whichever is a quadratic residue."""
        if len(text) != length or length > self.text_bytes:
            raise MisuseError(
                f"a text of {len(text)} bytes for {length}; this group holds at most {self.text_bytes}"
            )
        number = mpz(int.from_bytes(b"\x01" + text))
        return number if jacobi(number, self.p) == 1 else self.p - number

    def decode(self, element: mpz, length: int) -> bytes:
        """PeerError for no text of this length."""
        number = int(min(element, self.p - element))
        if number >> (8 * length) != 1:
            raise PeerError("bad-record", f"an element that holds no text of {length} bytes")
        return number.to_bytes(length + 1)[1:]

    def to_bytes(self, element: mpz) -> bytes:
        """Big-endian, fixed length."""
        return int(element).to_bytes(self.element_bytes)

    def from_bytes(self, encoded: bytes, *, or_one: bool = False) -> mpz:
        """PeerError outside the subgroup, and for 1 unless ``or_one``."""
        if len(encoded) != self.element_bytes:
            raise PeerError(
                "bad-length", f"an element of {len(encoded)} bytes instead of {self.element_bytes}"
            )
        element = mpz(int.from_bytes(encoded))
        least = 1 if or_one else 2
        if not least <= element < self.p - 1 or jacobi(element, self.p) != 1:
            raise PeerError("bad-element", "a number that is not a member of the group")
        return element


class Powers:
    """Powers of one base to public exponents, from a table: seven times as fast as ``Group.power``."""

    def __init__(self, group: Group, base: mpz, bits: int) -> None:
        self._p = group.p
        self._rows: list[list[mpz]] = []
        step = base
        for _ in range(-(-bits // _WINDOW_BITS)):
            row = [mpz(1)]
            for _ in range((1 << _WINDOW_BITS) - 1):
                row.append(row[-1] * step % self._p)
            self._rows.append(row)
            step = row[-1] * step % self._p

    def of(self, exponent: int) -> mpz:
        """The base to an exponent; MisuseError for a negative or too long one."""
        digits = int(exponent)
        if not 0 <= digits < 1 << (_WINDOW_BITS * len(self._rows)):
            bits = _WINDOW_BITS * len(self._rows)
            raise MisuseError(f"an exponent outside 0..2^{bits} - 1; make a table for more bits")
        product = mpz(1)
        for row in self._rows:
            product = product * row[digits & ((1 << _WINDOW_BITS) - 1)] % self._p
            digits >>= _WINDOW_BITS
        return product


# RFC 7919, appendix A.2: 2^3072 - 2^3008 + (floor(2^2942 e) + 2625351) 2^64 - 1; a test rebuilds it from the
# formula
_FFDHE3072_P: Final = mpz(
    "FFFFFFFFFFFFFFFFADF85458A2BB4A9AAFDC5620273D3CF1D8B9C583CE2D3695A9E13641146433FBCC939DCE249B3EF9"
    "7D2FE363630C75D8F681B202AEC4617AD3DF1ED5D5FD65612433F51F5F066ED0856365553DED1AF3B557135E7F57C935"
    "984F0C70E0E68B77E2A689DAF3EFE8721DF158A136ADE73530ACCA4F483A797ABC0AB182B324FB61D108A94BB2C8E3FB"
    "B96ADAB760D7F4681D4F42A3DE394DF4AE56EDE76372BB190B07A7C8EE0A6D709E02FCE1CDF7E2ECC03404CD28342F61"
    "9172FE9CE98583FF8E4F1232EEF28183C3FE3B1B4C6FAD733BB5FCBC2EC22005C58EF1837D1683B2C6F34A26C1B2EFFA"
    "886B4238611FCFDCDE355B3B6519035BBC34F4DEF99C023861B46FC9D6E6C9077AD91D2691F7F7EE598CB0FAC186D91C"
    "AEFE130985139270B4130C93BC437944F4FD4452E2D74DD364F2E21E71F54BFF5CAE82AB9C9DF69EE86D2BC522363A0D"
    "ABC521979B0DEADA1DBF9A42D5C4484E0ABCD06BFA53DDEF3C1B20EE3FD59D7C25E41D2B66C62E37FFFFFFFFFFFFFFFF",
    16,
)
FFDHE3072: Final = Group(_FFDHE3072_P, mpz(4))
