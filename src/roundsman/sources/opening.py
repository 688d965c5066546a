"""Opens the sources a specification names.

A server that does not answer is noted, none at all is an error; so is a path with nothing in it, since
that is a slip of the pen and no outage.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from roundsman.errors import SourceError
from roundsman.sources.combined import CombinedSource
from roundsman.sources.protocols import Source, Unseen, Window
from roundsman.sources.spec import SourceSpec, check_counts, first_lines, is_address

if TYPE_CHECKING:
    from roundsman.sources.headers import Header


@dataclass(frozen=True)
class Opening:
    """One source that is to be opened: its kind, what it is called, and whether it is a path."""

    kind: str
    label: str
    open: Callable[[], Source]
    local: bool = False


def openings(
    spec: SourceSpec, window: Window | None, known: Callable[[], Sequence[str]]
) -> Iterator[Opening]:
    """What there is to open beside the folder. `known`: services the others have named by then.

    Raises SourceError for what is written wrongly, before anything is asked.
    """
    check_counts(spec)
    from roundsman.sources.log_paths import LogPath

    headers = [] if not spec.headers else _headers(spec)
    for path in spec.logs:
        if not is_address(path):
            yield Opening("logs", path, partial(LogPath, Path(path)), local=True)
    if spec.live:
        if window is None:
            raise SourceError("servers can only be asked about a window of time")
        yield from _servers(spec, window, headers)
    for path in spec.git:
        from roundsman.sources.git import GitSource

        yield Opening("git", path, partial(GitSource, Path(path), known), local=True)


def _headers(spec: SourceSpec) -> list[Header]:
    from roundsman.sources.headers import parse_header

    return [parse_header(one) for one in spec.headers]


def _servers(spec: SourceSpec, window: Window, headers: list[Header]) -> Iterator[Opening]:
    from roundsman.sources.addresses import LOGS, TRACES, open_server, split_kind
    from roundsman.sources.argocd import ArgoSource
    from roundsman.sources.http import parse_url
    from roundsman.sources.kubernetes import KubernetesSource
    from roundsman.sources.prometheus import PrometheusSource

    several = [("logs", one, LOGS) for one in spec.logs if is_address(one)]
    several += [("traces", one, TRACES) for one in spec.traces]
    for kind, address, kinds in several:
        split_kind(address, list(kinds), f"--{kind}")
        opened = partial(open_server, address, kinds, f"--{kind}", window, headers)
        yield Opening(kind, address, opened)
    for url in spec.kubernetes:
        parse_url(url, "--kubernetes")
        yield Opening("kubernetes", url, partial(KubernetesSource, url, window, headers))
    for url in spec.argocd:
        parse_url(url, "--argocd")
        yield Opening("argocd", url, partial(ArgoSource, url, window, headers))
    for url in spec.prometheus:
        parse_url(url, "--prometheus")
        yield Opening("prometheus", url, partial(PrometheusSource, url, window, headers))


def open_sources(
    spec: SourceSpec, window: Window | None, first: Sequence[tuple[Source, str]] = ()
) -> CombinedSource:
    """All of them as one. `first` are those that are open already, with their labels.

    Raises SourceError when something is written wrongly, or when nothing at all answers.
    """
    members, failed = list(first), []

    @cache
    def known() -> list[str]:
        # asked once, by the first who needs them: a server that dies later takes nobody along
        found = CombinedSource([m for m, _ in members], [label for _, label in members])
        return found.services()

    wanted = list(openings(spec, window, known))
    for one in wanted:
        try:
            members.append((one.open(), one.label))
        except SourceError as error:
            if one.local:
                raise
            failed.append(Unseen(f"{one.kind} {one.label}", str(error)))
    if not members:
        raise SourceError(first_lines(one.why for one in failed) or "no source is named")
    source = CombinedSource([member for member, _ in members], [label for _, label in members])
    for unseen in failed:
        source.note(unseen)
    return source
