"""shoal: hide each traveller in the crowd.

The public names, nothing else; each is loaded when it is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from shoal.version import __version__

if TYPE_CHECKING:
    from shoal.io import describe, read
    from shoal.io.street_files import read_streets
    from shoal.measures.k_gap import KGap, k_gap, tail_weight_index
    from shoal.measures.stretch import Caps, fingerprint_stretch, sample_stretch
    from shoal.measures.trajectory_distance import trajectory_distances
    from shoal.methods.co_location.nwa import Nwa
    from shoal.methods.co_location.w4m import W4m
    from shoal.methods.glove.glove import Glove
    from shoal.methods.k_merge import k_merge
    from shoal.methods.kte_hide.kte_hide import KteHide
    from shoal.methods.static import StaticGeneralization
    from shoal.methods.swapping.reach_locations import ReachLocations
    from shoal.methods.swapping.swap_locations import SwapLocations
    from shoal.model.claims import KAnonymity, KteAnonymity
    from shoal.model.release import Linkage, Release
    from shoal.model.trajectories import Grid, Trajectories
    from shoal.model.verdicts import Verdict
    from shoal.publishing.publish import publish
    from shoal.release_folder.folder import read_linkage, read_release
    from shoal.runtime.randomness import Randomness
    from shoal.runtime.run import Run
    from shoal.synthetic import synthesize
    from shoal.verification import verify, verify_folder

_HOMES: Final = {
    "model.claims": ("KAnonymity", "KteAnonymity"),
    "measures.k_gap": ("KGap", "k_gap", "tail_weight_index"),
    "io": ("describe", "read"),
    "methods.glove.glove": ("Glove",),
    "methods.kte_hide.kte_hide": ("KteHide",),
    "methods.k_merge": ("k_merge",),
    "methods.co_location.nwa": ("Nwa",),
    "methods.static": ("StaticGeneralization",),
    "methods.co_location.w4m": ("W4m",),
    "methods.swapping.reach_locations": ("ReachLocations",),
    "methods.swapping.swap_locations": ("SwapLocations",),
    "publishing.publish": ("publish",),
    "runtime.randomness": ("Randomness",),
    "model.release": ("Linkage", "Release", "Release"),
    "release_folder.folder": ("read_linkage", "read_release"),
    "runtime.run": ("Run",),
    "measures.stretch": ("Caps", "fingerprint_stretch", "sample_stretch"),
    "io.street_files": ("read_streets",),
    "synthetic": ("synthesize",),
    "model.trajectories": ("Grid", "Trajectories"),
    "measures.trajectory_distance": ("trajectory_distances",),
    "model.verdicts": ("Verdict",),
    "verification": ("verify", "verify_folder"),
}
_HOME_OF: Final = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Caps",
    "Glove",
    "Grid",
    "KAnonymity",
    "KGap",
    "KteAnonymity",
    "KteHide",
    "Linkage",
    "Nwa",
    "Randomness",
    "ReachLocations",
    "Release",
    "Run",
    "StaticGeneralization",
    "SwapLocations",
    "Trajectories",
    "Verdict",
    "W4m",
    "__version__",
    "describe",
    "fingerprint_stretch",
    "k_gap",
    "k_merge",
    "publish",
    "read",
    "read_linkage",
    "read_release",
    "read_streets",
    "sample_stretch",
    "synthesize",
    "tail_weight_index",
    "trajectory_distances",
    "verify",
    "verify_folder",
]


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(import_module(f"shoal.{_HOME_OF[name]}"), name)
    raise AttributeError(f"module 'shoal' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
