"""A line that is shown to be pasted runs one search, whatever is in the log it was made from."""

from __future__ import annotations

import html
import io
import json
import re
import shlex
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from rich.console import Console

from roundsman.investigate.paste import changes_line, logs_line, metrics_line, plain_piece
from roundsman.report import to_html, to_json, to_markdown, to_terminal
from roundsman.report.evidence import query_text

INJECTION = "failure\x1b....';touch${IFS}pwned;#"
hostile = st.text(
    st.sampled_from(
        "\x1b\x9b\x00\x07\x85\u200b\u202e\u2019\u201c`$(){}[];|&<>*?!#~'\"\\ \t\r\n.-ax"
    )
    | st.characters(),
    max_size=40,
)


def report(query: dict[str, Any]) -> dict[str, Any]:
    row = {"id": "a1", "tool": "query_logs", "query": query, "status": "ok", "excerpt": "x"}
    return {"run_id": "r1", "evidence": [row]}


def on_terminal(query: dict[str, Any], encoding: str) -> str:
    raw = io.BytesIO()
    out = io.TextIOWrapper(raw, encoding=encoding, newline="")
    to_terminal(report(query), Console(file=out, width=60))
    out.flush()
    (line,) = re.findall(r"^    (.*)$", raw.getvalue().decode(encoding), re.MULTILINE)
    return str(line)


def everywhere(query: dict[str, Any]) -> list[str]:
    """The line as each renderer shows it."""
    in_markdown = re.findall(r"^   `{3,}text\n   (.*)\n   `{3,}$", to_markdown(report(query)), re.M)
    (in_html, _) = re.findall(r"<pre>(.*)</pre>", to_html(report(query)))[:2]
    in_json = json.loads(to_json(report(query)))["evidence"][0]["query"]["raw"]
    on_screen = on_terminal(query, "utf-8")
    return [query_text({"query": query}), *in_markdown, html.unescape(in_html), in_json, on_screen]


@settings(deadline=None)
@given(text=hostile, service=hostile)
@example(text=INJECTION, service="")
@example(text="a\u2019;touch pwned;#", service="a\u2019;touch pwned;#")
@example(text="\\';touch pwned;#", service="../../\x1b'")
def test_every_renderer_shows_the_words_and_nothing_else(text: str, service: str) -> None:
    word, part = plain_piece(text), plain_piece(service).rpartition("/")[2]
    with tempfile.TemporaryDirectory(prefix="in ci'dent") as name:
        logs = Path(name) / "context" / "logs"
        logs.mkdir(parents=True)
        named = bool(part) and len(f"{part}.log".encode()) < 255
        (logs / (f"{part}.log" if named else "app")).touch()
        line = logs_line(Path(name), service, text)
    where = f"{logs}/*{part}*" if named else f"{logs}/*"
    search = ["zgrep", "-hiF", "--", word, where]
    expected = search if word else ["zcat", "-f", "--", where, "|", "head", "-n", "20"]
    for shown in everywhere({"raw": line}):
        assert shlex.split(shown) == expected
    assert word in text
    ascii_words = shlex.split(on_terminal({"raw": line}, "ascii"))
    if line.isascii():
        assert ascii_words == expected
    else:
        assert ascii_words == ["roundsman", "runs", "show", "r1", "--evidence", "a1"]


@settings(deadline=None)
@given(service=hostile, metric=hostile)
def test_a_search_for_a_metric_is_a_pipe_of_searches(service: str, metric: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        where = str(Path(name) / "context" / "metrics")
        Path(where).mkdir(parents=True)
        line = metrics_line(Path(name), service, metric)
    words = [piece for one in (service, metric) if (piece := plain_piece(one))]
    split = shlex.split(line)
    assert [one for one in split if one in words] or not words
    expected = ["head", "-n", "3", "--", f"{where}/*"]
    if words:
        expected = ["grep", "-rhiF", "--", words[0], where]
        expected += [part for word in words[1:] for part in ("|", "grep", "-iF", "--", word)]
    assert split == expected


@settings(deadline=None)
@given(text=hostile)
@example(text="$(touch pwned)")
@example(text="'; touch pwned #")
def test_a_query_of_any_text_is_shown_as_it_is_or_as_one_quoted_call(text: str) -> None:
    given_args = {"text": text or "x"}
    shown = query_text({"tool": "t", "query": {"raw": text}, "args": given_args})
    untouched = text.replace("\r\n", "\n").strip("\n").expandtabs(4)
    if shown != untouched:
        name, args = shlex.split(shown)
        assert name == "t"
        assert args.startswith('{"text": ')


@settings(deadline=None)
@given(tool=hostile, text=hostile)
def test_a_call_is_at_most_two_words(tool: str, text: str) -> None:
    assert len(shlex.split(query_text({"tool": tool, "args": {"text": text}}))) <= 2


def test_a_long_line_is_not_cut_open() -> None:
    line = "grep -F -- " + shlex.quote("x'" * 400)
    assert on_terminal({"raw": line}, "utf-8") == "roundsman runs show r1 --evidence a1"


@pytest.mark.parametrize("name", ["in\x1b'cident", "in\ncident", "in\u202ecident"])
def test_a_folder_that_cannot_be_shown_gives_no_line(tmp_path: Path, name: str) -> None:
    folder = tmp_path / name
    folder.mkdir()
    (folder / "deploys.json").write_text("[]")
    assert logs_line(folder, "", "x") == metrics_line(folder, "", "x") == ""
    assert changes_line(folder) == ""


@pytest.mark.parametrize("shell", ["bash", "sh"])
def test_the_shown_line_finds_the_line_and_runs_nothing(tmp_path: Path, shell: str) -> None:
    logs = tmp_path / "logs"
    logs.mkdir()
    (logs / "api.log").write_text(f"2026-01-31T10:00:00Z ERROR {INJECTION}\n")
    for text in (INJECTION, f"ERROR {INJECTION}", "a\u2019;touch pwned;#", "$(touch pwned)"):
        for shown in everywhere({"raw": logs_line(tmp_path, "api", text)}):
            ran = subprocess.run([shell, "-c", shown], cwd=tmp_path, capture_output=True, text=True)
            assert ("touch" in ran.stdout) == ("failure" in text)
            assert "not found" not in ran.stderr
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize(
    ("files", "metrics", "logs"),
    [
        (["metrics/a.csv", "logs/shop.log"], "grep -rhiF -- cpu {}/metrics", "{}/logs/*shop*"),
        (["context/metrics.csv", "context/shop.log"], "grep -rhiF -- cpu {}/context/metrics.csv",
         "{}/context/*shop*"),
        (["metrics.csv", "logs.ndjson"], "grep -rhiF -- cpu {}/metrics.csv", "{}/*log*"),
        (["logs/other.log"], "", "{}/logs/*"),
        (["graph.csv"], "", ""),
    ],
)  # fmt: skip
def test_a_line_looks_where_the_files_are(
    tmp_path: Path, files: list[str], metrics: str, logs: str
) -> None:
    for file in files:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text("cpu x\n")
    assert metrics_line(tmp_path, "", "cpu") == metrics.format(tmp_path)
    line = logs_line(tmp_path, "shop", "x")
    assert line == (f"zgrep -hiF -- x {logs.format(tmp_path)}" if logs else "")
    if line:
        assert subprocess.run(["sh", "-c", line], capture_output=True).stdout == b"cpu x\n"
