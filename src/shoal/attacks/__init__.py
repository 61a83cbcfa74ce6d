"""Adversaries: each with what they know, what they do with it, and how often they win.

Knowledge is drawn from raw data. What is attacked is the raw data itself (the risk before), a release (the
risk after), and a release with the knowledge of people who are not in it (control: what luck, and what
everybody's habits, give). ``table`` lists the attacks; each is one file and one row.
"""

from shoal.attacks.attacking import attack
from shoal.attacks.intervals import wilson
from shoal.attacks.knowledge import default_knowledge
from shoal.attacks.rate import Attacked, Rate
from shoal.attacks.table import ATTACKS

__all__ = ["ATTACKS", "Attacked", "Rate", "attack", "default_knowledge", "wilson"]
