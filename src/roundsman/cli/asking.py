"""`roundsman pending`, `approve`, `deny`, `grant`: a person and the runs that wait for one."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from roundsman.errors import RoundsmanError, UsageError

if TYPE_CHECKING:
    from roundsman.ledger import Store

_run = click.argument("run", metavar="RUN")
_question = click.argument("question", metavar="[QUESTION]", required=False)
_go_on = click.option("--resume", "go_on", is_flag=True, help="Take the run up again right away.")
_json = click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")


@click.command()
@click.argument("run", metavar="[RUN]", required=False)
@_json
def pending(run: str | None, as_json: bool) -> int:
    """List what runs ask of a person, oldest first: more of a limit, a yes to one exact action, or
    what became of a write that was cut off. RUN is an id or its beginning.
    """
    from roundsman.cli.runs import _print_json, open_journal, resolve_id

    with open_journal() as store:
        chosen = [resolve_id(store, run)] if run is not None else store.ids()[::-1]
        rows = [row for one in chosen for row in _open_in(store, one, alone=run is not None)]
    if as_json:
        _print_json(rows)
    elif not rows:
        click.echo("nothing is asked of a person")
    else:
        for row in rows:
            for line in lines_of(row):
                click.echo(line)
    return 0


def _open_in(store: Store, run_id: str, alone: bool) -> list[dict[str, Any]]:
    from roundsman.ledger import History
    from roundsman.ledger.answering import as_data
    from roundsman.ledger.asking import asked_in
    from roundsman.ledger.fold import fold
    from roundsman.ledger.stop import OVER
    from roundsman.ledger.view import REMEDY, kind_of_run, setup_in

    try:
        status = store.info(run_id).status
        if status in OVER:
            return []
        records = store.records(run_id)
        would: dict[str, Any] = {}
        still, known = fold(records).asks.open, asked_in(records)
        rows = [as_data(run_id, asked) for name, (asked, _) in known.items() if name in still]
        if kind_of_run(records) == REMEDY:
            would = {key: setup_in(records).get(key) for key in ("dry_run", "undo")}
        if status != "running":  # else it is not known yet how they end
            rows += [
                {
                    "run_id": run_id,
                    "question": action.id,
                    "about": "unknown",
                    "reason": "the process died during this write; was it carried out?",
                    "tool": action.tool,
                    "args": dict(action.args),
                    "action": action.id,
                    "agent": action.agent,
                }
                for action in History(records).unknown
            ]
        rows = [row | would for row in rows]
    except RoundsmanError:  # one damaged journal hides no question of another run
        if alone:
            raise
        return []
    return rows


def lines_of(row: dict[str, Any]) -> list[str]:
    """A question as a person reads it: what is asked, the exact call, how to answer."""
    from roundsman.guard.prints import canonical
    from roundsman.report import clean

    run_id, name = row["run_id"], row["question"]
    expires = f"; expires {row['expires_at']}" if row.get("expires_at") else ""
    lines = [f"{run_id}  {name}  {clean(row['reason'], 300)}{expires}"]
    if row.get("tool"):
        lines.append(f"  {clean(row['tool'], 120)}({clean(canonical(row['args']), 100_000)})")
    lines += [f"  would do: {clean(one, 2000)}" for one in row.get("dry_run") or ()]
    if row.get("undo"):
        lines.append(f"  if it does not help: {clean(row['undo'], 300)}")
    if row["about"] == "unknown":
        lines.append(f"  roundsman settle {run_id} {name} done|not-done|again")
    elif row["about"] == "limit":
        options = " ".join(f"--{limit} N" for limit in row["limits"])
        lines.append(f"  roundsman grant {run_id} {name} {options}   or   --finish")
    else:
        lines.append(f"  roundsman approve {run_id} {name}   or   deny")
    return lines


@click.command()
@_run
@_question
@_go_on
@_json
@click.pass_context
def approve(ctx: click.Context, run: str, question: str | None, go_on: bool, as_json: bool) -> int:
    """Let one action happen: this tool with exactly the arguments that `pending` shows, once.

    RUN is an id or its beginning; QUESTION (q1, q2 ...) may be left out when there is only one. The
    approval expires as long after it is given as the question did; go on with `resume`.
    """
    return _answered(ctx, run, question, "approve", go_on, as_json)


@click.command()
@_run
@_question
@click.option("--reason", default="", help="Why; the model reads it.")
@_go_on
@_json
@click.pass_context
def deny(
    ctx: click.Context, run: str, question: str | None, reason: str, go_on: bool, as_json: bool
) -> int:
    """Keep one action from happening; the model is told, and asks no second time.

    RUN is an id or its beginning; QUESTION (q1, q2 ...) may be left out when there is only one.
    """
    return _answered(ctx, run, question, "deny", go_on, as_json, note=reason)


@click.command()
@_run
@_question
@click.option("--tokens", type=int, help="More tokens.")
@click.option("--usd", type=float, help="More US dollars.")
@click.option("--steps", type=int, help="More model calls.")
@click.option("--actions", type=int, help="More tool calls.")
@click.option("--rounds", type=int, help="More rounds.")
@click.option("--time", "time_", metavar="DURATION", help="More wall clock: 90s, 5m, 1h.")
@click.option("--finish", is_flag=True, help="No more: end as the limit would have ended it.")
@_go_on
@_json
@click.pass_context
def grant(
    ctx: click.Context,
    /,
    run: str,
    question: str | None,
    time_: str | None,
    finish: bool,
    go_on: bool,
    as_json: bool,
    **counts: float | None,
) -> int:
    """Give a run that waits at a limit more of it, or let it finish with what it has.

    What is granted is added to the limit; counters go on where they are. RUN is an id or its
    beginning; QUESTION (q1, q2 ...) may be left out when there is only one.
    """
    granted = {_RULES.get(name, name): n for name, n in counts.items() if n is not None}
    if time_ is not None:
        granted["wall_clock"] = _seconds(time_)
    if finish and granted:
        raise UsageError(
            "--finish means no more of anything; give it, or what is granted, not both"
        )
    if not finish and not granted:
        raise UsageError("give what is granted (--tokens N, --usd N, --steps N ...), or --finish")
    decision = "finish" if finish else "grant"
    return _answered(ctx, run, question, decision, go_on, as_json, granted=granted)


_RULES = {"rounds": "max_rounds"}


def _seconds(text: str) -> float:
    from roundsman.policy.units import parse_duration

    try:
        return parse_duration(text)
    except ValueError as error:
        raise UsageError(f"--time {text!r} {error}") from None


def _answered(
    ctx: click.Context,
    run: str,
    question: str | None,
    decision: str,
    go_on: bool,
    as_json: bool,
    note: str = "",
    granted: dict[str, float] | None = None,
) -> int:
    from roundsman.cli.runs import _print_json, open_journal, resolve_id
    from roundsman.ledger import person
    from roundsman.ledger.answering import answer, as_data
    from roundsman.ledger.asking import asked_in
    from roundsman.ledger.view import INVESTIGATION, REMEDY, how_to_go_on, kind_of_run

    with open_journal() as store:
        run_id = resolve_id(store, run)
        ours = kind_of_run(store.records(run_id)) in (INVESTIGATION, REMEDY)
        own = how_to_go_on(run_id, store.records(run_id))
        if go_on and not ours:
            raise UsageError(
                f"run {run_id} is of an app of your own, so --resume cannot go on with it, and nothing "
                f"was answered; leave --resume out, then go on {own}"
            )
        said = answer(store, run_id, question, decision, by=person(), note=note, granted=granted)
        records = store.records(run_id)
        row = as_data(run_id, *asked_in(records)[said.id])
    if as_json and not go_on:
        _print_json(row)
    else:
        what = ", ".join(f"{k} +{v:g}" for k, v in row["answer"]["granted"].items())
        click.echo(f"{run_id}  {said.id}  {decision}{' ' * bool(what)}{what}", err=go_on)
    if not go_on:
        if not as_json:
            click.echo(f"go on {own}")
        return 0
    from roundsman.cli.resume import resume

    work: Callable[..., Any] = resume
    code = ctx.invoke(
        work, run=run_id, policy_name=None, accept_change=False, out=None, as_json=as_json
    )
    return int(code or 0)
