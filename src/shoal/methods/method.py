"""What a method declares about itself, and the protocol of methods."""

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from typing import Any, ClassVar, Protocol, get_args, runtime_checkable

from shoal.errors import MisuseError
from shoal.messages import name_text
from shoal.methods.parameters import Declares, is_declared, parameter_values, require_declared
from shoal.model.claims import Claim, PayloadKind
from shoal.model.grid import Grid
from shoal.model.release import Released
from shoal.model.trajectories import Trajectories
from shoal.runtime.randomness import Randomness
from shoal.runtime.registry import require_row_name
from shoal.runtime.run import Run


@dataclass(frozen=True)
class Technique:
    """A technique of ISO/IEC 20889:2018, and how the release uses it."""

    family: str
    name: str
    use: str


def local_generalization(use: str) -> Technique:
    """Samples become areas and intervals of their own size."""
    return Technique("generalization techniques", "local generalization", use)


def rounding(use: str) -> Technique:
    """Values are rounded to the same steps."""
    return Technique("generalization techniques", "rounding", use)


def permutation(use: str) -> Technique:
    """Values are exchanged between people."""
    return Technique("randomization techniques", "permutation", use)


def microaggregation(use: str) -> Technique:
    """Values move toward the middle of a group."""
    return Technique("randomization techniques", "microaggregation", use)


@dataclass(frozen=True, kw_only=True)
class About:
    """Facts that do not depend on parameters."""

    name: str  # on the command line, in studies and in manifests
    title: str  # as its authors write it
    techniques: tuple[Technique, ...]  # of ISO/IEC 20889, without pseudonyms, rounding and suppression
    claim: type[Claim]  # type of its claim
    publishes: PayloadKind  # "boxes" of snapped samples, or "points" without a grid
    summary: str = ""  # what it does, for readers who choose; empty = what its techniques do
    page: str = ""  # its page of the docs, without the ending
    as_published: Mapping[str, Any] = field(default_factory=dict)  # closest to its paper

    def __post_init__(self) -> None:
        words = "; ".join(technique.use for technique in self.techniques) or self.title
        object.__setattr__(
            self, "summary", name_text(f"method.{self.name}.summary", self.summary or f"{words}.")
        )


class Method(Declares, Protocol):
    """Turns trajectories into a release that carries a claim.

    Attributes
    ----------
    about
        Name, title, techniques, claim, and what is published.
    """

    about: ClassVar[About]

    def __init__(self, **parameters: Any) -> None:
        pass

    def claim(self) -> Claim:
        """The promise of every release."""

    def parameters(self) -> dict[str, Any]:
        """All parameters, as in the manifest."""

    def anonymize(self, original: Trajectories, rng: Randomness, run: Run | None = None) -> Released:
        """The release and its linkage."""


class DeclaredMethod(Declares):
    """A method whose fields declare all its parameters."""

    def __post_init__(self) -> None:
        self.claim()
        require_declared(self)

    def claim(self) -> Claim:
        """The promise of every release; raises MisuseError for numbers that promise nothing."""
        raise NotImplementedError

    def parameters(self) -> dict[str, Any]:
        """All parameters, as in the manifest; of streets only their size."""
        return parameter_values(self)


@runtime_checkable
class NeedsWholeSteps(Protocol):
    """A method with lengths or durations that must be whole cells or slots."""

    def require_steps(self, grid: Grid) -> None:
        """Raise MisuseError where they are not whole."""


def require_complete(kind: type[Method]) -> None:
    """Raise MisuseError for no method, or a claim that the verifier does not know."""
    if not (isinstance(kind, type) and is_dataclass(kind)):
        raise MisuseError(
            "a method is a class: a frozen dataclass with about, claim, parameters and anonymize"
        )
    about = getattr(kind, "about", None)
    if not isinstance(about, About):
        raise MisuseError(f"{kind.__name__} has no about; write about: ClassVar[About] = About(name=...)")
    require_row_name(about.name, "method")
    missing = [
        verb for verb in ("claim", "parameters", "anonymize") if not callable(getattr(kind, verb, None))
    ]
    if missing:
        raise MisuseError(f"the method '{about.name}' has no {missing[0]}(); a method needs it")
    if about.claim not in get_args(Claim):
        raise MisuseError(
            f"the method '{about.name}' claims {about.claim!r}, which no check is for; choose from "
            f"{', '.join(claim.__name__ for claim in get_args(Claim))}"
        )
    for entry in fields(kind):
        if not is_declared(entry) or (entry.default is MISSING and entry.default_factory is MISSING):
            raise MisuseError(
                f"the parameter {entry.name} of '{about.name}' needs a default, a help and a meaning; "
                "declare it with parameter(...) of shoal.methods.parameters"
            )
