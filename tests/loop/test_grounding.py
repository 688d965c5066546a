"""What a finding claims must occur in the results it cites: neither too strict nor too lax."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from roundsman.loop import grounded
from roundsman.loop.grounding import ungrounded

STANDS = [
    ("errors at 18 %", '{"rate": 0.179}'),
    ("0.18 of the requests", "18%"),
    ("18 percent", "18.2 percent"),
    ("p99 at 5.3 s", "p99_latency_ms 5310 ms"),
    ("waited 5 s", "waited 5000ms"),
    ("2 minutes", "120 s"),
    ("1,024 connections", '{"n": 1024}'),
    ("1024 connections", "1,024 rows"),
    ("a lag of 240000", "17:20=240k"),
    ("7.9 GiB of memory", "used_memory 7.9G"),
    ("about 1,200 requests", "1187"),
    ("18", "17.5"),
    ("0.12 and 0.13", "0.125"),
    ("3 of 5 pods", "3/5 ready"),
    ("dropped by 3", "-3"),
    ("at 10:07", "2026-01-05T10:07:42.113Z"),
    ("at 10:08", "10:07:42"),
    ("at 12:07", "2026-01-05T12:07:00+02:00"),
    ("at 10:07 UTC", "2026-01-05T12:07:00+02:00"),
    ("at 10:07 pm", "22:07"),
    ("at 2026-01-05T10:07Z", "1767607620"),
    ("on 2026-01-05", "2026-01-05T10:07:42Z"),
    ("cart-api restarts", "cart-api-7d9f restarted"),
    ('it said "too many  clients"', '{"line": "sorry, \\"Too many clients\\" here"}'),
    ("a read-only, long-running re-deploy and/or time-out", "nothing of that"),
]
STANDS_NOT = [
    ("errors at 81 %", "18 %"),
    ("18 restarts", '{"rate": 0.18}'),
    ("17 restarts", "17.5"),
    ("204 requests", "200"),
    ("200 requests", "204"),
    ("0 errors", "0.3"),
    ("4 restarts", "14 restarts at 4:00"),
    ("5 restarts", "waited 5000ms"),
    ("100 %", "1 of 2"),
    ("18 %", "0.18 s"),
    ("50 s", "50 ms"),
    ("50 GB", "50 ms"),
    ("-3", "3"),
    ("at 10:09", "2026-01-05T10:07:42Z"),
    ("at 10:07:30", "10:07"),
    ("at 12:07 UTC", "2026-01-05T12:07:00+02:00"),
    ("at 2026-01-06T10:07Z", "2026-01-05T10:07Z"),
    ("on 2026-01-06", "2026-01-05"),
    ("node-1 is full", "node-12: full"),
    ("v1.4 did it", "v1.42 and v1.4.2"),
    ("p95 rose", "p99 rose"),
    ('it said "too many clients"', "too few clients"),
]
NUMBERS = st.floats(0.01, 1e6, allow_nan=False)


@pytest.mark.parametrize(("statement", "result"), STANDS)
def test_what_a_person_reads_from_a_result_stands(statement: str, result: str) -> None:
    assert ungrounded(statement, [result]) == []


@pytest.mark.parametrize(("statement", "result"), STANDS_NOT)
def test_what_the_result_does_not_say_does_not_stand(statement: str, result: str) -> None:
    assert ungrounded(statement, [result])


def test_what_is_missing_is_named() -> None:
    text = '{"at": "2026-01-01T10:04:00Z", "name": "v2.1.0", "n": 17.5}'
    assert ungrounded("v2.1.0 at 10:04:00, 17.5", [text]) == []
    assert ungrounded("v2.1.1 at 10:05:00", [text]) == ["10:05:00", "v2.1.1"]
    assert ungrounded("7.5 of 17", [text]) == ["7.5", "17"]
    assert grounded("all is well", []).missing == ("no result cited",)


@given(NUMBERS, st.integers(0, 3))
def test_a_rounded_number_stands(value: float, decimals: int) -> None:
    told = f"{value:.{decimals}f}"
    if abs(float(told) - value) <= 0.1 * value:  # a person does not say 1 for 0.6
        assert ungrounded(f"it took {told} units", [json.dumps({"value": value})]) == []


@given(st.floats(0.001, 1), st.integers(0, 2))
def test_a_share_stands_as_percent_and_back(share: float, decimals: int) -> None:
    told = f"{share * 100:.{decimals}f}"
    if abs(float(told) - share * 100) < 0.09 * share * 100:
        assert ungrounded(f"{told} %", [json.dumps({"share": share})]) == []
        assert ungrounded(f"{told}%", [f"{share * 100} %"]) == []


@given(st.integers(1, 10**9))
def test_separators_of_thousands_do_not_matter(value: int) -> None:
    assert ungrounded(f"{value:,} rows", [str(value)]) == []
    assert ungrounded(f"{value} rows", [f"{value:,}"]) == []


@given(st.integers(20, 10**6), st.floats(0.06, 5))
def test_another_number_does_not_stand(value: int, off: float) -> None:
    other = round(value * (1 + off))
    assert ungrounded(f"{other} rows", [json.dumps({"rows": value})]) == [str(other)]
    assert ungrounded(f"about {value * 3} rows", [json.dumps({"rows": value})]) == [str(value * 3)]


@given(
    st.datetimes(datetime(2020, 1, 1), datetime(2030, 1, 1)),
    st.integers(-12, 14),
    st.booleans(),
    st.integers(2, 700),
)
def test_times_stand_in_any_zone_and_no_others(
    at: datetime, zone: int, exact: bool, off: int
) -> None:
    moment = at.replace(microsecond=0, tzinfo=timezone(timedelta(hours=zone)))
    result = json.dumps({"at": moment.isoformat()})
    form = "%H:%M:%S" if exact else "%H:%M"
    utc = moment.astimezone(UTC)
    assert ungrounded(f"since {utc.strftime(form)} UTC", [result]) == []
    assert ungrounded(f"since {moment.strftime(form)}", [result]) == []
    assert ungrounded(f"since {utc.strftime('%Y-%m-%dT' + form)}Z", [result]) == []
    later = (utc + timedelta(minutes=off)).strftime(form) + " UTC"
    assert ungrounded(f"since {later}", [result]) == [later]


@given(st.from_regex(r"[a-z]{2,8}-[a-z]{2,8}-?[0-9]{1,3}", fullmatch=True))
def test_a_name_stands_whole(name: str) -> None:
    assert ungrounded(f"{name} failed", [f'{{"service": "{name}", "x": 1}}']) == []
    assert ungrounded(f"{name} failed", [f"{name}7 failed"]) == [name]
    assert ungrounded(f"{name} failed", [f"my{name} failed"]) == [name]


@given(st.text(max_size=200), st.lists(st.text(max_size=100), max_size=3))
def test_grounding_never_fails_on_any_text(statement: str, results: list[str]) -> None:
    assert isinstance(ungrounded(statement, results), list)


@example("E0E0:00")
@example("0:00E0")
@example("E0T0:00")
@example("0:00ZE0")
@given(st.text(alphabet="0123456789.,:-+eE% kMGms/TZ\n", max_size=60))
def test_a_statement_stands_in_itself(statement: str) -> None:
    assert ungrounded(statement, [statement]) == []
