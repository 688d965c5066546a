"""The command line. Every command is loaded when it is called, so that help is immediate."""

from __future__ import annotations

import os
import re
import sys
from importlib import import_module
from typing import Any, NoReturn

import click

from roundsman import __version__
from roundsman.cli.streams import output_lost, prepare_streams, to_nowhere
from roundsman.errors import RoundsmanError

_COMMANDS: dict[str, tuple[str, str]] = {
    "investigate": ("roundsman.cli.investigate:investigate", "Find the cause of an incident."),
    "scenario": ("roundsman.cli.scenario:scenario", "Scripted runs that show what the bounds do."),
    "policy": ("roundsman.cli.policy:policy", "Check, show and describe policies."),
    "audit": ("roundsman.cli.audit:audit", "What each model and tool of an app is covered by."),
    "drill": ("roundsman.cli.drill:drill", "Break a real small system, record it."),
    "runs": ("roundsman.cli.runs:runs", "List, show and delete recorded runs."),
    "resume": ("roundsman.cli.resume:resume", "Take an interrupted run to its end."),
    "settle": ("roundsman.cli.resume:settle", "Say what became of a write cut off by a crash."),
    "pending": ("roundsman.cli.asking:pending", "What runs ask of a person."),
    "approve": ("roundsman.cli.asking:approve", "Let one action of a run happen."),
    "deny": ("roundsman.cli.asking:deny", "Keep one action of a run from happening."),
    "grant": ("roundsman.cli.asking:grant", "Give a run more of a limit, or let it finish."),
    "stop": ("roundsman.cli.stop:stop", "End a run, or all, from another terminal."),
    "remedy": ("roundsman.cli.remedy:remedy", "From a finding to its fix, approved by a person."),
    "submit": ("roundsman.cli.worker:submit", "Ask the workers for an investigation."),
    "worker": ("roundsman.cli.worker:worker", "Take investigations from the queue."),
    "queue": ("roundsman.cli.queue:queue", "What the workers are asked for."),
    "doctor": ("roundsman.cli.doctor:doctor", "What is installed, reachable and missing."),
}


class _ReaderLeft(Exception):
    """The output's reader has seen enough, as in `... | head`. Click would make a failure of it."""


class _Lazy(click.Group):
    def make_context(self, *args: Any, **kwargs: Any) -> click.Context:
        try:
            return super().make_context(*args, **kwargs)
        except BrokenPipeError:
            raise _ReaderLeft from None

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise _ReaderLeft from None

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in _COMMANDS:
            return None
        module, _, attribute = _COMMANDS[name][0].partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(name, about) for name, (_, about) in _COMMANDS.items()])

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            from difflib import get_close_matches

            near = get_close_matches(args[0], list(_COMMANDS), 1)
            if not near:
                raise
            message = f"{error.message} Did you mean {near[0]!r}?"
            raise click.UsageError(message, ctx) from None


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="roundsman")
def cli() -> None:
    """Bounded investigations of outages, and bounds for Google ADK agents.

    Start with: roundsman doctor, then roundsman investigate PATH. Each command has its own --help.
    """


def _meant_as_value(error: click.ClickException) -> click.ClickException:
    """The error; of `-1` and its like, which no option of ours begins with, with how it is given."""
    if not isinstance(error, click.NoSuchOption) or not re.match(r"-\d", error.option_name):
        return error
    where = error.ctx.command_path if error.ctx else "roundsman"
    text = (
        f"{error.message} A value that begins with a dash goes after two of them: {where} -- VALUE"
    )
    return click.UsageError(text, error.ctx)


def main(args: list[str] | None = None) -> None:
    """Entry point: exit codes as documented, one line for every error of the user's."""
    try:
        given = sys.argv[1:] if args is None else args
        prepare_streams(unheard=given[:1] == ["stop"])
        code = cli.main(args=args, prog_name="roundsman", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.Abort:
        sys.exit(130)
    except click.ClickException as error:
        _meant_as_value(error).show()
        sys.exit(2)
    except RoundsmanError as error:
        _end_with(error)
    except KeyboardInterrupt:
        sys.exit(130)
    except (_ReaderLeft, BrokenPipeError):
        to_nowhere(sys.stdout, sys.stderr)
        sys.exit(0)
    except Exception as error:
        lost = output_lost() if isinstance(error, OSError) else None
        if lost is not None:
            to_nowhere(sys.stdout)
            _end_with(lost)
        if os.environ.get("ROUNDSMAN_DEBUG"):
            raise
        text = f"bug: {type(error).__name__}: {error}; ROUNDSMAN_DEBUG=1 shows where"
        click.echo(text, err=True)
        sys.exit(1)
    sys.exit(code if isinstance(code, int) else 0)


def _end_with(error: RoundsmanError) -> NoReturn:
    for line in getattr(error, "errors", (error,)):  # a policy names all its errors
        click.echo(f"error: {line}", err=True)
    sys.exit(error.exit_code)
