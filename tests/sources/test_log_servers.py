"""Loki, Elasticsearch and VictoriaLogs as their protocols document them: pages, errors, cut answers.

None of these servers runs here. The stubs keep lines and answer as the documents say a server does; they
know nothing of our client.
"""

from __future__ import annotations

import json
import re

import pytest

from roundsman.errors import SourceError
from roundsman.sources import Window, log_server
from roundsman.sources.addresses import LOGS, open_server, split_kind
from roundsman.sources.elastic import ElasticSource
from roundsman.sources.loki import LokiSource
from roundsman.sources.times import iso, parse_time
from roundsman.sources.victorialogs import VictoriaLogsSource

START = 1_800_000_000
WINDOW = Window(START, START + 3600)


def made(count, every=1.0):
    """(seconds, service, text): every hundredth line is an error."""
    return [
        (
            START + n * every,
            "pay" if n % 2 else "cart",
            f"ERROR boom {n}" if n % 100 == 50 else f"fine {n}",
        )
        for n in range(count)
    ]


class Loki:
    def __init__(self, rows, label="service_name", limit=5000):
        self.rows = [(round(at * 1e9), who, text) for at, who, text in rows]
        self.label, self.limit = label, limit

    def __call__(self, asked):
        path = asked.path.removeprefix("/loki/api/v1")
        if path == "/labels":
            return {"status": "success", "data": [self.label, "filename"] if self.rows else []}
        if path.startswith("/label/"):
            return {"status": "success", "data": sorted({who for _, who, _ in self.rows})}
        query = asked.fields["query"]
        if path == "/query":
            span = int(re.search(r"\[(\d+)s\]", query)[1]) * 10**9
            end = int(asked.fields["time"])
            count = len(self.matching(query, end - span, end + 1))
            rows = [{"metric": {}, "value": [end / 1e9, str(count)]}] if count else []
            return {"status": "success", "data": {"resultType": "vector", "result": rows}}
        limit = int(asked.fields["limit"])
        if limit > self.limit:
            said = f"max entries limit per query exceeded, limit > max_entries_limit ({limit} > {self.limit})"
            return (400, said.encode())
        assert asked.fields["direction"] == "forward"
        found = self.matching(query, int(asked.fields["start"]), int(asked.fields["end"]))[:limit]
        streams = {}
        for at, who, text in found:
            streams.setdefault(who, []).append([str(at), text])
        result = [{"stream": {self.label: who}, "values": v} for who, v in streams.items()]
        return {"status": "success", "data": {"resultType": "streams", "result": result}}

    def matching(self, query, start, end):
        selector = re.search(rf'{self.label}=~"((?:[^"\\]|\\.)*)"', query)[1]
        owner = json.loads(f'"{selector}"')
        filters = [json.loads(f'"{f}"') for f in re.findall(r'\|~ "((?:[^"\\]|\\.)*)"', query)]
        return [
            row
            for row in self.rows
            if start <= row[0] < end
            and re.fullmatch(owner, row[1])
            and all(re.search(one, row[2]) for one in filters)
        ]


class Elastic:
    def __init__(self, rows, failed=0):
        self.rows = [
            (round(at * 1000), who, text, str(n)) for n, (at, who, text) in enumerate(rows)
        ]
        self.failed = failed

    def __call__(self, asked):
        if asked.path == "/":
            return {"version": {"number": "8.15.0"}}
        if not asked.path.endswith("/_search"):
            return (404, b'{"error": "no handler found", "status": 404}')
        body = json.loads(asked.body)
        found = [row for row in self.rows if self.fits(body["query"], row)]
        total = {"value": len(found), "relation": "eq"} if body["track_total_hits"] else None
        if "search_after" in body:
            found = [row for row in found if row[0] > body["search_after"][0]]
        hits = [
            {
                "_index": "logs-1",
                "_id": number,
                "_source": {
                    "@timestamp": iso(at / 1000),
                    "message": text,
                    "service": {"name": who},
                    "log": {"level": "error" if "ERROR" in text else "info"},
                },
                "sort": [at],
            }
            for at, who, text, number in sorted(found)[: body["size"]]
        ]
        shards = {"total": 3, "successful": 3 - self.failed, "failed": self.failed}
        answer = {"took": 1, "timed_out": False, "_shards": shards, "hits": {"hits": hits}}
        if total:
            answer["hits"]["total"] = total
        if "aggs" in body:
            buckets = [{"key": w, "doc_count": 1} for w in sorted({row[1] for row in self.rows})]
            answer["aggregations"] = {"services": {"buckets": buckets}}
        return answer

    def fits(self, query, row):
        at, who, text, _ = row
        ((kind, inner),) = query.items()
        if kind == "bool":
            must = all(self.fits(one, row) for one in inner.get("filter", []))
            should = inner.get("should")
            return must and (not should or any(self.fits(one, row) for one in should))
        if kind == "range":
            span = inner["@timestamp"]
            return span["gte"] <= at <= span["lte"]
        if kind == "wildcard":
            ((field, wanted),) = inner.items()
            pattern = re.escape(wanted["value"]).replace(r"\*", ".*")
            return field == "service.name" and bool(re.fullmatch(pattern, who, re.IGNORECASE))
        assert kind == "multi_match"
        words, wanted = re.findall(r"\w+", text.lower()), re.findall(r"\w+", inner["query"].lower())
        if "message" not in inner["fields"]:
            words = ["error"] if "ERROR" in text else ["info"]
        if inner.get("type") == "phrase":
            return f" {' '.join(wanted)} " in f" {' '.join(words)} "
        return bool(set(words) & set(wanted))


class Victoria:
    def __init__(self, rows):
        self.rows = rows

    def __call__(self, asked):
        fields = asked.fields
        names = {"/select/logsql/field_names": ["_msg", "_time", "service"],
                 "/select/logsql/field_values": sorted({who for _, who, _ in self.rows})}  # fmt: skip
        if asked.path in names:
            return {"values": [{"value": one, "hits": 1} for one in names[asked.path]]}
        if asked.path != "/select/logsql/query":
            return (400, b"unsupported path requested")
        query, *pipes = fields["query"].split(" | ")
        start, end = int(fields["start"]) / 1e9, int(fields["end"]) / 1e9
        found = [row for row in self.rows if start <= row[0] <= end and self.fits(query, row)]
        if pipes and pipes[0].startswith("stats"):
            return (200, json.dumps({"lines": str(len(found))}).encode() + b"\n")
        limit = int(re.search(r"sort by \(_time\) limit (\d+)", pipes[0])[1])
        lines = [
            json.dumps({"_time": iso(at), "_msg": text, "_stream": "{}", "service": who})
            for at, who, text in sorted(found)[:limit]
        ]
        return (200, "".join(f"{line}\n" for line in lines).encode())

    def fits(self, query, row):
        values = {"service": row[1], "_msg": row[2], "level": ""}

        def one(match):
            pattern = json.loads(f'"{match[2]}"')
            return str(bool(re.search(pattern, values[match[1].strip('"')])))

        text = re.sub(r'("?\w+"?):~"((?:[^"\\]|\\.)*)"', one, query)
        text = (
            text.replace("*", "True")
            .replace(") (", ") and (")
            .replace(" True", " and True")
            .replace(" False", " and False")
            .replace("or and", "or")
            .replace("and and", "and")
        )
        return eval(text, {})


SERVERS = {
    "loki": (Loki, LokiSource),
    "elastic": (Elastic, ElasticSource),
    "victorialogs": (Victoria, VictoriaLogsSource),
}
each = pytest.mark.parametrize("kind", SERVERS)


def opened(serve, kind, rows, **more):
    store, source = SERVERS[kind]
    stub = serve(store(rows, **more))
    return source(stub.url, WINDOW), stub


@each
def test_all_lines_of_a_window_come_once_in_order(serve, kind):
    rows = made(3600)
    source, _ = opened(serve, kind, rows)
    found = list(source.lines(WINDOW))
    assert [(round(one.at), one.service, one.raw) for one in found] == rows
    assert source.unseen == []
    assert {one.level for one in found if "boom" in one.raw} == {"ERROR"}
    assert source.services() == ["cart", "pay"]


@each
def test_a_service_and_a_text_are_asked_of_the_server(serve, kind):
    source, stub = opened(serve, kind, made(600))
    before = len(stub.asked)
    found = list(source.lines(WINDOW, "CAR", "boom"))
    assert [one.raw for one in found] == [f"ERROR boom {n}" for n in range(50, 600, 100)]
    assert len(stub.asked) - before <= 24


@each
def test_pages_that_end_among_lines_of_one_moment_lose_none(serve, kind, monkeypatch):
    for module in ("loki", "elastic"):
        monkeypatch.setattr(f"roundsman.sources.{module}.PAGE", 7)
    rows = [(START + n // 5, "pay", f"line {n}") for n in range(100)]
    source, _ = opened(serve, kind, rows)
    assert sorted(one.raw for one in source.lines(WINDOW)) == sorted(text for *_, text in rows)


@each
def test_more_than_is_read_is_counted_and_its_errors_are_read(serve, kind, monkeypatch):
    monkeypatch.setattr(log_server, "MOST_LINES", 12 * 20)
    rows = made(3600)
    source, _ = opened(serve, kind, rows)
    found = list(source.lines(WINDOW))
    assert len({one.raw for one in found}) == len(found)
    assert sum("boom" in one.raw for one in found) == 36
    assert len(found) < 12 * 20 + 40
    (note,) = source.unseen
    assert note.count == len(rows) - len(found)
    assert "the oldest of each of 12 parts" in note.why


@each
def test_a_server_that_breaks_off_gives_what_it_gave_and_says_so(serve, kind):
    store, source = SERVERS[kind]
    inner, count = store(made(3600)), 0

    def answer(asked):
        nonlocal count
        count += 1
        return (503, b"") if count > 5 else inner(asked)

    one = source(serve(answer).url, WINDOW)
    found = list(one.lines(WINDOW))
    assert 0 < len(found) < 3600
    (note,) = one.unseen
    assert "broke off" in note.why
    assert note.count >= 1


@each
def test_a_server_that_answers_nothing_is_an_error(serve, kind):
    store, source = SERVERS[kind]
    inner, up = store(made(10)), True
    one = source(serve(lambda asked: inner(asked) if up else (500, b"")).url, WINDOW)
    up = False
    with pytest.raises(SourceError, match="HTTP 500"):
        list(one.lines(WINDOW))


@each
@pytest.mark.parametrize("body", [{"hello": 1}, [], {"status": "success"}])
def test_another_kind_of_server_is_told(serve, kind, body):
    with pytest.raises(SourceError):
        SERVERS[kind][1](serve(lambda asked: body).url, WINDOW)


@each
def test_the_kind_is_found_out_when_it_is_not_named(serve, kind):
    store, source = SERVERS[kind]
    inner = store(made(5))

    def answer(asked):
        mine = {"loki": "/loki/", "victorialogs": "/select/", "elastic": "_search"}[kind]
        return inner(asked) if mine in asked.path else (404, b"404 page not found")

    url = serve(answer).url
    assert type(open_server(url, LOGS, "--logs", WINDOW, [])) is source
    assert type(open_server(f"{kind}+{url}", LOGS, "--logs", WINDOW, [])) is source


@each
def test_texts_with_marks_of_the_query_language_are_only_texts(serve, kind):
    text = 'a "b" \\ (c|d) [e] {f} $g ^h *i +j ?k .l'
    source, _ = opened(serve, kind, [(START + 5, "pay", text), (START + 6, "pay", "a b c d")])
    assert [one.raw for one in source.lines(WINDOW, text=text)] == [text]


@each
def test_the_command_can_be_pasted(serve, kind):
    source, stub = opened(serve, kind, made(5))
    words = source.command("logs", WINDOW, "pay", "boom").words
    assert words[0] == "curl"
    assert any(stub.url in word for word in words)
    assert any("boom" in word for word in words)


def test_a_loki_with_a_lower_limit_is_asked_for_less(serve):
    source, _ = opened(serve, "loki", made(900), limit=300)
    assert len(list(source.lines(WINDOW))) == 900


def test_a_loki_without_streams_is_said(serve):
    with pytest.raises(SourceError, match="no streams in the window"):
        opened(serve, "loki", [])


def test_more_lines_of_one_instant_than_a_page_holds_are_said(serve, monkeypatch):
    for module in ("loki", "elastic"):
        monkeypatch.setattr(f"roundsman.sources.{module}.PAGE", 5)
    rows = [(START + 1, "pay", f"x {n}") for n in range(9)] + [(START + 2, "pay", "behind")]
    for kind in ("loki", "elastic"):
        source, _ = opened(serve, kind, rows)
        found = [one.raw for one in source.lines(WINDOW)]
        assert "behind" in found
        assert len(set(found)) == len(found)
        assert len(found) == 10 or any("than one page holds" in one.why for one in source.unseen)


def test_shards_that_fail_are_said(serve):
    source, _ = opened(serve, "elastic", made(5), failed=2)
    assert any(one.why == "shards that did not answer" and one.count == 2 for one in source.unseen)


def test_the_path_of_an_elastic_address_names_the_indices(serve):
    stub = serve(Elastic(made(3)))
    source = ElasticSource(f"{stub.url}/logs-*", WINDOW)
    assert len(list(source.lines(WINDOW))) == 3
    assert {one.path for one in stub.asked} == {"/logs-*/_search"}


def test_a_broken_line_of_a_stream_is_counted_not_fatal(serve):
    store = Victoria(made(3))

    def answer(asked):
        given = store(asked)
        if isinstance(given, tuple) and b"fine 0" in given[1]:
            return (200, given[1] + b'{"_msg": "cut')
        return given

    source = VictoriaLogsSource(serve(answer).url, WINDOW)
    assert len(list(source.lines(WINDOW))) == 3
    assert any("no JSON" in one.why for one in source.unseen)


@pytest.mark.parametrize(
    "address", ["gopher+http://h", "loki+ftp://h", "gopher://h", "loki+http://"]
)
def test_a_wrong_address_is_one_line(address):
    with pytest.raises(SourceError, match="--logs"):
        split_kind(address, ["loki"], "--logs")


def test_nanoseconds_are_read(serve):
    at = parse_time("2027-01-15T08:00:01.123456Z")
    source, _ = opened(serve, "loki", [(at, "pay", "x")])
    (line,) = source.lines(WINDOW)
    assert line.at == pytest.approx(at, abs=1e-4)
