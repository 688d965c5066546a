"""Which model investigates: the analyst, or whatever ADK takes."""

from __future__ import annotations

import os
import re
from difflib import get_close_matches
from importlib.util import find_spec
from typing import Any

from roundsman.errors import MissingDependency, UsageError
from roundsman.investigate.endpoint import PREFIX, Endpoint, look

_KEYS = (
    (("gemini",), ("GOOGLE_API_KEY", "GEMINI_API_KEY", "GOOGLE_GENAI_USE_VERTEXAI")),
    (("openai/", "gpt-"), ("OPENAI_API_KEY",)),
    (("claude", "anthropic/"), ("ANTHROPIC_API_KEY", "GOOGLE_CLOUD_PROJECT")),
)

#: what the engine imports for a name it does not serve itself
_PACKAGES = ((r"claude-", "anthropic"), (r"gpt-|o\d+-", "openai"), (r"[^/]+/", "litellm"))

_SHOWN = ("analyst", "gemini-2.5-flash")
"""Names to begin with, beside those of a server of one's own."""


def model_named(name: str, endpoint: Endpoint | None = None) -> Any:
    """The model object of a name; with an endpoint, the one that server has.

    Raises:
        ModelServerError: the server cannot be used, or does not have the model.
        MissingDependency: its key or package is not there; the message says what to set or install.
        UsageError: no provider takes the name.
    """
    if endpoint is not None:
        return _at(name, endpoint)
    if name == "analyst":
        from roundsman.investigate.analyst_model import AnalystModel

        return AnalystModel()
    for prefixes, keys in _KEYS:
        if name.startswith(prefixes) and not any(os.environ.get(k) for k in keys):
            raise MissingDependency(
                f"model {name!r} needs a key: set {' or '.join(keys)}, or use --model analyst, "
                "which needs none"
            )
    from google.adk.models.registry import LLMRegistry

    try:
        return LLMRegistry.new_llm(name)
    except ImportError as error:
        raise _missing(name, error.name or str(error)) from error
    except ValueError as error:
        if package := _lacking(name):
            raise _missing(name, package) from error
        raise _unknown(name, error) from error


def check_name(name: str, endpoint: Endpoint | None = None) -> None:
    """Look at a name without asking anybody: no key is needed, and no package either.

    Raises:
        UsageError: no provider takes the name.
    """
    if endpoint is not None:
        _check_served(name)
        return
    if name == "analyst":
        return
    from google.adk.models.registry import LLMRegistry

    try:
        LLMRegistry.resolve(name)
    except ImportError:
        return
    except ValueError as error:
        if not _lacking(name):
            raise _unknown(name, error) from error


def _lacking(name: str) -> str:
    """The package that would have to be here for the engine to know the name; empty when it is."""
    package = next((p for pattern, p in _PACKAGES if re.match(pattern, name)), "")
    return package if package and find_spec(package) is None else ""


def _unknown(name: str, error: ValueError) -> UsageError:
    near = get_close_matches(name.lower(), _SHOWN, 1)
    if near:
        return UsageError(f"model {name!r} is not known; did you mean {near[0]!r}?")
    first = (str(error).splitlines() or [""])[0]
    return UsageError(
        f"model {name!r} is not known ({first}); try {', '.join(_SHOWN)} or openai/NAME"
    )


def _check_served(name: str) -> None:
    if not name.startswith(PREFIX) or not name.removeprefix(PREFIX).strip():
        raise UsageError(
            f"model {name!r}: a server of your own (--base-url) takes --model openai/NAME, with the "
            "name the server has for it"
        )


def _at(name: str, endpoint: Endpoint) -> Any:
    _check_served(name)
    try:
        from roundsman.investigate.local_model import LocalModel
    except ImportError as error:
        raise MissingDependency(
            f"model {name!r} needs the package openai, which is not installed: "
            "pip install openai, or 'roundsman[local]', which brings a server for it as well"
        ) from error
    model = name.removeprefix(PREFIX)
    return LocalModel.at(endpoint, model, look(endpoint, model))


def _missing(name: str, package: str) -> MissingDependency:
    return MissingDependency(
        f"model {name!r} needs the package {package}, which is not installed: "
        f"pip install 'roundsman[all]' (or: pip install {package})"
    )
