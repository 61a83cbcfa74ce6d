"""The record as a PDF, by WeasyPrint (the extra ``pdf``)."""

from functools import cache
from typing import Any, Never

from shoal.errors import InputError, MissingExtraError


def pdf_of(html: str) -> bytes:
    """Print a page without references."""
    printed: bytes = require_printing().HTML(string=html, url_fetcher=_refuse).write_pdf()
    return printed


def require_printing() -> Any:
    """Import WeasyPrint, or MissingExtraError."""
    library = _weasyprint()
    if library is None:
        raise MissingExtraError(
            "a PDF needs WeasyPrint and the system's Pango; install them with: "
            "pip install 'shoal-desk[pdf]' (and "
            "for example apt install libpango-1.0-0 libpangoft2-1.0-0), or print the page from a browser"
        )
    return library


def can_print() -> bool:
    """Whether WeasyPrint works."""
    return _weasyprint() is not None


def _refuse(address: str, *_arguments: Any, **_options: Any) -> Never:
    raise InputError(f"a record refers to nothing, and this one does: {address[:40]}")


@cache
def _weasyprint() -> Any:
    try:
        import weasyprint
    except (ImportError, OSError):  # OSError: no Pango on this machine
        return None
    return weasyprint
