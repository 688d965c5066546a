"""The programs a drill starts: where they are, and what to install when they are not."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from pathlib import Path

from roundsman.errors import MissingDependency

#: program -> Debian package that holds it
PACKAGES: Mapping[str, str] = {
    "postgres": "postgresql",
    "initdb": "postgresql",
    "prometheus": "prometheus",
    "prometheus-alertmanager": "prometheus-alertmanager",
    "prometheus-node-exporter": "prometheus-node-exporter",
    "prometheus-postgres-exporter": "prometheus-postgres-exporter",
    "victoria-metrics": "victoria-metrics",
    "git": "git",
    "setpriv": "util-linux",
}
#: other names the same program goes by when it is not Debian's build
_ALSO = {
    "prometheus-alertmanager": ("alertmanager",),
    "prometheus-node-exporter": ("node_exporter",),
    "prometheus-postgres-exporter": ("postgres_exporter",),
    "victoria-metrics": ("victoria-metrics-prod",),
}
_MODULES = (
    "uvicorn",
    "starlette",
    "httpx",
    "psycopg",
    "psycopg_pool",
    "prometheus_client",
    "cryptography",
)


def need_packages() -> None:
    """Raises MissingDependency when a Python package of the extra `drill` is not installed."""
    lacking = [name for name in _MODULES if find_spec(name) is None]
    if lacking:
        raise MissingDependency(
            f"a drill needs {', '.join(lacking)}; pip install 'roundsman[drill]'"
        )


def _postgres_folder() -> Path | None:
    """Where the server's own programs are: Debian keeps them off the PATH, by version."""
    config = shutil.which("pg_config")
    if config is None:
        return None
    try:
        done = subprocess.run(
            [config, "--bindir"], capture_output=True, text=True, check=False, timeout=5
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return Path(done.stdout.strip()) if done.returncode == 0 and done.stdout.strip() else None


def find(name: str) -> Path | None:
    """The program of that name, or None."""
    if PACKAGES.get(name) == "postgresql":
        folder = _postgres_folder()
        # pg_config may belong to a client-only installation
        if folder is not None and (folder / name).is_file():
            return folder / name
    for one in (name, *_ALSO.get(name, ())):
        found = shutil.which(one)
        if found:
            return Path(found)
    return None


def missing() -> list[str]:
    """What would have to be installed for a drill: Python's extra, then Debian packages."""
    lacking = [] if all(find_spec(name) for name in _MODULES) else ["roundsman[drill]"]
    packages = [package for name, package in PACKAGES.items() if find(name) is None]
    return lacking + list(dict.fromkeys(packages))


def find_all(names: Iterable[str] = PACKAGES) -> dict[str, Path]:
    """All programs a drill needs. Raises MissingDependency, naming what to install, if one is not there."""
    found = {name: find(name) for name in names}
    lacking = [name for name, path in found.items() if path is None]
    if lacking:
        packages = " ".join(dict.fromkeys(PACKAGES[name] for name in lacking))
        raise MissingDependency(
            f"a drill needs {', '.join(lacking)}; on Debian: apt-get install {packages}"
        )
    return {name: path for name, path in found.items() if path is not None}
