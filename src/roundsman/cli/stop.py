"""`roundsman stop`: the kill switch, from another terminal."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from roundsman.errors import RoundsmanError, RunNotFound, RunOver, UsageError

if TYPE_CHECKING:
    from roundsman.ledger import Store


class _Seconds(click.FloatRange):
    """A number between its ends; `nan` is between any two for the class it comes from."""

    def convert(self, value: Any, param: Any, ctx: Any) -> Any:
        seconds = super().convert(value, param, ctx)
        if seconds != seconds:
            self.fail(f"{value} is no number of seconds.", param, ctx)
        return seconds


@click.command()
@click.argument("run", metavar="[RUN]", required=False)
@click.option("--all", "every", is_flag=True, help="Stop every run that is not over.")
@click.option(
    "--wait", type=_Seconds(0, 3600), default=10.0, show_default=True, metavar="SECONDS",
    help="How long to wait for runs of other processes to end.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
def stop(run: str | None, every: bool, wait: float, as_json: bool) -> int:
    """End a run, or with --all every run that is not over. RUN is an id or its beginning.

    The request is on record first; the run's own process sees it before its next call, lets what is
    in flight end, and reports what it found so far. A run no process has is ended at once, a job
    that workers have not begun as it begins. A stop is final: the run cannot be resumed. Exit
    status 3 when one has not ended within --wait; it ends at its next call. 2 when RUN had come to
    its own end.
    """
    from roundsman.cli.runs import open_journal, resolve_id
    from roundsman.ledger.expected import expected
    from roundsman.ledger.stop import OVER, person

    if every == (run is not None):
        raise UsageError("give either RUN or --all; see: roundsman runs list")
    with open_journal() as store:
        ahead = [one.run_id for one in expected(store)]
        if run is not None:
            exact = [one for one in ahead if one == run]
            near = [one for one in [*ahead, *store.ids()] if one.startswith(run)]
            ahead = exact or (near if len(near) == 1 and near[0] in ahead else [])
            chosen = [] if ahead else [resolve_id(store, run)]
        else:
            chosen = [one.run_id for one in store.runs() if one.status not in OVER]
        for run_id in ahead:  # on record before the run begins: its first call finds it
            store.request_stop(run_id, person())
        rows = [{"run_id": one, "status": "stops as it begins", "error": ""} for one in ahead]
        rows += _stop_each(store, chosen, wait, alone=run is not None)
    if as_json:
        click.echo(json.dumps(rows, indent=2))
    elif not rows:
        click.echo("no run is under way")
    else:
        for row in rows:
            click.echo(
                f"{row['run_id']}  {row['status']}" + f"  {row['error']}" * bool(row["error"])
            )
            if row.get("left"):
                click.echo(f"  {row['left']}")
    return (
        3
        if any(row["status"] == "stopping" for row in rows)
        else 2 * any(row["error"] for row in rows)
    )


def _stop_each(store: Store, chosen: list[str], wait: float, alone: bool) -> list[dict[str, Any]]:
    """Ask all first, then wait for all: one that hangs keeps no other going."""
    from roundsman.ledger.stop import STOPPING, await_stop, person, stop_run

    who, rows = person(), list[dict[str, Any]]()
    for run_id in chosen:
        row: dict[str, Any] = {"run_id": run_id, "status": "failed", "error": ""}
        try:
            row["status"] = stop_run(store, run_id, who)
        except (RunOver, RunNotFound):
            if alone:
                raise
            row["status"] = _ended_as(store, run_id)
        except RoundsmanError as error:
            if alone:
                raise
            row["error"] = str(error)
        rows.append(row)
    going = [row["run_id"] for row in rows if row["status"] == STOPPING]
    left = await_stop(store, going, wait) if going else []
    for row in rows:
        if row["status"] == STOPPING and row["run_id"] not in left:
            row["status"] = _ended_as(store, row["run_id"])
        if left_as := _left_as(store, row["run_id"]):
            row["left"] = left_as
    return rows


def _left_as(store: Store, run_id: str) -> str:
    """What a remedy that was stopped leaves as it is, in a line; empty for any other run."""
    from roundsman.ledger.view import REMEDY, kind_of_run

    try:
        if kind_of_run(store.records(run_id)) != REMEDY:
            return ""
        from roundsman.remedy.outcome import report_of
        from roundsman.report import clean

        report = report_of(store, run_id)
    except RoundsmanError:  # deleted, damaged: told where it is looked at
        return ""
    said = f"{report['outcome'].upper()}: {clean(report['because'], 1000)}"
    return f"{said}; see: roundsman runs show {run_id}"


def _ended_as(store: Store, run_id: str) -> str:
    """How a run ended that was asked to: it may have come to its own end before it saw that."""
    from roundsman.ledger.stop import STOPPED

    try:
        status = store.info(run_id).status
    except RunNotFound:
        return "deleted meanwhile"
    return status if status == STOPPED else f"ended by itself ({status})"
