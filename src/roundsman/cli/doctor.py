"""`roundsman doctor`: what is installed, reachable and missing, without starting anything."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import click

from roundsman.cli.source_options import source_options

if TYPE_CHECKING:
    from roundsman.sources.spec import SourceSpec

_KEYS = {
    "gemini key": ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
    "openai key": ("OPENAI_API_KEY",),
    "anthropic key": ("ANTHROPIC_API_KEY",),
}
_KEY_USE = "optional: only for --model {}..."
_PACKAGES = {
    "litellm": "models named openai/... or anthropic/...; pip install 'roundsman[all]'",
    "anthropic": "models named claude-...; pip install 'roundsman[all]'",
    "openai": "models named gpt-..., or on a server of your own; pip install 'roundsman[all]'",
    "xllamacpp": "a model's server on this machine; pip install 'roundsman[local]'",
    "psycopg": "a journal in PostgreSQL; pip install 'roundsman[postgres]'",
    "dbos": "workers for many investigations; pip install 'roundsman[worker]'",
}
_PROGRAMS = ("git", "docker", "kubectl")


@dataclass(frozen=True)
class Check:
    """One line; only a `needed` check that `failed` stands in the way of a run without a key."""

    name: str
    status: str  # ok, failed, set or missing
    detail: str
    needed: bool = False


@click.command()
@source_options
@click.option(
    "--base-url",
    metavar="URL",
    help="Also ask this model's own server for its models. Also: $ROUNDSMAN_BASE_URL.",
)
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
@click.pass_context
def doctor(
    context: click.Context, as_json: bool, sources: SourceSpec, base_url: str | None
) -> None:
    """Check the installation, and whether the sources named answer, each with the last hour.

    Exit 0 when a run without a model key works and everything named by an option answers, else 4.
    """
    asked = list(check_sources(sources)) if sources else []
    asked += check_model_server(base_url, sources.headers)
    checks = [*run_checks(), *asked]
    good = not any(one.needed and one.status == "failed" for one in checks)
    if as_json:
        from roundsman.report import to_json

        click.echo(to_json({"ok": good, "checks": [asdict(one) for one in checks]}), nl=False)
    else:
        wide = max(len(one.name) for one in checks)
        for one in checks:
            click.echo(f"{one.status:<7}  {one.name:<{wide}}  {one.detail}".rstrip())
        click.echo(
            "ready: roundsman investigate PATH works without a model key"
            if good
            else "not ready: see the lines that say failed"
        )
    context.exit(0 if good else 4)


def run_checks() -> Iterator[Check]:
    """All checks, in the order they are shown; none raises, none shows a secret."""
    # The package itself refuses to install below the oldest Python it supports.
    yield Check("python", "ok", ".".join(map(str, sys.version_info[:3])), True)
    yield _package("roundsman")
    yield _package("google-adk")
    yield _duckdb()
    yield _state_directory()
    if os.environ.get("ROUNDSMAN_DB", "").strip():
        yield _database()
    for name, variables in _KEYS.items():
        found = [one for one in variables if os.environ.get(one, "").strip()]
        start = {"gemini key": "gemini-"}.get(name, name.removesuffix(" key") + "/")
        which = f"{' or '.join(variables)} ({_KEY_USE.format(start)})"
        yield Check(name, "set" if found else "missing", " and ".join(found) or which)
    for name, use in _PACKAGES.items():
        there = find_spec(name) is not None
        yield Check(name, "ok" if there else "missing", f"optional: {use}")
    for name in _PROGRAMS:
        # Never run: a program that hangs must not make the doctor hang.
        yield Check(
            name,
            "ok" if shutil.which(name) else "missing",
            "optional: needed for --git"
            if name == "git"
            else "optional: not needed to investigate",
        )
    yield _drill()


def check_sources(spec: SourceSpec) -> Iterator[Check]:
    """One line for each source: what it holds of the last hour, or why it does not answer."""
    import time

    from roundsman.errors import SourceError
    from roundsman.sources import Window
    from roundsman.sources.opening import openings

    now = time.time()
    for one in openings(spec, Window(now - 3600, now), lambda: ()):
        name = f"{one.kind} {one.label}"
        try:
            source = one.open()
            services = source.services()
        except SourceError as error:
            yield Check(name, "failed", str(error), True)
            continue
        seen = f"; services: {', '.join(services[:8])}" if services else ""
        more = f" and {len(services) - 8} more" if len(services) > 8 else ""
        yield Check(name, "ok", f"{' and '.join(source.kinds)}{seen}{more}", True)


def check_model_server(base_url: str | None, headers: tuple[str, ...]) -> Iterator[Check]:
    """One line for the model's server of an option or the environment: its models, or why there are none.
    A run needs it only where an option names it."""
    if not (base_url or os.environ.get("ROUNDSMAN_BASE_URL")):
        return  # what would be loaded to ask takes its time
    from roundsman.errors import RoundsmanError
    from roundsman.investigate.endpoint import chosen, models_at, names_of

    name, needed = "model server", bool(base_url)
    try:
        endpoint = chosen(base_url, None, None, headers)
        if endpoint is None:
            return
        name += f" {endpoint.url}"
        rows = models_at(endpoint)
    except RoundsmanError as error:
        yield Check(name, "failed", str(error), needed)
        return
    if rows is None:
        detail = "answers, but lists no models: a run shows whether it is one, and has the model"
    else:
        detail = f"--model openai/NAME with {names_of(rows)}" if rows else "has no model loaded"
    yield Check(name, "ok", detail, needed)


def _drill() -> Check:
    from roundsman.drill.programs import missing

    lacking = missing()
    detail = f"for drills, install: {' '.join(lacking)}" if lacking else "all that a drill starts"
    return Check("drill", "missing" if lacking else "ok", detail)


def _package(name: str) -> Check:
    try:
        version = metadata.version(name)
    except metadata.PackageNotFoundError:
        return Check(name, "failed", f"not installed; pip install {name}", True)
    wanted = _wanted(name)
    if not fits(version, wanted):
        return Check(name, "failed", f"{version}, but {wanted} is needed", True)
    return Check(name, "ok", version, True)


def _wanted(name: str) -> str:
    """What this Roundsman's own metadata asks of a package, so that it is written down once."""
    try:
        lines = metadata.requires("roundsman") or []
    except metadata.PackageNotFoundError:
        return ""
    for line in lines:
        match = re.match(rf"{re.escape(name)}\s*([<>=!~][^;]*)", line)
        if match and "extra ==" not in line:
            return match[1].strip().strip("()")
    return ""


def fits(version: str, wanted: str) -> bool:
    """Whether a version lies within bounds such as `<2.14,>=2.13`; other operators are passed."""
    have = _numbers(version)
    for operator, bound in re.findall(r"(>=|<(?!=))\s*([\d.]+)", wanted):
        limit = _numbers(bound)
        size = max(len(have), len(limit))
        left, right = (part + (0,) * (size - len(part)) for part in (have, limit))
        if (operator == ">=" and left < right) or (operator == "<" and left >= right):
            return False
    return True


def _numbers(version: str) -> tuple[int, ...]:
    match = re.match(r"\d+(?:\.\d+)*", version)
    return tuple(int(part) for part in match[0].split(".")) if match else ()


def _duckdb() -> Check:
    found = _package("duckdb")
    if found.status == "failed":
        return found
    try:
        # A native module may be installed and still not load on this machine.
        import duckdb

        duckdb.sql("select 1").fetchall()
    except Exception as error:
        why = " ".join(str(error).split())[:200]
        return Check("duckdb", "failed", f"{found.detail}, but it does not work: {why}", True)
    return found


def _database() -> Check:
    """Looks only: the tables are made with the first run."""
    from roundsman.errors import RoundsmanError

    name = "ROUNDSMAN_DB"
    try:
        from roundsman.ledger.postgres import PostgresDatabase
        from roundsman.ledger.postgres_url import address_of

        database = PostgresDatabase(address_of(os.environ[name]))
        version, may = database.version(), database.may_begin()
        database.close()
    except RoundsmanError as error:
        return Check(name, "failed", str(error), True)
    if not version and not may:
        out = "as an administrator: create schema roundsman authorization USER"
        return Check(
            name, "failed", f"{database.name}: no journal, and it may not be made; {out}", True
        )
    state = f"a journal of version {version}" if version else "no journal yet"
    return Check(name, "ok", f"{database.name} ({state})", True)


def _state_directory() -> Check:
    from roundsman.ledger import default_home

    name, out = "state directory", "set ROUNDSMAN_HOME to a folder that can be written"
    try:
        home = default_home()
        if home.is_dir():
            with tempfile.TemporaryFile(dir=home):
                return Check(name, "ok", f"{home} (writable)", True)
        if _can_be_made(home):
            return Check(name, "ok", f"{home} (made with the first run)", True)
        why = "cannot be made"
    except (OSError, RuntimeError) as error:
        home = Path(os.environ.get("ROUNDSMAN_HOME") or "~/.local/state/roundsman")
        why = (getattr(error, "strerror", None) or str(error)).lower()
    return Check(name, "failed", f"{home}: {why}; {out}", True)


def _can_be_made(folder: Path) -> bool:
    """Looks only: a doctor that makes folders would change what it reports on."""
    if folder.exists() or folder.is_symlink():
        return False
    nearest = next((one for one in folder.absolute().parents if one.exists()), None)
    return nearest is not None and nearest.is_dir() and os.access(nearest, os.W_OK | os.X_OK)
