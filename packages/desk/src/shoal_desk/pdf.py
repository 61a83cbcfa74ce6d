"""The record to sign as a PDF, printed from the page by WeasyPrint (the extra ``pdf``); nothing is loaded."""

from functools import cache
from typing import Any, Never

from shoal.errors import InputError, MissingExtraError


def pdf_of(html: str) -> bytes:
    """Print a page without references; raises MissingExtraError without WeasyPrint."""
    printed: bytes = require_printing().HTML(string=html, url_fetcher=_refuse).write_pdf()
    return printed


def require_printing() -> Any:
    """Import WeasyPrint; raises MissingExtraError if it or its system libraries are missing."""
    library = _library()
    if library is None:
        raise MissingExtraError(
            "a PDF needs WeasyPrint and the system's Pango; install them with: "
            "pip install 'shoal-desk[pdf]' (and "
            "for example apt install libpango-1.0-0 libpangoft2-1.0-0), or print the page from a browser"
        )
    return library


def can_print() -> bool:
    """Whether WeasyPrint and its system libraries are installed."""
    return _library() is not None


def _refuse(address: str, *_arguments: Any, **_options: Any) -> Never:
    raise InputError(f"a record refers to nothing, and this one does: {address[:40]}")


@cache
def _library() -> Any:
    try:
        import weasyprint
    except (ImportError, OSError):  # OSError: no Pango on this machine
        return None
    return weasyprint
