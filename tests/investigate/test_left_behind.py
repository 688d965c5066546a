"""A process that investigates again and again (a worker) does not grow by each."""

from __future__ import annotations

import gc
import weakref
from pathlib import Path

from roundsman.investigate import investigate
from roundsman.ledger import Store
from roundsman.policy import load_policy

OUTAGE = Path(__file__).parents[2] / "examples" / "incidents" / "pool-exhaustion"


def test_an_investigation_that_is_over_leaves_no_app_and_no_journal(tmp_path: Path) -> None:
    store = Store(tmp_path / "runs.sqlite")
    report, _ = investigate(OUTAGE, load_policy("default"), store=store)
    assert report["stop"]["reason"] == "done"
    left = weakref.ref(store)
    del store
    gc.collect()
    assert left() is None
