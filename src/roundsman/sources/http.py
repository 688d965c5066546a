"""Read-only questions over HTTP, with a bound on time and bytes and one clear line for every failure.

What is shown or raised holds no secret: those come from the environment (`headers.py`), and an address may
hold none.
"""

from __future__ import annotations

import json
import re
import ssl
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from urllib.parse import SplitResult, urlsplit

import httpx

from roundsman.errors import SourceError
from roundsman.sources.headers import Header, masked
from roundsman.sources.patience import checkpoint

#: seconds until connected, between two pieces of an answer, and for one whole answer
CONNECT, SILENCE, WHOLE = 5.0, 15.0, 60.0
#: bytes of one answer, unpacked
LIMIT = 64 * 1024 * 1024
_LOOPBACK = re.compile(r"localhost|127(?:\.\d{1,3}){3}|\[?::1\]?", re.IGNORECASE)
_REASONS = {
    400: "the request was refused",
    401: "a login is needed; give --header 'HOST=Authorization: Bearer ${VARIABLE}'",
    403: "access is denied; the token may lack the right to read",
    404: "there is no such interface; is this the address of the right kind of server, with its path?",
    408: "it took too long there",
    413: "the question is too large for it",
    422: "it cannot carry the question out",
    429: "it has too many requests at the moment; try again later or ask for less",
    502: "a proxy before it does not reach it",
    503: "it is not ready or overloaded",
    504: "it took too long behind its proxy",
}


class HttpFailed(SourceError):
    """One request failed. `lost`: nothing can be expected of the next one either."""

    def __init__(self, message: str, lost: bool = False, status: int = 0) -> None:
        super().__init__(message)
        self.lost = lost
        self.status = status


class TooLarge(HttpFailed):
    """An answer had more bytes than are read."""


def parse_url(text: str, option: str) -> SplitResult:
    """A base address, http or https. Raises SourceError; what stands before @ is never repeated."""
    try:
        parts = urlsplit(text.strip())
        host, _ = parts.hostname, parts.port
    except ValueError:
        raise SourceError(f"{option}: not an address; expected as http://host:9090") from None
    shown = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
    if "://" not in text:
        shown = text.rpartition("@")[2]
    if parts.scheme not in ("http", "https"):
        raise SourceError(f"{option} {shown}: must begin with http:// or https://")
    if not host:
        raise SourceError(f"{option} {shown}: names no host")
    if "@" in parts.netloc:
        raise SourceError(
            f"{option} {shown}: name and password in an address are not taken; give "
            f"--header '{parts.netloc.rpartition('@')[2]}=Authorization: Basic ${{VARIABLE}}'"
        )
    if parts.query or parts.fragment:
        raise SourceError(f"{option} {shown}: give the base address, without ? and #")
    return parts


class Http:
    """One server. Only GET, and POST of questions; other hosts are never followed to.

    Proxies of the environment are used with `proxies`, but not for loopback; certificates are checked
    against the system's.
    """

    def __init__(
        self, url: str, given: Iterable[Header] = (), option: str = "", proxies: bool = True
    ) -> None:
        parts = parse_url(url, option)
        self.url = f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"
        host = str(parts.hostname)
        safe = parts.scheme == "https"
        mine = {host.lower(), parts.netloc.lower()}
        self.headers = [one for one in given if one.host in mine]
        self._origin = (parts.scheme, parts.netloc.lower())
        headers = {"Accept": "application/json", **{h.name: h.value() for h in self.headers}}
        try:
            self._client = httpx.Client(
                headers=headers,
                timeout=httpx.Timeout(SILENCE, connect=CONNECT),
                follow_redirects=False,
                trust_env=proxies and not _LOOPBACK.fullmatch(host),
                verify=ssl.create_default_context() if safe else False,
            )
        except (ValueError, ImportError, httpx.InvalidURL):
            # its address may hold a password, so it is not repeated
            raise SourceError(
                f"{self.url}: the proxy that HTTP_PROXY, HTTPS_PROXY or ALL_PROXY names cannot be used; "
                "unset it, or name the host in NO_PROXY"
            ) from None

    def get(self, path: str, params: Mapping[str, Any] | None = None) -> Any:
        """The JSON that a path answers."""
        return self._json("GET", path, params=_plain(params))

    def form(self, path: str, fields: Mapping[str, Any]) -> Any:
        """The JSON that a question answers whose fields are too long for an address."""
        return self._json("POST", path, data=_plain(fields))

    def post(self, path: str, body: Any) -> Any:
        """The JSON that a question in JSON answers."""
        return self._json("POST", path, json=body)

    def _clean(self, text: str) -> str:
        return masked(text, [header.value() for header in self.headers])

    def lines(self, path: str, fields: Mapping[str, Any]) -> Iterator[bytes]:
        """The lines of a streamed answer. Raises HttpFailed where it breaks off."""
        rest = b""
        with self._answer("POST", path, {"data": _plain(fields)}) as pieces:
            for piece in pieces:
                *whole, rest = (rest + piece).split(b"\n")
                yield from whole
        if rest:
            yield rest

    def _json(self, method: str, path: str, **body: Any) -> Any:
        with self._answer(method, path, body) as pieces:
            data = b"".join(pieces)
        try:
            return json.loads(data)
        except (ValueError, RecursionError):
            raise HttpFailed(f"{self.url}{path}: {self._clean(_no_json(data))}") from None

    @contextmanager
    def _answer(self, method: str, path: str, body: dict[str, Any]) -> Iterator[Iterator[bytes]]:
        where = f"{self.url}{path}"
        target, hops = where, 0
        try:
            while True:
                checkpoint()
                with self._client.stream(method, target, **body) as answer:
                    if answer.is_redirect and hops < 3:
                        target, hops = self._same_place(answer, where), hops + 1
                        continue
                    if answer.status_code != 200:
                        raise HttpFailed(
                            f"{where}: {self._clean(_refusal(answer))}",
                            lost=answer.status_code in (401, 403, 429, 503),
                            status=answer.status_code,
                        )
                    yield self._pieces(answer, where)
                    return
        except httpx.HTTPError as error:
            raise HttpFailed(f"{where}: {_why(error)}", lost=_is_lost(error)) from None
        except httpx.InvalidURL:
            raise HttpFailed(f"{where}: cannot be made an address") from None

    def _pieces(self, answer: httpx.Response, where: str) -> Iterator[bytes]:
        read, end = 0, time.monotonic() + WHOLE
        for piece in answer.iter_bytes(64 * 1024):
            checkpoint()
            read += len(piece)
            if read > LIMIT:
                raise TooLarge(f"{where}: the answer has over {LIMIT >> 20} MB; ask for less")
            if time.monotonic() > end:
                raise HttpFailed(f"{where}: still answering after {WHOLE:.0f} s", lost=True)
            yield piece

    def _same_place(self, answer: httpx.Response, where: str) -> str:
        target = answer.url.join(answer.headers.get("location", ""))
        there = (target.scheme, target.netloc.decode("ascii", "replace").lower())
        if there != self._origin:
            raise HttpFailed(
                f"{where}: leads to {there[0]}://{there[1].rpartition('@')[2]}, which is not followed "
                "(a login page?); give the address of the server itself"
            )
        return str(target)


def _plain(fields: Mapping[str, Any] | None) -> dict[str, Any]:
    return {name: value for name, value in (fields or {}).items() if value is not None}


def _refusal(answer: httpx.Response) -> str:
    status = answer.status_code
    reason = _REASONS.get(status, "the server failed" if status >= 500 else "not understood")
    try:
        said = next(answer.iter_bytes(2000), b"").decode("utf-8", "replace")
    except httpx.HTTPError:
        said = ""
    return f"HTTP {status}: {reason}{_said(said)}"


def _said(text: str) -> str:
    """The server's own words, when they are short and no web page."""
    try:
        body = json.loads(text)
        text = next(str(body[k]) for k in ("error", "message", "reason") if body.get(k))
    except (ValueError, TypeError, AttributeError, StopIteration):
        pass
    line = " ".join(text.split())
    return f" ({line[:200]})" if line and not line.startswith("<") else ""


def _no_json(data: bytes) -> str:
    start = data.lstrip()[:1]
    if not start:
        return "an empty answer, expected JSON"
    if start == b"<":
        return "a web page came, not JSON; is this the address of a user interface or a login?"
    if start in b"{[":
        return "the answer breaks off or is no valid JSON"
    return f"expected JSON, got {data[:60].decode('utf-8', 'replace')!r}"


def _is_lost(error: httpx.HTTPError) -> bool:
    return isinstance(error, httpx.TransportError) and not isinstance(error, httpx.DecodingError)


def _why(error: httpx.HTTPError) -> str:
    text = str(error)
    if isinstance(error, httpx.ConnectTimeout):
        return f"no connection within {CONNECT:.0f} s"
    if isinstance(error, httpx.TimeoutException):
        return f"nothing came for {SILENCE:.0f} s"
    if isinstance(error, httpx.ConnectError):
        if "CERTIFICATE" in text or "SSL" in text:
            return f"the secure connection failed: {text[:160]}"
        if "ame or service" in text or "getaddrinfo" in text or "resolution" in text:
            return "no such host"
        if "refused" in text:
            return "connection refused; is it running, and is this its port?"
        return f"no connection: {text[:160]}"
    if isinstance(error, httpx.RemoteProtocolError):
        return f"the answer broke off: {text[:120]}"
    if isinstance(error, httpx.DecodingError):
        return "the answer cannot be unpacked"
    return f"{type(error).__name__}: {text[:160]}"
