"""What every method is: a frozen dataclass of parameters that says everything about itself, with one verb."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Protocol, runtime_checkable

from shoal.methods.parameters import Declares
from shoal.methods.techniques import Technique
from shoal.model.claims import Claim, PayloadKind
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Grid, Trajectories
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run


@dataclass(frozen=True, kw_only=True)
class About:
    """What is true of a method whatever its parameters are.

    Parameters
    ----------
    name
        On the command line, in studies and in manifests.
    title
        As its authors write it.
    techniques
        Its own in the terms of ISO/IEC 20889. The record adds those of every release: pseudonyms, rounding on
        input, suppression.
    claim
        The type of its claim.
    publishes
        "boxes" when the original must be snapped samples; "points" when it must be points as given, without a
        grid.
    page
        Its page of the docs, without the ending.
    as_published
        The parameters with which it comes nearest to its paper, where that is not how shoal runs it.
    """

    name: str
    title: str
    techniques: tuple[Technique, ...]
    claim: type[Claim]
    publishes: PayloadKind
    page: str
    as_published: Mapping[str, Any] = field(default_factory=dict)


class Method(Declares, Protocol):
    """Turns trajectories into a release that carries a claim."""

    about: ClassVar[About]

    def __init__(self, **parameters: Any) -> None:
        """Every parameter has a default, and is checked once, here."""

    def claim(self) -> Claim:
        """What every release of this method promises."""

    def parameters(self) -> dict[str, Any]:
        """All parameters, as a manifest holds them."""

    def anonymize(
        self, original: Trajectories, rng: Randomness, run: Run | None = None
    ) -> tuple[Release, Linkage]:
        """The release, and who became which record."""


@runtime_checkable
class OnSteps(Protocol):
    """A method with lengths or durations that must be whole numbers of the data's cells or slots."""

    def require_steps(self, grid: Grid) -> None:
        """Raise MisuseError where they are not."""
