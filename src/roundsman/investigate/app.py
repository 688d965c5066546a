"""The investigator as an ADK app, for `adk run` and `adk web`.

The incident is the folder in `$ROUNDSMAN_INCIDENT`, the policy that in `$ROUNDSMAN_POLICY`
(default: `default`), the model that in `$ROUNDSMAN_MODEL` (default: `analyst`), its own server, for
`openai/...`, that in `$ROUNDSMAN_BASE_URL`.
"""

from __future__ import annotations

import os
from pathlib import Path

from google.adk.apps import App

from roundsman.errors import UsageError
from roundsman.investigate.agent import build_app, declared
from roundsman.investigate.endpoint import PREFIX, Endpoint
from roundsman.investigate.incident import load_incident
from roundsman.investigate.models import model_named
from roundsman.investigate.threads import threaded
from roundsman.investigate.tools import make_tools
from roundsman.policy import load_policy


def app_from_environment(name: str = "investigator") -> App:
    """The guarded investigator over the folder the environment names.

    Raises:
        UsageError: no folder is named.
    """
    folder = os.environ.get("ROUNDSMAN_INCIDENT")
    if not folder:
        raise UsageError("set ROUNDSMAN_INCIDENT to the incident folder to investigate")
    incident = load_incident(Path(folder))
    policy = declared(load_policy(os.environ.get("ROUNDSMAN_POLICY", "default")))
    name = os.environ.get("ROUNDSMAN_MODEL", "analyst")
    endpoint = Endpoint.from_environment() if name.startswith(PREFIX) else None
    model = model_named(name, endpoint)
    return build_app(threaded(make_tools(incident)), model, policy, name=name)


def __getattr__(name: str) -> App:
    if name == "app":
        return app_from_environment()
    raise AttributeError(f"module 'roundsman.investigate.app' has no attribute {name!r}")
