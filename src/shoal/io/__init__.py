"""Readers of formats, and the way from rows to Trajectories; loaded on first use."""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from shoal.io.reading import read, read_with

_HOME_OF: Final = {
    "read": "shoal.io.reading",
    "read_with": "shoal.io.reading",
}

__all__ = ["read", "read_with"]


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(import_module(_HOME_OF[name]), name)
    raise AttributeError(f"module 'shoal.io' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
