"""Which kind of log server an address names: by its prefix, or by what it answers."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from roundsman.errors import SourceError
from roundsman.sources.elastic import ElasticSource
from roundsman.sources.http import Header, HttpFailed, parse_url
from roundsman.sources.log_server import LogServer
from roundsman.sources.loki import LokiSource
from roundsman.sources.protocols import Window
from roundsman.sources.victorialogs import VictoriaLogsSource

Kind = Callable[[str, Window, Sequence[Header]], LogServer]
KINDS: dict[str, Kind] = {
    "loki": LokiSource,
    "victorialogs": VictoriaLogsSource,
    "elastic": ElasticSource,
    "elasticsearch": ElasticSource,
    "opensearch": ElasticSource,
}


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


def open_log_server(address: str, window: Window, headers: Sequence[Header]) -> LogServer:
    """The server behind an address, asked in turn when its kind is not named.

    Raises SourceError when it does not answer, or as none of the known kinds.
    """
    kind, url = split_kind(address, list(KINDS), "--logs")
    if kind:
        return KINDS[kind](url, window, headers)
    for name in ("loki", "victorialogs", "elastic"):
        try:
            return KINDS[name](url, window, headers)
        except HttpFailed as error:
            if error.lost:
                raise
    raise SourceError(
        f"--logs {url}: answers as none of {', '.join(KINDS)}; name its kind, as in loki+{url}"
    )
