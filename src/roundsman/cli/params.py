"""Kinds of parameters several commands take."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click


class Folder(click.ParamType[Path]):
    """A folder's path; an empty text is a slip of the shell, not the current folder."""

    name = "folder"

    def convert(self, value: Any, param: Any, ctx: Any) -> Path:
        """The path."""
        if not str(value).strip():
            self.fail("is empty; give a folder, . for this one", param, ctx)
        return Path(value)
