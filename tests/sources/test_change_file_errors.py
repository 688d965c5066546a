"""A change file that cannot be used is an error: silence would read as "nothing was deployed"."""

from __future__ import annotations

from pathlib import Path

import pytest

from roundsman.errors import SourceError
from roundsman.sources.change_files import read_change_file


@pytest.mark.parametrize("text", ['{"a": 1}', '[{"version": "v2"}]', "[" * 100_000])
def test_change_file_without_a_usable_record_is_named(text: str, tmp_path: Path) -> None:
    file = tmp_path / "deploys.json"
    file.write_text(text)
    with pytest.raises(SourceError, match=r"deploys\.json"):
        read_change_file(file, "deploy")
