"""`remedies.yaml`: how things are changed here. Nothing in it comes from telemetry.

version: 1
services:
  checkout-api:
    settings: /srv/checkout-api/config.json
    restart: [systemctl, restart, checkout-api]
    repository: /srv/deployments
    deploy: [make, deploy]
own: [our_remedies.py:DrainNode]
verify: {settle: 15s, looks: 3, every: 10s, within: 5m}
command_timeout: 2m
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import yaml

from roundsman.errors import UsageError
from roundsman.policy.units import parse_duration
from roundsman.remedy import commands
from roundsman.remedy.base import Remedy

_LARGEST = 1024 * 1024
_KEYS = ("version", "services", "own", "verify", "command_timeout")
_VERIFY_KEYS = ("settle", "looks", "every", "within")
_SERVICE_KEYS = ("settings", "restart", "repository", "deploy")
ANY = "*"
"""The entry for services that have none of their own."""


@dataclass(frozen=True)
class Service:
    """How one service is changed: its file of settings, the command that restarts it, the working copy it
    is deployed from, and the command that deploys."""

    settings: Path | None = None
    restart: tuple[str, ...] = ()
    repository: Path | None = None
    deploy: tuple[str, ...] = ()


@dataclass(frozen=True)
class Verifying:
    """A metric is back when `looks` in a row say so, `every` so many seconds, all `within` so many.
    Samples of the first `settle` seconds after it was applied tell nothing: a rate still looks back,
    a service that was restarted has counted nothing yet."""

    settle: float = 15.0
    looks: int = 3
    every: float = 10.0
    within: float = 300.0


@dataclass(frozen=True)
class Config:
    """A file of remedies, or none (`file` is then empty)."""

    file: str = ""
    services: Mapping[str, Service] = field(default_factory=dict)
    own: tuple[str, ...] = ()
    verify: Verifying = Verifying()
    command_timeout: float = commands.SECONDS


class Configured(Remedy):
    """A remedy that acts as the file of remedies says."""

    def __init__(self, config: Config) -> None:
        self.config = config

    def service(self, name: str) -> Service | None:
        """What is declared for a service; the case of its name does not count."""
        known = {one.lower(): one for one in self.config.services}
        own = self.config.services.get(known.get(name.lower(), ""))
        return own if own is not None else self.config.services.get(ANY)

    def missing(self, service: str, key: str, what: str) -> str:
        """Why it does not fit: something is not declared."""
        if not self.config.file:
            return f"it is not known how {service} is changed: no file of remedies names its {key}"
        near = get_close_matches(service, list(self.config.services), 1)
        meant = f" (it names {near[0]!r})" if near and near[0] != service else ""
        return f"{self.config.file} names no {key} of {service}{meant}: {what}"

    def restart(self, command: list[str]) -> str:
        """Run the command, if there is one; what to say of it."""
        if not command:
            return ""
        self.command(command)
        return f", ran {commands.shown(command)}"

    def command(self, argv: list[str], cwd: str | None = None) -> str:
        """Run a command within the time the file gives. Raises CommandFailed."""
        return commands.run(argv, self.config.command_timeout, cwd)


def load_config(path: Path) -> Config:
    """Read a file of remedies.

    Raises:
        UsageError: `file: what is wrong; the way out`.
    """
    try:
        with path.open("rb") as file:
            raw = file.read(_LARGEST + 1)
    except OSError as error:
        raise UsageError(f"--remedies {path}: {error.strerror or error}") from None
    try:
        if len(raw) > _LARGEST:
            raise UsageError(f"{path}: larger than 1 MB; this is no file of remedies")
        data = yaml.safe_load(raw.decode("utf-8"))
    except UnicodeDecodeError:
        raise UsageError(f"{path}: no UTF-8 text") from None
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f":{mark.line + 1}" if mark else ""
        raise UsageError(f"{path}{line}: not YAML; see docs/remedies.md") from None
    return _Reader(path.resolve()).config(data)


class _Reader:
    """Turns what YAML read into a Config; every complaint names file and key."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def config(self, data: Any) -> Config:
        top = self._mapping(data, "the file", _KEYS)
        if top.get("version") != 1 or isinstance(top.get("version"), bool):
            raise self._wrong("version", "must be 1; write version: 1")
        services = top.get("services") or {}
        if not isinstance(services, Mapping):
            raise self._wrong("services", "must name services, each with settings or a command")
        verify = self._mapping(top.get("verify") or {}, "verify", _VERIFY_KEYS)
        looks = verify.get("looks", Verifying.looks)
        if isinstance(looks, bool) or not isinstance(looks, int) or not 1 <= looks <= 100:
            raise self._wrong("verify.looks", f"is {looks!r}; a whole number from 1 to 100")
        settle = self._duration(verify, "verify.settle", Verifying.settle)
        every = self._duration(verify, "verify.every", Verifying.every)
        within = self._duration(verify, "verify.within", Verifying.within)
        if settle + looks * every > within:
            why = f"{looks} looks every {every:g} s, from {settle:g} s on, do not fit within {within:g} s"
            raise self._wrong("verify", why)
        return Config(
            str(self._file),
            {str(name): self._service(str(name), one) for name, one in services.items()},
            tuple(self._own(one) for one in self._list(top.get("own"), "own")),
            Verifying(settle, looks, every, within),
            self._duration(top, "command_timeout", commands.SECONDS),
        )

    def _service(self, name: str, data: Any) -> Service:
        at = f"services.{name}"
        row = self._mapping(data, at, _SERVICE_KEYS)
        return Service(
            self._path(row.get("settings"), f"{at}.settings"),
            self._argv(row.get("restart"), f"{at}.restart"),
            self._path(row.get("repository"), f"{at}.repository"),
            self._argv(row.get("deploy"), f"{at}.deploy"),
        )

    def _argv(self, value: Any, at: str) -> tuple[str, ...]:
        if isinstance(value, str):
            raise self._wrong(
                at,
                f"is a text; no shell is used: write a list, as [{', '.join(value.split()[:4])}]",
            )
        found = self._list(value, at)
        if any("\0" in one for one in found):
            raise self._wrong(at, "holds a NUL character")
        return tuple(found)

    def _path(self, value: Any, at: str) -> Path | None:
        if value is None:
            return None
        if not isinstance(value, str) or not value.strip() or "\0" in value:
            raise self._wrong(at, f"is {value!r}; a path is expected")
        return self._file.parent / value

    def _own(self, spec: str) -> str:
        module, colon, name = spec.rpartition(":")
        if not colon:
            raise self._wrong("own", f"holds {spec!r}; write FILE.py:CLASS or MODULE:CLASS")
        return f"{self._file.parent / module}:{name}" if module.endswith(".py") else spec

    def _list(self, value: Any, at: str) -> list[str]:
        rows = [] if value is None else value
        if not isinstance(rows, list) or not all(isinstance(one, str) and one for one in rows):
            raise self._wrong(at, "must be a list of texts, numbers in quotes")
        return rows

    def _duration(self, row: Mapping[str, Any], at: str, otherwise: float) -> float:
        value = row.get(at.rpartition(".")[2])
        if value is None:
            return otherwise
        try:
            return parse_duration(str(value))
        except ValueError as error:
            raise self._wrong(at, f"is {value!r}, {error}") from None

    def _mapping(self, data: Any, at: str, keys: tuple[str, ...]) -> Mapping[str, Any]:
        if not isinstance(data, Mapping):
            raise self._wrong(at, f"must hold {', '.join(keys)}")
        for key in data:
            if key not in keys:
                near = get_close_matches(str(key), keys, 1)
                hint = f"did you mean {near[0]!r}?" if near else f"there are: {', '.join(keys)}"
                raise self._wrong(at, f"unknown key {str(key)!r}; {hint}")
        return data

    def _wrong(self, at: str, why: str) -> UsageError:
        return UsageError(f"{self._file}: {at}: {why}")
