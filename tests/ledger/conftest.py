from __future__ import annotations

import pytest

from roundsman.ledger import lease


@pytest.fixture
def by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """No heart that begins now beats by itself while the test lasts, however long that is."""
    monkeypatch.setattr(lease, "BEAT", 3600.0)
