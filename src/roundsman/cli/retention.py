"""`roundsman runs prune` and `runs export`."""

from __future__ import annotations

import time

import click

from roundsman.errors import LedgerError


@click.command()
@click.option("--older", required=True, metavar="AGE", help="Age a run must have: 30d, 2w, 12h.")
@click.option("--dry-run", is_flag=True, help="Only say what would be deleted.")
@click.option("--unfinished", is_flag=True, help="Also runs that can still be taken up.")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
def prune(older: str, dry_run: bool, unfinished: bool, as_json: bool) -> int:
    """Delete runs that began longer ago than AGE and are over, with their journals.

    A run that can still be taken up is kept unless --unfinished is given; one that runs is kept in
    any case.
    """
    from roundsman.cli.runs import _print_json, as_data, open_journal
    from roundsman.ledger.retention import old_runs, parse_age
    from roundsman.ledger.retention import prune as forget
    from roundsman.report.text import plural

    before = time.time() - parse_age(older)
    note = ""
    with open_journal() as store:
        found = old_runs(store, before, unfinished)
        gone, kept = (found, []) if dry_run else forget(store, found)
        left = (
            0
            if unfinished
            else len(old_runs(store, before, unfinished=True)) - len(found if dry_run else kept)
        )
        if gone and not dry_run:
            try:
                store.db.shrink()
            except LedgerError as error:
                note = f"the file keeps its size for now: {error}"
    if as_json:
        _print_json(
            {
                "deleted": [as_data(one) for one in ([] if dry_run else gone)],
                "would_delete": [as_data(one) for one in (gone if dry_run else [])],
                "kept": [{"run_id": one.run_id, "why": why} for one, why in kept],
                "unfinished": left,
            }
        )
        return 0
    for one in gone:
        click.echo(f"{'would delete' if dry_run else 'deleted'} {one.run_id}  {one.status}")
    for one, why in kept:
        click.echo(f"kept {one.run_id}: {why}")
    if left:
        click.echo(f"kept {plural(left, 'run')} that can still be taken up (--unfinished)")
    if not (gone or kept or left):
        click.echo(f"no run is older than {older}")
    if note:
        click.echo(note, err=True)
    return 0


@click.command()
@click.argument("run", metavar="RUN")
def export(run: str) -> int:
    """Print a run as JSON lines: what it is and its report, then every record of its journal.

    Each record's hash covers the one before it: SHA-256 of the previous hash, kind, at and body,
    joined by line feeds. Exit status 2, after everything was printed, when the chain does not hold.
    """
    from roundsman.cli.runs import open_journal, resolve
    from roundsman.ledger.retention import export_lines

    with open_journal() as store:
        info = resolve(store, run)
        for line in export_lines(store, info):
            click.echo(line)
        store.verify(info.run_id)
    return 0
