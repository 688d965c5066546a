"""The benchmark of real models: what it counts, and that a server which is no model gives no figures."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from benchmarks.real_model import runs
from benchmarks.real_model.__main__ import main
from benchmarks.real_model.again import lines_of, same_runs
from benchmarks.real_model.cases import SCRIPTED
from benchmarks.real_model.identity import identify
from benchmarks.real_model.kept import of_file
from benchmarks.real_model.proxy import counting
from benchmarks.real_model.reading import LOST, PARSES, PART, RECOVERED, read
from benchmarks.real_model.repeats import ends_early
from benchmarks.real_model.rows import Rows
from benchmarks.real_model.runs import one_run
from benchmarks.real_model.summary import claims
from model_server import Body, answer, model_server, reply, step

from roundsman.errors import UsageError

WHOLE = '{"findings": [{"statement": "a 1", "evidence": ["a1"]}], "done": false}'


@pytest.mark.parametrize(
    ("text", "cut", "outcome", "damage", "findings"),
    [
        (WHOLE, False, PARSES, "", 1),
        (f"Here it is:\n```json\n{WHOLE}\n```", False, RECOVERED, "a fence around it", 1),
        (f"Here it is: {WHOLE}", False, RECOVERED, "text around it", 1),
        (WHOLE.replace("false}", "False,}"), False, RECOVERED, "slips: commas, literal", 1),
        (WHOLE[:57], True, PART, "cut in its JSON", 1),
        ("the the the", True, LOST, "no JSON, cut by its length", 0),
        ("It is the network.", False, LOST, "no JSON", 0),
        ("", False, LOST, "empty", 0),
        ('{"answer": 7}', False, LOST, "JSON of another form", 0),
        (
            '```json\n{"name": "list_deploys", "arguments": {}}\n```',
            False,
            LOST,
            "a printed call",
            0,
        ),
    ],
)
def test_an_answer_is_counted_by_its_damage(
    text: str, cut: bool, outcome: str, damage: str, findings: int
) -> None:
    got = read(text, cut)
    assert (got.outcome, got.damage, got.findings) == (outcome, damage, findings)
    assert got.strange == ()


def test_what_was_read_and_does_not_stand_in_the_text_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from benchmarks.real_model import reading

    from roundsman.loop import Answer, Claim

    made_up = Answer((Claim("a 1", ("a1",), {"service": "orders-db"}),), done=True)
    monkeypatch.setattr(reading, "read_answer", lambda *_: made_up)
    assert read(WHOLE.replace("true", ""), False).strange == ("orders-db", "done")


def loops(n: int, body: Body) -> Body:
    return step("list_deploys")


def test_a_run_shows_the_servers_count_beside_ours_and_passes_no_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(runs, "CAP", 9)
    with model_server(loops) as server, counting(f"{server.url}/v1") as proxy:
        rows = [
            one_run(proxy, "m", SCRIPTED, 1, "prompted", guard)
            for guard in ("off", "baseline", "default")
        ]
        assert len(server.asked) == sum(row["requests"] for row in rows)
    off, baseline, default = rows
    assert (off["stop"], off["steps"], off["requests"]) == ("steps", 9, 9)
    assert (baseline["stop"], baseline["steps"], baseline["identical"]) == ("no_progress", 16, 16)
    assert default["stop"] == "repetition"
    assert [row["course"] for row in rows] == ["|AAAAAAAAA", "|AAAAAAAA|AAAAAAAA", "|AAa"]
    assert all(row["passed_limits"] == [] and row["journal_whole"] for row in rows)
    seeds = [asked["seed"] for asked in server.asked[:3]]
    assert seeds == [1000, 1001, 1002]
    found = claims([], rows)
    assert found["no run passes its limits"]["holds"]
    pairs = found["8 identical calls: a third of the steps"]["pairs"]
    assert [p["default"] for p in pairs] == [default["steps"]]


def test_a_claim_falls_with_one_row_against_it() -> None:
    row = {
        "case": "c", "seed": 1, "tools": "prompted", "guard": "baseline", "steps": 12, "probes": 0,
        "requests": 12, "identical": 9, "answers": {}, "strange": [], "passed_limits": [],
        "journal_whole": True, "course": "|A",
    }  # fmt: skip
    other = {**row, "guard": "default", "steps": 4, "requests": 4}

    def held(*rows: dict[str, Any]) -> list[Any]:
        return [claim["holds"] for claim in claims([], rows).values()]

    assert held() == [None, None, None]
    assert held(row, other) == [True, True, True]
    assert held(row, {**other, "steps": 5, "requests": 5}) == [True, False, True]
    assert held(row, {**other, "requests": 5}) == [False, True, True]
    assert held(row, {**other, "passed_limits": ["step 5 of 4"]}) == [False, True, True]
    assert held(row, {**other, "strange": ["x"]}) == [True, True, False]
    assert held({**row, "identical": 7}, other) == [True, None, True]


def test_both_readings_of_the_third_are_given() -> None:
    def row(guard: str, seed: int, steps: int, identical: int) -> dict[str, Any]:
        named = {"case": "c", "seed": seed, "tools": "prompted", "guard": guard}
        course = "|AABC" if steps == 6 else "|AAaa"
        return {**named, "steps": steps, "identical": identical, "course": course}

    rows = [row("baseline", seed, 16, 12) for seed in (1, 2, 3)] + [row("baseline", 4, 16, 7)]
    rows += [row("default", 1, 5, 3), row("default", 2, 6, 3), row("default", 3, 13, 8)]
    found = ends_early([*rows, row("default", 4, 16, 7)])
    assert [pair["seed"] for pair in found["pairs"]] == [1, 2, 3]
    assert (found["later"], found["repeated_all_the_same"], found["holds"]) == (2, 1, False)
    assert found["went_another_way"] == 1
    assert (found["median_share"], found["share_of_all_steps"]) == (0.38, 0.5)


def test_a_run_that_repeated_itself_is_played_back_as_it_went() -> None:
    row = {"case": "c", "seed": 1, "guard": "baseline", "steps": 16, "identical": 12}
    rows = [
        {**row, "course": "|ABCCCCCC|ABCCCCCC"},
        {**row, "course": "|.|AAAAAAAA|BBB", "steps": 12},
        {**row, "course": "|ABACCCCC|AAAAAA", "steps": 14},
        {**row, "course": "|ABCDEFGH|ABCDEFGH", "identical": 7},
        {**row, "course": "|AAAAAAAA", "guard": "default"},
    ]
    found = same_runs(rows)
    taken = [(one["default"], one["course_default"]) for one in found["runs"]]
    assert taken == [(5, "|ABCCc"), (4, "|.|AAa"), (6, "|ABACCc")]
    assert (found["in_a_third"], found["share_of_all_steps"]) == (2, 0.36)
    assert "2 of 3 end under default" in lines_of(found)[0]
    assert lines_of(same_runs([])) == []


def counts(n: int, body: Body) -> Body:
    words = sum(len(m["content"].split()) for m in body["messages"])
    used = {"prompt_tokens": words, "completion_tokens": 9, "total_tokens": words + 9}
    return reply(f"text {n}", usage=used)


@pytest.mark.parametrize(
    ("say", "why"),
    [
        (lambda n, b: answer(done=True), "max_tokens"),
        (lambda n, b: {**counts(n, b), "usage": None}, "max_tokens"),
        (
            lambda n, b: reply(f"{n}", usage={"prompt_tokens": 9, "completion_tokens": 9}),
            "[9, 9, 9]",
        ),
        (lambda n, b: {**counts(7, b)}, "the same to different questions"),
        (counts, ""),
    ],
    ids=["canned", "no usage", "same usage", "same text", "counts"],
)
def test_who_answers_is_looked_at(say: Any, why: str) -> None:
    with model_server(say) as server, counting(f"{server.url}/v1") as proxy:
        who = identify(proxy, "m")
    assert why in who.why
    assert who.real is not bool(why)
    assert who.name == ("NO MODEL: m" if why else "m (as its server calls it)")


def test_a_server_that_is_no_model_gives_no_figures(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["real_model", "--model", "m", "--cases", SCRIPTED, "--parts", "answers", "--json"]
    given += ["--answer-seeds", "1", "--base-url"]
    with model_server(loops) as server:
        monkeypatch.setattr(sys, "argv", [*given, server.url])
        assert main() == 2
        said = capsys.readouterr()
        assert said.out == ""
        assert "is no model" in said.err
        monkeypatch.setattr(sys, "argv", [*given, server.url, "--fake"])
        assert main() == 0
    found = json.loads(capsys.readouterr().out)
    assert found["of_a_model"] is False
    assert found["model"] == "NO MODEL: m"
    monkeypatch.setattr(sys, "argv", [*given, "http://127.0.0.1:9"])
    assert main() == 2
    assert capsys.readouterr().err.startswith("error: ")


def test_answers_that_were_kept_are_counted_by_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "kept.jsonl"
    kept = [("small", WHOLE, "stop"), ("small", "no", "length"), ("other", WHOLE, "stop")]
    lines = [
        json.dumps({"model": m, "mode": "free", "raw": raw, "finish": f}) for m, raw, f in kept
    ]
    file.write_text("\n".join(lines))
    monkeypatch.setattr(sys, "argv", ["real_model", "--recorded", str(file), "--json"])
    assert main() == 0
    found = json.loads(capsys.readouterr().out)
    assert {name: (r["n"], r[PARSES], r[LOST]) for name, r in found["answers"].items()} == {
        "small, free": (2, 1, 1),
        "other, free": (1, 1, 0),
    }
    monkeypatch.setattr(sys, "argv", ["real_model", "--recorded", str(tmp_path / "none")])
    assert main() == 2
    file.write_text('{"model": "small"}')
    monkeypatch.setattr(sys, "argv", ["real_model", "--recorded", str(file)])
    assert main() == 2
    assert "kept.jsonl:1: neither an answer nor a run" in capsys.readouterr().err


def kept_run(course: str, text: str = "", model: str = "small") -> str:
    calls = [{"name": "query_logs", "args": {"service": letter}} for letter in course]
    texts = [text] if text else []
    return json.dumps({"model": model, "seed": 1, "tool_calls": calls, "texts": texts})


@pytest.mark.parametrize("line", ["nonsense", "3", '{"raw": "x"}'])
def test_a_line_that_keeps_nothing_is_named(line: str, tmp_path: Path) -> None:
    file = tmp_path / "kept.jsonl"
    file.write_text(f"{line}\n", encoding="utf-8")
    with pytest.raises(UsageError, match=r"kept\.jsonl:1: no JSON object with a model"):
        of_file(file)


def test_runs_that_were_kept_are_played_back_under_both_policies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "kept.jsonl"
    runs = [kept_run("x" * 10), kept_run("xy", "It is y."), kept_run("x" * 7), kept_run("")]
    file.write_text("\n".join([*runs, kept_run("xyzu" + "x" * 9, model="other")]))
    monkeypatch.setattr(sys, "argv", ["real_model", "--recorded", str(file), "--json"])
    assert main() == 4  # the other model makes four calls before it repeats one
    found = json.loads(capsys.readouterr().out)["runs"]
    small, other = found["small"], found["other"]
    assert [(r["guard"], r["course"], r["steps"], r["stop"]) for r in small["rows"]] == [
        ("baseline", "|AAAAAAAA|AAAAAAAA", 16, "no_progress"),
        ("default", "|AAa", 3, "repetition"),
        ("baseline", "|AB.|AB.", 6, "no_progress"),
        ("default", "|AB.|AB.", 6, "no_progress"),
    ]
    assert small["not_played"] == {"ended too early to fill a round": 1, "no call": 1}
    third = "8 identical calls: a third of the steps"
    assert small["claims"][third]["holds"] is True
    assert (other["claims"][third]["later"], other["claims"][third]["holds"]) == (1, False)
    monkeypatch.setattr(sys, "argv", ["real_model", "--recorded", str(file)])
    assert main() == 4
    assert "1 of 1 pairs end in a third of the steps or less" in capsys.readouterr().out


def test_rows_are_gone_on_with_only_under_the_same_conditions(tmp_path: Path) -> None:
    file = str(tmp_path / "rows.jsonl")
    rows = Rows(file, {"model": "m", "temperature": 0.7})
    assert not rows.known("answers", case="c", seed=1, mode="free")
    rows.add("answers", {"case": "c", "seed": 1, "mode": "free", "outcome": LOST})
    again = Rows(file, {"model": "m", "temperature": 0.7})
    assert again.known("answers", case="c", seed=1, mode="free")
    assert not again.known("answers", case="c", seed=2, mode="free")
    assert [row["outcome"] for row in again.parts["answers"]] == [LOST]
    with pytest.raises(UsageError, match="choose another file"):
        Rows(file, {"model": "m", "temperature": 0.0})
