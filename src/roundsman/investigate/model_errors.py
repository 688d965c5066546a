"""What went wrong with one request to a model's own server: one line, and whether to ask again."""

from __future__ import annotations

import time
from email.utils import parsedate_to_datetime
from typing import Any

import httpx
import openai

from roundsman.errors import ModelServerError
from roundsman.investigate.model_traffic import Road

PAUSES = (1.0, 4.0, 15.0)
"""Seconds before the second, third and fourth attempt."""
LONGEST_PAUSE = 60.0
"""Seconds a server may ask to wait; one that asks for more is left."""
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504, 529})
_UNSPENT = frozenset({408, 425, 429, 503})
"""Answers of a server that did not begin: it is busy, or still loads the model."""
_TOO_LONG = ("context", "too long", "n_ctx", "maximum")
_OF_SCHEMAS = ("schema", "grammar", "response_format", "response format", "guided")
_OF_TOOLS = ("tool", "jinja", "function call")


def pause_after(error: Exception, attempt: int) -> float | None:
    """Seconds until the request is made again, None for a failure that will not pass.

    Raises:
        ModelServerError: it failed at the last attempt, too; says how often it was asked.
    """
    if not isinstance(error, ModelServerError) or not error.passing:
        return None
    if attempt > len(PAUSES):
        raise ModelServerError(f"{error}; asked {attempt} times", error.status) from None
    return max(PAUSES[attempt - 1], error.wait)


def takes_no_tools(error: ModelServerError) -> bool:
    """Whether a server's refusal is about the tools of the request."""
    if error.status in (400, 422, 501):
        return True
    return error.status == 500 and any(word in str(error).casefold() for word in _OF_TOOLS)


def may_be_the_schema(error: ModelServerError) -> bool:
    """Whether a server's refusal may be about the schema that a step is held to."""
    if error.status in (400, 422, 501):
        return True
    return error.status == 500 and any(word in str(error).casefold() for word in _OF_SCHEMAS)


def of_status(error: openai.APIStatusError, url: str, model: str, road: Road) -> ModelServerError:
    """From an HTTP status that is no success."""
    said, status = road.words(error.body), error.status_code
    told = f" ({said})" if said else ""
    wait = _asked_to_wait(error.response.headers.get("retry-after"))
    passing = status in _PASSING and wait <= LONGEST_PAUSE
    too_long = status in (400, 413) and any(word in said.casefold() for word in _TOO_LONG)
    if status in (401, 403):
        host = httpx.URL(url).netloc.decode("ascii", "replace")
        why = f"a login is needed; give --header '{host}=Authorization: Bearer ${{VARIABLE}}'"
    elif too_long:
        why = "the prompt does not fit the model's context; say its size with --context TOKENS"
    elif 300 <= status < 400:
        why = "it leads elsewhere, which is not followed; give the address of the server itself"
    elif status == 404:
        why = f"no model {model!r} there, or the wrong path"
    elif status == 429:
        why = "it has too many requests at the moment"
    elif status == 503:
        why = "it is not ready or overloaded"
    elif status >= 500:
        why = "the server failed"
    else:
        why = "the request was refused"
    if wait > LONGEST_PAUSE:
        why += f"; it asks to wait {wait:.0f} s, longer than the {LONGEST_PAUSE:g} s a run waits"
    return ModelServerError(
        f"{url}: HTTP {status}: {why}{told}",
        status,
        passing=passing,
        wait=wait if passing else 0.0,
        unspent=status in _UNSPENT or too_long,
        too_long=too_long,
    )


def of_connection(error: openai.APIConnectionError, url: str) -> ModelServerError:
    """From a request that came to no answer."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ModelServerError):
        cause = cause.__cause__
    if cause is not None:
        return cause
    if isinstance(error.__cause__, httpx.ConnectError | httpx.ConnectTimeout):
        why = "no connection"
        return ModelServerError(f"{url}: the call broke off: {why}", passing=True, unspent=True)
    text = " ".join(str(error.__cause__ or error).split())[:160]
    return ModelServerError(f"{url}: the call broke off: {text}", passing=True)


def _asked_to_wait(header: Any) -> float:
    """Seconds of a Retry-After header: a number, or a date; 0 for none and for nonsense."""
    text = str(header or "").strip()
    if text.isascii() and text.isdecimal():
        return float(text[:9])
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - time.time())
    except (ValueError, TypeError, OverflowError):
        return 0.0
