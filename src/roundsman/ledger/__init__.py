"""The write-ahead journal: stores, leases, and the run as it happens."""

from __future__ import annotations

from roundsman.ledger.fold import fold, overruns, usage_of
from roundsman.ledger.history import History, Past
from roundsman.ledger.ids import new_run_id
from roundsman.ledger.opening import open_store
from roundsman.ledger.records import Record, RunInfo, default_home
from roundsman.ledger.run import LiveRun
from roundsman.ledger.settle import settle_unknown
from roundsman.ledger.stop import person, stop_run
from roundsman.ledger.store import Store

__all__ = [
    "History",
    "LiveRun",
    "Past",
    "Record",
    "RunInfo",
    "Store",
    "default_home",
    "fold",
    "new_run_id",
    "open_store",
    "overruns",
    "person",
    "settle_unknown",
    "stop_run",
    "usage_of",
]
