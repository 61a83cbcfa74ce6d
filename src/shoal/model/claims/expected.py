"""Expected claims, and how a claim falls short of one.

Each number of a claim declares which way it is stronger, ``MORE`` or ``LESS``.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from shoal.errors import MisuseError
from shoal.model.claims import CLAIMS, Claim
from shoal.model.claims.common import STRONGER, require_k
from shoal.model.intake import Reading
from shoal.model.omission import ANY_SHARE
from shoal.units import duration_s, length_m, parse_share, show_m, show_s, show_share

_BOUNDS: Final = {"more": "at least ", "less": "at most ", "same": ""}
_UNITS: Final = {"_m": (length_m, show_m), "_s": (duration_s, show_s)}


@dataclass(frozen=True, kw_only=True)
class ExpectedClaim:
    """A type of claim, the least that its numbers must promise, and the column of its people (None: any)."""

    type: str
    numbers: Mapping[str, Any]
    unit: str | None = None

    @classmethod
    def of(cls, claim: Claim) -> "ExpectedClaim":
        """Everything that a claim promises."""
        return cls(type=claim.type, numbers=asdict(claim))

    @classmethod
    def parse(cls, text: str) -> "ExpectedClaim":
        """An expectation from TYPE[:K][,NAME[=VALUE]...]."""
        # ``k-anonymity:5,truthful`` or ``kte-anonymity:2,tau=30min,epsilon=30min``: names of the claim's
        # numbers, with dashes and without unit; a name alone means yes
        kind, _, rest = text.strip().partition(":")
        if kind not in CLAIMS:
            raise MisuseError(f"'{kind}' is no claim; choose from {', '.join(CLAIMS)}")
        names = {_short_name(number.name): number.name for number in fields(CLAIMS[kind])}
        numbers: dict[str, Any] = {}
        unit: str | None = None
        for part in filter(None, (part.strip() for part in rest.split(","))):
            name, is_given, value = part.partition("=")
            if part.isdecimal():
                name, is_given, value = "k", "=", part
            if name == "unit":
                if unit or not value:
                    raise MisuseError(f"unit needs one column of '{text}', such as unit=uid")
                unit = value
                continue
            if name not in names:
                valid = ", ".join([*names, "unit"])
                raise MisuseError(f"'{name}' is no number of {kind}; known: {valid}, for example {kind}:5")
            if names[name] in numbers:
                raise MisuseError(f"'{name}' stands twice in '{text}'; leave one out")
            numbers[names[name]] = _parse_number(names[name], value if is_given else None, CLAIMS[kind])
        return cls(type=kind, numbers=numbers, unit=unit)

    def other_people(self, reading: Reading) -> Iterator[str]:
        """A sentence where the raw data was read for other people than those expected."""
        if self.unit is not None and (reading.per_day or (reading.person or reading.id) != self.unit):
            people = "days of its people" if reading.per_day else "the values of another column"
            yield f"it is about {people}, expected unit={self.unit}: each value of that column, over all days"

    def shortfalls(self, claim: Claim, reading: Reading | None = None) -> Iterator[str]:
        """A sentence for each number that promises less, and for other people than those expected."""
        yield from self.other_people(reading or Reading())
        if claim.type != self.type:
            yield f"it claims {claim.type}, expected {self.type}"
            return
        stronger = {number.name: _direction(claim, number.metadata) for number in fields(claim)}
        for name, least in self.numbers.items():
            claimed, direction = getattr(claim, name), stronger[name]
            if {"more": claimed < least, "less": claimed > least, "same": claimed != least}[direction]:
                bound = "" if isinstance(least, bool) else _BOUNDS[direction]
                expected = show_number(name, least)
                yield f"{_short_name(name)} = {show_number(name, claimed)}, expected {bound}{expected}"

    @property
    def words(self) -> str:
        """The expectation for people."""
        texts = [f"{_short_name(name)} {show_number(name, value)}" for name, value in self.numbers.items()]
        return ", ".join([self.type, *texts, *([] if self.unit is None else [f"unit {self.unit}"])])


def numbers_in_words(claim: Claim) -> str:
    """Every number of a claim, including those omitted in its promise."""
    texts = (f"{_short_name(name)} = {show_number(name, value)}" for name, value in asdict(claim).items())
    return ", ".join(texts)


def show_number(name: str, value: Any) -> str:
    """A number of a claim for people."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name.startswith("missing_") and value == ANY_SHARE:
        return "any share"
    unit = _UNITS.get(name[-2:])
    if unit is None and isinstance(value, float):
        return show_share(value)
    return unit[1](value) if unit else f"{value}"


def _short_name(name: str) -> str:
    return (name[:-2] if name[-2:] in _UNITS else name).replace("_", "-")


def _parse_number(name: str, text: str | None, kind: type[Claim]) -> Any:
    declared = {number.name: number.type for number in fields(kind)}[name]
    label = _short_name(name)
    if declared is bool:
        if text not in (None, "yes", "no", "true", "false"):
            raise MisuseError(f"{label} = '{text}' is neither yes nor no")
        return text in (None, "yes", "true")
    if text is None:
        example = "5" if declared is int else "30min or 1km" if name[-2:] in _UNITS else "5%"
        raise MisuseError(f"{label} needs a value, such as {label}={example}")
    if declared is str:
        return text
    if name[-2:] in _UNITS:
        return 0.0 if text.strip() == "0" else _UNITS[name[-2:]][0](text)
    if declared is float:
        return parse_share(text)
    try:
        value = int(text)
    except ValueError as error:
        raise MisuseError(f"{label} = '{text}' is no whole number") from error
    if name == "k":
        require_k(value)
    return value


def _direction(claim: Claim, metadata: Mapping[Any, Any]) -> str:
    if STRONGER not in metadata:
        raise MisuseError(f"a number of {claim.type} does not say which way it is a stronger promise")
    return str(metadata[STRONGER])
