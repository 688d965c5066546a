"""Beginning a journal's file: several at once, and one of an older version."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from roundsman.ledger import LiveRun, Store
from roundsman.ledger.schema import SCHEMA_VERSION

MANY = 6
OLD = """
create table runs(run_id text primary key, started real not null,
  question text not null default '', policy text not null default '',
  model text not null default '', status text not null, ended real,
  rounds integer not null default 0, usage text not null default '{}', report text);
create table leases(run_id text primary key, pid integer not null);
pragma user_version=1;
"""


def old_journal(path: Path) -> None:
    db = sqlite3.connect(path)
    db.executescript(OLD)
    db.close()


@pytest.mark.parametrize("older", [False, True])
def test_many_begin_one_journal_at_once(tmp_path: Path, older: bool) -> None:
    def begin(path: Path, together: Barrier) -> str:
        together.wait()
        store = Store(path)
        LiveRun.start(store, (), policy="p", run_id=f"run-{id(store)}").end("done")
        return store.name

    for turn in range(40):
        path = tmp_path / f"{turn}.sqlite"
        if older:
            old_journal(path)
        together = Barrier(MANY)
        with ThreadPoolExecutor(MANY) as pool:
            assert [f.result() for f in [pool.submit(begin, path, together) for _ in range(MANY)]]


def test_an_older_journal_is_brought_up_to_date_once(tmp_path: Path) -> None:
    path = tmp_path / "runs.sqlite"
    old_journal(path)
    for _ in range(2):
        Store(path)
    db = sqlite3.connect(path)
    assert db.execute("pragma user_version").fetchone() == (SCHEMA_VERSION,)
    assert "tail" in {row[1] for row in db.execute("pragma table_info(runs)")}
    assert "start" in {row[1] for row in db.execute("pragma table_info(leases)")}
