"""Where a model of one's own answers: an OpenAI-compatible server, and what is asked of it before a
run begins."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from roundsman.errors import ModelServerError, SourceError, UsageError
from roundsman.sources.headers import Header, masked, parse_header
from roundsman.sources.http import Http, HttpFailed, parse_url

Tools = Literal["auto", "native", "prompted"]
TOOLS: tuple[Tools, ...] = ("auto", "native", "prompted")
PREFIX = "openai/"
LEAST_CONTEXT, MOST_CONTEXT = 2048, 10_000_000
_CONTEXT_KEYS = ("max_model_len", "n_ctx", "context_length", "max_context_length")


@dataclass(frozen=True)
class Endpoint:
    """A server that speaks OpenAI's chat interface.

    Attributes:
        url: base address, with its `/v1`; without name and password.
        tools: how tools are called: `native`, `prompted` (each step constrained by a JSON schema to
            one call or the answer), or `auto` (a first short call shows whether native ones come).
        context: tokens of the model's context; 0 asks the server.
        headers: `HOST=Name: value` with `${VARIABLE}` where a secret goes; those of other hosts are
            not sent.
    """

    url: str
    tools: Tools = "auto"
    context: int = 0
    headers: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, url: str, tools: str = "auto", context: int = 0, headers: tuple[str, ...] = ()
    ) -> Endpoint:
        """From what a person gave. Raises UsageError naming what is wrong with it."""
        parts = parse_url(url, "--base-url")
        if tools not in TOOLS:
            raise UsageError(f"--tools {tools!r}: there are {', '.join(TOOLS)}")
        if context and not LEAST_CONTEXT <= context <= MOST_CONTEXT:
            raise UsageError(
                f"--context {context}: expected a number of tokens, {LEAST_CONTEXT} or more "
                "(instruction and tools alone take about 1500), as in --context 8192"
            )
        path = parts.path.rstrip("/") or "/v1"
        return cls(f"{parts.scheme}://{parts.netloc}{path}", tools, context, headers)

    @classmethod
    def from_environment(cls, headers: tuple[str, ...] = ()) -> Endpoint | None:
        """ROUNDSMAN_BASE_URL, ROUNDSMAN_TOOLS and ROUNDSMAN_CONTEXT; None without the first."""
        return chosen(None, None, None, headers)

    def to_setup(self) -> dict[str, Any]:
        """For the journal; headers are kept with the sources."""
        return {"url": self.url, "tools": self.tools, "context": self.context}

    @classmethod
    def from_setup(
        cls, setup: Mapping[str, Any] | None, headers: tuple[str, ...] = ()
    ) -> Endpoint | None:
        """The reverse of `to_setup`."""
        if not setup:
            return None
        return cls.of(
            str(setup["url"]), str(setup["tools"]), int(setup.get("context") or 0), headers
        )

    def http(self) -> Http:
        """Bounded questions to the server's lists. Raises SourceError for a header that is not set."""
        given = [parse_header(one) for one in self.headers]
        return Http(self.url, given, "--base-url", proxies=False)

    def header_values(self) -> dict[str, str]:
        """Headers of this host with their secrets put in; they are kept nowhere."""
        return {one.name: one.value() for one in self._mine()}

    def secrets(self) -> list[str]:
        """What must stand nowhere, also when the server repeats it."""
        return [secret for one in self._mine() for secret in one.secrets()]

    def _mine(self) -> list[Header]:
        parts = urlsplit(self.url)
        mine = {str(parts.hostname).lower(), parts.netloc.lower()}
        return [one for one in map(parse_header, self.headers) if one.host in mine]


def chosen(
    url: str | None, tools: str | None, context: int | None, headers: tuple[str, ...] = ()
) -> Endpoint | None:
    """What was given, else what the environment says; None when no server is named."""
    url = url or os.environ.get("ROUNDSMAN_BASE_URL")
    if not url:
        if tools or context:
            raise UsageError("--tools and --context need --base-url URL, the model's own server")
        return None
    said = os.environ.get("ROUNDSMAN_CONTEXT") or "0"
    if context is None and not said.isdecimal():
        raise UsageError(f"ROUNDSMAN_CONTEXT {said!r}: expected a number of tokens, as in 8192")
    tools = tools or os.environ.get("ROUNDSMAN_TOOLS") or "auto"
    return Endpoint.of(url, tools, int(said) if context is None else context, headers)


def look(endpoint: Endpoint, model: str) -> int:
    """Ask the server for its models; the context it says the model has, 0 when it does not say.

    Raises:
        ModelServerError: it does not answer, not as such a server, or does not have the model.
    """
    rows = models_at(endpoint)
    if rows is None:
        return endpoint.context  # the first call shows the rest
    row = next((row for row in rows if _is(row, model)), None)
    if row is None and rows:
        names = masked(names_of(rows), endpoint.secrets())
        raise ModelServerError(f"{endpoint.url} has no model {model!r}; it has: {names}")
    return endpoint.context or _context_of(row or {}) or _context_asked(endpoint)


def models_at(endpoint: Endpoint) -> list[dict[str, Any]] | None:
    """The models a server lists, each with its `id`; None when it keeps no list.

    Raises:
        ModelServerError: it does not answer, or not as such a server.
    """
    http = endpoint.http()
    try:
        listed = http.get("/models")
    except HttpFailed as error:
        if error.status in (404, 405, 501) and endpoint.url.endswith("/v1"):
            return None
        raise ModelServerError(f"--base-url {error}") from None
    except SourceError as error:
        raise ModelServerError(str(error)) from None
    rows = listed  # some give the bare list
    if isinstance(listed, dict):  # a server without models may say null
        rows = [] if listed.get("data", "") is None else listed.get("data")
    if not isinstance(rows, list):
        raise ModelServerError(
            f"--base-url {endpoint.url}/models: no list of models; is this an OpenAI-compatible "
            "server, and is the path right (most have /v1)?"
        )
    return [row for row in rows if isinstance(row, dict) and isinstance(row.get("id"), str)]


def names_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """The first of a server's models, for a message."""
    names = ", ".join(_in_one_line(str(one["id"])) for one in rows[:8])
    return f"{names} and {len(rows) - 8} more" if len(rows) > 8 else names


def _in_one_line(name: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in name)[:120]


def _is(row: dict[str, Any], model: str) -> bool:
    aliases = row.get("aliases")
    names = [row["id"], *(aliases if isinstance(aliases, list) else [])]
    # Ollama lists a model under its tag and takes it without
    return model in names or f"{model}:latest" in names


def _context_of(row: Mapping[str, Any]) -> int:
    meta = row.get("meta")
    for place in (row, meta if isinstance(meta, dict) else {}):
        for key in _CONTEXT_KEYS:
            value = place.get(key)
            # one that is too small is told of with its numbers, when a prompt does not fit
            if isinstance(value, int) and 1 < value <= MOST_CONTEXT:
                return value
    return 0


def _context_asked(endpoint: Endpoint) -> int:
    """llama.cpp tells it beside its interface."""
    base = Endpoint(endpoint.url.removesuffix("/v1"), headers=endpoint.headers)
    try:
        told = base.http().get("/props")
    except SourceError:
        return 0
    settings = told.get("default_generation_settings") if isinstance(told, dict) else None
    return _context_of(settings) if isinstance(settings, dict) else 0
