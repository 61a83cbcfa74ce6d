"""What a release promises: frozen data, no computation. Who makes a claim and who checks it live elsewhere."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Final

from shoal.errors import InputError, MisuseError


@dataclass(frozen=True, kw_only=True)
class KAnonymity:
    """Every record equals at least k - 1 others, sample for sample (glove.txt, Sec. 2.4; semantics 1).

    k: members of the smallest crowd. truthful: every published box holds a raw sample of each member and is the exact
    hull of the members' samples in it. disjoint_in_time: no two boxes of one record share a moment.
    """

    type: ClassVar[str] = "k-anonymity"
    k: int
    truthful: bool = True
    disjoint_in_time: bool = True

    def __post_init__(self) -> None:
        if self.k < 2:
            raise MisuseError(f"k = {self.k} hides nobody; choose k >= 2")


Claim = KAnonymity

CLAIMS: Final[dict[str, type[Claim]]] = {KAnonymity.type: KAnonymity}


def claim_to_json(claim: Claim) -> dict[str, Any]:
    """The claim as the manifest holds it: its type and its numbers."""
    return {"type": claim.type, **asdict(claim)}


def claim_from_json(fields: Mapping[str, Any]) -> Claim:
    """The claim a manifest holds; raises InputError when its type or its numbers are unknown."""
    numbers = {name: value for name, value in fields.items() if name != "type"}
    kind = CLAIMS.get(str(fields.get("type")))
    if kind is None:
        raise InputError(f"the manifest claims '{fields.get('type')}', which this version cannot check; known: {', '.join(CLAIMS)}")
    try:
        return kind(**numbers)
    except (TypeError, MisuseError) as error:
        raise InputError(f"the manifest's claim cannot be read: {error}") from error
