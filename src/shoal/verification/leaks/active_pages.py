"""Find what makes a page more than paper: scripts, forms, and addresses that a browser would open."""

import re
from typing import Final

# all that pages of shoal consist of; none loads, sends or runs anything by itself
_TAG_NAMES: Final = re.compile(
    "a|body|br|circle|code|data|dd|desc|details|div|dl|dt|em|figcaption|figure|footer|g|h[1-4]|head|html|image|"
    "img|li|line|link|main|meta|nav|p|path|rect|section|span|strong|style|summary|svg|table|tbody|td|text|th|"
    "thead|title|tr|ul",
    re.IGNORECASE,
)
_ADDRESSES: Final = re.compile(
    "href|src|srcset|action|formaction|poster|data|background|ping|cite|longdesc|manifest|xlink:href|lowsrc|"
    "dynsrc|archive|codebase|classid|profile|usemap|icon"
)
_START: Final = re.compile(r"<[a-zA-Z]")
_TAG: Final = re.compile(r"<([a-zA-Z][^\s/>]*)((?:[^>\"']|\"[^\"]*\"|'[^']*')*)>")
_ATTRIBUTE: Final = re.compile(r"([^\s=\"'/>]+)(?:\s*=\s*(\"[^\"]*\"|'[^']*'|[^\s\"'>]*))?")
_WITHIN: Final = re.compile(r"#[\w.-]*|data:,|data:image/(?:png|jpeg);base64,[A-Za-z0-9+/=\s]*")
_STYLE: Final = re.compile(r"<style[^>]*>(.*?)(?:</style|\Z)", re.DOTALL | re.IGNORECASE)
_LOADED: Final = re.compile(
    r"\\|@import|@namespace|url\s*\(|image-set|expression|(?<!-)behavior|src\s*\(", re.IGNORECASE
)


def is_active(page: str) -> bool:
    """Whether a page holds anything that runs, sends or loads, in however strange a spelling."""
    if "\0" in page or any(map(_LOADED.search, _STYLE.findall(page))):
        return True
    for start in _START.finditer(page):
        tag = _TAG.match(page, start.start())
        if tag is None or not _TAG_NAMES.fullmatch(tag[1]):
            return True
        attributes = [(name.lower(), value.strip("\"'")) for name, value in _ATTRIBUTE.findall(tag[2])]
        if any(_is_active_attribute(name, value) for name, value in attributes):
            return True
        if tag[1].lower() == "meta":
            orders = [value.lower() for name, value in attributes if name == "http-equiv"]
            if orders not in ([], ["content-security-policy"]):
                return True
    return False


def _is_active_attribute(name: str, value: str) -> bool:
    if name.startswith("on") or name == "srcdoc":
        return True
    if name == "style":
        return _LOADED.search(value) is not None
    return _ADDRESSES.fullmatch(name) is not None and _WITHIN.fullmatch(value) is None
