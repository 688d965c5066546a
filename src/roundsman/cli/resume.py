"""`roundsman resume` and `settle`: after a process died in the middle of a run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from roundsman.cli.params import Folder

if TYPE_CHECKING:
    from roundsman.ledger import Store


@click.command()
@click.argument("run", metavar="RUN")
@click.option(
    "--policy",
    "policy_name",
    metavar="FILE|PRESET",
    help="Go on under this policy instead.",
)
@click.option("--accept-change", is_flag=True, help="Go on although policy or agent changed.")
@click.option("--out", metavar="DIR", type=Folder(), help="Folder for report.json, .md, .html.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
def resume(
    run: str, policy_name: str | None, accept_change: bool, out: Path | None, as_json: bool
) -> int:
    """Take an interrupted investigation or remedy to its end. RUN is an id or its beginning.

    The account goes on where it was, finished rounds are not repeated, and what the interrupted
    round had asked and got is not asked again. A run that is over shows its report once more.
    """
    from roundsman.cli.investigate import watched
    from roundsman.cli.runs import open_journal, resolve_id
    from roundsman.investigate.resume import recorded_policy
    from roundsman.investigate.resume import resume as take_up
    from roundsman.ledger.view import REMEDY, kind_of_run

    with open_journal() as store:
        run_id = resolve_id(store, run)
        if kind_of_run(store.records(run_id)) == REMEDY:
            return _resume_remedy(store, run_id, policy_name, out, accept_change, as_json)
        policy = recorded_policy(store, run_id, policy_name)
        return watched(
            policy,
            out,
            as_json,
            lambda watch: take_up(
                run_id,
                store,
                policy_source=policy_name,
                accept_change=accept_change,
                watch=watch,
            ),
        )


def _resume_remedy(
    store: Store,
    run_id: str,
    policy_name: str | None,
    out: Path | None,
    accept_change: bool,
    as_json: bool,
) -> int:
    from roundsman.cli.remedy import followed
    from roundsman.errors import UsageError
    from roundsman.remedy.run import resume as take_up

    for option, value in (("--policy", policy_name), ("--out", out)):
        if value is not None:
            raise UsageError(f"{option} is for investigations; run {run_id} is a remedy's")
    return followed(
        lambda tell: take_up(run_id, store, accept_change=accept_change, tell=tell), as_json
    )


@click.command()
@click.argument("run", metavar="RUN")
@click.argument("action", metavar="ACTION")
@click.argument("decision", type=click.Choice(["done", "not-done", "again"]))
def settle(run: str, action: str, decision: str) -> int:
    """Say what became of a write that was under way when the process died.

    done: it was carried out. not-done: it was not, and will not be. again: run it once more.
    """
    from roundsman.cli.runs import open_journal, resolve_id
    from roundsman.ledger import person, settle_unknown
    from roundsman.ledger.view import how_to_go_on

    with open_journal() as store:
        run_id = resolve_id(store, run)
        what = settle_unknown(store, run_id, action, decision.replace("-", "_"), by=person())
        go_on = how_to_go_on(run_id, store.records(run_id))
        click.echo(f"{run_id} {action} {what}: {decision}; go on {go_on}")
    return 0
