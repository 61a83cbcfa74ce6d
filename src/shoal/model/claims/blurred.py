"""Blurred at the source: devices published areas and intervals of a least size."""

from dataclasses import dataclass, field
from typing import ClassVar

from shoal.messages import Message, say
from shoal.model.claims.common import MORE, VANISHED_FROM_BOXES, PayloadKind, require_positive
from shoal.units import show_m, show_s


@dataclass(frozen=True, kw_only=True)
class Blurred:
    """Every box holds a true sample of its person and is no smaller (Romero-Tris, Megías 2018, Def. 2.2)."""

    type: ClassVar[str] = "blurred-at-source"
    payload: ClassVar[PayloadKind] = "boxes"
    in_classes: ClassVar[bool] = False
    privacy_model: ClassVar[str] = say(
        "claim.blurred.model",
        "none of the standard's; generalization by each person's own device, with no bound on who is "
        "told from whom",
    )
    no_anonymity: ClassVar[str] = say(
        "claim.blurred.no_anonymity",
        "each record is one person's own, and nobody shares it: whoever knows a few places and times of a "
        "person may find it",
    )
    vanished: ClassVar[str] = VANISHED_FROM_BOXES
    truthful: ClassVar[bool] = True
    disjoint_in_time: ClassVar[bool] = False
    hull: ClassVar[str | None] = None
    diverse_places: ClassVar[int] = 1
    k: ClassVar[int] = 1  # a record may be the only one of its kind
    width_m: float = field(metadata=MORE)  # least side of a box, finite and positive
    duration_s: float = field(metadata=MORE)  # least duration of a box, finite and positive

    def __post_init__(self) -> None:
        require_positive("the width", self.width_m, "m", "1000")
        require_positive("the duration", self.duration_s, "s", "1800")

    @property
    def name(self) -> str:
        """Title with its numbers."""
        return (
            f"blurred at the source, boxes of at least {show_m(self.width_m)} and {show_s(self.duration_s)}"
        )

    @property
    def promise(self) -> Message:
        """The promise in a sentence."""
        return say(
            "claim.blurred.promise",
            "Every published box holds a true sample of its own person, and is at least {width} wide and "
            "high and {duration} long.",
            width=show_m(self.width_m),
            duration=show_s(self.duration_s),
        )

    @property
    def cautions(self) -> tuple[Message, ...]:
        """None beyond the limits."""
        return ()

    @property
    def limits(self) -> tuple[Message, ...]:
        """What is not promised."""
        return (
            say(
                "claim.blurred.crowd",
                "A crowd. Whether others share a record cannot be seen in it: each person's device asked and "
                "decided, and what it was told stays there. Whoever knows some points of a person often "
                "finds the one record that fits them, and reads the rest of it.",
            ),
            say(
                "claim.blurred.rules",
                "That a device kept to the rules. A device can send any boxes that it likes.",
            ),
        )
