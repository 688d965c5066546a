from __future__ import annotations

import copy
import importlib.util
import io
import json
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console

from roundsman.errors import UsageError
from roundsman.report import to_html, to_json, to_markdown, to_terminal, write_all
from roundsman.report.evidence import query_text, readable
from roundsman.report.view import build

_spec = importlib.util.spec_from_file_location(
    "report_data", Path(__file__).with_name("report_data.py")
)
assert _spec
assert _spec.loader
report_data = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(report_data)
full_report = report_data.full_report


def terminal(report: dict[str, Any], width: int = 80, **more: Any) -> str:
    out = io.StringIO()
    to_terminal(report, Console(file=out, width=width, **more))
    return out.getvalue()


def everything(report: dict[str, Any]) -> list[str]:
    return [terminal(report), to_markdown(report), to_html(report), to_json(report)]


class Tags(HTMLParser):
    """Collects tags and attributes, and checks that what is opened is closed."""

    VOID = frozenset({"meta", "br", "line", "polyline", "circle"})

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.open: list[str] = []
        self.feed(page)
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += attrs
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_first_screen_is_the_verdict() -> None:
    screen = "\n".join(terminal(full_report()).split("\n")[:24])
    for part in (
        "lowered the connection pool from 50 to 20",
        "2026-01-31 10:06 UTC",
        "web, billing",
        "sum(rate(http_requests_total",
        "SELECT * FROM logs WHERE message LIKE '%too many%'",
        "list_deploys '{\"window_minutes\": 60}'",
        "Roll orders-api back",
    ):
        assert part in screen
    assert screen.index("CAUSE") < screen.index("Since") < screen.index("Next")


def test_below_come_cost_and_what_the_guard_did() -> None:
    for shown in everything(full_report())[:3]:
        flat = re.sub(r"\\|<[^>]+>", "", " ".join(shown.split()))
        for part in (
            "3 rounds · 9 steps · 7 actions · 13,500 tokens · $0.00",
            "answered (done)",
            "refused restart_pod (2×): not on the list",
            "amended query_logs window_minutes: 240 ",
            "cut round 2: 8 model calls",
            "blocked query_logs: third identical call",
            "traces: the folder holds none",
            "a slow disk",
        ):
            assert part in flat
        assert re.search(r"not grounded\W+the moon is full", flat, re.I)


@pytest.mark.parametrize("width", [60, 80])
def test_narrow_terminals_only_queries_pass_the_edge(width: int) -> None:
    lines = terminal(full_report(), width).split("\n")
    assert all(len(line) <= width for line in lines if not line.startswith("    "))
    # Whole, so that a copy of it is a query.
    assert any("sum(rate(" in line and line.endswith("[5m]))") for line in lines)


def test_no_colour_without_a_terminal_or_with_no_color(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b" not in terminal(full_report())
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in terminal(full_report(), force_terminal=True)
    monkeypatch.delenv("NO_COLOR")
    monkeypatch.setenv("TERM", "xterm-256color")
    assert "\x1b[" in terminal(full_report(), force_terminal=True)


def test_an_output_that_is_only_ascii_gets_the_report_too() -> None:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding="ascii")
    to_terminal(full_report(), Console(file=out, width=80))
    out.flush()
    assert b"240 -> 60" in raw.getvalue()


def test_abstaining_says_so_and_why() -> None:
    report = full_report()
    report["cause"] = {"abstained": True, "because": "two changes fit equally", "statement": "x"}
    for shown in everything(report)[:3]:
        assert "No cause found" in shown
        assert "two changes fit equally" in shown


def test_ungrounded_findings_do_not_become_the_evidence_on_top() -> None:
    report = full_report()
    report["findings"].insert(
        0, {"id": "f0", "statement": "guess", "evidence": ["a9"], "grounded": False}
    )
    report["evidence"].insert(0, {"id": "a9", "query": "GUESS", "status": "ok"})
    screen = "\n".join(terminal(report).split("\n")[:24])
    assert "GUESS" not in screen


def test_a_long_story_leaves_the_headline_to_the_change() -> None:
    report = full_report()
    report["cause"]["statement"] = "v2.1 of orders-api cut the pool; then " + "and then " * 30
    report["findings"].insert(
        0, {"id": "f0", "statement": "a summary", "evidence": ["a1", "a3", "a4"], "grounded": True}
    )
    screen = "\n".join(terminal(report).split("\n")[:24])
    assert screen.startswith("CAUSE  orders-api: v2.1 lowered the pool size")
    assert "a1  orders-api answers 18 %" in screen
    assert "Roll orders-api back" in screen
    assert "and then and then" in to_markdown(report)
    assert "and then and then" in to_html(report)


def test_claims_without_support_are_shown_as_such() -> None:
    report = full_report() | {"unsupported": [{"statement": "gremlins", "evidence": ["a1"]}]}
    assert "NOT GROUNDED: gremlins [a1]" in terminal(report)


@pytest.mark.parametrize(
    ("excerpt", "shown"),
    [
        ('{"status": "ok", "series": [], "excerpts": ["boom", "bang"]}', "boom\nbang"),
        ('{"status": "ok", "templates": [], "excerpts": ["boom at 10:0', "boom at 10:0…"),
        ('{"status": "ok", "counts": {', '{"status": "ok", "counts": {'),
        ({"status": "error", "error": "no such metric"}, "no such metric"),
        ("{not json", "{not json"),
        (["a", {"b": 1}], 'a\n{"b": 1}'),
    ],
)
def test_an_excerpt_is_what_was_found_not_its_envelope(excerpt: Any, shown: str) -> None:
    assert readable(excerpt) == shown


def test_a_query_without_text_of_its_own_is_a_call_without_blanks() -> None:
    query = {"tool": "query_logs", "service": "", "text": None, "from": "10:00"}
    assert query_text({"query": query}) == 'query_logs \'{"from": "10:00"}\''
    assert query_text({"tool": "t", "args": {}}) == ""


def test_empty_and_misshapen_reports_are_rendered() -> None:
    odd: list[Any] = [{}, None, [], {"cause": None, "usage": None, "stop": "tokens"}]
    for key in full_report():
        for value in (None, 7, "text", [None, 3, "x", [], {}], {"a": {}}, float("nan")):
            odd.append({**full_report(), key: value})
    for report in odd:
        assert len(everything(report)) == 4
    assert "No cause found" in terminal({})
    assert "before it held any finding" in to_html({})


def test_every_key_may_be_missing_at_every_level() -> None:
    def holes(value: Any) -> list[Any]:
        made: list[Any] = []
        items = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in list(items):
            less = copy.copy(value)
            del less[key]
            made.append(less)
            if isinstance(item, (dict, list)) and key != "points":
                for hole in holes(item):
                    more = copy.copy(value)
                    more[key] = hole
                    made.append(more)
        return made

    for report in holes(full_report()):
        assert all(everything(report))


HOSTILE = (
    "<script>alert(1)</script>\"'><img src=x onerror=alert(1)> \x1b[31mred\x1b]0;t\x07 \x9b2J"
    " \ud800 ```\n# head\n![x](http://evil.example/p.png) {{ 7*7 }} [bold]b[/bold] \u202eabc"
)


def poisoned(value: Any, text: str) -> Any:
    if isinstance(value, dict):
        return {key: poisoned(item, text) for key, item in value.items()}
    if isinstance(value, list):
        return [poisoned(item, text) for item in value]
    return text if isinstance(value, str) else value


def test_hostile_text_stays_text() -> None:
    report = poisoned(full_report(), HOSTILE)
    report["charts"] = full_report()["charts"]
    report["charts"][0]["title"] = report["charts"][0]["marks"][0]["label"] = HOSTILE
    for shown in everything(report):
        assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e\ud800-\udfff]", shown)
    page = to_html(report)
    tags = Tags(page)
    assert not {"script", "img", "iframe", "link", "object"} & set(tags.names)
    assert not [name for name, _ in tags.attributes if name.startswith("on") or name == "src"]
    assert "{{ 7*7 }}" in page
    text = to_markdown(report)
    prose = re.sub(r"(?ms)^ *(`{3,})text$.*?^ *\1$", "", text)
    assert "<script" not in prose
    assert "![x](" not in prose
    assert "[bold]b[/bold]" in terminal(report, 200)


def test_a_fence_is_longer_than_the_backticks_inside() -> None:
    report = full_report()
    report["evidence"][0]["query"] = "a\n`````\n# not a heading"
    assert "``````text\n   a\n   `````\n" in to_markdown(report)


def test_very_long_texts_are_cut_and_say_so() -> None:
    report = poisoned(full_report(), "x" * 100_000)
    for shown in everything(report)[:3]:
        assert len(shown) < 200_000
        assert "100,000 characters in all" in shown


def test_the_page_asks_nobody_for_anything_and_can_be_read_aloud() -> None:
    page = to_html(full_report())
    tags = Tags(page)
    assert not [one for one in tags.attributes if one[0] in ("src", "href", "xlink:href")]
    assert "url(" not in page
    assert "@import" not in page
    assert ("role", "img") in tags.attributes
    assert {"title", "desc"} <= set(tags.names)
    assert "Onset at 2026-01-31 10:07 UTC. deploy v2.1 at" not in page  # in the order of time
    assert "deploy v2.1 at 2026-01-31 10:00 UTC. Onset at 2026-01-31 10:07 UTC." in page
    assert "prefers-color-scheme:dark" in page
    assert "@media print" in page


def test_the_timeline_is_in_order() -> None:
    page = to_html(full_report())
    assert page.index('<time datetime="2026-01-31T10:00') < page.index(
        '<time datetime="2026-01-31T10:07'
    )


def test_json_is_valid_and_whole() -> None:
    report = {"a": float("nan"), "b": [float("inf"), "\ud800\x9b"], 1: (1, {2}), "c": object}
    read = json.loads(to_json(report), parse_constant=lambda name: pytest.fail(name))
    assert read["a"] is None
    assert read["b"] == [None, "\ufffd\x9b"]
    assert json.loads(to_json(full_report())) == full_report()


def test_an_unknown_price_says_that_no_dollar_limit_held() -> None:
    report = full_report()
    report["usage"]["usd"] = None
    assert "price unknown: no dollar limit held" in to_markdown(report)


def test_write_all_writes_three_whole_files(tmp_path: Path) -> None:
    out = tmp_path / "new" / "dir"
    paths = write_all(full_report(), out)
    assert [path.name for path in paths] == ["report.json", "report.md", "report.html"]
    assert sorted(os.listdir(out)) == ["report.html", "report.json", "report.md"]
    write_all({}, out)
    assert json.loads((out / "report.json").read_text()) == {}


def test_write_all_names_the_place_and_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for bad in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(UsageError, match="--out") as caught:
            write_all(full_report(), bad)
        assert "\n" not in str(caught.value)
    (tmp_path / "report.md").mkdir()
    with pytest.raises(UsageError, match="cannot write"):
        write_all(full_report(), tmp_path)
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]


def test_importing_the_room_is_cheap() -> None:
    code = (
        "import sys, roundsman.report as r; "
        "assert not {'rich', 'jinja2', 'pydantic', 'google.adk'} & set(sys.modules); r.to_html"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


json_like = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["id", "what", "at", "evidence", "points"]), inner)
    ),
    max_leaves=8,
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.dictionaries(st.sampled_from(sorted(full_report())), json_like))
def test_anything_can_be_rendered(report: dict[str, Any]) -> None:
    for shown in everything(report):
        assert "\x1b" not in shown


def test_moments_of_one_day_show_the_clock_and_the_day_once() -> None:
    report = full_report()
    report["timeline"] = [
        {"at": "2026-01-31T10:00:22Z", "what": "deploy v2", "kind": "deploy"},
        {"at": "2026-01-31T10:00:25Z", "what": "errors", "kind": "metric"},
    ]
    report["cause"]["since"] = "2026-01-31T10:00:25Z"
    view = build(report)
    assert [(view.day, one.at) for one in view.timeline] == [
        ("2026-01-31", "10:00:22"),
        ("2026-01-31", "10:00:25"),
    ]
    report["timeline"][0]["at"] = "2026-01-30T23:59:00Z"
    assert [build(report).day, build(report).timeline[0].at] == ["", "2026-01-30 23:59 UTC"]


def test_a_guard_that_did_nothing_is_said() -> None:
    report = full_report()
    assert "nothing refused, changed or cut" not in to_html(report)
    for key in ("refused", "amended", "cuts", "blocks"):
        report[key] = []
    assert "nothing refused, changed or cut" in to_html(report)
    assert "nothing refused, changed or cut" in to_markdown(report)


def test_a_guard_that_ended_the_run_did_something() -> None:
    report = full_report()
    for key in ("refused", "amended", "cuts", "blocks"):
        report[key] = []
    report["stop"] = {"reason": "wall_clock", "rule": "wall_clock", "layer": "loop", "detail": ""}
    assert build(report).guard[0] == "stopped the run: time limit reached"
    report["stop"]["detail"] = "600 s used"
    assert build(report).guard[0] == "stopped the run: 600 s used"
    assert "nothing refused" not in to_html(report)


def test_a_dollar_limit_that_let_nothing_run_was_not_reached() -> None:
    report = full_report()
    report["stop"] = {"reason": "usd", "detail": "the price of 'm' is unknown"}
    report["usage"] |= {"usd": 0.0}
    assert build(report).stop.startswith("the dollar limit let no call run (usd)")
    report["usage"] |= {"usd": 0.4}
    assert build(report).stop.startswith("money budget reached (usd)")


def test_what_had_no_value_before_an_amendment_had_none() -> None:
    report = full_report()
    report["amended"] = [{"tool": "", "arg": "max_output_tokens", "from": None, "to": 7285}]
    assert "amended max_output_tokens: none → 7285" in build(report).guard


def test_a_run_that_came_to_its_end_names_no_rule_on_the_screen() -> None:
    report = full_report()
    report["stop"] = {"reason": "done", "rule": "accept_done", "layer": "loop", "detail": "said so"}
    assert build(report).stop == "answered (done): said so"


def test_what_was_not_seen_is_counted_in_its_own_unit() -> None:
    report = full_report()
    report["unseen"] = [
        {
            "what": "a.log",
            "why": "over the budget",
            "count": 912_635,
            "unit": "bytes only searched",
        },
        {"what": "b.log", "why": "lines without a time", "count": 7},
    ]
    shown = terminal(report, width=100)
    assert "a.log (912,635 bytes only searched): over the budget" in shown
    assert "b.log (7×): lines without a time" in shown


def test_evidence_nobody_worded_is_shown_in_words() -> None:
    report = full_report() | {"findings": [], "unsupported": []}
    report["cause"] = {"abstained": True}
    rows = '{"service": "web", "metric": "errors", "median": 3}\n{"service": "we'
    report["evidence"] = [{"id": "a1", "tool": "query_metrics", "status": "ok", "excerpt": rows}]
    (top,) = build(report).top
    assert top.statement.startswith("service: web, metric: errors, median: 3")
    assert not set('{}[]"') & set(top.statement)


def test_results_nobody_cites_do_not_fill_up_the_first_screen() -> None:
    report = full_report()
    report["findings"] = [{"statement": "errors rose", "evidence": ["a1"], "grounded": True}]
    report["cause"] = {"abstained": True}
    report["evidence"] = [
        {"id": i, "tool": "t", "status": "ok", "excerpt": "x"} for i in ("a1", "a2")
    ]
    assert [one.id for one in build(report).top] == ["a1"]
