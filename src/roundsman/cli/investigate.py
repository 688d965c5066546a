"""`roundsman investigate`: one command on the telemetry, the verdict first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from roundsman.cli.model_options import endpoint_of, model_options
from roundsman.cli.params import Folder
from roundsman.cli.source_options import source_options

if TYPE_CHECKING:
    from roundsman.errors import RoundsmanError
    from roundsman.investigate.endpoint import Endpoint
    from roundsman.investigate.request import Request
    from roundsman.policy import Policy
    from roundsman.report import Progress
    from roundsman.sources.spec import SourceSpec


@click.command()
@click.argument("path", type=click.Path(path_type=Path), required=False)
@source_options
@click.option(
    "--alert",
    metavar="FILE|-",
    help="The alert that called you: an Alertmanager webhook body; - reads standard input.",
)
@click.option("--since", metavar="1h", help="Look at the time from so long ago until now.")
@click.option("--window", "between", metavar="START/END", help="Look at the time between, in UTC.")
@click.option("--question", "-q", help="What to find out; by default the folder's own question.")
@click.option(
    "--model",
    metavar="NAME",
    default="analyst",
    show_default=True,
    help="analyst (built in, no key), or any name ADK takes: gemini-..., openai/... and others.",
)
@model_options
@click.option(
    "--policy",
    "policy_name",
    metavar="FILE|PRESET",
    default="default",
    show_default=True,
    help="Limits of the run: a policy file, or a preset: baseline, default, strict.",
)
@click.option(
    "--out",
    metavar="DIR",
    type=Folder(),
    help="Also write report.json, report.md and report.html into DIR.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.option("--dry-run", is_flag=True, help="Print what --model would be sent, and send nothing.")
@click.pass_context
def investigate(
    ctx: click.Context,
    path: Path | None,
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
    out: Path | None,
    as_json: bool,
    dry_run: bool,
) -> int:
    """Find the cause of an incident whose telemetry is in the folder PATH, in servers, or in both.

    The folder holds what there is of metrics/*.csv, logs/*.ndjson or *.log, deploys.json,
    alert.json, traces.json and graph.csv (docs/investigate.md has all of it; docs/sources.md:
    servers). Without --model no key is needed, and nothing leaves this machine but questions to the
    servers named. Progress goes to standard error, the report to standard output.

    Exit status: 0 a cause or an honest "no cause found", 2 bad input, 3 stopped before anything
    could be said, 5 waiting for a person (see: roundsman pending), 130 Ctrl-C (the report says
    how far it got), 143 SIGTERM, 129 SIGHUP (the same).
    """
    from roundsman.errors import UsageError
    from roundsman.investigate.run import investigate as run_investigation
    from roundsman.policy import load_policy

    if path is None and not sources:
        raise UsageError(
            "nothing to look at: give a folder PATH, or sources such as --prometheus URL, "
            "--logs PATH|URL, --git PATH"
        )
    request = request_of(path, sources, alert, since, between, question)
    endpoint = endpoint_of(model, base_url, tools, context, sources.headers)
    policy = load_policy(policy_name)
    if dry_run:
        return _show_what_would_be_sent(request, policy, model, endpoint, as_json)
    source = str(Path(policy_name).resolve()) if Path(policy_name).is_file() else policy_name
    return watched(
        policy,
        out,
        as_json,
        lambda watch: run_investigation(
            request, policy, model=model, watch=watch, policy_source=source, endpoint=endpoint
        ),
    )


def _show_what_would_be_sent(
    request: Request, policy: Policy, model: str, endpoint: Endpoint | None, as_json: bool
) -> int:
    from roundsman.cli.undisturbed import undisturbed
    from roundsman.investigate.dry_run import as_text
    from roundsman.investigate.dry_run import dry_run as rehearse
    from roundsman.report import clean, to_json

    with undisturbed():
        found = rehearse(request, policy, model, endpoint)
    click.echo(to_json(found) if as_json else clean(as_text(found), 10_000_000, lines=True))
    return 0


def request_of(
    path: Path | None,
    sources: SourceSpec,
    alert: str | None,
    since: str | None,
    between: str | None,
    question: str | None,
) -> Request:
    """What is asked, from the options; paths are as given."""
    import time

    from roundsman.investigate.alerts import alert_from
    from roundsman.investigate.request import Request, read_window

    spec = replace(sources, folder=str(path)) if path is not None else sources
    window = read_window(since, between, time.time())
    return Request(spec, question, window, alert_from(alert) if alert else None)


def watched(
    policy: Policy,
    out: Path | None,
    as_json: bool,
    work: Callable[[Any], tuple[dict[str, Any], bool]],
) -> int:
    """Run `work` with progress on standard error; its report to standard output and `out`."""
    from roundsman.cli.undisturbed import undisturbed
    from roundsman.investigate.interruption import INTERRUPTION
    from roundsman.report import PipedConsole, Progress, to_json, to_terminal

    if out is not None:
        _check_writable(out)
    progress = Progress(PipedConsole(stderr=True), _limits(policy))
    try:
        with undisturbed():
            report, broken_off = work(_watcher(progress, policy))
    finally:
        progress.close()
    written, unwritten = _written(report, out)  # before a pipe may break
    try:
        if as_json:
            click.echo(to_json(report))
        else:
            to_terminal(report, PipedConsole())
    except BrokenPipeError:
        raise
    except OSError:
        click.echo(f"the report is kept: {_again(report)}", err=True)
        raise
    for file in written:
        click.echo(f"wrote {file}", err=True)
    asked = report["stop"]["reason"] == "asked"
    if asked:
        _tell_what_is_asked(report)
    if unwritten is not None:
        raise unwritten
    if broken_off:
        return INTERRUPTION.exit_status
    if not (as_json or asked) and not (report.get("cause") or {}).get("abstained", True):
        click.echo(f"what could be done: roundsman remedy propose {report['run_id']}", err=True)
    return exit_code(report)


def _written(report: dict[str, Any], out: Path | None) -> tuple[list[Path], RoundsmanError | None]:
    """The files of the report, or why there are none: that costs nobody what was found."""
    from roundsman.errors import UsageError
    from roundsman.report import write_all

    try:
        return write_all(report, out) if out is not None else [], None
    except UsageError as error:
        return [], UsageError(f"{error}; to see the report again: {_again(report)}")


def _again(report: dict[str, Any]) -> str:
    return f"roundsman runs show {report['run_id']}"


def _tell_what_is_asked(report: dict[str, Any]) -> None:
    from roundsman.cli.asking import lines_of

    for row in report["asked"]:
        if "answer" not in row:
            for line in lines_of(row):
                click.echo(line, err=True)


def exit_code(report: dict[str, Any]) -> int:
    """0 an answer or an honest none, 3 stopped before anything could be said, 5 a person is asked."""
    if report["stop"]["reason"] == "asked":
        return 5
    looked = any(one["status"] in ("ok", "empty") for one in report["evidence"])
    over = report["stop"]["reason"] in ("done", "no_progress", "partial")
    return 0 if report["findings"] or (over and looked) else 3


def _limits(policy: Policy) -> dict[str, Any]:
    return {"max_rounds": policy.loop.max_rounds, "tokens": policy.run.tokens}


def _watcher(progress: Progress, policy: Policy) -> Any:
    from roundsman.ledger.view import tool_of

    def watch(event: Any, run: Any) -> None:
        account = run.account
        if event.kind == "round_begins":
            progress.round_started(event.index, policy.loop.max_rounds)
        elif event.kind == "action_begins":
            args = ", ".join(f"{k}={v}" for k, v in event.args.items() if v not in (None, ""))
            progress.asking(f"{event.tool}({args})")
        elif event.kind in ("step_ends", "action_ends"):
            progress.usage(account.tokens, policy.run.tokens, account.actions, account.steps)
        elif event.kind == "ruled" and event.applied and event.verdict != "stop":
            tool = tool_of({"subject": event.subject})
            progress.note(f"{event.verdict} {tool}: {event.reason}" if tool else event.reason)

    return watch


def _check_writable(out: Path) -> None:
    """Better to learn it before the run than after."""
    from tempfile import TemporaryFile

    from roundsman.errors import UsageError

    try:
        out.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise UsageError(f"--out {out}: {error.strerror or error}; choose another folder") from None
