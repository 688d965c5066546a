"""The one road to a model's server: bytes and time bounded, secrets put in last, a body that is no
answer told in one line."""

from __future__ import annotations

import asyncio
import json
import ssl
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import httpx

from roundsman.errors import ModelServerError
from roundsman.investigate.endpoint import Endpoint
from roundsman.investigate.model_replies import plain
from roundsman.sources.headers import masked

#: bytes of one reply, unpacked: a hundred times what a step may write
MOST_BYTES = 2 * 1024 * 1024
#: seconds until connected, and for one whole reply; a round's own timeout may end it before
CONNECT, WHOLE = 5.0, 600.0
#: seconds an unused connection is kept; servers leave one after five and more
KEPT = 2.0


class Road(httpx.AsyncBaseTransport):
    """Sends a request with the endpoint's headers and reads its whole reply within bounds.

    Headers are put in here, below the client library, so that nothing which logs or shows a client
    or a request's options holds them.
    """

    def __init__(self, endpoint: Endpoint, most_bytes: int = 0) -> None:
        self.endpoint, self._most = endpoint, most_bytes or MOST_BYTES
        self._secrets: tuple[str, ...] = ()
        safe = urlsplit(endpoint.url).scheme == "https"
        self._verify = ssl.create_default_context() if safe else False
        # connections belong to an event loop, and a model may be called in several
        self._inner: WeakKeyDictionary[asyncio.AbstractEventLoop, httpx.AsyncHTTPTransport]
        self._inner = WeakKeyDictionary()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """The reply, read whole. Raises ModelServerError for what is no reply."""
        headers = self.endpoint.header_values()
        self._secrets = tuple(headers.values())
        request.headers.pop("authorization", None)
        request.headers.update({"accept-encoding": "identity", **headers})
        answer = await self._transport().handle_async_request(request)
        try:
            body = bytearray()
            async for piece in answer.aiter_bytes(64 * 1024):
                body += piece
                if len(body) > self._most:
                    raise ModelServerError(
                        f"{self.endpoint.url}: the reply has over {self._most >> 20} MB and does "
                        "not end; the server ignores max_tokens"
                    )
        finally:
            await answer.aclose()
        data = bytes(body)
        if answer.is_success:  # some say 201 or 203 with a reply
            data = self._checked(data)
        status = 200 if answer.is_success else answer.status_code
        kept = {"content-type": "application/json", "content-length": str(len(data))}
        if "retry-after" in answer.headers:
            kept["retry-after"] = answer.headers["retry-after"]
        return httpx.Response(status, headers=kept, content=data)

    def _transport(self) -> httpx.AsyncHTTPTransport:
        """The connections of the event loop that runs now."""
        loop = asyncio.get_running_loop()
        if loop not in self._inner:
            limits = httpx.Limits(keepalive_expiry=KEPT)
            self._inner[loop] = httpx.AsyncHTTPTransport(verify=self._verify, limits=limits)
        return self._inner[loop]

    async def aclose(self) -> None:
        """Give the connections of this event loop back."""
        inner = self._inner.pop(asyncio.get_running_loop(), None)
        if inner is not None:
            await inner.aclose()

    def _checked(self, data: bytes) -> bytes:
        try:
            reply = json.loads(data)
        except (ValueError, RecursionError):
            raise ModelServerError(f"{self.endpoint.url}: {self._masked(_no_json(data))}") from None
        if not isinstance(reply, dict):
            raise ModelServerError(
                f"{self.endpoint.url}: the reply is no object: {self._masked(_start(data))}"
            )
        if reply.get("error") and not reply.get("choices"):
            raise ModelServerError(f"{self.endpoint.url}: {self.words(reply)}")
        return json.dumps(_without(plain(reply), self.endpoint.secrets())).encode()

    def words(self, body: Any) -> str:
        """What a server says went wrong, in one line without secrets."""
        error = body.get("error", body) if isinstance(body, dict) else body
        text = error.get("message") if isinstance(error, dict) else error
        line = " ".join(str(text or "").split())[:300]
        return "" if line.startswith("<") else self._masked(line)

    def _masked(self, text: str) -> str:
        return masked(text, self._secrets)


def _without(value: Any, secrets: Sequence[str]) -> Any:
    """The reply without what a server repeats of its headers, in texts, names and arguments."""
    if not secrets:
        return value
    if isinstance(value, str):
        for one in secrets:
            value = value.replace(one, "***").replace(json.dumps(one)[1:-1], "***")
        return value
    if isinstance(value, dict):
        return {name: _without(one, secrets) for name, one in value.items()}
    return [_without(one, secrets) for one in value] if isinstance(value, list) else value


def _no_json(data: bytes) -> str:
    text = data.lstrip()
    if not text:
        return "an empty reply"
    if text[:1] == b"<":
        return "a web page came, not a reply; is this the address of the server itself, with /v1?"
    if text.startswith((b"data:", b"event:", b":")):
        return "a stream of events came, though none was asked for"
    if text[:1] in b"{[":
        return "the reply breaks off or is no valid JSON"
    return f"no JSON: {_start(data)}"


def _start(data: bytes) -> str:
    return repr(data[:60].decode("utf-8", "replace"))
