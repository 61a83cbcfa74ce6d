"""Claims of releases: frozen data, one type each.

A claim declares everything that follows from its type, ``in_classes`` (records come in classes of identical
ones), ``hull`` (None: boxes are no hulls of samples) and its ``privacy_model`` (ISO/IEC 20889) included. Its
check is one row of ``verification/checks.py``. A missing declaration is an error, never a default.
"""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, Final, get_args

from shoal.errors import InputError, MisuseError
from shoal.model.claims.blurred import Blurred
from shoal.model.claims.common import GENERAL_LIMITS, PayloadKind
from shoal.model.claims.k_anonymity import KAnonymity
from shoal.model.claims.k_delta_anonymity import KDeltaAnonymity
from shoal.model.claims.kte_anonymity import KteAnonymity
from shoal.model.claims.p_privacy import LocationPrivacy, TrajectoryPrivacy
from shoal.model.intake import require_types

__all__ = [
    "CLAIMS",
    "GENERAL_LIMITS",
    "Blurred",
    "Claim",
    "KAnonymity",
    "KDeltaAnonymity",
    "KteAnonymity",
    "LocationPrivacy",
    "PayloadKind",
    "TrajectoryPrivacy",
    "claim_from_json",
    "claim_to_json",
]

Claim = KAnonymity | KteAnonymity | KDeltaAnonymity | TrajectoryPrivacy | LocationPrivacy | Blurred

CLAIMS: Final[dict[str, type[Claim]]] = {claim.type: claim for claim in get_args(Claim)}


def claim_to_json(claim: Claim) -> dict[str, Any]:
    """The claim as in the manifest."""
    return {"type": claim.type, **asdict(claim)}


def claim_from_json(fields: Mapping[str, Any]) -> Claim:
    """The claim of a manifest; InputError for an unknown type, or numbers missing or out of bounds."""
    numbers = {name: value for name, value in fields.items() if name != "type"}
    kind = CLAIMS.get(str(fields.get("type")))
    if kind is None:
        raise InputError(
            f"the manifest claims '{fields.get('type')}', which this version cannot check; known: "
            f"{', '.join(CLAIMS)}"
        )
    try:
        require_types(kind, numbers)
        return kind(**numbers)
    except (TypeError, MisuseError) as error:
        raise InputError(
            f"the manifest's claim cannot be read: {error}; check it with the version of shoal that made it, "
            "or make the release again"
        ) from error
