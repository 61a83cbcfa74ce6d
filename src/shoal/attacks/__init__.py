"""Adversaries: what they know, and how often they win, beside guessing."""

from shoal.attacks.rates import Rate
from shoal.attacks.tau_knowledge import TauKnowledge, attack_with_tau

__all__ = ["Rate", "TauKnowledge", "attack_with_tau"]
