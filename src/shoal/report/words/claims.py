"""Claims in words: what each one promises, what it does not cover, and when a sample counts as vanished."""

from typing import Final

from shoal.model.claims import (
    Claim,
    KAnonymity,
    KDeltaAnonymity,
    KteAnonymity,
    LocationPrivacy,
    TrajectoryPrivacy,
)
from shoal.units import show_m, show_s

_ALL_TOGETHER: Final = (
    "Untangling was not tested: who joins points of several records that make one "
    "plausible way may get back pieces of a true movement."
)


LIMITS_OF_POINTS: Final = {
    TrajectoryPrivacy.type: (
        "Every point is a true one of somebody, time and place together. Whoever was seen there is still "
        "seen there, under whatever name.",
        "The promise is about one record. The records of a cluster hold between them all places of its "
        "members that were not removed.",
        _ALL_TOGETHER,
    ),
    LocationPrivacy.type: (
        "This is not k-anonymity of trajectories: a record keeps true times of its person, and whoever "
        "knows some of them finds it.",
        "A place belongs to somebody who was there within the time threshold; that several people went to "
        "such places can be read off.",
        "The promise is about a place and its time together. Places alone, or places within the space "
        "threshold, may be guessed better.",
        _ALL_TOGETHER,
    ),
    KDeltaAnonymity.type: (
        "This is not k-anonymity of trajectories. Whoever knows some true points of a person can often tell "
        "the one record that was moved "
        "from them, although others are near (Trujillo-Rasua and Domingo-Ferrer, 2013).",
        "Points were moved, created and deleted: what is published did not happen so.",
    ),
}


VANISHED_OF_POINTS: Final = {
    TrajectoryPrivacy.type: (
        "A raw sample vanished when it stands in no record at all: it found no swap set, or its person was "
        "left out. One that stands in "
        "another person's record has not vanished."
    ),
    LocationPrivacy.type: (
        "A raw sample vanished when neither its time nor its place stands in a record: it lies too far from "
        "the streets, or found no swap "
        "set. One whose place stands in another person's record has not vanished."
    ),
    KDeltaAnonymity.type: (
        "A raw sample vanished when no published point stands for it: its crowd has no point for it, so "
        "that it was cut off or deleted, or "
        "its person was left out. One that was moved has not vanished, however far it was moved, and points "
        "that were created make up for "
        "none."
    ),
}


def claim_in_words(claim: Claim) -> str:
    """What is promised, in a sentence."""
    if isinstance(claim, KteAnonymity):
        return (
            f"Whoever has followed a person for any {show_s(claim.tau_s)} finds at least {claim.k} records "
            "that fit; who hides whom "
            f"changes every {show_s(claim.epsilon_s)}."
        )
    if isinstance(claim, TrajectoryPrivacy):
        return (
            "Whoever knows some points of a person finds the person's record with a chance of 1 in "
            f"{claim.k} at most."
        )
    if isinstance(claim, LocationPrivacy):
        return (
            "Whoever knows some points of a person tells a further one, place and time, with a chance "
            f"of 1 in {claim.k} at most."
        )
    if isinstance(claim, KDeltaAnonymity):
        company = f"at least {claim.k - 1} others that are within {show_m(claim.delta_m)} of it"
        return f"Each record has {company} and of each other at every published time."
    others = "at least one other" if claim.k == 2 else f"at least {claim.k - 1} others"
    return f"Every published record is identical, sample for sample, to {others}."


def claim_name(claim: Claim) -> str:
    """The property and its numbers."""
    if isinstance(claim, KteAnonymity):
        return (
            f"k^(tau,epsilon)-anonymity, k = {claim.k}, tau = {show_s(claim.tau_s)}, epsilon = "
            f"{show_s(claim.epsilon_s)}"
        )
    if isinstance(claim, TrajectoryPrivacy):
        return f"trajectory p-privacy, p = 1/{claim.k}"
    if isinstance(claim, LocationPrivacy):
        return f"location p-privacy, p = 1/{claim.k}"
    if isinstance(claim, KDeltaAnonymity):
        return f"(k, delta)-co-location, k = {claim.k}, delta = {show_m(claim.delta_m)}"
    return f"k-anonymity, k = {claim.k}"


def model_of(claim: Claim) -> str:
    """The formal privacy measurement model of the standard that the claim belongs to."""
    if isinstance(claim, KAnonymity):
        return "K-anonymity model; the quasi-identifier is a person's whole movement"
    return (
        "none of the standard's; a form of the K-anonymity model in which the quasi-identifier is what "
        "was seen in one interval"
    )
