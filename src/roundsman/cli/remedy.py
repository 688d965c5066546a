"""`roundsman remedy`: from the finding of an investigation to its fix, with a person in between."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from roundsman.ledger import Store
    from roundsman.remedy.catalogue import Catalogue
    from roundsman.sources.spec import SourceSpec

_json = click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
_remedies = click.option(
    "--remedies",
    multiple=True,
    metavar="FILE|FILE.py:CLASS|MODULE:CLASS",
    help="How things are changed here (a .yaml file; default: $ROUNDSMAN_REMEDIES), and remedies of "
    "your own.",
)
_prometheus = click.option(
    "--prometheus",
    multiple=True,
    metavar="URL",
    help="Watch the metrics there; by default where the investigation read them.",
)
_header = click.option(
    "--header",
    multiple=True,
    metavar="HOST=LINE",
    help="For one host: 'HOST=Authorization: Bearer ${VARIABLE}'.",
)
_EXITS = {
    "done": 0,
    "rolled back": 4,
    "did not help": 4,
    "roll back failed": 4,
    "applied, not verified": 4,
    "waiting": 5,
    "unknown": 5,
}


@click.group()
def remedy() -> None:
    """From a finding to its fix: propose, approve, apply, verify, and done or rolled back.

    Nothing is changed before a person has approved exactly that call (roundsman approve). Then it is
    applied, the metric that broke is watched, and what did not help is rolled back.
    """


@remedy.command("list")
@_remedies
@_json
def list_(remedies: tuple[str, ...], as_json: bool) -> int:
    """Which remedies there are, and for which causes."""
    from roundsman.cli.runs import _print_json

    catalogue = _catalogue(remedies)
    rows = [
        {
            "remedy": one.name,
            "about": one.about,
            "causes": one.causes,
            "effect": one.effect,
            "undo": one.undoing,
        }
        for one in catalogue.remedies.values()
    ]
    if as_json:
        _print_json(rows)
        return 0
    from roundsman.report import clean

    for row in rows:
        click.echo(f"{row['remedy']:18} {clean(row['about'], 200)}")
        click.echo(f"{'':18}   for: {clean(row['causes'], 200)}")
        click.echo(f"{'':18}   if it does not help: {clean(row['undo'], 200)}")
    if not catalogue.config.file:
        click.echo("how things are changed here is declared in a file: --remedies FILE "
                   "(docs/remedies.md)", err=True)  # fmt: skip
    return 0


@remedy.command()
@click.argument("run", metavar="RUN")
@_remedies
@_prometheus
@_header
@_json
def propose(
    run: str,
    remedies: tuple[str, ...],
    prometheus: tuple[str, ...],
    header: tuple[str, ...],
    as_json: bool,
) -> int:
    """Which remedies fit the cause that run RUN named, with the exact call of each. Changes nothing.

    RUN is the id of a finished investigation, or its beginning.
    """
    from roundsman.cli.remedy_view import proposal_lines
    from roundsman.cli.runs import _print_json, open_journal, resolve_id
    from roundsman.remedy.proposing import propose as look_for

    catalogue = _catalogue(remedies)
    with open_journal() as store:
        sources = _sources(prometheus, header)
        found = look_for(store, resolve_id(store, run), catalogue, sources)
    if as_json:
        _print_json(found)
    else:
        for line in proposal_lines(found, _as_given(remedies, prometheus, header)):
            click.echo(line)
    return 0


@remedy.command()
@click.argument("run", metavar="RUN")
@click.argument("remedy", metavar="REMEDY")
@_remedies
@_prometheus
@_header
@_json
def apply(
    run: str,
    remedy: str,
    remedies: tuple[str, ...],
    prometheus: tuple[str, ...],
    header: tuple[str, ...],
    as_json: bool,
) -> int:
    """Ask for the approval of remedy REMEDY on the cause that run RUN named; it is a run of its own.

    It waits, in no process, until a person has said yes to exactly the call that is shown (roundsman
    approve), and goes on with roundsman resume: applied, watched, and rolled back if it did not help.

    Exit status: 0 it helped, 2 bad input, 3 nothing was applied, 4 it was rolled back (or could not
    be, or not told), 5 waiting for a person, 130 Ctrl-C (roundsman resume goes on).
    """
    from roundsman.cli.runs import open_journal, resolve_id
    from roundsman.remedy.run import begin

    catalogue = _catalogue(remedies)
    with open_journal() as store:
        run_id = resolve_id(store, run)
        begun: dict[str, Any] = {}

        def work(tell: Any) -> dict[str, Any]:
            sources = _sources(prometheus, header)
            begun.update(begin(store, run_id, remedy, catalogue, sources, tell=tell))
            return begun

        code = followed(work, as_json)
        if code != 5 or as_json or not _somebody_is_there():
            return code
        return _asked_here(store, begun)


def _somebody_is_there() -> bool:
    import sys

    return sys.stdin.isatty() and sys.stdout.isatty()


def _asked_here(store: Store, begun: dict[str, Any]) -> int:
    """The same question at the terminal; no answer leaves it open."""
    from roundsman.ledger import person
    from roundsman.ledger.answering import answer
    from roundsman.remedy.run import resume

    question = next((one for one in begun["asked"] if "answer" not in one), None)
    if question is None or not click.confirm("run exactly this call now?", default=False):
        return 5
    run_id = begun["run_id"]
    answer(store, run_id, question["question"], "approve", by=person())
    return followed(lambda tell: resume(run_id, store, tell=tell), as_json=False)


def followed(work: Callable[[Any], dict[str, Any]], as_json: bool) -> int:
    """Carry a remedy on with progress on standard error; what became of it on standard output."""
    from roundsman.cli.remedy_view import report_lines
    from roundsman.cli.runs import _print_json
    from roundsman.cli.undisturbed import undisturbed
    from roundsman.investigate.interruption import INTERRUPTION
    from roundsman.report import PipedConsole, Progress

    progress = Progress(PipedConsole(stderr=True))
    try:
        with undisturbed():
            report = work(progress.note)
    finally:
        progress.close()
    if as_json:
        _print_json(report)
    else:
        for line in report_lines(report):
            click.echo(line)
    return (
        INTERRUPTION.exit_status if report.get("broken_off") else _EXITS.get(report["outcome"], 3)
    )


def _as_given(
    remedies: tuple[str, ...], prometheus: tuple[str, ...], header: tuple[str, ...]
) -> list[str]:
    """The options as they were given, for a command that means the same."""
    rows = (("--remedies", remedies), ("--prometheus", prometheus), ("--header", header))
    return [word for option, values in rows for value in values for word in (option, value)]


def _sources(prometheus: tuple[str, ...], header: tuple[str, ...]) -> SourceSpec:
    from roundsman.errors import UsageError
    from roundsman.sources.spec import SourceSpec

    if header and not prometheus:
        raise UsageError("--header is for the servers of --prometheus; give both")
    return SourceSpec(prometheus=prometheus, headers=header)


def _catalogue(given: tuple[str, ...]) -> Catalogue:
    from roundsman.remedy.catalogue import FILES, load_catalogue

    usual = os.environ.get("ROUNDSMAN_REMEDIES", "")
    if usual and not any(one.lower().endswith(FILES) for one in given):
        given = (usual, *given)
    return load_catalogue(given)
