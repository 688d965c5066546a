"""Hints of the engine that are wrong beside a guard."""

from __future__ import annotations

import logging

_SOURCE = "google_adk.google.adk.agents.run_config"


class _WithoutCallLimit(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        return "max_llm_calls is less than or equal to 0" not in str(record.msg)


def quiet_call_limit() -> None:
    """Drop the warning that a run without the engine's own call limit may never end: the guard
    counts, and its limit holds across nested runs. Other warnings stay."""
    logger = logging.getLogger(_SOURCE)
    if not any(isinstance(one, _WithoutCallLimit) for one in logger.filters):
        logger.addFilter(_WithoutCallLimit())
