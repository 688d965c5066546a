"""`roundsman worker` and `submit`: many investigations, on one machine or several."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from roundsman.cli.investigate import request_of
from roundsman.cli.model_options import endpoint_of, model_options
from roundsman.cli.source_options import source_options

if TYPE_CHECKING:
    from roundsman.investigate.endpoint import Endpoint
    from roundsman.investigate.request import Request
    from roundsman.sources.spec import SourceSpec
    from roundsman.worker import Job

_json = click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")


class _Tokens(click.ParamType[Any]):
    name = "N|none"

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        """A number above zero; 0 for none."""
        if value == "none":
            return 0
        try:
            number = int(str(value).replace(",", "").replace("_", ""))
        except ValueError:
            number = 0
        if number <= 0:
            self.fail(f"{value!r} is no number of tokens above zero; or write none", param, ctx)
        return number


@click.command()
@click.option(
    "--at-once",
    type=click.IntRange(1, 10_000),
    help="Investigations at once on all workers together.",
)
@click.option(
    "--per-worker",
    type=click.IntRange(1, 1_000),
    help="Of them in one worker, 2 unless set.",
)
@click.option(
    "--tokens-a-day",
    type=_Tokens(),
    help="Tokens all workers together may spend a day (UTC).",
)
@click.option("--until-empty", is_flag=True, help="End when no job is left.")
def worker(
    at_once: int | None, per_worker: int | None, tokens_a_day: int | None, until_empty: bool
) -> int:
    """Take investigations from the queue, a few at a time, until it is stopped.

    Start as many as you like, on every machine that sees the journal (ROUNDSMAN_DB) and the
    telemetry. Limits hold for all workers together and stay until one is started with others. One
    that dies is noticed, and its investigations are gone on with by the others.

    The first Ctrl-C or SIGTERM takes no more jobs and finishes those under way, the second leaves
    them to other workers.
    """
    from roundsman.ledger import open_store
    from roundsman.worker import Worker
    from roundsman.worker.daylimit import set_limit

    if tokens_a_day is not None:
        store = open_store()
        set_limit(store, tokens_a_day or None)
        store.close()
    at_work = Worker(_say, at_once=at_once, per_worker=per_worker)

    def asked(number: int, frame: object) -> None:
        if at_work.stopping.is_set():
            os._exit(130)
        at_work.stop()

    for one in (signal.SIGINT, signal.SIGTERM):
        signal.signal(one, asked)
    _say(f"ready {at_work.id}")
    at_work.serve(until_empty)
    if at_work.lost:
        _say("stopped: others found no heartbeat of this worker and took over its jobs")
        _leave(1)
    _leave(0)
    return 0


def _say(line: str) -> None:
    from roundsman.report import clean

    click.echo(clean(line, 400))


def _leave(code: int) -> None:
    """Jobs that were left to others hang in threads the interpreter would wait for."""
    import sys

    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


@click.command()
@click.argument("paths", metavar="PATH...", nargs=-1, type=click.Path(path_type=Path))
@source_options
@click.option("--alert", metavar="FILE|-", help="The alert that called you, as for investigate.")
@click.option("--since", metavar="1h", help="Look at the time from so long ago until now.")
@click.option("--window", "between", metavar="START/END", help="Look at the time between, in UTC.")
@click.option("--question", "-q", help="What to find out; by default the folder's own question.")
@click.option(
    "--model",
    metavar="NAME",
    default="analyst",
    show_default=True,
    help="As for investigate; the workers need its key and package.",
)
@model_options
@click.option(
    "--policy",
    "policy_name",
    metavar="FILE|PRESET",
    default="default",
    show_default=True,
    help="Limits of each run: a policy file (must be there on the workers' machines), or a preset.",
)
@click.option(
    "--run",
    "run",
    metavar="RUN",
    help="Hand this unfinished run to the workers instead, after a person's answer for example.",
)
@_json
def submit(
    paths: tuple[Path, ...],
    sources: SourceSpec,
    alert: str | None,
    since: str | None,
    between: str | None,
    question: str | None,
    model: str,
    base_url: str | None,
    tools: str | None,
    context: int | None,
    policy_name: str,
    run: str | None,
    as_json: bool,
) -> int:
    """Ask the workers for an investigation of each PATH, or of the servers named; prints the run ids,
    one a line, and does not wait.

    \b
    roundsman submit ./incident-a ./incident-b     two investigations, one of each folder
    roundsman submit --prometheus URL --since 1h   one, of a server, without a folder
    roundsman submit --run RUN                     go on with a run that was begun

    A PATH is a folder of telemetry, and sources are options, as for investigate; those named are
    looked at beside each PATH. Paths must be there on the workers' machines too, and the variables
    that --header names in the workers' environment: no secret is kept in the queue.

    Somebody has to take them: roundsman worker. How they stand: roundsman queue. What they found:
    roundsman runs show RUN. Not any more: roundsman stop RUN.

    Exit status: 0 all are in the queue, 2 bad input or no queue that can be reached.
    """
    from roundsman.errors import UsageError
    from roundsman.policy import load_policy
    from roundsman.worker import Queue

    named = bool(paths) or bool(sources)
    if named == bool(run):
        raise UsageError(
            "give PATH or sources as for investigate, or --run RUN to go on with a run"
        )
    if run:
        jobs = [_again(run)]
    else:
        load_policy(policy_name)
        source = str(Path(policy_name).resolve()) if Path(policy_name).is_file() else policy_name
        request = _checked(request_of(None, sources, alert, since, between, question), bool(paths))
        endpoint = endpoint_of(model, base_url, tools, context, sources.headers)
        _check_model(model, endpoint)
        server = endpoint.to_setup() if endpoint else None
        folders: list[Path | None] = [_checked_folder(path) for path in paths]
        jobs = [_job(request, one, model, source, server) for one in folders or [None]]
    with Queue() as queue:
        for job in jobs:
            queue.submit(job)
    if as_json:
        from roundsman.report import to_json

        click.echo(to_json([{"run_id": job.run_id, "path": job.path} for job in jobs]), nl=False)
    else:
        for job in jobs:
            click.echo(job.run_id)
    return 0


def _check_model(model: str, endpoint: Endpoint | None) -> None:
    if model == "analyst" and endpoint is None:
        return  # what knows the other names takes its time to load
    from roundsman.investigate.models import check_name

    check_name(model, endpoint)


def _checked_folder(path: Path) -> Path:
    from roundsman.errors import UsageError

    if not path.is_dir():
        what = "is no folder" if path.exists() else "does not exist"
        raise UsageError(f"{path} {what}; give a folder with telemetry")
    return path


def _checked(request: Request, with_folder: bool) -> Request:
    """The request as any worker may get it, at any time.

    Raises:
        SourceError: what is written wrongly, a name and password in an address too.
    """
    from dataclasses import replace
    from time import time

    from roundsman.errors import SourceError
    from roundsman.sources import Window
    from roundsman.sources.opening import openings

    spec = request.sources.absolute()
    window = request.window
    if window is None and request.alert is None and spec.live and not with_folder:
        window = Window(time() - 3600.0, time())  # of now, not of when a worker comes to it
    for one in openings(spec, window or Window(0.0, 1.0), lambda: []):
        if one.local and not Path(one.label).exists():
            raise SourceError(f"--{one.kind} {one.label}: no such file or folder")
    return replace(request, sources=spec, window=window)


def _job(
    request: Request, path: Path | None, model: str, policy: str, endpoint: dict[str, Any] | None
) -> Job:
    from dataclasses import replace

    from roundsman.ledger import new_run_id
    from roundsman.sources.spec import KINDS
    from roundsman.worker import Job

    folder = str(path.resolve()) if path else ""
    asked = replace(request, sources=replace(request.sources, folder=folder))
    shown = [folder] if folder else [one for kind in KINDS for one in getattr(asked.sources, kind)]
    return Job(
        new_run_id(),
        ", ".join(shown),
        request.question,
        model,
        policy,
        request=asked.to_setup(),
        endpoint=endpoint,
    )


def _again(run: str) -> Any:
    from roundsman.cli.runs import open_journal, resolve
    from roundsman.errors import UsageError
    from roundsman.ledger.stop import OVER
    from roundsman.ledger.view import INVESTIGATION, REMEDY, kind_of_run
    from roundsman.worker import Job, Queue

    with open_journal() as store:
        info = resolve(store, run)
        kind = kind_of_run(store.records(info.run_id))
    if kind != INVESTIGATION:
        raise UsageError(
            f"run {info.run_id} is no investigation, and workers take nothing else; "
            + ("go on with roundsman resume" if kind == REMEDY else "go on in your app")
        )
    if info.status in OVER:
        raise UsageError(
            f"run {info.run_id} is over ({info.status}); there is nothing to go on with"
        )
    if info.status == "waiting":
        raise UsageError(
            f"run {info.run_id} waits for a person's answer; see: roundsman pending {info.run_id}"
        )
    with Queue() as queue:
        if any(job.run_id == info.run_id for job in queue.jobs(open_only=True)):
            raise UsageError(f"run {info.run_id} is in the queue already; see: roundsman queue")
    return Job(info.run_id, again=True)
