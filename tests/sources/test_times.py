"""Points in time, in the forms telemetry writes them in."""

from __future__ import annotations

import pytest

from roundsman.sources.times import find_time, iso, parse_time

AT = "2026-01-31T10:20:00Z"


@pytest.mark.parametrize(
    "written",
    [
        "Sat, 31 Jan 2026 10:20:00 +0000",
        "Sat, 31 Jan 2026 10:20:00 GMT",
        "31 Jan 2026 02:20:00 -0800",
        "31-Jan-2026 10:20:00",
        "Sat Jan 31 15:50:00 2026 +0530",
        "Sat Jan 31 10:20:00 UTC 2026",
        "20260131T102000Z",
        "20260131T112000+0100",
    ],
)
def test_months_with_names_and_times_without_separators_are_read(written: str) -> None:
    at = parse_time(written)
    assert at is not None
    assert iso(at) == AT


@pytest.mark.parametrize(
    "line",
    [
        "31-Jan-2026 10:20:00.250 SEVERE [main] no connection",
        "1:M 31 Jan 2026 10:20:00.250 # no connection",
        "[20260131T102000.250Z] no connection",
    ],
)
def test_a_line_may_begin_with_them(line: str) -> None:
    found = find_time(line)
    assert found is not None
    assert iso(found[0]) == "2026-01-31T10:20:00.250Z"


def test_such_a_date_further_in_is_part_of_the_message() -> None:
    assert find_time("  at expires: Sat, 31 Jan 2026 10:20:00 GMT") is None
    line = "Jan 31 10:20:00 web proxy: certificate not valid after Jan 30 09:00:00 2025 GMT"
    found = find_time(line, 2026)
    assert found is not None
    assert iso(found[0]) == AT


@pytest.mark.parametrize("written", ["99 Jan 2026 10:20:00", "31 Foo 2026 10:20:00", "20260131"])
def test_what_is_no_day_is_no_time(written: str) -> None:
    assert parse_time(written) is None
