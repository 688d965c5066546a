"""Give settings the values back that they had before the change that was convicted."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from roundsman.remedy import commands, settings_file
from roundsman.remedy.base import Args, NotApplied
from roundsman.remedy.config import Configured
from roundsman.remedy.finding import Finding
from roundsman.remedy.settings_file import CannotEdit

Pair = Mapping[str, Any]


class SetConfigBack(Configured):
    """Edits the file of settings the user declared for the service, then restarts it, if it was declared
    how. Only values the investigation read in the change are written."""

    name = "set-config-back"
    about = (
        "set changed settings back to what they were, and run the restart that is declared, if any"
    )
    causes = "a change of settings (JSON, YAML or KEY=VALUE), by a deploy, a commit or a flag"
    undoing = "the settings get the values again that they have now, and a declared restart is run"

    def call_for(self, finding: Finding) -> Args | str:
        """The settings of the change that the file holds as the change left them."""
        if not finding.settings:
            return "the change that is the cause names no setting"
        declared = self.service(finding.service)
        if declared is None or declared.settings is None:
            return self.missing(finding.service, "settings", "the file that holds its settings")
        wanted: dict[str, dict[str, Any]] = {}
        left: dict[str, str] = {}
        for key, (before, after) in finding.settings.items():
            try:
                now = settings_file.value_of(declared.settings, key)
                if before is None or after is None:
                    raise CannotEdit(f"the change {'added' if before is None else 'removed'} {key}")
                if settings_file.same(now, before):
                    raise CannotEdit(f"{key} is {now!r} already")
                if not settings_file.same(now, after):
                    raise CannotEdit(f"{key} is {now!r}, and the change made it {after!r}")
                back = settings_file.as_text(before) if isinstance(now, str) else before
                settings_file.with_values(declared.settings, {key: back})
            except CannotEdit as error:
                left[key] = str(error).removeprefix(f"{declared.settings}: ")
            else:
                wanted[key] = {"now": now, "back": back}
        if not wanted:
            return f"in {declared.settings}: {'; '.join(dict.fromkeys(left.values()))}"
        restart = commands.filled(declared.restart, finding.service) if declared.restart else []
        return {
            "service": finding.service,
            "file": str(declared.settings),
            "settings": wanted,
            "restart": restart,
            "left": sorted(set(left.values())),
        }

    def resource(self, service: str, **args: Any) -> str:
        """The service."""
        return f"service {service}"

    def dry_run(
        self, file: str, settings: Pair, restart: list[str], left: list[str], **args: Any
    ) -> Sequence[str]:
        """The lines, the command, and what of the change stays as it is."""
        lines = [f"in {file}: {k} from {v['now']!r} to {v['back']!r}" for k, v in settings.items()]
        if restart:
            lines.append(f"run: {commands.to_run(restart)}")
        else:
            lines.append("no restart is declared: the service must read its settings by itself")
        return [*lines, *(f"left as it is: {one}" for one in left)]

    def apply(self, file: str, settings: Pair, restart: list[str], **args: Any) -> str:
        """Write, then restart. Settings that have their old value already are left: an attempt that was
        cut off is finished so."""
        path = Path(file)
        try:
            todo = {}
            for key, pair in settings.items():
                now = settings_file.value_of(path, key)
                if settings_file.same(now, pair["back"]):
                    continue
                if not settings_file.same(now, pair["now"]):
                    raise CannotEdit(
                        f"{file}: {key} is {now!r} now, and {pair['now']!r} was approved"
                    )
                todo[key] = pair["back"]
            text = settings_file.with_values(path, todo)
        except CannotEdit as error:
            raise NotApplied(str(error)) from None
        if todo:
            settings_file.replace(path, text)
        return _said({k: p["back"] for k, p in settings.items()}, file, self.restart(restart))

    def undo(self, file: str, settings: Pair, restart: list[str], **args: Any) -> str:
        """Write what was there, then restart."""
        path = Path(file)
        values = {key: pair["now"] for key, pair in settings.items()}
        for key, pair in settings.items():
            now = settings_file.value_of(path, key)
            if not any(settings_file.same(now, one) for one in pair.values()):
                raise CannotEdit(f"{file}: {key} is {now!r} now: somebody else has changed it")
        settings_file.replace(path, settings_file.with_values(path, values))
        return _said(values, file, self.restart(restart))

    def was_applied(
        self, file: str, settings: Pair, restart: list[str], **args: Any
    ) -> bool | None:
        """Told by the file; whether the restart happened cannot be told from it."""
        path = Path(file)
        now = {key: settings_file.value_of(path, key) for key in settings}
        if all(settings_file.same(now[key], pair["now"]) for key, pair in settings.items()):
            return False
        if all(settings_file.same(now[key], pair["back"]) for key, pair in settings.items()):
            return None if restart else True
        return None

    def was_undone(self, file: str, settings: Pair, restart: list[str], **args: Any) -> bool | None:
        """The file is written first: unless it is back, nothing was restarted; when it is, that cannot
        be told."""
        path = Path(file)
        now = {key: settings_file.value_of(path, key) for key in settings}
        if all(settings_file.same(now[key], pair["now"]) for key, pair in settings.items()):
            return None if restart else True
        if all(settings_file.same(now[key], pair["back"]) for key, pair in settings.items()):
            return False
        return None

    def state_now(self, file: str, settings: Pair, restart: list[str], **args: Any) -> str:
        """The values in the file; a restart leaves no trace in it."""
        now = ", ".join(f"{k} is {settings_file.value_of(Path(file), k)!r}" for k in settings)
        then = f"; whether {commands.shown(restart)} was run cannot be told" if restart else ""
        return f"in {file}: {now}{then}"

    def afterwards(self, service: str, file: str, **args: Any) -> str:
        """A file edited in place is not what is deployed next."""
        return (
            f"{file} alone was changed: have it changed where {service} is deployed from, or its next "
            "deploy brings the trouble back"
        )

    def undo_by_hand(self, file: str, settings: Pair, restart: list[str], **args: Any) -> str:
        """The edit and the command."""
        edits = ", ".join(f"{key} to {pair['now']!r}" for key, pair in settings.items())
        then = f", then run: {commands.shown(restart)}" if restart else ""
        return f"in {file} set {edits}{then}"


def _said(values: Mapping[str, Any], file: str, restarted: str) -> str:
    edits = ", ".join(f"{key} is {value!r}" for key, value in values.items())
    return f"{edits} in {file}{restarted}"
