"""What Argo CD deployed, and when: the history of its applications."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from roundsman.errors import SourceError
from roundsman.sources.base import BaseSource
from roundsman.sources.documents import at, rows, text
from roundsman.sources.headers import Header
from roundsman.sources.http import Http
from roundsman.sources.protocols import Change, Command, Unseen, Window
from roundsman.sources.times import parse_time

_PATH = "/api/v1/applications"


class ArgoSource(BaseSource):
    """Satisfies Source with the deployments of all applications. Argo CD keeps the last ten of each.

    Raises SourceError when it does not answer.
    """

    def __init__(
        self, url: str, window: Window, headers: Iterable[Header] = (), option: str = "--argocd"
    ) -> None:
        super().__init__(["changes"])
        self._http = Http(url, headers, option)
        self.url = self._http.url
        found = self._http.get(_PATH)
        if not isinstance(found, Mapping) or "items" not in found:
            raise SourceError(f"{self.url}{_PATH}: JSON, but not the answer of an Argo CD")
        applications = rows(found, "items")
        self._names = sorted({text(one, "metadata", "name") for one in applications} - {""})
        self._undated = 0
        changes = [change for one in applications for change in self._history(one)]
        self._changes = sorted(changes, key=lambda change: change.at)
        if self._undated:
            why = "deployments without a readable time"
            self.note(Unseen(f"argocd {self.url}", why, self._undated))

    def services(self) -> list[str]:
        """The applications."""
        return self._names

    def changes(self, window: Window) -> list[Change]:
        """Deployments in the window, oldest first."""
        return [change for change in self._changes if window.holds(change.at)]

    def command(self, kind: str, window: Window, service: str, text: str) -> Command | None:
        """The list of applications."""
        words = ("curl", "-s", f"{self.url}{_PATH}")
        return Command(words, tuple(map(str, self._http.headers)))

    def _history(self, application: Mapping[str, Any]) -> list[Change]:
        name = text(application, "metadata", "name")
        found: list[Change] = []
        before: dict[str, Any] = {}
        dated = [
            (parse_time(one.get("deployedAt")), one)
            for one in rows(application, "status", "history")
        ]
        self._undated += sum(when is None for when, _ in dated)
        known = sorted(((w, one) for w, one in dated if w is not None), key=lambda pair: pair[0])
        for when, one in known:
            now = _settings(one)
            keys = dict.fromkeys([*before, *now])
            diff = {k: (before.get(k), now.get(k)) for k in keys if before.get(k) != now.get(k)}
            told = " ".join(str(value) for value in now.values())
            who = text(one, "initiatedBy", "username")
            told += f" by {who}" if who else ""
            revision = str(next(iter(now.values()), "")) or f"history {one.get('id')}"
            found.append(
                Change(
                    when,
                    "deploy",
                    name,
                    revision[:64],
                    diff if before else {},
                    told[:2000],
                    revision,
                )
            )
            before = now
        return found


def _settings(entry: Mapping[str, Any]) -> dict[str, Any]:
    """Revision and source of a deployment; one with several sources numbers them."""
    sources = rows(entry, "sources") or [s for s in [at(entry, "source")] if isinstance(s, Mapping)]
    revisions = at(entry, "revisions")
    revisions = revisions if isinstance(revisions, list) else [at(entry, "revision")]
    found: dict[str, Any] = {}
    for number, revision in enumerate(revisions):
        lead = f"{number}." if len(revisions) > 1 else ""
        source = sources[number] if number < len(sources) else {}
        found[f"{lead}revision"] = revision
        for key in ("repoURL", "path", "chart", "targetRevision"):
            if text(source, key):
                found[f"{lead}{key}"] = text(source, key)
        for one in rows(source, "helm", "parameters"):
            found[f"{lead}{text(one, 'name')}"] = one.get("value")
        for image in at(source, "kustomize", "images") or []:
            found[f"{lead}image {str(image).partition(':')[0].partition('=')[0]}"] = str(image)
    return found
