"""shoal: hide each traveller in the crowd. The public names, nothing else; each is loaded when it is first used."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

from shoal.version import __version__

if TYPE_CHECKING:
    from shoal.randomness import Randomness
    from shoal.run import Run
    from shoal.trajectories import Grid, Trajectories

_HOME_OF: Final = {
    "Grid": "shoal.trajectories",
    "Randomness": "shoal.randomness",
    "Run": "shoal.run",
    "Trajectories": "shoal.trajectories",
}

__all__ = ["Grid", "Randomness", "Run", "Trajectories", "__version__"]


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(import_module(_HOME_OF[name]), name)
    raise AttributeError(f"module 'shoal' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
