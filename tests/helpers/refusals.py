"""What a reader of raw data is told when it is refused."""

from typing import Any

import pytest

from shoal.errors import InputError
from shoal.io import read


def refusal(source: object, **settings: Any) -> str:
    """The message on the command line: one line."""
    with pytest.raises(InputError) as caught:
        read(source, **settings)
    assert "\n" not in str(caught.value)
    return caught.value.cli_message
