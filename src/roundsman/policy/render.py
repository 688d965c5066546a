"""A policy as text: the YAML that loads back, the lines of a check, the schema of the file."""

from __future__ import annotations

from typing import Any

import yaml

from roundsman.policy.load import load_policy
from roundsman.policy.model import PRESETS, RULE_NAMES, Policy, PolicyFile
from roundsman.policy.nodes import plain_scalar
from roundsman.policy.units import format_duration
from roundsman.policy.worst import worst_case


def to_data(policy: Policy) -> dict[str, Any]:
    """The effective policy as a policy file's content; loading it gives an equal policy.

    Limits are all written out, null for none. Of `tools` only what was declared is written, so
    that an app's own declaration still fills the rest. A ceiling that came from a preset is left
    to that preset, since writing it down would make it the user's own.
    """
    sections = policy.model_dump(exclude={"name", "usd_from_preset", "tools"})
    below = _preset_of_usd(policy)
    if below is not None:
        del sections["run"]["usd"]
    for section, key in (("run", "wall_clock"), ("round", "timeout"), ("repetition", "poll")):
        seconds = sections[section][key]
        sections[section][key] = None if seconds is None else format_duration(seconds)
    tools = policy.tools.model_dump(exclude_unset=True)
    body = {**sections, "tools": tools}
    order = [name for name in PolicyFile.model_fields if name in body]
    head = {"version": 1, "name": policy.name, "extends": below or "baseline"}
    return {**head, **{name: body[name] for name in order if body[name]}}


def to_yaml(policy: Policy) -> str:
    """`to_data` as YAML, with a comment for what cannot be seen in it."""
    text = yaml.dump(
        to_data(policy), Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10**6
    )
    below = _preset_of_usd(policy)
    soft = (
        f"# usd: {policy.run.usd} comes from preset {below}: off for a model of unknown price\n"
        if below
        else ""
    )
    return f"# effective policy, sha256 {policy.digest}\n{soft}{text}"


def check_lines(policy: Policy) -> list[str]:
    """What `policy check` prints: the worst case, what is unbounded, what to know."""
    worst = worst_case(policy)
    shown = {
        "rounds": "{:,} rounds",
        "steps": "{:,} steps (model calls)",
        "actions": "{:,} actions (tool calls)",
        "tokens": "{:,} tokens",
        "usd": "${:.2f}",
        "minutes": "{:g} minutes",
    }
    known = [text.format(worst[k]) for k, text in shown.items() if worst[k] is not None]
    lines = [f"policy {policy.name}: ok (sha256 {policy.digest[:12]})"]
    lines.append(f"worst case: at most {', '.join(known)}" if known else "worst case: no limit")
    if worst["unbounded"]:
        lines.append(f"unbounded: {', '.join(worst['unbounded'])}")
    return lines + [f"note: {note}" for note in worst["notes"]]


def json_schema() -> dict[str, Any]:
    """JSON Schema (2020-12) of a policy file, for editors."""
    schema = PolicyFile.model_json_schema()
    # what a file leaves out comes from what it extends, not from the model's own defaults
    _without_defaults(schema)
    schema["title"] = "Roundsman policy"
    schema["properties"]["rules"]["propertyNames"] = {"enum": list(RULE_NAMES)}
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}


def _without_defaults(node: Any) -> None:
    if isinstance(node, dict):
        # a property named "default" is a mapping with a type; a default of a field is not
        for name, value in list(node.items()):
            if name == "default" and not (isinstance(value, dict) and "type" in value):
                del node[name]
            else:
                _without_defaults(value)
    elif isinstance(node, list):
        for item in node:
            _without_defaults(item)


def _preset_of_usd(policy: Policy) -> str | None:
    if not policy.usd_from_preset or policy.run.usd is None:
        return None
    return next((p for p in PRESETS if load_policy(p).run.usd == policy.run.usd), None)


class _Dumper(yaml.SafeDumper):
    """Quotes every text that our reader would not take for text."""

    def ignore_aliases(self, data: Any) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    # only double quotes keep every line break (next line, line separator ...) as it is
    plain = isinstance(plain_scalar(text), str) and text.isprintable()
    style = None if plain else '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style)


_Dumper.add_representer(str, _text)
