"""The options that name sources, for every command that opens some."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import click

_OPTIONS = (
    ("--prometheus", "URL", "Metrics of Prometheus, VictoriaMetrics or what speaks their API."),
    ("--logs", "PATH|URL", "Log file or folder; loki+http://..., elastic+..., victorialogs+...."),
    ("--git", "PATH", "Commits and tags of a repository, bare or not."),
    ("--kubernetes", "URL", "Rollouts and events, as behind kubectl proxy."),
    ("--argocd", "URL", "What Argo CD deployed, and when."),
    ("--traces", "URL", "Traces: jaeger+http://... or tempo+http://...."),
    ("--runbooks", "PATH", "Runbooks: Markdown that says for which alert it is."),
    ("--header", "HOST=LINE", "For one host: 'HOST=Authorization: Bearer ${VARIABLE}'."),
)


def source_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options; the command gets them as `sources`, a SourceSpec. Each may be repeated."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> Any:
        from roundsman.sources.spec import SourceSpec

        given = {n: tuple(kwargs.pop(n.removeprefix("--"))) for n, _, _ in _OPTIONS}
        spec = SourceSpec(
            prometheus=given["--prometheus"],
            logs=given["--logs"],
            git=given["--git"],
            kubernetes=given["--kubernetes"],
            argocd=given["--argocd"],
            traces=given["--traces"],
            headers=given["--header"],
            runbooks=given["--runbooks"],
        )
        if spec.headers:
            from roundsman.sources.headers import parse_header

            for one in spec.headers:  # also where nothing is asked over the network
                parse_header(one)
        return command(*args, sources=spec, **kwargs)

    for name, metavar, text in reversed(_OPTIONS):
        run = click.option(name, metavar=metavar, multiple=True, help=text)(run)
    return run
