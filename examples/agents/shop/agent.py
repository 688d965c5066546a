"""An app to audit: an agent that reads a log and may restart a pod, asked by another one."""

from __future__ import annotations

from typing import Any

from google.adk.agents import LlmAgent
from google.adk.apps import App
from google.adk.tools import AgentTool


def read_log(service: str, lines: int = 20) -> dict[str, Any]:
    """Read the last lines of a service's log."""
    return {"status": "ok", "service": service, "lines": lines}


def restart_pod(pod: str) -> dict[str, Any]:
    """Restart a pod."""
    return {"status": "ok", "pod": pod}


clerk = LlmAgent(
    name="clerk",
    description="reads logs",
    model="gemini-2.5-flash",
    instruction="Read the log you are asked for.",
    tools=[read_log],
)
root_agent = LlmAgent(
    name="shop",
    model="gemini-2.5-flash",
    instruction="Find out why the shop is slow.",
    tools=[AgentTool(clerk), restart_pod],
)
app = App(name="shop", root_agent=root_agent)
