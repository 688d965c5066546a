from __future__ import annotations

from pathlib import Path

from roundsman.adk.constructs import ADK_VERSIONS, CONSTRUCTS
from roundsman.adk.engine import HOOKS
from roundsman.guard import FRAMEWORK_TOOLS

PAGE = (Path(__file__).parents[2] / "docs" / "coverage.md").read_text(encoding="utf-8")


def rows() -> list[list[str]]:
    table = PAGE.split("| construct |", 1)[1].split("\n\n", 1)[0]
    lines = table.splitlines()[2:]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]


def test_the_page_shows_the_table_as_it_is() -> None:
    assert rows() == [[c.what, str(c.handling), c.how] for c in CONSTRUCTS.values()]
    assert {c.versions for c in CONSTRUCTS.values()} == {ADK_VERSIONS}
    assert f"google-adk {ADK_VERSIONS}" in PAGE


def test_hooks_and_engine_tools_are_named() -> None:
    for name in (*HOOKS, *FRAMEWORK_TOOLS):
        assert f"`{name}`" in PAGE, name
