"""The published methods: one file each, a frozen dataclass of parameters with one verb, all listed in METHODS."""

from typing import Any, ClassVar, Final, Protocol

from shoal.claims import Claim
from shoal.methods.glove import Glove
from shoal.methods.kte_hide import KteHide
from shoal.methods.nwa import Nwa
from shoal.methods.reach_locations import ReachLocations
from shoal.methods.static import StaticGeneralisation
from shoal.methods.swap_locations import SwapLocations
from shoal.methods.w4m import W4m
from shoal.randomness import Randomness
from shoal.release import AnyRelease, Linkage
from shoal.run import Run
from shoal.trajectories import Trajectories


class Method(Protocol):
    """Turns trajectories into a release that carries a claim.

    takes_points: whether the original must hold points as given (grid None) and points are published; otherwise snapped samples, boxes.
    """

    takes_points: ClassVar[bool]

    def claim(self) -> Claim:
        """What every release of this method promises."""

    def parameters(self) -> dict[str, Any]:
        """All parameters, as a manifest holds them."""

    def anonymize(self, original: Trajectories, rng: Randomness, run: Run | None = None) -> tuple[AnyRelease, Linkage]:
        """The release, and who became which record."""


METHODS: Final[dict[str, type[Glove | KteHide | Nwa | ReachLocations | StaticGeneralisation | SwapLocations | W4m]]] = {
    "glove": Glove,
    "kte-hide": KteHide,
    "nwa": Nwa,
    "reach-locations": ReachLocations,
    "static": StaticGeneralisation,
    "swap-locations": SwapLocations,
    "w4m": W4m,
}
