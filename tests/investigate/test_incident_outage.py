"""The recorded incidents, as they are and under other names, times and units."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from roundsman.investigate.analyst import plan
from roundsman.investigate.answers import RESULT
from roundsman.investigate.collect import collect
from roundsman.investigate.incident import load_incident
from roundsman.investigate.picture import charts, timeline
from roundsman.investigate.tools import NeverRun, make_tools
from roundsman.investigate.verdict import settle
from roundsman.sources.times import iso, parse_time

EXAMPLES = Path(__file__).parents[2] / "examples" / "incidents"
OUTAGE, HARMLESS = EXAMPLES / "pool-exhaustion", EXAMPLES / "harmless-deploy"
RENAMED = {
    "storefront-api": "zebra-core",
    "StorefrontApi": "ZebraCore",
    "checkout": "stripes",
    "db_pool_in_use": "q17_gauge",
    "db_pool_max": "q18_gauge",
    "http_requests_5xx_rate": "q19_gauge",
    "http_requests_rate": "q20_gauge",
    "http_request_duration_p99_seconds": "q21_gauge",
    "pg_stat_activity_count": "q22_gauge",
    "POOL_MAX": "KNOB_A",
    "pool_max": "knob_a",
    "LEAK": "KNOB_B",
    "orders-db": "warehouse",
}
TIME = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:\.\d+)?(Z| UTC)?")


def answer(folder: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The analyst's answer and the verdict on it, without any framework."""
    incident = load_incident(folder)
    tools: dict[str, Callable[..., Any]] = {t.__name__: t for t in make_tools(incident)}
    exchanges: list[tuple[str, dict[str, Any], Any]] = []
    said = plan(incident.describe(), exchanges)
    while isinstance(said, list):
        exchanges += [(c["name"], c["args"], tools[c["name"]](**c["args"])) for c in said]
        said = plan(incident.describe(), exchanges)
    evidence = [
        {"id": f"a{n}", "tool": tool, "args": args, "result": result}
        for n, (tool, args, result) in enumerate(exchanges, start=1)
    ]
    return said, settle(said["findings"], evidence)


def disguised(source: Path, target: Path, shift: float = 0.0, factor: float = 1.0) -> Path:
    """A copy under other names, `shift` seconds later, metric values times `factor`."""

    def later(match: re.Match[str]) -> str:
        at = parse_time(match[0])
        if at is None:  # Alertmanager's 0001-01-01: not resolved yet
            return match[0]
        text = iso(at + shift)
        return text if "T" in match[0] else text.replace("T", " ").replace("Z", " UTC")

    for file in sorted(source.rglob("*")):
        if not file.is_file():
            continue
        text = file.read_text()
        for old, new in RENAMED.items():
            text = text.replace(old, new)
        if shift:
            text = TIME.sub(later, text)
        name = str(file.relative_to(source))
        for old, new in RENAMED.items():
            name = name.replace(old, new)
        out = target / name
        out.parent.mkdir(parents=True, exist_ok=True)
        if file.suffix == ".csv" and factor != 1.0:
            rows = list(csv.reader(text.splitlines()))
            lines = [",".join(rows[0])]
            lines += [",".join([*row[:3], str(float(row[3]) * factor)]) for row in rows[1:]]
            text = "\n".join(lines).replace('{version="', "_").replace('"}', "")
        out.write_text(text)
    return target


def test_the_outage_is_laid_to_the_deploy_that_changed_the_pool() -> None:
    _, cause = answer(OUTAGE)
    assert not cause["abstained"]
    assert cause["service"] == "storefront-api"
    assert "v1.5.0" in cause["change"]
    assert "POOL_MAX from 8 to 40" in cause["change"]
    assert cause["confidence"] == "high"
    assert "2026-11-30T03:00:22Z" <= cause["since"] <= "2026-11-30T03:00:33Z"
    assert cause["affected"] == ["orders-db"]
    assert "remaining connection slots" in cause["mechanism"]
    assert [one["statement"].split(" at ")[0] for one in cause["alternatives"]] == [
        "deploy v1.4.0 of storefront-api"
    ]


def test_the_outage_of_a_drill_is_laid_to_the_release_that_made_it() -> None:
    told = json.loads((EXAMPLES / "connection-slots.truth.json").read_text())
    _, cause = answer(EXAMPLES / "connection-slots")
    assert cause["service"] == told["service"]
    assert told["change"] in cause["change"]
    assert cause["confidence"] == "high"


def test_a_smaller_pool_that_suffices_is_not_blamed() -> None:
    _, cause = answer(EXAMPLES / "smaller-pool")
    assert cause["abstained"]


def test_the_harmless_deploy_is_not_blamed() -> None:
    said, cause = answer(HARMLESS)
    assert cause["abstained"]
    assert cause["service"] is None
    assert "no metric moved for good" in cause["because"]
    assert {one["role"] for one in said["findings"]} == {"ruled_out"}


@pytest.mark.parametrize(
    ("shift", "factor"), [(0.0, 1.0), (86_400 * 40.5, 1.0), (-7_321.0, 1000.0)]
)
def test_the_outage_is_found_under_other_names_times_and_units(
    tmp_path: Path, shift: float, factor: float
) -> None:
    _, cause = answer(disguised(OUTAGE, tmp_path, shift, factor))
    assert not cause["abstained"]
    assert cause["service"] == "zebra-core"
    assert "KNOB_A from 8 to 40" in cause["change"]
    assert cause["affected"] == ["warehouse"]
    deployed = (parse_time("2026-11-30T03:00:22Z") or 0) + shift
    assert 0 <= (parse_time(cause["since"]) or 0) - deployed <= 11


@pytest.mark.parametrize(("shift", "factor"), [(0.0, 1.0), (7_321.0, 1000.0)])
def test_the_harmless_deploy_is_not_blamed_under_other_names_either(
    tmp_path: Path, shift: float, factor: float
) -> None:
    _, cause = answer(disguised(HARMLESS, tmp_path, shift, factor))
    assert cause["abstained"]


def test_every_tool_result_is_short_and_says_what_it_looked_at() -> None:
    for tool in make_tools(load_incident(OUTAGE))[:3]:
        result = tool()
        assert len(json.dumps(result)) <= RESULT
        assert result["status"] == "ok"
        assert {"from", "to"} <= set(result["query"])
        assert result["next"]
        assert all(len(line) <= 500 for line in result.get("excerpts", []))


def test_an_empty_result_names_what_there_is() -> None:
    metrics, logs, *_ = make_tools(load_incident(OUTAGE))
    assert "storefront-api/db_pool_max" in metrics(service="nobody")["next"]
    assert metrics(service="nobody")["status"] == "empty"
    assert logs(text="no such text")["status"] == "empty"
    assert logs(window_minutes=0)["status"] == "error"


def test_a_log_search_is_case_insensitive_and_keeps_to_the_service() -> None:
    logs = make_tools(load_incident(OUTAGE))[1]
    found = logs(service="orders-db", text="fatal:")
    assert found["counts"]["lines"] == 1253
    assert found["excerpts"][0].startswith("2026-11-30 03:00:29.403 UTC [18539] FATAL:")


def test_the_write_tool_never_runs() -> None:
    with pytest.raises(NeverRun):
        make_tools(load_incident(OUTAGE))[3](pod="storefront-api-1")


def test_the_timeline_tells_the_story_in_order() -> None:
    incident = load_incident(OUTAGE)
    facts = collect((t.__name__, t.__name__, t()) for t in make_tools(incident)[:3])
    rows = timeline(incident, answer(OUTAGE)[1], facts)
    assert [row["at"] for row in rows] == sorted(row["at"] for row in rows)
    kinds = [row["kind"] for row in rows]
    assert kinds.index("onset") < kinds.index("log") < kinds.index("alert")
    drawn = charts(incident, None, facts)
    assert {"title", "points", "onset", "marks"} <= set(drawn[0])
    assert any("5xx" in chart["metric"] for chart in drawn)


def test_a_question_given_wins() -> None:
    assert load_incident(OUTAGE, "Why?").question == "Why?"
    assert "StorefrontApiHighErrorRate" in load_incident(OUTAGE).question
