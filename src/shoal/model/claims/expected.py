"""What somebody expects a release to claim, and where a claim falls short of it.

Each number of a claim says in its own declaration which way it becomes a stronger promise: ``MORE`` or
``LESS``. The names, the units and the form of an expectation in text follow from the claims' fields.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from shoal.errors import MisuseError
from shoal.model.claims import CLAIMS, Claim
from shoal.model.claims.common import STRONGER, require_class
from shoal.units import duration_s, length_m, share_of, show_m, show_s, show_share

_BOUNDS: Final = {"more": "at least ", "less": "at most ", "same": ""}
_UNITS: Final = {"_m": (length_m, show_m), "_s": (duration_s, show_s)}


@dataclass(frozen=True, kw_only=True)
class Expected:
    """An expectation: the type of a claim, and the least that some of its numbers must promise.

    Examples
    --------
    >>> from shoal.model.claims import KAnonymity
    >>> from shoal.model.claims.expected import Expected
    >>> list(Expected.parse("k-anonymity:5,truthful").shortfalls(KAnonymity(k=2)))
    ['k = 2, expected at least 5']
    """

    type: str
    numbers: Mapping[str, Any]

    @classmethod
    def of(cls, claim: Claim) -> "Expected":
        """The whole of a claim, and no less."""
        return cls(type=claim.type, numbers=asdict(claim))

    @classmethod
    def parse(cls, text: str) -> "Expected":
        """An expectation in text.

        Parameters
        ----------
        text
            TYPE[:K][,NAME[=VALUE]...], such as ``k-anonymity:5,truthful`` or
            ``kte-anonymity:2,tau=30min,epsilon=30min``. The names are those of the claim's numbers with
            dashes and without their unit; a name alone stands for yes.

        Raises
        ------
        MisuseError
            When the type or a name is not known, or a value cannot be read.
        """
        kind, _, rest = text.strip().partition(":")
        if kind not in CLAIMS:
            raise MisuseError(f"'{kind}' is no claim; choose from {', '.join(CLAIMS)}")
        names = {_shown_name(each.name): each.name for each in fields(CLAIMS[kind])}
        numbers: dict[str, Any] = {}
        for part in filter(None, (part.strip() for part in rest.split(","))):
            name, is_given, value = part.partition("=")
            if part.isdecimal():
                name, is_given, value = "k", "=", part
            if name not in names:
                known = ", ".join(names)
                raise MisuseError(f"'{name}' is no number of {kind}; known: {known}, for example {kind}:5")
            if names[name] in numbers:
                raise MisuseError(f"'{name}' stands twice in '{text}'; leave one out")
            numbers[names[name]] = _value(names[name], value if is_given else None, CLAIMS[kind])
        return cls(type=kind, numbers=numbers)

    def shortfalls(self, claim: Claim) -> Iterator[str]:
        """In words, everything that the claim promises less of; nothing where it promises as much or more."""
        if claim.type != self.type:
            yield f"it claims {claim.type}, expected {self.type}"
            return
        stronger = {each.name: _direction(claim, each.metadata) for each in fields(claim)}
        for name, least in self.numbers.items():
            found, way = getattr(claim, name), stronger[name]
            if {"more": found < least, "less": found > least, "same": found != least}[way]:
                bound = "" if isinstance(least, bool) else _BOUNDS[way]
                shown = show_number(name, least)
                yield f"{_shown_name(name)} = {show_number(name, found)}, expected {bound}{shown}"

    @property
    def words(self) -> str:
        """As people read it."""
        told = (f"{_shown_name(name)} {show_number(name, value)}" for name, value in self.numbers.items())
        return ", ".join([self.type, *told])


def numbers_in_words(claim: Claim) -> str:
    """Every number of a claim, those included that its name and its promise leave out."""
    told = (f"{_shown_name(name)} = {show_number(name, value)}" for name, value in asdict(claim).items())
    return ", ".join(told)


def show_number(name: str, value: Any) -> str:
    """A number of a claim as people write it."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    unit = _UNITS.get(name[-2:])
    if unit is None and isinstance(value, float):
        return show_share(value)
    return unit[1](value) if unit else f"{value}"


def _shown_name(name: str) -> str:
    """The name of a number without its unit."""
    return (name[:-2] if name[-2:] in _UNITS else name).replace("_", "-")


def _value(name: str, text: str | None, kind: type[Claim]) -> Any:
    """One number from text; raises MisuseError when it cannot be read."""
    declared = {each.name: each.type for each in fields(kind)}[name]
    label = _shown_name(name)
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
        return share_of(text)
    try:
        value = int(text)
    except ValueError as error:
        raise MisuseError(f"{label} = '{text}' is no whole number") from error
    if name == "k":
        require_class(value)
    return value


def _direction(claim: Claim, metadata: Mapping[Any, Any]) -> str:
    """Which way a number becomes a stronger promise; raises MisuseError where its claim does not say so."""
    if STRONGER not in metadata:
        raise MisuseError(f"a number of {claim.type} does not say which way it is a stronger promise")
    return str(metadata[STRONGER])
