"""A row of the table of attacks, and readers of its numbers."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from shoal.attacks.rate import Rate
from shoal.errors import MisuseError
from shoal.messages import name_text
from shoal.model.claims import Claim, PayloadKind
from shoal.model.release import Release
from shoal.runtime.registry import require_row_name
from shoal.units import HOUR_S, duration_s

_FARTHEST_CLOCK_S: Final = 14 * HOUR_S
QuestionName = Literal["single out", "link", "infer"]
Uses = Literal["release alone", "raw data", "own record"]
_WINS: Final[Mapping[QuestionName, str]] = {
    "single out": "singles out {rate} of the people",
    "link": "finds the right record of {rate} of the people",
    "infer": "infers something true about {rate} of the people",
}


@dataclass(frozen=True, kw_only=True)
class Adversary:
    """One row of the table of attacks: everything that the project knows about an attack.

    Parameters
    ----------
    name
        The first word of its knowledge: ``points`` of ``points:4``.
    sentence
        The adversary in plain words, alone or after "Somebody": ``Knows where a person lives.``
    answers
        For each rate, by name, the question of data protection that it answers.
    evaluate
        Measures the rates: a function of the evaluation, of the numbers that ``parameters`` read, and of
        ``rng`` (keyword). It raises MisuseError when the data does not allow the attack.
    form
        How its knowledge is written, for help texts: ``points:P``. Empty = as the example.
    example
        A knowledge that can be evaluated: ``points:4``. Empty = the name.
    words
        The adversary's knowledge, for help texts. Empty = the sentence.
    source
        Where the attack was published.
    uses
        What the adversary has besides the release: nothing (``release alone``), facts about people drawn from
        raw data (``raw data``), or which record is a person's (``own record``).
    wins
        For each rate, its meaning, after "This attack": ``finds the right record of {rate} of the people``.
        A rate that is left out is described by its question.
    parameters
        Readers of the words after the name; the last ``optional`` of them may be left out.
    payloads
        The releases it is evaluated on. An attack that takes boxes meets points, raw and published, as the
        cells and slots that hold them; one that takes points alone meets them as given.
    default
        The settings evaluated when no knowledge is asked for.
    record
        The same for the report of a release. ``{claim.tau_s}`` and the like are filled in from the claim.
    claims
        The claims that this attack tests; other releases leave it out of ``default`` and ``record``. None =
        all.
    series, sensitive
        Whether it needs an earlier release of the same people, or a list of sensitive places.
    joins_releases
        Whether it can also meet the joined records of several releases.
    asks_places
        Whether it uses an index over places; such attacks run after those that use one over time.
    apart_on
        Rates that are never called the strongest on releases of this kind, because the claim itself allows
        them: a truthful box holds its person, however large it is, and a cluster may be known.
    same_knowledge_as
        The attack on boxes whose adversary knows as much. Comparisons judge a release of points by the
        stronger of the two: moved points lie in other cells, which misleads the attack on boxes and not
        this one.
    """

    name: str
    sentence: str
    answers: Mapping[str, QuestionName]
    evaluate: Callable[..., list[Rate]]
    form: str = ""
    example: str = ""
    words: str = ""
    source: str = "not published"
    uses: Uses = "raw data"
    wins: Mapping[str, str] = field(default_factory=dict)
    parameters: tuple[Callable[[str], Any], ...] = ()
    optional: int = 0
    payloads: tuple[PayloadKind, ...] = ("boxes", "points")
    default: tuple[str, ...] = ()
    record: tuple[str, ...] = ()
    claims: tuple[type[Claim], ...] | None = None
    series: bool = False
    sensitive: bool = False
    joins_releases: bool = False
    asks_places: bool = False
    apart_on: Mapping[str, PayloadKind] = field(default_factory=dict)
    same_knowledge_as: str | None = None

    def __post_init__(self) -> None:
        example = self.example or self.name
        defaults = {
            "sentence": name_text(f"attack.{self.name}.sentence", self.sentence),
            "example": example,
            "form": self.form or example,
            "words": self.words or self.sentence[:1].lower() + self.sentence[1:].removesuffix("."),
            "wins": {rate: _WINS.get(question, "") for rate, question in self.answers.items()}
            | dict(self.wins),
        }
        for name, value in defaults.items():
            object.__setattr__(self, name, value)

    @property
    def takes_boxes(self) -> bool:
        """Whether it meets boxes; otherwise points as given."""
        return "boxes" in self.payloads

    def suits(self, release: Release | None, *, series: bool = False, sensitive: bool = False) -> bool:
        """Whether it is evaluated by default on this release (None = raw data)."""
        if (self.series and not series) or (self.sensitive and not sensitive):
            return False
        if release is None:
            return self.takes_boxes and self.claims is None
        return release.kind in self.payloads and (self.claims is None or type(release.claim) in self.claims)

    def texts(self, settings: tuple[str, ...], claim: Claim | None = None) -> tuple[str, ...]:
        """These settings as after ``--knowledge``."""
        filled = [setting.format(claim=claim) for setting in settings]
        return tuple(f"{self.name}:{setting}" if setting else self.name for setting in filled)

    def read(self, words: list[str]) -> tuple[Any, ...]:
        """The numbers of these words; MisuseError, with an example, without."""
        most = len(self.parameters)
        if not most - self.optional <= len(words) <= most:
            raise MisuseError(
                f"{':'.join([self.name, *words])} is not a knowledge; write for example {self.example}"
            )
        try:
            return tuple(read(word) for read, word in zip(self.parameters, words, strict=False))
        except MisuseError as error:
            raise MisuseError(f"{error.cli_message}; write for example {self.example}") from error


def require_complete(row: Adversary) -> None:
    """Raise MisuseError for a row that help, reports or evaluations could not use."""
    if not isinstance(row, Adversary):
        raise MisuseError("an attack is an Adversary; write register_attack(shoal.Adversary(name=...))")
    require_row_name(row.name, "attack")
    if not row.sentence.endswith("."):
        raise MisuseError(
            f"{row.name}: sentence = '{row.sentence}' must be a sentence that ends with a period"
        )
    unknown = [question for question in row.answers.values() if question not in _WINS]
    if not row.answers or unknown:
        raise MisuseError(
            f"{row.name}: answers must give each rate its question, one of {', '.join(_WINS)}; for example "
            '{"my-linkage": "link"}'
        )
    wrong = [rate for rate, words in row.wins.items() if rate not in row.answers or "{rate}" not in words]
    if wrong:
        raise MisuseError(f"{row.name}: wins of '{wrong[0]}' must be of a rate in answers and hold {{rate}}")
    if not callable(row.evaluate):
        raise MisuseError(f"{row.name}: evaluate must be a function of an evaluation and rng")
    row.read(row.example.split(":")[1:])


def count(most: int) -> Callable[[str], int]:
    """A reader of a whole number from 1 to ``most``."""

    def read(word: str) -> int:
        if not word.isdecimal() or not 1 <= int(word) <= most:
            raise MisuseError(f"'{word}' is not a number from 1 to {most}")
        return int(word)

    return read


def offset_s(word: str) -> float:
    """Seconds ahead of UTC, from a duration with or without a sign: ``+8h``."""
    ahead_s = (-1 if word.startswith("-") else 1) * duration_s(word.lstrip("+-"))
    if abs(ahead_s) > _FARTHEST_CLOCK_S:
        raise MisuseError(f"no clock is {word} from UTC")
    return ahead_s
