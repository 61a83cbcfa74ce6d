"""The mark by which every page says for whom it is.

Only the record of a release is for everybody.
"""

import re
from typing import Final

_NAME: Final = "shoal-page"
PUBLIC: Final = f'<meta name="{_NAME}" content="public record">'
PRIVATE: Final = f'<meta name="{_NAME}" content="for the holder of the raw data">'
_ANY: Final = re.compile(rf"<meta[^>]*{_NAME}[^>]*>", re.IGNORECASE)


def is_public(page: str) -> bool:
    """Whether a page carries the public mark, once, and no other."""
    return _ANY.findall(page) == [PUBLIC]
