"""What the journal costs on both stores, beside a bare step; resuming long runs; bytes."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.steps import _once
from roundsman.drill.database_server import database_server
from roundsman.errors import DrillFailed, MissingDependency
from roundsman.guard import events as ev
from roundsman.investigate import investigate
from roundsman.ledger import LiveRun, Store
from roundsman.ledger.postgres import PostgresDatabase
from roundsman.ledger.postgres_url import address_of
from roundsman.policy import load_policy

OUTAGE = Path(__file__).parents[1] / "examples" / "incidents" / "pool-exhaustion"
_STEPS = 200


@dataclass
class JournalCost:
    """Seconds of wall clock. `bare`: a step of the engine with one tool call, without any guard.
    `by_store`: a step and an action in the journal, intents committed, outcomes riding."""

    bare: float
    by_store: dict[str, float]


@contextlib.contextmanager
def _stores() -> Iterator[dict[str, Store]]:
    with tempfile.TemporaryDirectory() as name, contextlib.ExitStack() as stack:
        found = {"SQLite": Store(Path(name) / "runs.sqlite")}
        try:
            server = stack.enter_context(database_server())
        except (MissingDependency, DrillFailed) as error:
            print(f"without PostgreSQL: {error}")
        else:
            # as a server is run: every commit on the disk
            server.postgres.run("alter system set fsync = on")
            server.postgres.run("select pg_reload_conf()")
            for name, more in (
                ("PostgreSQL", ""),
                ("PostgreSQL, commits not awaited", "?options=-csynchronous_commit%3Doff"),
            ):
                address = address_of(server.new_database() + more)
                found[name] = Store(PostgresDatabase(address))
        yield found
        for store in found.values():
            store.close()


def _pairs(store: Store) -> float:
    """Seconds of a step with one action."""
    run = LiveRun.start(store, (), policy="p")
    begun = time.perf_counter()
    for number in range(_STEPS):
        step, action = run.next_step_id(), run.next_action_id()
        run.propose(ev.StepBegins(id=step, agent="a", request=f"q{number}", reserved_tokens=30))
        run.settle(ev.StepEnds(id=step, agent="a", tokens=10, reply={"text": "x" * 300}))
        run.propose(ev.ActionBegins(id=action, tool="look", effect="read", args={"place": number}))
        result = {"status": "ok", "excerpts": [f"nothing at {number}"]}
        run.settle(ev.ActionEnds(id=action, tool="look", effect="read", result=result))
    spent = time.perf_counter() - begun
    run.end("done")
    return spent / _STEPS


def journal_cost(repeat: int) -> JournalCost:
    """Medians of interleaved repetitions."""
    bare = list[float]()
    with _stores() as stores:
        spans: dict[str, list[float]] = {name: [] for name in stores}
        for turn in range(repeat + 1):
            one = _once(_STEPS, False, False) / _STEPS
            found = {name: _pairs(store) for name, store in stores.items()}
            if turn:  # the first of each warms up
                bare.append(one)
                for name, span in found.items():
                    spans[name].append(span)
    return JournalCost(median(bare), {name: median(found) for name, found in spans.items()})


def long_journal(store: Store, rounds: int) -> str:
    """An interrupted run of eight records a round; its id."""
    run = LiveRun.start(store, (), policy="p")
    for index in range(1, rounds + 1):
        run.write(ev.RoundBegins(loop="l", index=index), durable=False)
        for turn in ("q", "r"):
            step = run.next_step_id()
            run.write(
                ev.StepBegins(id=step, agent="a", request=f"{turn}{index}", reserved_tokens=30,
                              loop="l"), durable=False)  # fmt: skip
            reply = {"content": {"parts": [{"text": "x" * 300}]}}
            run.write(ev.StepEnds(id=step, agent="a", tokens=10, reply=reply), durable=False)
        action = run.next_action_id()
        run.write(
            ev.ActionBegins(id=action, tool="look", effect="read", agent="a", call=f"c{index}",
                            args={"place": index}, loop="l"), durable=False)  # fmt: skip
        result = {"status": "ok", "excerpts": ["nothing"] * 5}
        run.write(
            ev.ActionEnds(id=action, tool="look", effect="read", result=result), durable=False
        )
        run.write(ev.RoundEnds(loop="l", index=index), durable=True)
    run._lease.release()
    return run.run_id


def resume_cost(repeat: int, rounds: int = 1250) -> dict[str, tuple[int, float, float]]:
    """By store: records of the run, seconds of the imports a resume needs, seconds to take it up."""
    found = {}
    imports = [sys.executable, "-c", "import roundsman.investigate.resume"]
    with _stores() as stores:
        for name, store in list(stores.items())[:2]:
            run_id = long_journal(store, rounds)
            loading, taking = list[float](), list[float]()
            for _ in range(repeat):
                begun = time.perf_counter()
                subprocess.run(imports, check=True)
                loading.append(time.perf_counter() - begun)
                begun = time.perf_counter()
                run = LiveRun.reopen(store, (), run_id)
                taking.append(time.perf_counter() - begun)
                run._lease.release()
            found[name] = (len(store.rows(run_id)), median(loading), median(taking))
    return found


def bytes_each(runs: int = 20) -> dict[str, float]:
    """Bytes an investigation of the built-in analyst takes, by store."""
    sizes = {}
    with _stores() as stores:
        for name, store in list(stores.items())[:2]:
            before = _size(store)
            for _ in range(runs):
                investigate(OUTAGE, load_policy("default"), store=store)
            sizes[name] = (_size(store) - before) / runs
    return sizes


def _size(store: Store) -> int:
    if isinstance(store.db, PostgresDatabase):
        ((size,),) = store.db.query(
            "select sum(pg_total_relation_size(c.oid)) from pg_class c join pg_namespace n on "
            "n.oid = c.relnamespace where n.nspname = 'roundsman' and c.relkind = 'r'"
        )
        return int(size)
    store.db.query("pragma wal_checkpoint(truncate)")
    return os.path.getsize(store.name)
