"""`roundsman audit module:app`: what each model and tool of an app is covered by."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from roundsman.errors import UsageError

if TYPE_CHECKING:
    from roundsman.adk.audit import Audit, Finding
    from roundsman.adk.slips import Slip
    from roundsman.policy import Policy

GAP = 4
"""Exit code when something would go past the guard."""


@click.command()
@click.argument("target", metavar="MODULE:APP")
@click.option(
    "--policy", "policy_name", metavar="FILE|PRESET", help="Its declared tools and exceptions."
)
@click.option("--json", "as_json", is_flag=True, help="Machine-readable output.")
@click.option(
    "--init", is_flag=True, help="Write a policy that declares the app's tools, to fill in."
)
def audit(target: str, policy_name: str | None, as_json: bool, init: bool) -> int:
    """Say what each model and tool of MODULE:APP is covered by.

    And which names of the policy nothing in the app bears, with the tools no limit of it speaks of.
    Leaves with 4 when something would go past the guard. MODULE is imported from the current folder or
    what is installed; APP is an App, an agent or a workflow.
    """
    if init and as_json:
        raise UsageError("--init writes YAML; leave --json away")
    app = load(target)
    found, policy = _audited(app, policy_name)
    if init:
        click.echo(declaration(found, target), nl=False)
        return 0
    from roundsman.adk.slips import slips

    said = slips(found, policy)
    if as_json:
        click.echo(json.dumps(_data(found, said), indent=2, ensure_ascii=False))
    else:
        click.echo("\n".join(_lines(found, said)))
    return GAP if found.gaps or any(s.gap for s in said) else 0


def load(target: str) -> Any:
    """The object `module:name` means.

    Raises:
        UsageError: no such module or name, or the module fails when it is imported.
    """
    module_name, colon, name = target.partition(":")
    if not (colon and name and all(part.isidentifier() for part in module_name.split("."))):
        raise UsageError(f"{target!r} names no app; write MODULE:APP, such as my_agent.agent:app")
    if "" not in sys.path:
        sys.path.insert(0, "")
    module = _imported(module_name)
    obj = module
    for part in name.split("."):
        if not hasattr(obj, part):
            have = ", ".join(_candidates(module)) or "nothing of the kind"
            raise UsageError(f"{module_name} has no {name!r}; apps and agents in it: {have}")
        obj = getattr(obj, part)
    return obj


def _imported(name: str) -> Any:
    from importlib import import_module

    from roundsman.errors import RoundsmanError

    try:
        return import_module(name)
    except RoundsmanError:
        raise
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if name == missing or name.startswith(missing + "."):
            raise UsageError(
                f"no module {name!r} in this folder or among what is installed"
            ) from error
        raise UsageError(f"{name} needs {missing!r}, which is not installed") from error
    except (Exception, SystemExit) as error:
        said = " ".join(str(error).split())[:300]
        raise UsageError(
            f"{name} fails when it is imported: {type(error).__name__}: {said}{_place(error)}"
        ) from error


def _place(error: BaseException) -> str:
    """The innermost line of a file, unless the error says where it is itself."""
    place, trace = "", error.__traceback__
    while trace is not None and not isinstance(error, SyntaxError):
        file = trace.tb_frame.f_code.co_filename
        if not file.startswith("<"):
            place = f" ({file}:{trace.tb_lineno})"
        trace = trace.tb_next
    return place


def _candidates(module: Any) -> list[str]:
    from roundsman.adk.kinds import is_app, is_node

    return [n for n, o in vars(module).items() if is_app(o) or is_node(o)]


def _audited(app: Any, policy_name: str | None) -> tuple[Audit, Policy]:
    """Under the policy that was named, else the one the app is guarded with, else none."""
    from roundsman.adk.app import app_of, coverage_of
    from roundsman.adk.plugin import GuardPlugin
    from roundsman.policy import load_policy

    app = app_of(app)
    guards = [p for p in app.plugins if isinstance(p, GuardPlugin)]
    if policy_name is None and guards and guards[0].policy is not None:
        return guards[0].coverage.audit(app), guards[0].policy
    policy = load_policy(policy_name or "default")
    return coverage_of(policy).audit(app), policy


def _data(found: Audit, said: list[Slip]) -> dict[str, Any]:
    from importlib.metadata import version

    from roundsman.adk.constructs import ADK_VERSIONS

    return {
        "ok": not (found.gaps or any(s.gap for s in said)),
        "adk": {"installed": version("google-adk"), "checked": ADK_VERSIONS},
        "findings": [
            {
                "kind": f.kind,
                "path": f.path,
                "what": f.what,
                "construct": f.construct,
                "handling": str(f.handling),
                "how": f.how,
                "excepted": f.excepted,
                "gap": f.gap,
            }
            for f in found.findings
        ],
        "names": [
            {"path": s.path, "what": s.what, "how": s.how, "excepted": s.excepted, "gap": s.gap}
            for s in said
        ],
    }


def _lines(found: Audit, said: list[Slip]) -> list[str]:
    shown = [(_word(f), f.path, f.what, f.excepted or f.how) for f in found.findings]
    shown += [(_said_word(s), s.path, s.what, s.excepted or s.how) for s in said]
    wide = [max((len(row[n]) for row in shown), default=0) for n in range(3)]
    lines = ["  ".join(c.ljust(w) for c, w in zip(row, [*wide, 0], strict=True)) for row in shown]
    lines.append("")
    gaps = [g.path for g in found.gaps] + [s.path for s in said if s.gap]
    warned = sum(not (s.gap or s.excepted) for s in said)
    if gaps:
        paths = ", ".join(dict.fromkeys(gaps))
        lines.append(f"{_count(len(gaps), 'gap')}: {paths}")
        lines.append("Change it, or name the path under exceptions: in the policy with the reason.")
    else:
        more = f"; {_count(warned, 'warning')}" if warned else ""
        lines.append(f"{_count(len(found.findings), 'path')}, no gap{more}")
    return lines


def _word(finding: Finding) -> str:
    return "excepted" if finding.excepted else str(finding.handling)


def _said_word(slip: Slip) -> str:
    return "excepted" if slip.excepted else "refused" if slip.gap else "warning"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def declaration(found: Audit, target: str) -> str:
    """A policy that declares every tool that was seen, each as a write until somebody says less."""
    lines = [
        f"# Tools of {target}. Say for each what it does:",
        "# read (changes nothing), poll (a read that is asked again and again), write, destructive.",
        "# A tool that is not named here is refused. Bounds of arguments:",
        "#   args: {window_minutes: {max: 60}}",
        "version: 1",
        "extends: default",
        "tools:",
        "  default: refuse",
        "  allow:",
    ]
    tools = {f.tool: f for f in reversed(found.findings) if f.tool}
    for name in sorted(tools):
        finding = tools[name]
        args = f"; arguments: {', '.join(finding.args)}" if finding.args else ""
        lines.append(f"    {json.dumps(name)}: {{effect: write}}  # {finding.path}{args}")
    if not tools:
        lines[-1] = "  allow: {}"
    for finding in found.findings:
        if finding.construct in ("mcp_toolset", "mcp_sampling", "openapi_toolset"):
            lines.append(
                f"    # name the tools of {finding.path} too: the guard sees them when it runs"
            )
    return "\n".join(lines) + "\n"
