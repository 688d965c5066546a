from __future__ import annotations

import re
from pathlib import Path

import pytest

from roundsman.policy import load_policy
from roundsman.policy.model import SIGNALS

PAGE = (Path(__file__).parents[2] / "docs" / "repetition.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("block", BLOCKS)
def test_every_example_loads_and_is_three_lines(block: str, tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(block, encoding="utf-8")
    load_policy(file)
    assert len(block.splitlines()) <= 3


def test_every_signal_and_level_is_on_the_page() -> None:
    assert len(BLOCKS) >= 3
    default = load_policy("default").repetition
    for name in SIGNALS:
        assert f"| `{name}` |" in PAGE, name
    for level in ("warn", "withhold", "stop"):
        assert f"| `{level}` | {getattr(default, level):g} |" in PAGE
