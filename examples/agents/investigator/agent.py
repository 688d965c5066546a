"""The investigator for `adk run`, `adk web` and `adk api_server`.

The incident is the folder in `$ROUNDSMAN_INCIDENT`; without a key it plays the analyst.
"""

from __future__ import annotations

from roundsman.investigate.app import app

__all__ = ["app"]
