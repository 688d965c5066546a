"""`roundsman drill`: break a real system of one's own, record it, investigate it."""

from __future__ import annotations

import json
import re
import shlex
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from roundsman.cli.params import Folder

if TYPE_CHECKING:
    from roundsman.drill.lab import Lab

_UNITS = {"": 1.0, "s": 1.0, "m": 60.0}
_SHORTEST, _LONGEST = 10.0, 3600.0


class _Seconds(click.ParamType[float]):
    name = "duration"

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        match = re.fullmatch(r"(\d+(?:\.\d+)?)(s|m|)", str(value).strip())
        seconds = float(match[1]) * _UNITS[match[2]] if match else 0.0
        if not _SHORTEST <= seconds <= _LONGEST:
            self.fail(f"{value!r} must be between 10s and 60m, as in 40s or 2m", param, ctx)
        return seconds


@click.group()
def drill() -> None:
    """Break a real small system, record it, and see whether its cause is found.

    Everything runs on loopback; only processes the drill started are ended.
    """


@drill.command("list")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
def list_(as_json: bool) -> None:
    """The drills there are."""
    from roundsman.drill.programs import need_packages

    need_packages()
    from roundsman.drill.catalogue import DRILLS
    from roundsman.drill.names import Names

    rows = [
        {
            "name": name,
            "about": one.about,
            "harmless": one.harmless,
            "cannot_run": one(Names()).why_not() or None,
        }
        for name, one in DRILLS.items()
    ]
    if as_json:
        click.echo(json.dumps(rows, indent=2))
        return
    for row in rows:
        note = f"  ({row['cannot_run']})" if row["cannot_run"] else ""
        click.echo(f"{row['name']:20} {row['about']}{note}")


@drill.command("run")
@click.argument("name")
@click.option("--out", type=Folder(), required=True, metavar="DIR",
              help="Gets incident/ (to investigate), truth.json and drill.json.")  # fmt: skip
@click.option("--baseline", type=_Seconds(), default="40s", show_default=True,
              help="How long all is well first.")  # fmt: skip
@click.option("--outage", type=_Seconds(), default="60s", show_default=True,
              help="How long it runs on after the fault.")  # fmt: skip
@click.option("--decoys", type=click.IntRange(0, 6), default=0, show_default=True,
              help="Innocent changes near the onset.")  # fmt: skip
@click.option("--without-fault", is_flag=True,
              help="The same steps with the fault left out: the drill's check must fail.")  # fmt: skip
@click.option("--heal", is_flag=True, help="Remove the fault after recording; how long that takes.")
@click.option("--name", "names", multiple=True, metavar="ROLE=NAME",
              help="Call gateway, checkout, database, host or supervisor by another name.")  # fmt: skip
@click.option("--hold", is_flag=True, help="Keep all up after recording, until Ctrl-C.")
@click.option("--force", is_flag=True, help="Record over the recording that DIR holds.")
@click.option("--json", "as_json", is_flag=True, help="What was measured, as JSON.")
def run(
    name: str,
    out: Path,
    baseline: float,
    outage: float,
    decoys: int,
    without_fault: bool,
    heal: bool,
    names: tuple[str, ...],
    hold: bool,
    force: bool,
    as_json: bool,
) -> int:
    """Run drill NAME and record it. Exit 4 when its mechanism does not show in the recording."""
    from roundsman.drill.programs import need_packages

    need_packages()
    from roundsman.drill.catalogue import find_drill
    from roundsman.drill.names import renamed
    from roundsman.drill.run import run_drill

    kind = find_drill(name)
    begun = time.monotonic()

    def say(text: str) -> None:
        click.echo(f"[{time.monotonic() - begun:5.1f}s] {text}", err=True)

    result = run_drill(
        kind(renamed(names), fault=not without_fault),
        out,
        baseline=baseline,
        outage=outage,
        decoys=decoys,
        heal=heal,
        force=force,
        say=say,
        hold=(lambda lab: _hold(lab, out)) if hold else None,
    )
    if as_json:
        click.echo(json.dumps(result, indent=2))
    else:
        _show(result)
    return 0 if result["ok"] else 4


def _hold(lab: Lab, out: Path) -> None:
    """Wait for Ctrl-C or SIGTERM; say where everything is."""
    from roundsman.drill.remedies import declare

    declared = declare(lab, out / "remedies.yaml")
    click.echo(f"gateway          http://127.0.0.1:{lab.gateway.port}/order?customer=1", err=True)
    click.echo(f"Prometheus       {lab.prometheus.url}", err=True)
    click.echo(f"VictoriaMetrics  {lab.victoria.url}", err=True)
    click.echo(f"Alertmanager     {lab.alertmanager.url}", err=True)
    click.echo(f"PostgreSQL       {lab.database.dsn('shop')}", err=True)
    click.echo(f"Remedies         {declared}", err=True)
    live = ["--prometheus", lab.prometheus.url, "--git", str(lab.repository.folder)]
    command = ["roundsman", "investigate", *live, "--logs", str(lab.logs)]
    click.echo(f"investigate it   {shlex.join(command)}", err=True)
    click.echo("Ctrl-C ends it", err=True)
    try:
        with _terminated_as_interrupted():
            while True:
                lab.wait(3600.0)
    except KeyboardInterrupt:
        return
    finally:
        declared.unlink(missing_ok=True)  # what it names ends with the drill


@contextmanager
def _terminated_as_interrupted() -> Iterator[None]:
    """SIGTERM ends what is held as Ctrl-C does: what is to be written still is."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _show(result: dict[str, Any]) -> None:
    def seconds(value: float | None) -> str:
        return "never" if value is None else f"{value:.1f} s"

    for row in result["checks"]:
        click.echo(f"{'ok  ' if row['ok'] else 'FAIL'}  {row['what']} ({row['seen']})")
    click.echo(
        f"ready after {seconds(result['ready_seconds'])}, "
        f"visible {seconds(result['visible_seconds'])} and "
        f"alert {seconds(result['alert_seconds'])} after the fault, "
        f"recording {result['recording_bytes'] / 1024:.0f} kB"
    )
    if result["healed_seconds"] is not None:
        click.echo(f"healed {seconds(result['healed_seconds'])} after the fault was removed")
    click.echo(f"investigate it: roundsman investigate {shlex.quote(str(result['incident']))}")
    click.echo(f"then compare:   {result['truth']}")
