"""No stretch of time longer than allowed reaches a tool, however its ends are written."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from roundsman.guard import Account, Kind, Placed, decide
from roundsman.guard.events import ActionBegins
from roundsman.guard.moments import as_moment
from roundsman.guard.rules.spans import SLACK, Span, SpanLimit

NOW = datetime(2024, 5, 1, 10, 0, tzinfo=UTC).timestamp()
HOUR = 3600.0
DAY = 86_400.0
AN_HOUR = Span("start", "end", HOUR)


def judge(
    args: Any, span: Span = AN_HOUR, effect: str = "read", **declared: Any
) -> tuple[Kind, dict[str, Any], Any]:
    """(verdict, arguments that may run, what was said)."""
    known = {name: {"default": value} for name, value in declared.items()}
    action = ActionBegins(at=NOW, tool="dig", args=args, effect=effect, declared=known)
    verdict = decide([Placed(SpanLimit({"dig": (span,)}))], Account(), action).verdict
    allowed = verdict.event or action
    assert isinstance(allowed, ActionBegins)
    return verdict.kind, dict(allowed.args), verdict


def iso(seconds: float, hours: int = 0) -> str:
    zone = timezone(timedelta(hours=hours))
    return datetime.fromtimestamp(seconds, zone).isoformat()


SECONDS = st.integers(int(NOW - 9 * DAY), int(NOW + 9 * DAY))
OFFSETS = st.integers(0, 10**6)
WRITTEN = st.one_of(
    SECONDS,
    SECONDS.map(float),
    SECONDS.map(str),
    SECONDS.map(lambda s: s * 1000),
    SECONDS.map(lambda s: s * 10**9),
    SECONDS.map(lambda s: f"{s}.25"),
    st.builds(iso, SECONDS, st.integers(-12, 12)),
    SECONDS.map(lambda s: iso(s).replace("+00:00", "Z")),
    SECONDS.map(lambda s: iso(s).replace("+00:00", "").replace("T", " ")),
    SECONDS.map(lambda s: iso(s)[:10]),
    OFFSETS.map(lambda s: f"now-{s}s"),
    OFFSETS.map(lambda s: f"now+{s}m"),
    OFFSETS.map(lambda s: f"-{s}s"),
    OFFSETS.map(lambda s: f"{s} minutes ago"),
    st.sampled_from(["now", " NOW ", "now - 1h30m"]),
)
WILD = st.one_of(
    WRITTEN,
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=20),
    st.lists(WRITTEN, max_size=2),
    st.sampled_from(
        ["9999-12-31T23:59:59Z", "0001-01-01T00:00:00Z", "yesterday", "10:05", "1h", ""]
    ),
)
SPANS = st.builds(
    Span,
    st.just("start"),
    st.just("end"),
    st.sampled_from([1.0, 60.0, HOUR, 7 * DAY]),
    st.sampled_from(["clamp", "refuse", None]),
)


def ends(args: dict[str, Any]) -> tuple[float, float, bool]:
    """(start, end, whether both have a zone); a day ends at its end."""
    start, end = (as_moment(args[name], NOW) for name in ("start", "end"))
    assert start is not None
    assert end is not None
    assert start.zoned == end.zoned
    return start.at, end.at + (DAY if end.day else 0.0), end.zoned


@given(WILD, WILD, SPANS, st.sampled_from(["read", "poll", "write", "destructive"]))
def test_what_runs_is_short_enough(start: Any, end: Any, span: Span, effect: str) -> None:
    kind, runs, _ = judge({"start": start, "end": end}, span, effect)
    if kind <= Kind.AMEND:
        first, last, _ = ends(runs)
        assert 0 <= last - first <= span.most + SLACK


@given(WRITTEN, WRITTEN, SPANS)
def test_a_clamp_never_widens_and_keeps_how_it_was_written(
    start: Any, end: Any, span: Span
) -> None:
    asked = {"start": start, "end": end}
    kind, runs, verdict = judge(asked, span)
    if kind > Kind.AMEND:
        return
    first, last, zoned = ends(asked)
    new_first, new_last, _ = ends(runs)
    assert first - SLACK <= new_first
    assert new_last <= last + SLACK
    if zoned and first < NOW < last and kind is Kind.AMEND:
        assert new_last <= NOW + SLACK  # what has not happened yet is not looked at
    assert [type(v) for v in runs.values()] == [type(v) for v in asked.values()]
    assert {c["arg"] for c in verdict.changes} == {k for k in runs if runs[k] != asked[k]}
    assert judge(runs, span)[0] is Kind.ALLOW


@given(WRITTEN, SPANS, st.booleans())
def test_an_end_that_is_not_given_is_filled_in(one: Any, span: Span, first: bool) -> None:
    given_ = {"start" if first else "end": one}
    for args in (given_, {**given_, "end" if first else "start": None}):
        kind, runs, _ = judge(args, span)
        if kind <= Kind.AMEND:
            assert {k: runs[k] for k in given_} == given_
            low, high, _ = ends(runs)
            assert 0 <= high - low <= span.most + SLACK


@given(st.recursive(st.just({"start": "now-6h", "end": "now"}),
                    lambda v: st.dictionaries(st.sampled_from("abc"), v, min_size=1, max_size=2)
                    | st.lists(v, min_size=1, max_size=2), max_leaves=4))  # fmt: skip
def test_a_plain_name_counts_wherever_it_stands(args: Any) -> None:
    args = args if isinstance(args, dict) else {"q": args}
    kind, runs, _ = judge(args)
    assert kind is Kind.AMEND
    assert "6h" not in str(runs)
    assert str(runs).count("now-3600s") == str(args).count("now-6h")


@pytest.mark.parametrize(
    ("start", "end", "runs"),
    [
        ("2024-05-01T08:00:00Z", "2024-05-01T10:00:00Z", "2024-05-01T09:00:00Z"),
        ("2024-05-01 08:00:00+02:00", "2024-05-01T10:00:00Z", "2024-05-01 11:00:00+02:00"),
        ("2024-05-01T08:00:00", "2024-05-01T09:30:00", "2024-05-01T08:30:00"),
        ("now-6h", "now", "now-3600s"),
        ("6h ago", "1h ago", "7200s ago"),
        (1714500000, 1714557600, 1714554000),
        ("1714500000000", 1714557600000, "1714554000000"),
        ("-6h", "2024-05-01T10:00:00Z", "-3600s"),
    ],
)
def test_the_start_moves_up_to_the_end(start: Any, end: Any, runs: Any) -> None:
    kind, args, verdict = judge({"start": start, "end": end})
    assert (kind, args) == (Kind.AMEND, {"start": runs, "end": end})
    assert verdict.changes == ({"arg": "start", "from": start, "to": runs},)


@pytest.mark.parametrize(
    ("args", "says"),
    [
        ({"start": "now", "end": "now-1h"}, "start is after end"),
        ({"start": "2024-05-01T09:30:00", "end": "2024-05-01T10:00:00Z"}, "has a time zone"),
        ({"start": 0, "end": "now"}, "start is 0; accepted: an ISO 8601 time"),
        ({"start": "yesterday", "end": "now"}, "start is 'yesterday'"),
        ({"start": "2024-05-01", "end": "2024-05-01"}, "give times"),
        ({}, "give both"),
        ({"end": "0001-01-01T00:10:00Z"}, "out of range"),
        ({"Start": "now-6h", "end": "now"}, "is not spelled 'start'"),
    ],
)
def test_what_cannot_be_read_is_refused_with_what_is_accepted(args: Any, says: str) -> None:
    kind, _, verdict = judge(args)
    assert kind is Kind.REFUSE
    assert says in verdict.reason


def test_writes_are_refused_unless_the_policy_says_otherwise() -> None:
    long = {"start": "now-6h", "end": "now"}
    assert judge(long, effect="write")[0] is Kind.REFUSE
    assert judge(long, Span("start", "end", HOUR, "clamp"), "write")[0] is Kind.AMEND
    assert judge(long, Span("start", "end", HOUR, "refuse"))[0] is Kind.REFUSE


def test_the_tools_own_default_counts() -> None:
    assert judge({"end": "now"}, start="now-1h")[0] is Kind.ALLOW
    assert judge({"end": "now"}, start="now-24h")[1] == {"end": "now", "start": "now-3600s"}
    assert judge({}, start="now-24h", end="now")[1] == {"start": "now-3600s"}
    assert judge({}, start="the beginning", end="now")[0] is Kind.AMEND  # filled in
    assert judge({}, start="the beginning")[0] is Kind.REFUSE


def test_a_path_is_one_place() -> None:
    span = Span("range.start", "range.end", HOUR)
    long = {"start": "now-6h", "end": "now"}
    assert judge({"range": long}, span)[1] == {"range": {"start": "now-3600s", "end": "now"}}
    assert judge({"range": {"end": "now"}, "start": "now-6h"}, span)[0] is Kind.AMEND
    for args in ({}, long, {"range": str(long)}, {"range": None}):
        assert judge(args, span)[0] is Kind.REFUSE
    members = Span("q[].start", "q[].end", HOUR)
    assert judge({"q": [long, long]}, members)[1]["q"][1]["start"] == "now-3600s"
    assert judge({"q": []}, members)[0] is Kind.ALLOW
