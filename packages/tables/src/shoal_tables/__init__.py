"""Tables of counts and flows under differential privacy, which a stranger can check.

Each public name is loaded when it is first used, so that commands start quickly; ``__init__.pyi`` lists them.
"""

from shoal.runtime.stubs import on_first_use

__all__, __getattr__ = on_first_use(__name__, __file__)  # the list is the stub's
