"""The published methods: one file each, a frozen dataclass of parameters with one verb, all listed in METHODS."""

from typing import Any, ClassVar, Final, Protocol

from shoal.methods.co_location.nwa import Nwa
from shoal.methods.co_location.w4m import W4m
from shoal.methods.glove.glove import Glove
from shoal.methods.kte_hide.kte_hide import KteHide
from shoal.methods.static import StaticGeneralization
from shoal.methods.swapping.reach_locations import ReachLocations
from shoal.methods.swapping.swap_locations import SwapLocations
from shoal.model.claims import Claim
from shoal.model.release import Linkage, Release
from shoal.model.trajectories import Trajectories
from shoal.runtime.randomness import Randomness
from shoal.runtime.run import Run


class Method(Protocol):
    """Turns trajectories into a release that carries a claim.

    takes_points: whether the original must hold points as given (grid None) and points are published;
    otherwise snapped samples, boxes.
    """

    takes_points: ClassVar[bool]

    def claim(self) -> Claim:
        """What every release of this method promises."""

    def parameters(self) -> dict[str, Any]:
        """All parameters, as a manifest holds them."""

    def anonymize(
        self, original: Trajectories, rng: Randomness, run: Run | None = None
    ) -> tuple[Release, Linkage]:
        """The release, and who became which record."""


METHODS: Final[
    dict[str, type[Glove | KteHide | Nwa | ReachLocations | StaticGeneralization | SwapLocations | W4m]]
] = {
    "glove": Glove,
    "kte-hide": KteHide,
    "nwa": Nwa,
    "reach-locations": ReachLocations,
    "static": StaticGeneralization,
    "swap-locations": SwapLocations,
    "w4m": W4m,
}
