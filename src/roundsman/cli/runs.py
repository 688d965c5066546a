"""`roundsman runs list|show|delete|prune|export`: what the journal holds."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from roundsman.cli.retention import export, prune
from roundsman.errors import JournalDamaged, UsageError

if TYPE_CHECKING:
    from roundsman.ledger import Record, RunInfo, Store

_json = click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
_run = click.argument("run", metavar="RUN")


@click.group()
def runs() -> None:
    """List, show and delete recorded runs.

    Every run is recorded as it happens in $ROUNDSMAN_HOME (default ~/.local/state/roundsman). RUN is
    a run's id or its beginning, as `runs list` shows it.
    """


@runs.command("list")
@_json
def list_runs(as_json: bool) -> None:
    """List all runs, newest first."""
    from roundsman.ledger.expected import expected

    with open_journal() as store:
        found = expected(store) + store.runs()
    if as_json:
        _print_json([as_data(one) for one in found])
    elif not found:
        click.echo("no runs yet; start one with: roundsman investigate PATH")
    else:
        for line in table(found, shutil.get_terminal_size((100, 24)).columns):
            click.echo(line)
        if any(one.status == "queued" for one in found):
            click.echo("queued: asked for and not begun; see: roundsman queue")
        if any(one.status == "answered" for one in found):
            click.echo(f"answered: {GO_ON.format('RUN')}")


@runs.command()
@_run
@_json
@click.option(
    "--evidence", "evidence_id", metavar="ID", help="One action of the run, whole: a3, for example."
)
def show(run: str, as_json: bool, evidence_id: str | None) -> None:
    """Show a run's report, or one of its actions whole.

    RUN is an id or its beginning. The report names its evidence by the ids of actions (a1, a2 ...);
    --evidence shows what such an action asked and everything it got. The chain of the journal is
    checked on the way: exit status 2 when it was changed.
    """
    from roundsman.cli.journal_view import evidence_of, interim_report
    from roundsman.ledger.view import decisions

    with open_journal() as store:
        info = resolve(store, run)
        saved = store.report(info.run_id)
        stopped = (saved or {}).get("stop") or {}
        if stopped.get("reason") == "asked" and info.status != "waiting":
            saved = None  # of when it waited; more has happened since
        damage: JournalDamaged | None = None
        records: list[Record] = []
        try:
            store.verify(info.run_id)
            records = store.records(info.run_id)
        except JournalDamaged as error:
            # What is there is still shown; the error ends the command.
            damage = error
        if info.damaged and damage is None:
            damage = JournalDamaged(f"run {info.run_id}: {info.damaged}")
        remedy = _remedy_in(store, info.run_id, records)
        saved = remedy or saved
    if evidence_id is not None:
        if damage is not None:
            raise damage
        _show_evidence(evidence_of(info.run_id, evidence_id, records, saved), as_json)
        return
    if as_json:
        journal = {"ok": damage is None, "records": len(records), "error": damage and str(damage)}
        decided = decisions(records)
        data = as_data(info) | {"journal": journal, "decisions": decided, "report": saved}
        _print_json(data)
    else:
        from roundsman.report import PipedConsole, to_terminal
        from roundsman.report.text import plural

        if remedy:
            from roundsman.cli.remedy_view import report_lines

            click.echo("\n".join(report_lines(remedy)))
        else:
            to_terminal(saved or interim_report(info, records), PipedConsole())
        click.echo(f"status {info.status}, {plural(len(records), 'record')} in the journal")
        if info.status == "answered":
            click.echo(f"answered: {GO_ON.format(info.run_id)}")
    if damage is not None:
        raise damage


def _remedy_in(store: Store, run_id: str, records: list[Record]) -> dict[str, Any] | None:
    """How a remedy's run stands, None when it is none."""
    from roundsman.ledger.view import REMEDY, kind_of_run

    if kind_of_run(records) != REMEDY:
        return None
    from roundsman.remedy.outcome import report_of

    return report_of(store, run_id)


@runs.command()
@_run
def delete(run: str) -> None:
    """Forget a run and its journal for good. RUN is an id or its beginning."""
    with open_journal() as store:
        run_id = resolve_id(store, run)
        store.delete(run_id)
    click.echo(f"deleted run {run_id}")


runs.add_command(prune)
runs.add_command(export)


def resolve(store: Store, given: str) -> RunInfo:
    """The run of this id, or the only one whose id begins so.

    Raises:
        RunNotFound: there is none.
        UsageError: the beginning fits several.
    """
    run_id = resolve_id(store, given)
    return store.info(run_id)


def resolve_id(store: Store, given: str) -> str:
    """The id of the run, without reading a journal: one that is damaged hinders no other.

    Raises:
        RunNotFound: there is none.
        UsageError: the beginning fits several.
    """
    known = store.ids()
    fitting = [one for one in known if one == given] or [
        one for one in known if given and one.startswith(given)
    ]
    if len(fitting) == 1:
        return fitting[0]
    if not fitting:
        from roundsman.ledger.expected import refuse_expected
        from roundsman.ledger.records import no_such_run

        refuse_expected(store, given)
        raise no_such_run(_clean(given, 80), known)
    ids = ", ".join(fitting[:5]) + (", ..." if len(fitting) > 5 else "")
    raise UsageError(f"{given!r} is the beginning of {len(fitting)} runs ({ids}); give more of it")


_NOT_GOING = frozenset({"queued", "answered"})
"""What the list tells apart, and JSON calls `waiting` (for a worker, for `resume`)."""


def as_data(info: RunInfo) -> dict[str, Any]:
    """A run as `--json` gives it; `started` is ISO-8601 in UTC. `status` keeps to the five words others
    rely on; `state` is the finer one the table shows, where there is one."""
    finer = info.status in _NOT_GOING
    started = datetime.fromtimestamp(info.started, UTC).isoformat(timespec="seconds")
    return {
        "run_id": info.run_id,
        "status": "waiting" if finer else info.status,
        **({"state": info.status} if finer else {}),
        "started": started.replace("+00:00", "Z"),
        "question": info.question,
        "rounds": info.rounds,
        "usage": info.usage,
        **({"damaged": info.damaged} if info.damaged else {}),
    }


def table(found: list[RunInfo], width: int) -> list[str]:
    """Columns no wider than `width` (at least 60); the question takes what is left."""
    from roundsman.report.text import show_number

    rows = [("RUN", "STATUS", "STARTED (UTC)", "ROUNDS", "TOKENS", "QUESTION")]
    for one in found:
        started = datetime.fromtimestamp(one.started, UTC).strftime("%Y-%m-%d %H:%M")
        tokens = show_number(one.usage.get("tokens", 0))
        question = _clean(one.question, 300)
        status = "damaged" if one.damaged else one.status
        rows.append((one.run_id, status, started, str(one.rounds), tokens, question))
    sizes = [max(len(row[column]) for row in rows) for column in range(5)]
    room = max(width, 60) - sum(sizes) - 2 * 5
    lines = []
    for row in rows:
        cells = [
            cell.rjust(size) if column in (3, 4) else cell.ljust(size)
            for column, (cell, size) in enumerate(zip(row, sizes, strict=False))
        ]
        question = row[5] if len(row[5]) <= room else row[5][: max(0, room - 3)].rstrip() + "..."
        lines.append("  ".join([*cells, question if room > 7 else ""]).rstrip())
    return lines


def _show_evidence(found: dict[str, Any], as_json: bool) -> None:
    if as_json:
        _print_json(found)
        return
    from roundsman.report import clean, to_json
    from roundsman.report.evidence import query_text

    click.echo(f"{found['id']}  {clean(found['tool'], 120)}  {clean(found['status'], 40)}")
    for said in found["decisions"]:
        why = clean(said.get("reason"))
        click.echo(f"{clean(said.get('verdict'), 40)} by {clean(said.get('rule'), 80)}: {why}")
    query = query_text(found)
    if query:
        click.echo(f"\n{query}")
    result = found["result"]
    text = result if isinstance(result, str) else to_json(result)
    click.echo("\n" + clean(text, 200_000, lines=True))


GO_ON = "a person has; go on with roundsman resume {} (in an app of your own: roundsman.adk.resume)"


@contextmanager
def open_journal() -> Iterator[Store]:
    """The journal, closed on the way out."""
    from roundsman.ledger import open_store

    store = open_store()
    try:
        yield store
    finally:
        store.close()


def _clean(text: str, limit: int) -> str:
    from roundsman.report import clean

    return clean(text, limit)


def _print_json(data: object) -> None:
    from roundsman.report import to_json

    click.echo(to_json(data), nl=False)
