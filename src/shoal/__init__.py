"""shoal: hide each traveller in the crowd. The public names, nothing else; each is loaded when it is first used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from shoal.version import __version__

if TYPE_CHECKING:
    from shoal.claims import KAnonymity, KteAnonymity
    from shoal.exposure import KGap, k_gap, tail_weight_index
    from shoal.io import describe, read
    from shoal.methods.glove import Glove
    from shoal.methods.k_merge import k_merge
    from shoal.methods.kte_hide import KteHide
    from shoal.methods.nwa import Nwa
    from shoal.methods.reach_locations import ReachLocations
    from shoal.methods.static import StaticGeneralisation
    from shoal.methods.swap_locations import SwapLocations
    from shoal.methods.w4m import W4m
    from shoal.publication import publish
    from shoal.randomness import Randomness
    from shoal.release import Linkage, PointRelease, Release
    from shoal.release_folder import read_linkage, read_release
    from shoal.run import Run
    from shoal.street_files import read_streets
    from shoal.stretch import Caps, fingerprint_stretch, sample_stretch
    from shoal.synthetic import synthesize
    from shoal.trajectories import Grid, Trajectories
    from shoal.trajectory_distance import trajectory_distances
    from shoal.verdicts import Verdict
    from shoal.verification import verify, verify_folder

_HOMES: Final = {
    "claims": ("KAnonymity", "KteAnonymity"),
    "exposure": ("KGap", "k_gap", "tail_weight_index"),
    "io": ("describe", "read"),
    "methods.glove": ("Glove",),
    "methods.kte_hide": ("KteHide",),
    "methods.k_merge": ("k_merge",),
    "methods.nwa": ("Nwa",),
    "methods.static": ("StaticGeneralisation",),
    "methods.w4m": ("W4m",),
    "methods.reach_locations": ("ReachLocations",),
    "methods.swap_locations": ("SwapLocations",),
    "publication": ("publish",),
    "randomness": ("Randomness",),
    "release": ("Linkage", "PointRelease", "Release"),
    "release_folder": ("read_linkage", "read_release"),
    "run": ("Run",),
    "stretch": ("Caps", "fingerprint_stretch", "sample_stretch"),
    "street_files": ("read_streets",),
    "synthetic": ("synthesize",),
    "trajectories": ("Grid", "Trajectories"),
    "trajectory_distance": ("trajectory_distances",),
    "verdicts": ("Verdict",),
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
    "PointRelease",
    "Randomness",
    "ReachLocations",
    "Release",
    "Run",
    "StaticGeneralisation",
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
