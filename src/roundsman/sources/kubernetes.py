"""Rollouts and events of a Kubernetes cluster, through an address such as that of `kubectl proxy`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from roundsman.errors import SourceError
from roundsman.sources.base import BaseSource
from roundsman.sources.documents import at, rows, text
from roundsman.sources.headers import Header
from roundsman.sources.http import Http, HttpFailed
from roundsman.sources.patience import checkpoint
from roundsman.sources.protocols import Change, Command, LogLine, Unseen, Window
from roundsman.sources.times import parse_time

#: objects of a page, and pages of a kind
_PAGE, _PAGES = 500, 40
_REVISION = "deployment.kubernetes.io/revision"
_NAME = "app.kubernetes.io/name"
#: a pod's name is its owner's with one or two random parts, or a number
_POD = re.compile(r"^(?P<owner>.+?)(?:-[a-f0-9]{6,10})?-(?:[a-z0-9]{5}|\d+)$")
#: an image's tag that is a commit
_COMMIT = re.compile(r":(?:\w+-)?([0-9a-f]{7,40})$")

Item = Mapping[str, Any]


class KubernetesSource(BaseSource):
    """Satisfies Source with changes (rollouts and rollbacks of Deployments) and lines (events).

    The path of the address may end in `/namespaces/NAME`, which is then the only one looked at. A cluster
    keeps events for an hour or so and the last ten ReplicaSets: what is older is not there. Raises
    SourceError when it does not answer.
    """

    def __init__(
        self, url: str, window: Window, headers: Iterable[Header] = (), option: str = "--kubernetes"
    ) -> None:
        super().__init__(["changes", "logs"])
        match = re.fullmatch(r"(.*?)(/namespaces/[a-z0-9.-]+)?/?", url)
        assert match is not None
        self._http = Http(match[1], headers, option)
        self._place = match[2] or ""
        self.url = self._http.url
        self._where = f"kubernetes {self.url}"
        self._deployments = {self._key(one): one for one in self._list("apps/v1", "deployments")}
        self._rollouts = sorted(self._read_rollouts(), key=lambda change: change.at)
        self._events = self._read_events()

    def services(self) -> list[str]:
        """The Deployments."""
        return sorted({_service(one) for one in self._deployments.values()})

    def changes(self, window: Window) -> list[Change]:
        """Rollouts in the window, oldest first, with the images and settings that changed."""
        return [change for change in self._rollouts if window.holds(change.at)]

    def lines(self, window: Window, service: str = "", text: str = "") -> Iterator[LogLine]:
        """Events in the window; Warning is an error where it says that something failed."""
        for line in self._events:
            mine = service.lower() in line.service.lower()
            if mine and window.holds(line.at) and text.lower() in line.raw.lower():
                yield line

    def command(self, kind: str, window: Window, service: str, text: str) -> Command | None:
        """The list the answer is from."""
        what = "apis/apps/v1", "replicasets"
        if kind == "logs":
            what = "api/v1", "events"
        words = ("curl", "-s", f"{self.url}/{what[0]}{self._place}/{what[1]}?limit={_PAGE}")
        return Command(words, tuple(map(str, self._http.headers)))

    # --- reading -----------------------------------------------------------------------------

    def _list(self, group: str, kind: str) -> Iterator[Item]:
        """All objects of a kind, page by page."""
        root = "/api/v1" if group == "v1" else f"/apis/{group}"
        path, more = f"{root}{self._place}/{kind}", ""
        for number in range(_PAGES):
            checkpoint()
            try:
                found = self._http.get(path, {"limit": _PAGE, "continue": more or None})
            except HttpFailed as error:
                if number == 0:
                    raise
                why = f"the list breaks off: {error}"
                if error.status == 410:
                    why = "the list breaks off: it changed while it was read"
                self.note(Unseen(f"{kind} of {self._where}", why))
                return
            if not isinstance(at(found, "items"), list):
                raise SourceError(f"{self.url}{path}: JSON, but not the answer of a Kubernetes API")
            yield from rows(found, "items")
            more = text(found, "metadata", "continue")
            if not more:
                return
        self.note(Unseen(f"{kind} of {self._where}", f"over the first {_PAGE * _PAGES:,}"))

    def _read_rollouts(self) -> Iterator[Change]:
        owned: dict[str, list[Item]] = {}
        for one in self._list("apps/v1", "replicasets"):
            owner = next((r for r in rows(one, "metadata", "ownerReferences")
                          if r.get("kind") == "Deployment"), None)  # fmt: skip
            if owner is not None:
                key = f"{text(one, 'metadata', 'namespace')}/{text(owner, 'name')}"
                owned.setdefault(key, []).append(one)
        for key, sets in owned.items():
            sets.sort(key=_revision)
            deployment = self._deployments.get(key)
            newest = max((_created(one) or 0.0 for one in sets), default=0.0)
            for before, one in zip([None, *sets[:-1]], sets, strict=True):
                when = _created(one)
                if when is None:
                    continue
                if one is sets[-1] and when < newest:
                    # an older ReplicaSet with the highest revision was taken back into use
                    when = _last_rollout(deployment) or when
                yield _rollout(one, before, deployment, key, when)

    def _read_events(self) -> list[LogLine]:
        found = []
        try:
            for one in self._list("v1", "events"):
                line = _event(one)
                if line is not None:
                    found.append(line)
        except HttpFailed as error:
            if error.status not in (403, 404):
                raise
            self.note(Unseen(f"events of {self._where}", str(error)))
            self.kinds = ["changes"]
        return sorted(found, key=lambda line: line.at)

    def _key(self, item: Item) -> str:
        return f"{text(item, 'metadata', 'namespace')}/{text(item, 'metadata', 'name')}"


def _service(deployment: Item) -> str:
    labels = at(deployment, "metadata", "labels")
    return text(labels, _NAME) or text(labels, "app") or text(deployment, "metadata", "name")


def _revision(item: Item) -> int:
    found = text(at(item, "metadata", "annotations"), _REVISION)
    return int(found) if found.isdigit() else 0


def _created(item: Item) -> float | None:
    return parse_time(at(item, "metadata", "creationTimestamp"))


def _last_rollout(deployment: Item | None) -> float | None:
    progress = (
        c for c in rows(deployment, "status", "conditions") if c.get("type") == "Progressing"
    )
    return next((parse_time(one.get("lastUpdateTime")) for one in progress), None)


def _rollout(
    one: Item, before: Item | None, deployment: Item | None, key: str, when: float
) -> Change:
    new, old = _settings(one), _settings(before) if before is not None else {}
    diff = {
        k: (old.get(k), new.get(k)) for k in dict.fromkeys([*old, *new]) if old.get(k) != new.get(k)
    }
    images = [str(v).rpartition("/")[2] for k, v in new.items() if k.endswith("image")]
    service = _service(deployment) if deployment is not None else key.rpartition("/")[2]
    cause = text(at(one, "metadata", "annotations"), "kubernetes.io/change-cause")
    told = f"revision {_revision(one)} {' '.join(images)} {cause}".strip()
    name = images[0] if images else f"revision {_revision(one)}"
    tag = _COMMIT.search(name)
    known = before is not None
    return Change(
        when, "deploy", service, name, diff if known else {}, told[:2000], tag[1] if tag else "",
        first=_revision(one) == 1,
    )  # fmt: skip


def _settings(replica_set: Item) -> dict[str, Any]:
    """What a rollout can change, flat: image, arguments, variables, limits and probes of each container."""
    containers = rows(replica_set, "spec", "template", "spec", "containers")
    found: dict[str, Any] = {}
    for one in containers:
        lead = f"{text(one, 'name')}." if len(containers) > 1 else ""
        found[f"{lead}image"] = text(one, "image")
        for key in ("command", "args"):
            if isinstance(one.get(key), list):
                found[f"{lead}{key}"] = " ".join(map(str, one[key]))
        for variable in rows(one, "env"):
            source = at(variable, "valueFrom")
            value = variable.get("value") if source is None else _reference(source)
            found[f"{lead}{text(variable, 'name')}"] = value
        for part in ("resources", "livenessProbe", "readinessProbe"):
            found |= {f"{lead}{part}{k}": v for k, v in _flat(one.get(part))}
    return found


def _reference(source: Any) -> str:
    """Where a variable's value is; the value of a secret is not read."""
    kind = next(iter(source), "") if isinstance(source, Mapping) else ""
    return f"{kind} {text(source, kind, 'name')}/{text(source, kind, 'key')}".strip("/ ")


def _flat(content: Any, lead: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(content, Mapping):
        for key, value in content.items():
            yield from _flat(value, f"{lead}.{key}")
    elif isinstance(content, str | int | float):
        yield lead, content


def _event(one: Item) -> LogLine | None:
    when = next(
        (
            found
            for key in ("lastTimestamp", "eventTime", "firstTimestamp")
            if (found := parse_time(one.get(key))) is not None
        ),
        _created(one),
    )
    if when is None:
        return None
    name = text(one, "involvedObject", "name") or text(one, "regarding", "name")
    kind = text(one, "involvedObject", "kind") or text(one, "regarding", "kind")
    said = text(one, "message") or text(one, "note")
    line = f"{text(one, 'reason')} {kind} {name}: {said}".strip()
    level = "ERROR" if text(one, "type") == "Warning" else "INFO"
    pod = _POD.match(name) if kind == "Pod" else None
    owner = pod["owner"] if pod else name
    if kind == "ReplicaSet":
        owner = re.sub(r"-[a-f0-9]{6,10}$", "", name)
    return LogLine(when, owner, level, line, line)
