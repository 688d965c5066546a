"""Logs larger than what one question may parse: nothing rare is lost, what is lost is counted."""

from __future__ import annotations

import gzip
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from roundsman.sources import IncidentFolder, Unseen, Window, log_paths
from roundsman.sources import log_reading as reading
from roundsman.sources import log_scan as scan
from roundsman.sources.log_files import LogFile
from roundsman.sources.times import iso

START = 1767225600
ALWAYS = Window(START - 1, START + 10_000_000)
#: some 40 times as much log as a question may parse here
BUDGET = 200_000


@cache
def log(rare: int, lines: int) -> list[str]:
    """Lines in time order, one in `rare` an error that holds the needle."""
    return [
        f"{iso(START + n)} "
        + ("ERROR a needle in it" if n % rare == 0 else f"INFO request {n} was served, {n % 7}")
        + "\n"
        for n in range(lines)
    ]


def written(path: Path, rare: int = 1000, lines: int = 100_000) -> Path:
    """Such a log as a file, plain or of three gzip members."""
    text = log(rare, lines)
    if path.suffix != ".gz":
        path.write_text("".join(text))
        return path
    third = lines // 3  # as `cat a.gz b.gz c.gz` leaves it
    members = [text[:third], text[third : 2 * third], text[2 * third :]]
    path.write_bytes(b"".join(gzip.compress("".join(m).encode(), 1) for m in members))
    return path


@pytest.mark.parametrize("name", ["api.log", "api.log.gz"])
def test_every_line_with_the_text_is_found_far_over_the_parse_budget(
    tmp_path: Path, name: str
) -> None:
    unseen: list[Unseen] = []
    file = LogFile(written(tmp_path / name), budget=BUDGET)
    found = [line.at for line in file.lines(ALWAYS, "NEEDLE", unseen.append)]
    assert found == [START + n for n in range(0, 100_000, 1000)]
    assert unseen == []


@pytest.mark.parametrize("name", ["api.log", "api.log.gz"])
def test_without_a_text_all_errors_are_found_and_the_rest_is_spread_and_counted(
    tmp_path: Path, name: str
) -> None:
    unseen: list[Unseen] = []
    file = LogFile(written(tmp_path / name), budget=BUDGET)
    found = list(file.lines(ALWAYS, "", unseen.append))
    assert sum(line.level == "ERROR" for line in found) == 100
    plain = [line.at for line in found if line.level == "INFO"]
    assert 1000 < len(plain) < 10_000
    assert plain[-1] - plain[0] > 60_000
    (over,) = unseen
    assert "only searched for lines that look like errors" in over.why
    assert over.count > 4_000_000


@pytest.mark.parametrize("name", ["api.log", "api.log.gz"])
def test_lines_that_hold_the_text_and_are_too_many_are_counted_to_the_line(
    tmp_path: Path, name: str
) -> None:
    unseen: list[Unseen] = []
    file = LogFile(written(tmp_path / name), budget=BUDGET)
    found = sum(1 for _ in file.lines(ALWAYS, "request", unseen.append))
    (over,) = unseen
    assert "hold 'request'" in over.why
    assert found > 1000
    assert found + over.count == 100_000 - 100


def test_a_gzip_log_is_read_where_the_window_is(tmp_path: Path) -> None:
    unseen: list[Unseen] = []
    file = LogFile(written(tmp_path / "api.log.gz"), budget=10 * BUDGET)
    found = list(file.lines(Window(START + 90_000, START + 90_100), "", unseen.append))
    assert [line.at - START for line in found] == list(range(90_000, 90_101))


def test_a_service_named_in_the_lines_is_searched_for_as_a_text_is(tmp_path: Path) -> None:
    line = '{{"ts": {at}, "service": "{who}", "msg": "request {n}"}}\n'
    text = [
        line.format(at=START + n, n=n, who="rare-api" if n % 5000 == 0 else "web")
        for n in range(100_000)
    ]
    (tmp_path / "all.ndjson").write_text("".join(text))
    file = LogFile(tmp_path / "all.ndjson", budget=BUDGET)
    found = list(file.lines(ALWAYS, "", print, service="Rare"))
    assert [line.text for line in found] == [f"request {n}" for n in range(0, 100_000, 5000)]


def test_files_of_one_folder_share_what_a_question_may_parse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log_paths, "_LEAST", 100_000)
    (tmp_path / "logs").mkdir()
    for name in "abcd":
        written(tmp_path / "logs" / f"{name}.log", lines=20_000)
    folder = IncidentFolder(tmp_path, log_budget=1_000_000)
    assert sum(1 for _ in folder.lines(ALWAYS)) < 60_000
    assert {one.what for one in folder.unseen} == {"a.log", "b.log", "c.log", "d.log"}
    assert sum(1 for _ in folder.lines(ALWAYS, text="needle")) == 80


def test_over_the_search_budget_the_bytes_not_looked_at_are_counted(tmp_path: Path) -> None:
    unseen: list[Unseen] = []
    path = written(tmp_path / "api.log")
    file = LogFile(path, scan=2_000_000)
    found = [line.at - START for line in file.lines(ALWAYS, "needle", unseen.append)]
    assert 30 < len(found) < 70
    assert found[-1] > 50_000
    assert path.stat().st_size * 0.4 < unseen[0].count < path.stat().st_size * 0.8
    packed = LogFile(written(tmp_path / "b.log.gz"), scan=2_000_000)
    found = [line.at - START for line in packed.lines(ALWAYS, "needle", unseen.append)]
    assert 30 < len(found) < 100
    assert "packed bytes" in unseen[-1].unit


def test_a_folder_of_gzip_logs_alone_has_an_extent(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    written(tmp_path / "logs" / "api.log.gz")
    assert IncidentFolder(tmp_path).extent() == Window(START, START + 99_999)


def test_syslog_of_an_earlier_year_is_found_in_its_window(tmp_path: Path) -> None:
    path = tmp_path / "sys.log"
    path.write_text("".join(f"Mar  3 10:00:{n:02d} host app: needle\n" for n in range(60)))
    march = Window(1583200000, 1583300000)  # 2020
    assert sum(1 for _ in LogFile(path).lines(march, "needle", print)) == 60


PIECE = st.sampled_from(
    ["2026-01-01T10:00:00Z INFO ", "needle", "Needle", "\n", " at f(x)\n", "x" * 30, "é", "\x00"]
)


@settings(deadline=None)
@given(
    text=st.lists(PIECE, max_size=60).map("".join), size=st.integers(40, 200), packed=st.booleans()
)
def test_a_text_finds_what_reading_every_line_finds(
    tmp_path_factory: pytest.TempPathFactory, text: str, size: int, packed: bool
) -> None:
    folder = tmp_path_factory.mktemp("logs")
    whole = "2026-01-01T09:00:00Z INFO first\n" + text
    path = folder / ("api.log.gz" if packed else "api.log")
    path.write_bytes(gzip.compress(whole.encode()) if packed else whole.encode())
    everything = [one.raw for one in LogFile(path).lines(ALWAYS, "", print)]
    longest = max(map(len, whole.encode().split(b"\n")))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scan, "CHUNK", max(size, longest + 1))
        found = [one.raw for one in LogFile(path).lines(ALWAYS, "needle", print)]
    assert found == [raw for raw in everything if "needle" in raw.lower()]


@given(st.lists(st.integers(1, 500), min_size=1, max_size=60), st.integers(1, 20_000))
def test_a_quota_gives_all_that_fits_and_never_more_than_it_has(
    sizes: list[int], total: int
) -> None:
    quota, everything = scan.Quota(total), sum(sizes)
    given_, offered = 0, 0
    for size in sizes:
        offered += size
        given_ += quota.allow(size, offered / everything)
    assert given_ <= total
    if everything <= total:
        assert given_ == everything


def test_without_time_for_both_searching_for_errors_goes_before_parsing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(scan, "CHUNK", 1 << 16)
    monkeypatch.setattr(reading, "Pace", lambda seconds: scan.Pace(seconds, lambda: now[0]))
    path = written(tmp_path / "api.log")
    unseen: list[Unseen] = []
    seen = []
    for line in LogFile(path, seconds=50).lines(ALWAYS, "", unseen.append):
        now[0] += 0.001  # all 100,000 lines would take 100 seconds
        seen.append(line.at - START)
    # half of the time goes into parsing; all of the rest is searched for errors
    assert 15_000 < len(seen) < 35_000
    assert set(range(0, 100_000, 1000)) <= set(seen)
    halves = sum(at < 50_000 for at in seen), sum(at >= 50_000 for at in seen)
    assert min(halves) > 0.6 * max(halves)
    (over,) = unseen
    assert "only searched" in over.why
    assert abs(over.count / path.stat().st_size - (1 - len(seen) / 100_000)) < 0.05


def test_a_search_that_lags_is_thinned_evenly_and_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(scan, "CHUNK", 1 << 16)
    monkeypatch.setattr(reading, "Pace", lambda seconds: scan.Pace(seconds, lambda: now[0]))
    path = written(tmp_path / "api.log")
    unseen: list[Unseen] = []
    seen = []
    for line in LogFile(path, seconds=50).lines(ALWAYS, "request", unseen.append):
        now[0] += 0.001  # all of them would take 100 seconds
        seen.append(line.at - START)
    assert 35_000 < len(seen) < 60_000
    halves = sum(at < 50_000 for at in seen), sum(at >= 50_000 for at in seen)
    assert min(halves) > 0.6 * max(halves)
    (over,) = unseen
    assert "50 s a question has" in over.why
    assert abs(over.count / path.stat().st_size - (1 - len(seen) / 100_000)) < 0.05


def test_a_question_without_any_time_reads_nothing_and_says_so(tmp_path: Path) -> None:
    path = written(tmp_path / "api.log", lines=1000)
    unseen: list[Unseen] = []
    assert list(LogFile(path, seconds=0).lines(ALWAYS, "needle", unseen.append)) == []
    assert unseen[0].count == path.stat().st_size


def test_what_there_was_no_time_to_parse_is_not_called_over_the_budget() -> None:
    unseen: list[Unseen] = []
    asked = reading.Asked(ALWAYS)
    slow = reading.Reading("api.log", "api", asked, unseen.append, 1 << 30, 10.0)
    times = iter([0.0])
    slow._pace = scan.Pace(10.0, lambda: next(times, 7.0))  # more than half of it, less than all
    text = "".join(log(1000, 3000)).encode()
    assert len(list(slow.of(iter([(text, 1.0)])))) == 3
    (note,) = unseen
    assert note.why.startswith("over the 5 s a question may parse for")
    assert note.count > 100_000
