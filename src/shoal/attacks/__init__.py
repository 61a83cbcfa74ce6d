"""Adversaries: their knowledge, and how often they are right."""

from shoal.attacks.attacking import AttackScope, attack
from shoal.attacks.knowledge import default_knowledge
from shoal.attacks.rate import AttackResult, Rate, wilson
from shoal.attacks.table import ATTACKS, register_attack

__all__ = [
    "ATTACKS",
    "AttackResult",
    "AttackScope",
    "Rate",
    "attack",
    "default_knowledge",
    "register_attack",
    "wilson",
]
