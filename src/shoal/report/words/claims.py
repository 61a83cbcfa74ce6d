"""Claims in words, as the templates of pages ask for them; each claim says its own (``model/claims``)."""

from shoal.model.claims import Claim


def claim_in_words(claim: Claim) -> str:
    """What is promised, in a sentence."""
    return claim.promise


def claim_name(claim: Claim) -> str:
    """The property and its numbers."""
    return claim.name


def model_of(claim: Claim) -> str:
    """The formal privacy measurement model of the standard that the claim belongs to."""
    return claim.privacy_model


def limits_of(claim: Claim) -> tuple[str, ...]:
    """What the claim does not promise, a paragraph each."""
    return claim.limits


def vanished_of(claim: Claim) -> str:
    """When a raw sample counts as vanished from a release with this claim."""
    return claim.vanished
