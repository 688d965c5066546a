"""`roundsman policy check|show|schema`: what a policy allows, before anything runs."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from roundsman.errors import PolicyError


@click.group()
def policy() -> None:
    """Check a policy, show what it amounts to, or print its schema.

    A policy is a YAML file that extends a preset: baseline (the plain limits and nothing else),
    default or strict. Without FILE or PRESET the preset default is meant.
    """


_target = click.argument("target", metavar="[FILE|PRESET]", default="default")
_json = click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")


@policy.command()
@_target
@_json
def check(target: str, as_json: bool) -> None:
    """Check FILE or PRESET and print its worst case: the most a run under it can use.

    Exit status 2, with file and line, when it cannot be accepted.
    """
    from roundsman.policy import check_lines, load_policy, worst_case

    try:
        loaded = load_policy(target)
    except PolicyError as error:
        if not as_json:
            raise
        _print({"ok": False, "errors": list(error.errors)})
        sys.exit(error.exit_code)
    if as_json:
        head = {"name": loaded.name, "digest": loaded.digest}
        _print({"ok": True, "policy": head, "worst_case": worst_case(loaded)})
    else:
        click.echo("\n".join(check_lines(loaded)))


@policy.command()
@_target
@_json
def show(target: str, as_json: bool) -> None:
    """Print the effective policy: FILE or PRESET with all it extends."""
    from roundsman.policy import load_policy, to_yaml
    from roundsman.policy.render import to_data

    loaded = load_policy(target)
    if as_json:
        soft = loaded.usd_from_preset
        _print({"digest": loaded.digest, "usd_from_preset": soft, "policy": to_data(loaded)})
    else:
        click.echo(to_yaml(loaded), nl=False)


@policy.command()
@_json
def schema(as_json: bool) -> None:
    """Print the JSON Schema of a policy file, for editors (always JSON)."""
    from roundsman.policy import json_schema

    _print(json_schema())


def _print(data: Any) -> None:
    click.echo(json.dumps(data, indent=2, ensure_ascii=False))
