"""`roundsman scenario`: scripted runs."""

from __future__ import annotations

import asyncio
import json

import click


@click.group()
def scenario() -> None:
    """Scripted runs through the real engine, without a key."""


@scenario.command("list")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
def list_(as_json: bool) -> None:
    """The scenarios there are."""
    from roundsman.investigate.scenarios import SCENARIOS

    rows = [{"name": name, "about": s.about} for name, s in SCENARIOS.items()]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    for row in rows:
        click.echo(f"{row['name']:18} {row['about']}")


@scenario.command("run")
@click.argument("name")
@click.option(
    "--policy",
    "policy_name",
    default="baseline",
    show_default=True,
    metavar="FILE|PRESET",
    help="A policy file, or a preset: baseline, default, strict.",
)
@click.option(
    "--tokens-per-call", type=click.IntRange(1), default=1500, show_default=True,
    help="Tokens the scripted model reports for a call.",
)  # fmt: skip
@click.option("--json", "as_json", is_flag=True, help="The whole report as JSON.")
def run(name: str, policy_name: str, tokens_per_call: int, as_json: bool) -> None:
    """Run scenario NAME (see: scenario list) under a policy and show what it came to."""
    from roundsman.cli.undisturbed import undisturbed
    from roundsman.investigate.scenarios import run_scenario
    from roundsman.ledger import open_store
    from roundsman.policy import load_policy
    from roundsman.report.text import plural

    policy = load_policy(policy_name)
    with undisturbed():
        report = asyncio.run(run_scenario(name, policy, open_store(), tokens_per_call))
    if as_json:
        click.echo(json.dumps(report, indent=2, default=str))
        return
    usage, stop = report["usage"], report["stop"]
    click.echo(f"{name} under {report['policy']['name']}: stopped by {stop['reason']}")
    click.echo(f"  {stop['detail']}")
    click.echo(
        f"  {plural(report['rounds'], 'round')}, {plural(usage['steps'], 'step')}, "
        f"{plural(usage['actions'], 'action')}, {plural(usage['tokens'], 'token')}, "
        f"{plural(len(report['findings']), 'finding')}"
    )
    for row in report["refused"]:
        click.echo(f"  refused {row['tool']} x{row['count']}: {row['reason']}")
    for row in report["amended"]:
        click.echo(f"  changed {row['tool']} {row['arg']}: {row['from']} -> {row['to']}")
    for row in report["cuts"]:
        click.echo(f"  cut round {row['round']}: {row['reason']}")
