"""`roundsman queue`: what the workers are asked for, and how it stands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from roundsman.worker import QueuedJob

_HEAD = ("RUN", "STATUS", "ASKED (UTC)", "WORKER", "WHAT")


@click.command()
@click.option("--all", "everything", is_flag=True, help="Also those that are over.")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
def queue(everything: bool, as_json: bool) -> int:
    """What the workers are asked for: waiting and under way, newest first."""
    from roundsman.ledger import open_store
    from roundsman.ledger.expected import expected, never_began
    from roundsman.report import to_json
    from roundsman.worker import Queue, tokens_today
    from roundsman.worker.daylimit import limit_of

    store = open_store()
    ahead = [one.run_id for one in expected(store)]
    with Queue() as waiting:
        jobs = waiting.jobs(open_only=not everything)
    there = {job.run_id for job in jobs if job.status in ("queued", "running")}
    for run_id in ahead:
        if run_id not in there:  # nobody will begin it: it is no longer listed as if
            never_began(store, run_id, "every worker that had it died; submit it anew")
    spent, limit = tokens_today(store), limit_of(store)
    store.close()
    if as_json:
        data = {
            "jobs": [_as_data(job) for job in jobs],
            "tokens_today": spent,
            "tokens_a_day": limit,
        }
        click.echo(to_json(data), nl=False)
        return 0
    for line in table(jobs) if jobs else ():
        click.echo(line)
    if not jobs:
        click.echo("nothing is asked for; roundsman submit PATH does")
    if limit is not None:
        click.echo(f"today {spent:,} of {limit:,} tokens spent or reserved")
    return 0


def table(jobs: Sequence[QueuedJob]) -> list[str]:
    """A head, and a line for each job: what is looked at, and what became of it, come last."""
    from roundsman.report import clean

    rows = [_HEAD]
    for job in jobs:
        at = datetime.fromtimestamp(job.submitted, UTC).strftime("%Y-%m-%d %H:%M")
        what = clean(f"{job.path}  {job.detail}".rstrip(), 300)
        rows.append((job.run_id, job.status, at, clean(job.worker, 120) or "-", what))
    sizes = [max(len(row[column]) for row in rows) for column in range(4)]
    return [
        "  ".join([*map(str.ljust, row, sizes), row[4]]).rstrip()  # the last takes what it needs
        for row in rows
    ]


def _as_data(job: QueuedJob) -> dict[str, Any]:
    at = datetime.fromtimestamp(job.submitted, UTC).isoformat(timespec="seconds")
    return asdict(job) | {"submitted": at.replace("+00:00", "Z")}
