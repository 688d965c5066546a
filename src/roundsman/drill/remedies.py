"""How the services of a held drill are changed, as a file of remedies (docs/remedies.md)."""

from __future__ import annotations

import sys
from pathlib import Path

import yaml

from roundsman.drill.lab import Lab

_VERIFY = {"settle": "8s", "looks": 3, "every": "2s", "within": "60s"}


def declare(lab: Lab, file: Path) -> Path:
    """Write the file; its path.

    Settings are the file that a service's instances read when they start; restarting and deploying is
    asked of the drill itself, which runs them.
    """
    asks = [sys.executable, "-m", "roundsman.drill.control", str(lab.control)]
    services = {
        one.name: {
            "settings": str(lab.releases.settings_file(one)),
            "restart": [*asks, "restart", one.name],
            "repository": str(lab.repository.folder),
            "deploy": [*asks, "deploy", one.name],
        }
        for one in (lab.checkout, lab.gateway)
    }
    file.write_text(yaml.safe_dump({"version": 1, "services": services, "verify": _VERIFY}))
    return file.resolve()
