"""Tables of counts and flows under differential privacy, which a stranger can check.

Each public name is loaded when it is first used, so that commands start quickly; ``__init__.pyi`` lists them.
"""

from importlib import import_module
from typing import Any, Final

from shoal.runtime.stubs import homes_in

_HOME_OF: Final = homes_in(__file__)

__all__ = sorted(_HOME_OF)  # noqa: PLE0605  # the list is the stub's


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        return getattr(import_module(_HOME_OF[name]), name)
    raise AttributeError(f"module 'shoal_tables' has no attribute '{name}'")
