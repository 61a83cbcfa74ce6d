"""Readers of formats, and the way from rows to Trajectories; loaded on first use."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from shoal.io.reading import read, read_with

__all__ = ["read", "read_with"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module("shoal.io.reading"), name)
    raise AttributeError(f"module 'shoal.io' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted(__all__)
