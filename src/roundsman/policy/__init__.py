"""What a run may do: the policy file, its strict checks, its worst case."""

from roundsman.policy.load import PRESETS, load_policy
from roundsman.policy.model import ArgRule, Policy, Price, ToolRule

__all__ = ["PRESETS", "ArgRule", "Policy", "Price", "ToolRule", "load_policy"]
