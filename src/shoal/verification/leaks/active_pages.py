"""Find what makes a page more than paper: scripts, forms, and addresses that a browser would open.

A page is read by a grammar of what pages of shoal consist of: whatever else stands in it makes it active.
"""

import re
from html import unescape
from typing import Final

_MARK: Final = re.compile(r"<[a-zA-Z/!?]")  # where a browser leaves the text
_TAG: Final = re.compile(
    r"<!doctype html>|</?(a|body|br|circle|code|data|dd|desc|details|div|dl|dt|em|figcaption|figure|footer|g|"
    r"h[1-4]|head|html|image|img|li|line|link|main|meta|nav|p|path|rect|section|span|strong|style|summary|svg|"
    r"table|tbody|td|text|th|thead|title|tr|ul)"
    r"((?:\s+[a-z-]+(?:=(?:\"[^\"<]*\"|'[^'<]*'|[^\s\"'<>=`]+))?)*)\s*/?>",
    re.IGNORECASE,
)
_ATTRIBUTE: Final = re.compile(r"\s([A-Za-z-]+)(?:=(\"[^\"]*\"|'[^']*'|\S+))?")
_ADDRESS: Final = re.compile(r"#[\w.-]*|data:,|data:image/(?:png|jpeg);base64,[A-Za-z0-9+/=\s]*")
_STYLE: Final = re.compile(r"<style[^>]*>(.*?)(?:</style|\Z)", re.DOTALL | re.IGNORECASE)
_LOADS: Final = re.compile(
    r"\\|//|@(?!media\b|page\b)|url\s*\(|image|expression|(?<!-)behavior|src", re.IGNORECASE
)
_PLAIN: Final = re.compile(  # attributes of any value
    "alt|aria-hidden|aria-label|class|colspan|content|cx|cy|d|data-checked|data-figure|data-holds|data-quote|"
    "data-term|data-useful|height|id|lang|name|overflow|preserveaspectratio|r|rel|role|scope|style|tabindex|"
    "text-anchor|title|transform|value|viewbox|width|x|y"
)
_VALUES: Final = {
    "href": _ADDRESS,
    "src": _ADDRESS,
    "charset": re.compile("utf-8", re.IGNORECASE),
    "http-equiv": re.compile("content-security-policy", re.IGNORECASE),
}
# they may change how a browser reads the letters after them
_CONTROL: Final = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


def is_active(page: str) -> bool:
    """Whether a page holds anything that runs, sends or loads, in however strange a spelling."""
    if _CONTROL.search(page) or any(map(_LOADS.search, _STYLE.findall(page))):
        return True
    tags = [_TAG.match(page, mark.start()) for mark in _MARK.finditer(page)]
    return any(tag is None or any(map(_is_active, _ATTRIBUTE.findall(tag[2] or ""))) for tag in tags)


def _is_active(attribute: tuple[str, str]) -> bool:
    name, value = attribute[0].lower(), unescape(attribute[1].strip("\"'"))
    if name in _VALUES:
        return _VALUES[name].fullmatch(value) is None
    return _PLAIN.fullmatch(name) is None or (name == "style" and _LOADS.search(value) is not None)
