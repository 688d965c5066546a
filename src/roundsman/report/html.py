"""The report as one HTML file: no script, no request to anywhere, charts as inline SVG."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from roundsman.report import charts
from roundsman.report.text import as_dict
from roundsman.report.view import build


def to_html(report: Mapping[str, Any]) -> str:
    """The whole page; everything that came from telemetry or a model is escaped."""
    return _template().render(
        view=build(report),
        charts=charts.build_charts(as_dict(report).get("charts")),
        box=charts,
    )


@lru_cache(maxsize=1)
def _template() -> Template:
    return Environment(
        loader=PackageLoader("roundsman.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    ).get_template("report.html.j2")
