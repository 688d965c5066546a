"""The remedies that ship."""

from __future__ import annotations

from roundsman.remedy.builtin.restart_service import RestartService
from roundsman.remedy.builtin.revert_commit import RevertCommit
from roundsman.remedy.builtin.set_config_back import SetConfigBack

BUILTIN = (SetConfigBack, RevertCommit, RestartService)
"""In the order they are proposed: the most exact first."""
