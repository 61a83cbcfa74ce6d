"""Adversaries: their knowledge, their behavior, and how often they are right.

Knowledge is drawn from raw data. Targets are the raw data (the risk before), a release (the risk after), and
a release attacked with the knowledge of people outside it (control). ``table`` lists the attacks.
"""

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
