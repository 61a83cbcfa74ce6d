"""Answers of object stores in words, without their addresses and keys."""

import re
from collections.abc import Mapping
from typing import Final

_CODE: Final = re.compile(r"AWS Error ([A-Z_]+)|google::cloud::Status\(([A-Z_]+)")
_WORDS: Final[Mapping[str, str]] = {
    "there is no such bucket": "NO_SUCH_BUCKET",
    "it refuses this with these credentials": "ACCESS_DENIED PERMISSION_DENIED",
    "it does not take these credentials": "INVALID_ACCESS_KEY_ID INVALID_CLIENT_TOKEN_ID EXPIRED_TOKEN "
    "MISSING_AUTHENTICATION_TOKEN SIGNATURE_DOES_NOT_MATCH UNAUTHENTICATED UNRECOGNIZED_CLIENT",
    "nothing lies there": "NO_SUCH_KEY RESOURCE_NOT_FOUND NOT_FOUND",
    "it does not answer": "NETWORK_CONNECTION REQUEST_TIMEOUT DEADLINE_EXCEEDED UNAVAILABLE",
    "it is too busy": "SERVICE_UNAVAILABLE SLOW_DOWN THROTTLING RESOURCE_EXHAUSTED",
}
_WHY: Final = {code: words for words, codes in _WORDS.items() for code in codes.split()}


def explain_store_error(error: BaseException) -> str | None:
    """The reason of a refusal; None for another error."""
    if isinstance(error, FileNotFoundError):
        return "nothing lies there"
    match = _CODE.search(str(error)) if isinstance(error, OSError) else None
    if match is None:
        return None
    code = match[1] or match[2]
    return _WHY.get(code, f"it answers '{code.lower().replace('_', ' ')}'")
