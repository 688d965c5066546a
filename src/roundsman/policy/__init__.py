"""What a run may do: the policy file, its strict checks, its worst case, its prices."""

from roundsman.policy.arguments import ArgRule
from roundsman.policy.load import load_policy
from roundsman.policy.model import PRESETS, RULE_NAMES, Policy, Price, ToolRule
from roundsman.policy.prices import price_of
from roundsman.policy.render import check_lines, json_schema, to_yaml
from roundsman.policy.worst import worst_case

__all__ = [
    "PRESETS",
    "RULE_NAMES",
    "ArgRule",
    "Policy",
    "Price",
    "ToolRule",
    "check_lines",
    "json_schema",
    "load_policy",
    "price_of",
    "to_yaml",
    "worst_case",
]
