"""Which kind of log or trace server an address names: by its prefix, or by what it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from roundsman.errors import SourceError
from roundsman.sources.elastic import ElasticSource
from roundsman.sources.headers import Header
from roundsman.sources.http import HttpFailed, parse_url
from roundsman.sources.jaeger import JaegerSource
from roundsman.sources.loki import LokiSource
from roundsman.sources.protocols import Source, Window
from roundsman.sources.tempo import TempoSource
from roundsman.sources.victorialogs import VictoriaLogsSource

Kind = Callable[[str, Window, Sequence[Header]], Source]
LOGS: dict[str, Kind] = {
    "loki": LokiSource,
    "victorialogs": VictoriaLogsSource,
    "elastic": ElasticSource,
    "elasticsearch": ElasticSource,
    "opensearch": ElasticSource,
}
TRACES: dict[str, Kind] = {"jaeger": JaegerSource, "tempo": TempoSource}


def split_kind(address: str, kinds: Sequence[str], option: str) -> tuple[str, str]:
    """(kind, address without it) of `kind+http://...`; the kind is empty when none is named.

    Raises SourceError for an unknown one, or when the address itself is wrong.
    """
    scheme, _, rest = address.partition("://")
    kind, plus, plain = scheme.partition("+")
    url = f"{plain}://{rest}" if plus else address
    if plus and kind not in kinds:
        raise SourceError(f"{option} {kind}+...: unknown kind; there are: {', '.join(kinds)}")
    parse_url(url, option)
    return (kind if plus else ""), url


def open_server(
    address: str, kinds: Mapping[str, Kind], option: str, window: Window, headers: Sequence[Header]
) -> Source:
    """The server behind an address; each kind is tried in turn when none is named.

    Raises SourceError when it does not answer, or as none of the known kinds.
    """
    kind, url = split_kind(address, list(kinds), option)
    if kind:
        return kinds[kind](url, window, headers)
    for opened in dict.fromkeys(kinds.values()):
        try:
            return opened(url, window, headers)
        except HttpFailed as error:
            if error.lost:
                raise
    example = f"{next(iter(kinds))}+{url}"
    raise SourceError(
        f"{option} {url}: answers as none of {', '.join(kinds)}; name its kind, as in {example}"
    )
