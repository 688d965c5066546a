from __future__ import annotations

import re
from pathlib import Path

import pytest

from roundsman.policy import PRESETS, RULE_NAMES, json_schema, load_policy
from roundsman.policy.render import to_data
from roundsman.policy.units import format_duration

PAGE = (Path(__file__).parents[2] / "docs" / "policy.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
ROWS = [
    [cell.strip().strip("`") for cell in line.strip("|").split("|")]
    for line in PAGE.splitlines()
    if line.startswith("| `")
]


@pytest.mark.parametrize("block", BLOCKS)
def test_every_example_loads(block: str, tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(block, encoding="utf-8")
    load_policy(file)


def test_there_are_examples() -> None:
    assert len(BLOCKS) >= 3


def test_the_table_gives_every_key_as_the_presets_have_it() -> None:
    shown = {row[0]: row[1:4] for row in ROWS if len(row) == 5}
    real: dict[str, list[str]] = {}
    for preset in PRESETS:
        policy = load_policy(preset)
        data = policy.model_dump()
        for section in (
            "loop",
            "run",
            "round",
            "repetition",
            "agents",
            "plan",
            "finish",
            "schedule",
        ):
            for key, value in data[section].items():
                if key in ("timeout", "wall_clock", "poll") and value is not None:
                    value = format_duration(value)
                if isinstance(value, list):
                    value = "all"
                real.setdefault(f"{section}.{key}", []).append("-" if value is None else str(value))
    assert shown == real


def test_the_tools_table_names_every_key() -> None:
    named = {row[0].rsplit(".", 1)[-1] for row in ROWS if len(row) == 3}
    defs = json_schema()["$defs"]
    keys = {k for d in ("Tools", "ToolRule", "ArgRule", "SpanRule") for k in defs[d]["properties"]}
    assert named | {"spans"} == keys - {"allow"}


def test_every_section_and_rule_is_on_the_page() -> None:
    for name in (*RULE_NAMES, *json_schema()["properties"], *to_data(load_policy("default"))):
        assert f"`{name}" in PAGE, name
