"""Google Cloud Model Armor as a check of texts.

The engine has a plugin of its own for it (`google.adk.integrations.model_armor`); as a check it sees what
every other check sees, in every place, and its blocks are on record. The texts leave the machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from roundsman.errors import MissingDependency, PolicyError

LONGEST, OVERLAP = 65_536, 4_096
"""Characters of one request, and of two neighbours: filters skip what goes beyond as many tokens."""
_TIMEOUT = 30.0
"""Seconds of one request: the check's own budget is shorter, but a thread must come to an end."""


class NotScreened(Exception):
    """Model Armor did not look at all of a text: a check that raises blocks."""


def model_armor(
    template: str, *, replies: bool = False, endpoint: str = "", credentials: Any = None
) -> Callable[[str], str | None]:
    """A function for `python:` of a check; declare that `heavy`, since it asks a server.

    Args:
        template: `projects/P/locations/L/templates/T`.
        replies: the template's filters for what a model says, instead of those for prompts.
        endpoint: another address than the location's own, such as `http://127.0.0.1:8080`.
        credentials: of google.auth; by default the application's own.

    Returns:
        A function of a text that names the filters that matched, or returns None. It raises when the
        server did not look at everything.

    Raises:
        MissingDependency: google-cloud-modelarmor is not installed.
        PolicyError: the template is no full name.
    """
    parts = template.split("/")
    if len(parts) != 6 or parts[::2] != ["projects", "locations", "templates"] or not all(parts):
        raise PolicyError(
            f"{template!r} is no template; accepted: projects/P/locations/L/templates/T"
        )
    try:
        from google.cloud import modelarmor_v1 as armor
    except ImportError as error:
        raise MissingDependency(
            "Model Armor needs google-cloud-modelarmor; install it with: pip install 'roundsman[armor]'"
        ) from error
    client: list[Any] = []

    def ask(text: str) -> Any:
        if not client:  # at the first text: credentials are not needed to load a policy
            address = endpoint or f"modelarmor.{parts[3]}.rep.googleapis.com"
            options = {"api_endpoint": address}
            client.append(
                armor.ModelArmorClient(
                    transport="rest", client_options=options, credentials=credentials
                )
            )
        data = armor.DataItem(text=text)
        if replies:
            said = armor.SanitizeModelResponseRequest(name=template, model_response_data=data)
            answer = client[0].sanitize_model_response(request=said, timeout=_TIMEOUT)
        else:
            asked = armor.SanitizeUserPromptRequest(name=template, user_prompt_data=data)
            answer = client[0].sanitize_user_prompt(request=asked, timeout=_TIMEOUT)
        return answer.sanitization_result

    def screened(text: str) -> str | None:
        for piece in _pieces(text):
            result = ask(piece)
            if result.filter_match_state == armor.FilterMatchState.MATCH_FOUND:
                found = _matched(result, armor.FilterMatchState.MATCH_FOUND)
                return f"model armor: {', '.join(found) or 'match'}"
            if result.invocation_result != armor.InvocationResult.SUCCESS:
                how = armor.InvocationResult(result.invocation_result).name.lower()
                raise NotScreened(f"Model Armor did not look at everything ({how})")
        return None

    return screened


def _pieces(text: str) -> Iterator[str]:
    step = LONGEST - OVERLAP
    for start in range(0, max(1, len(text) - OVERLAP), step):
        yield text[start : start + LONGEST]


def _matched(result: Any, match: Any) -> list[str]:
    """Names of the filters that matched, as the server gives them."""
    found = []
    for name, one in result.filter_results.items():
        kind = type(one).pb(one).WhichOneof("filter_result")
        inner = getattr(one, kind) if kind else None
        states = [getattr(inner, "match_state", None)]
        states += [
            getattr(getattr(inner, part, None), "match_state", None)
            for part in ("inspect_result", "deidentify_result")
        ]
        if match in states:
            found.append(name)
    return sorted(found)
