"""Innocent changes that are deployed near the onset, to be told from the guilty one."""

from __future__ import annotations

from roundsman.drill.lab import Lab


def _log_less(lab: Lab, number: int) -> None:
    config = {"LOG_EVERY": 15 + 5 * number}
    lab.deploy(lab.checkout, f"v1.4.{number + 1}", "log fewer orders", config)


def _kinder_words(lab: Lab, number: int) -> None:
    config = {"HELP_TEXT": f"Please try again in {number} minutes."}
    lab.deploy(lab.gateway, f"v1.4.{number + 1}", "say when to try again", config)


def _hint(lab: Lab, number: int) -> None:
    del number
    lab.flip(lab.names.gateway, "order_hint", not lab.flags[-1]["after"])


#: in the order they are used
DECOYS = (_log_less, _kinder_words, _hint)
