"""Releases: a commit, then the service runs what was committed, one instance after the other."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from roundsman.drill.backends.prometheus import Prometheus
from roundsman.drill.ports import listen
from roundsman.drill.repository import Commit, Repository
from roundsman.drill.supervisor import Process, Spec, Supervisor
from roundsman.errors import DrillFailed

#: wait before a service that died is started again, in seconds (doubled each time, at most 4 times)
_BACK_OFF = 1.0


@dataclass
class Service:
    """A service of the shop: how many instances run and what they are told beside their settings.

    swap: start the new instance before the old one ends (False for one that holds database
    connections: two of them at once would need more than there are).
    """

    name: str
    source: str
    replicas: int
    env: dict[str, str]
    log: Path
    swap: bool
    memory: int | None = None
    socket: socket.socket = field(default_factory=listen)
    running: list[_Instance] = field(default_factory=list)
    version: str = ""

    @property
    def port(self) -> int:
        """Where it serves; the socket stays open while instances come and go."""
        port: int = self.socket.getsockname()[1]
        return port


@dataclass
class _Instance:
    name: str
    process: Process
    spec: Spec
    metrics_port: int
    deaths: int = 0


@dataclass(frozen=True)
class Release:
    """What was deployed: settings before and after, the commit, when it began (epoch seconds)."""

    at: float
    service: str
    version: str
    previous_version: str | None
    config: dict[str, Any]
    previous_config: dict[str, Any] | None
    commit: Commit


class Releases:
    """Commits and deploys. `tick` is called while something is waited for."""

    def __init__(
        self,
        supervisor: Supervisor,
        repository: Repository,
        prometheus: Prometheus,
        folder: Path,
        say: Callable[[str], None],
    ) -> None:
        self.done: list[Release] = []
        self._supervisor, self._repository = supervisor, repository
        self._prometheus, self._folder, self._say = prometheus, folder, say
        self._config: dict[str, dict[str, Any]] = {}
        self._count = 0
        self._again: list[tuple[float, Service, _Instance]] = []

    def config(self, service: str) -> dict[str, Any]:
        """The settings a service runs with."""
        return dict(self._config.get(service, {}))

    def source(self, service: Service) -> str:
        """The code a service runs."""
        return self._repository.read(f"{service.name}/service.py")

    def deploy(
        self,
        service: Service,
        version: str,
        message: str,
        config: Mapping[str, Any] | None = None,
        code: str | None = None,
    ) -> Release:
        """Commit changed settings or code and roll them out. Raises DrillFailed if it does not start."""
        before = self._config.get(service.name)
        after = {**(before or {}), **(config or {})}
        files = {f"{service.name}/config.json": json.dumps(after, indent=2) + "\n"}
        files[f"{service.name}/VERSION"] = version + "\n"
        if code is not None:
            files[f"{service.name}/service.py"] = code
        commit = self._repository.commit(message, files)
        release = Release(
            time.time(), service.name, version, service.version or None, after, before, commit
        )
        self.done.append(release)
        self._say(f"deploy {service.name} {version}: {message}")
        self._config[service.name], service.version = after, version
        where = self._repository.export(
            commit.sha, Path(service.name), self._folder / f"{service.name}-{commit.sha[:10]}"
        )
        self._roll(service, where)
        return release

    def restart(self, service: Service) -> None:
        """The same code with the settings its file holds now, one instance after the other."""
        self._roll(service, self.settings_file(service).parent)

    def redeploy(self, service: Service) -> None:
        """Roll out what the repository holds now, whoever committed it."""
        sha = self._repository.head()
        service.version = self._repository.read(f"{service.name}/VERSION").strip()
        folder = self._folder / f"{service.name}-{sha[:10]}-{self._count}"
        self._roll(service, self._repository.export(sha, Path(service.name), folder))

    def settings_file(self, service: Service) -> Path:
        """The settings that its instances read when they start."""
        return Path(service.running[0].spec.env["CONFIG"])

    def record(self, service: str, version: str, message: str, files: Mapping[str, str]) -> Release:
        """A change that restarts nothing here, such as a migration: committed and written down."""
        commit = self._repository.commit(message, files)
        previous = [one.version for one in self.done if one.service == service]
        release = Release(
            time.time(), service, version, previous[-1] if previous else None, {}, None, commit
        )
        self.done.append(release)
        self._say(f"deploy {service} {version}: {message}")
        return release

    def _roll(self, service: Service, where: Path) -> None:
        old = list(service.running)
        for index in range(service.replicas):
            leaving = old[index] if index < len(old) else None
            if leaving and not service.swap:
                self._end(service, leaving)
            self._begin(service, where)
            if leaving and service.swap:
                self._end(service, leaving)

    def _end(self, service: Service, instance: _Instance) -> None:
        self._again = [one for one in self._again if one[2] is not instance]
        self._prometheus.set_targets(instance.name, None)
        service.running.remove(instance)
        self._supervisor.stop(instance.process)

    def _begin(self, service: Service, where: Path) -> None:
        self._count += 1
        name = f"{service.name}-{self._count}"
        with listen() as back:
            ready = self._folder / f"{name}.ready"
            spec = Spec(
                name=service.name,
                args=[sys.executable, str(where / "service.py")],
                output=service.log,
                ready=ready.exists,
                cwd=where,
                env={
                    **service.env,
                    "SERVICE": service.name,
                    "VERSION": service.version,
                    "CONFIG": str(where / "config.json"),
                    "READY_FILE": str(ready),
                    "APP_FD": str(service.socket.fileno()),
                    "METRICS_FD": str(back.fileno()),
                    "PYTHONPATH": os.pathsep.join(one for one in sys.path if one),
                },
                pass_fds=(service.socket.fileno(), back.fileno()),
                memory=service.memory,
            )
            port = back.getsockname()[1]
            process = self._supervisor.start(spec)
            self._supervisor.wait_ready(process)
        ready.unlink()
        instance = _Instance(name, process, spec, port)
        service.running.append(instance)
        self._prometheus.set_targets(name, port, service.name)
        self._watch(service, instance)

    def _watch(self, service: Service, instance: _Instance) -> None:
        def died() -> None:
            pause = _BACK_OFF * 2 ** min(instance.deaths, 2)
            instance.deaths += 1
            self._again.append((time.monotonic() + pause, service, instance))

        self._supervisor.expect_death(instance.process, died)

    def tick(self) -> None:
        """Start again what died and has waited long enough."""
        due = [one for one in self._again if one[0] <= time.monotonic()]
        for one in due:
            self._again.remove(one)
            _, service, instance = one
            with _same_or_other(instance.metrics_port) as back:
                instance.metrics_port = back.getsockname()[1]
                self._prometheus.set_targets(instance.name, instance.metrics_port, service.name)
                spec = instance.spec
                spec.env = {**spec.env, "METRICS_FD": str(back.fileno())}
                spec.pass_fds = (service.socket.fileno(), back.fileno())
                Path(spec.env["READY_FILE"]).unlink(missing_ok=True)
                instance.process = self._supervisor.start(spec)
            self._watch(service, instance)


def _same_or_other(port: int) -> socket.socket:
    """The port an instance had; another one when somebody took it meanwhile."""
    try:
        return listen(port)
    except OSError:
        return listen()


def replaced(text: str, old: str, new: str) -> str:
    """A text with one passage changed. Raises DrillFailed when it is not there exactly once."""
    if text.count(old) != 1:
        raise DrillFailed(f"a fault's patch fits {text.count(old)} places: {old.strip()[:60]!r}")
    return text.replace(old, new)
