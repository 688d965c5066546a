"""Whatever servers, repositories and people write, it is read or refused, never a bug."""

from __future__ import annotations

import contextlib

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from roundsman.errors import SourceError
from roundsman.sources.argocd import ArgoSource
from roundsman.sources.config_diff import config_diff
from roundsman.sources.headers import parse_header
from roundsman.sources.http import parse_url
from roundsman.sources.kubernetes import KubernetesSource
from roundsman.sources.log_server import record_line
from roundsman.sources.loki import escaped, pattern
from roundsman.sources.prometheus_names import plan
from roundsman.sources.prometheus_series import series_of
from roundsman.sources.protocols import Window
from roundsman.sources.trace_records import flat_span, records_of

few = settings(max_examples=60, deadline=None)
leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=12)
_NAMES = """
metadata name items spec status history env containers image template metric values stream data traces
spans batches @timestamp message level service ownerReferences kind value annotations sources revisions
deployedAt creationTimestamp
"""
keys = st.sampled_from(_NAMES.split()) | st.text(max_size=6)
anything = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=5),
    max_leaves=25,
)


@few
@given(st.text(alphabet="+- \n:='\"abdiffgt/.yaml01v{[", max_size=300))
def test_any_diff(text: str) -> None:
    for before, after in config_diff(f"diff --git a/x.yaml b/x.yaml\n{text}").values():
        assert before != after


@few
@given(st.text(max_size=80))
def test_any_address_and_header(text: str) -> None:
    for read in (parse_header, lambda one: parse_url(one, "--prometheus")):
        with contextlib.suppress(SourceError):
            read(text)
            read(f"http://{text}")
            read(f"h=Authorization: {text}")


@few
@given(anything)
def test_any_document_of_a_log_or_trace_server(content: object) -> None:
    if isinstance(content, dict):
        record_line(content)
    for record in records_of(content):
        flat_span(record)


@few
@given(st.lists(anything, max_size=4))
def test_any_rows_of_a_range_query(rows: list[object]) -> None:
    given_rows = [row for row in rows if isinstance(row, dict)]
    for metric in ("x", "x_total", "x_seconds_bucket"):
        for asked in plan(metric, "", "[60s]"):
            for one in series_of(metric, asked, given_rows).found:
                assert np.isfinite(one.values).all()
                assert np.all(np.diff(one.times) >= 0)


class Answer:
    """A server that answers one thing to everything."""

    def __init__(self, content: object) -> None:
        self.content, self.headers, self.url = content, [], "http://h"

    def get(self, path: str, params: object = None) -> object:
        return self.content


@few
@given(st.lists(anything, max_size=4))
def test_any_items_of_kubernetes_and_argo(items: list[object]) -> None:
    window = Window(0, 4e9)
    for source in (KubernetesSource, ArgoSource):
        module = __import__(source.__module__, fromlist=["Http"])
        real, module.Http = module.Http, lambda *_: Answer({"items": items})
        try:
            with contextlib.suppress(SourceError):
                opened = source("http://h", window)
                opened.changes(window)
                list(opened.lines(window))
        finally:
            module.Http = real


@few
@given(st.text(max_size=40))
def test_a_text_stays_inside_of_its_quotes(text: str) -> None:
    quoted = escaped(pattern(text))
    rest = quoted.replace("\\\\", "").replace('\\"', "")
    assert '"' not in rest
    assert "\n" not in rest
