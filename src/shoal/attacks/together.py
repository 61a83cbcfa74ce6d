"""The adversary who holds several releases of the same people, and knows who could be whom in each."""

from shoal.attacks.rate import Rate
from shoal.units import show_m, show_s
from shoal.verification.composition.several import Together


def attack_together(together: Together) -> list[Rate]:
    """Linkage by the intersection of candidate sets: of this release alone, and of all of them (exact.

    Everybody is tried).
    """
    seen = "" if together.tau_s is None else f", having followed the person for {show_s(together.tau_s)}"
    seen += (
        f", and tells no places apart that are within {show_m(together.within_m)}"
        if together.within_m
        else ""
    )
    alone = together.alone[:, 0]
    outcomes = {
        "this release alone": (
            together.right_alone / alone.clip(1),
            "who could be this person in this release",
        ),
        f"{together.releases} releases together": (
            together.right / together.left.clip(1),
            "who could be this person in every release",
        ),
    }
    return [
        Rate.of(
            won,
            name="intersection",
            knowledge=knowledge,
            attacker=f"Someone who knows {sentence}{seen}, and names one of them at random.",
            target="release",
            baseline=1 / together.people,
        )
        for knowledge, (won, sentence) in outcomes.items()
    ]
