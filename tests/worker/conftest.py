from __future__ import annotations

import pytest

from roundsman.ledger import Store
from roundsman.worker import daylimit


@pytest.fixture(autouse=True)
def _no_midnight(monkeypatch: pytest.MonkeyPatch) -> None:
    """A test is over on the day it began, whenever it is run."""
    real, days = daylimit._today, list[int]()

    def today(store: Store) -> int:
        days.append(days[0] if days else real(store))
        return days[0]

    monkeypatch.setattr(daylimit, "_today", today)
