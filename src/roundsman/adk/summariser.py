"""The compaction summariser calls its model past every hook, after the run's last event too; the
account is still bound there, so that the model judges. What it spends is a share of its own."""

from __future__ import annotations

from functools import cache
from typing import Any

from google.adk.agents import LlmAgent
from google.adk.apps import App

from roundsman.adk.current import charged_to

SHARE = "(compaction)"


@cache
def _named_class(cls: type[Any]) -> type[Any]:
    async def maybe_summarize_events(self: Any, *, events: Any) -> Any:
        with charged_to(SHARE):
            return await super(named, self).maybe_summarize_events(events=events)

    body = {
        "__module__": cls.__module__,
        "__qualname__": cls.__qualname__,
        "maybe_summarize_events": maybe_summarize_events,
        "_roundsman_named": True,
    }
    metaclass: Any = type(cls)
    named: Any = metaclass(cls.__name__, (cls,), body)
    return named


def name_summariser(app: App) -> None:
    """Charge the app's summariser as a share, in place; one is made as the engine would."""
    config = app.events_compaction_config
    if config is None:
        return
    if config.summarizer is None and isinstance(app.root_agent, LlmAgent):
        from google.adk.apps.llm_event_summarizer import LlmEventSummarizer

        config.summarizer = LlmEventSummarizer(llm=app.root_agent.canonical_model)
    summariser: Any = config.summarizer
    if summariser is not None and not hasattr(summariser, "_roundsman_named"):
        kind: Any = type(summariser)
        summariser.__class__ = _named_class(kind)
