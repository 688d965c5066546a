"""Records are read once: a report, `runs show` and a run without a report say the same."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from roundsman.cli.journal_view import interim_report
from roundsman.cli.runs import runs
from roundsman.guard.events import KINDS, Ruled
from roundsman.investigate import investigate
from roundsman.ledger import Record, Store
from roundsman.ledger.view import (
    BODIES,
    evidence,
    excerpt_of,
    guard_actions,
    head_of,
    kind_of_run,
    setup_in,
    tool_of,
)
from roundsman.policy import load_policy
from roundsman.report import to_markdown
from roundsman.report.evidence import query_text, readable
from roundsman.testing import ScriptedModel, call

OUTAGE = Path(__file__).parents[2] / "examples" / "incidents" / "pool-exhaustion"
SETUPS: dict[str, object] = {
    "investigate": {"what": "investigate"},
    "remedy": {"what": "remedy", "of": "x"},
    "": {"model": "gemini"},
}
SCRIPT = [
    [call("query_logs", window_minutes=240), call("restart_pod", pod="x")],
    "<html>not JSON at all</html>",
    "neither is this",
]


def test_arguments_are_shown_in_their_own_script_and_what_has_no_glyph_is_escaped() -> None:
    said = "Café 日本 🚀 \x1b[31m \x9b \u202e \u200b \U000e0041 \ud800 it's"
    body = {"id": "a1", "tool": "søk", "args": {"navn": said}}
    (row,) = evidence([Record(1, "action_begins", 0.0, body, "")], 100)
    shown = r"Café 日本 🚀 \u001b[31m \u009b \u202e \u200b \udb40\udc41 \ud800 it"
    assert row["query"].startswith(f"""'søk' '{{"navn": "{shown}""")
    assert query_text(row) == row["query"]  # nothing is left for cleaning to take away
    tool, args = shlex.split(row["query"])
    assert (tool, json.loads(args)) == ("søk", body["args"])


@pytest.mark.parametrize("kind", SETUPS)
def test_the_kind_of_a_run_is_what_its_setup_says(kind: str) -> None:
    begins = Record(1, "run_begins", 0.0, {"setup": SETUPS[kind]}, "")
    assert (kind_of_run([begins]), setup_in([begins])) == (kind, SETUPS[kind])


@pytest.mark.parametrize("body", [{}, {"setup": None}, {"setup": "investigate"}, {"setup": ["x"]}])
def test_a_run_that_says_nothing_of_itself_is_of_an_app(body: dict[str, Any]) -> None:
    records = [Record(1, "run_begins", 0.0, body, "")]
    assert (kind_of_run(records), dict(setup_in(records))) == ("", {})
    assert (kind_of_run([]), dict(setup_in([]))) == ("", {})


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[dict[str, Any], Store]:
    """A run with a clamped and a refused call, and answers nobody can read."""
    monkeypatch.setattr("roundsman.investigate.run.model_named", lambda *_: ScriptedModel(SCRIPT))
    monkeypatch.setenv("ROUNDSMAN_HOME", str(tmp_path))
    store = Store(tmp_path / "runs.sqlite")
    return investigate(OUTAGE, load_policy("default"), model="scripted", store=store)[0], store


def test_what_is_no_tool_is_not_named_as_one(run: tuple[dict[str, Any], Store]) -> None:
    report, _ = run
    assert [row["tool"] for row in report["refused"]] == ["restart_pod"]
    assert [row["tool"] for row in report["amended"]] == ["query_logs"]
    assert [note["round"] for note in report["notes"]] == [1, 2]
    assert all("answer" in note["reason"] for note in report["notes"])
    shown = to_markdown(report)
    assert not [kind for kind in KINDS if kind in shown.replace("\\", "")]
    assert "round 1: " in shown


def test_a_run_without_its_report_shows_the_same(run: tuple[dict[str, Any], Store]) -> None:
    report, store = run
    records = store.records(report["run_id"])
    interim = interim_report(store.info(report["run_id"]), records)
    for key in ("refused", "amended", "cuts", "notes"):
        assert interim[key] == report[key]
    for one, other in zip(interim["evidence"], report["evidence"], strict=True):
        assert {key: one[key] for key in ("id", "tool", "args", "query", "status")} == {
            key: other[key] for key in ("id", "tool", "args", "query", "status")
        }
        assert one["excerpt"].startswith(other["excerpt"])
    shown = CliRunner().invoke(runs, ["show", report["run_id"], "--evidence", "a1", "--json"])
    assert json.loads(shown.output)["query"] == report["evidence"][0]["query"]


def test_a_cut_two_rules_had_a_reason_for_is_one_cut() -> None:
    begins = Record(1, "round_begins", 0.0, {"index": 1}, "")
    cuts = [
        {"verdict": "cut", "rule": rule, "reason": reason, "subject_id": step, "applied": True}
        for step, rule, reason in [
            ("s9", "round_steps", "8 of 8 model calls"),
            ("s9", "tokens", "8,000 of 8,000 tokens spent"),
            ("s12", "tokens", "9,000 of 8,000 tokens spent"),
        ]
    ]
    ruled = [Record(n, "ruled", 0.0, body, "") for n, body in enumerate(cuts, start=2)]
    assert guard_actions([begins, *ruled])["cuts"] == [
        {
            "round": 1,
            "reason": "8 of 8 model calls; 8,000 of 8,000 tokens spent",
            "rule": "round_steps",
        },
        {"round": 1, "reason": "9,000 of 8,000 tokens spent", "rule": "tokens"},
    ]


def test_an_action_without_an_outcome_is_unknown(run: tuple[dict[str, Any], Store]) -> None:
    report, store = run
    begun = [r for r in store.records(report["run_id"]) if r.kind != "action_ends"]
    assert [row["status"] for row in evidence(begun, 100)] == ["unknown"]


@settings(deadline=None)
@given(st.sampled_from(sorted(KINDS)) | st.text())
def test_a_verdict_on_no_tool_names_none(subject: str) -> None:
    assert tool_of({"subject": subject}) == ("" if subject in KINDS else subject)
    body = {"verdict": "refuse", "subject": subject, "reason": "no", "applied": True}

    class Ruled:
        kind = "ruled"

    Ruled.body = body  # type: ignore[attr-defined]
    found = guard_actions([Ruled()])  # type: ignore[list-item]
    assert bool(found["refused"]) != bool(found["notes"])


@settings(deadline=None)
@given(
    st.dictionaries(
        st.sampled_from([*BODIES, "status", "query"]),
        st.none() | st.text(max_size=5) | st.lists(st.text(max_size=5), max_size=2),
    )
)
def test_every_reader_shows_the_same_part_of_a_result(result: dict[str, Any]) -> None:
    head = head_of(result)
    named = [key for key in BODIES if result.get(key)]
    assert head == (result[named[0]] if named else result)
    if named and isinstance(head, str) and not head.startswith("{"):
        assert readable(result) == readable(head)
        assert excerpt_of(result, 50) == head


def test_what_checks_did_to_texts_is_listed_without_the_texts(tmp_path: Path) -> None:
    from roundsman.ledger import LiveRun

    run = LiveRun.start(Store(tmp_path / "t.sqlite"), (), policy="p", run_id="r1")
    numbers = {"where": "result", "kinds": ["aws key"], "text": "f9b7b256c6213ba8"}
    said = {"rule": "secrets", "layer": "conversation", "subject": "read_mail", "numbers": numbers}
    change = ({"arg": "result", "from": "", "to": "without aws key"},)
    run.write(Ruled(verdict="amend", changes=change, **said))
    run.write(Ruled(verdict="refuse", **said))
    run.write(Ruled(verdict="refuse", rule="taint", layer="conversation", subject="pay"))
    done = guard_actions(run.store.records("r1"))
    assert [b["reason"].split(" by ")[0] for b in done["blocks"]] == ["cut out", "blocked"]
    assert {b["tool"] for b in done["blocks"]} == {"result of read_mail"}
    assert [r["tool"] for r in done["refused"]] == ["pay"]


def test_a_check_that_was_late_is_listed_with_its_time(tmp_path: Path) -> None:
    from roundsman.ledger import LiveRun

    run = LiveRun.start(Store(tmp_path / "t.sqlite"), (), policy="p", run_id="r1")
    numbers = {"where": "reply", "text": "ab12", "budget_s": 0.05}
    said = {"rule": "tone", "layer": "conversation", "subject": "said", "numbers": numbers}
    for verdict in ("refuse", "amend"):
        run.write(Ruled(verdict=verdict, reason="reply: tone said nothing within 50 ms", **said))
    assert [b["reason"] for b in guard_actions(run.store.records("r1"))["blocks"]] == [
        "blocked by tone (tone said nothing within 50 ms), text ab12",
        "let pass by tone (tone said nothing within 50 ms), text ab12",
    ]
