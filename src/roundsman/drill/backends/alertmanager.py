"""Alertmanager and the webhook it calls: an alert reaches the drill as it would reach a person."""

from __future__ import annotations

import json
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import yaml

from roundsman.drill.backends.http import answers
from roundsman.drill.supervisor import Spec


class Alertmanager:
    """One server and its receiver; `alerts` are the webhook bodies so far."""

    def __init__(self, program: Path, folder: Path, port: int, hook_port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self._program, self._folder = program, folder
        self._port, self._hook_port = port, hook_port
        self._received = folder / "alerts.ndjson"

    def specs(self) -> list[Spec]:
        """How receiver and server are started."""
        hook = f"http://127.0.0.1:{self._hook_port}/"
        config = {
            "route": {
                "receiver": "hook",
                "group_by": ["alertname", "service"],
                "group_wait": "1s",
                "group_interval": "5s",
                "repeat_interval": "1h",
            },
            "receivers": [
                {"name": "hook", "webhook_configs": [{"url": hook, "send_resolved": True}]}
            ],
        }
        file = self._folder / "alertmanager.yaml"
        file.write_text(yaml.safe_dump(config, sort_keys=False))
        received = str(self._received)
        return [
            Spec(
                name="webhook",
                args=[sys.executable, "-m", __name__, str(self._hook_port), received],
                output=self._folder / "webhook.log",
                ready=answers(hook),
            ),
            Spec(
                name="prometheus-alertmanager",
                args=[
                    str(self._program),
                    f"--config.file={file}",
                    f"--storage.path={self._folder / 'alertmanager'}",
                    f"--web.listen-address=127.0.0.1:{self._port}",
                    f"--web.external-url={self.url}",
                    "--cluster.listen-address=",
                    "--log.level=warn",
                ],
                output=self._folder / "alertmanager.log",
                ready=answers(f"{self.url}/-/ready"),
            ),
        ]

    def alerts(self) -> list[dict[str, Any]]:
        """What the webhook has received, oldest first: `at` (epoch seconds) and `body`."""
        if not self._received.exists():
            return []
        whole = [line for line in self._received.read_text().splitlines(True) if line[-1] == "\n"]
        return [json.loads(line) for line in whole]

    def firing(self) -> dict[str, Any] | None:
        """The first message that says something fires."""
        return next((one for one in self.alerts() if one["body"].get("status") == "firing"), None)


def receive(port: int, file: Path) -> None:
    """Answer webhooks on loopback for ever and append each body to a file."""
    import time

    class Hook(BaseHTTPRequestHandler):
        def log_message(self, format: str, *args: object) -> None:
            pass

        def do_GET(self) -> None:
            self.send_response(200)
            self.end_headers()

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with file.open("a") as out:
                out.write(json.dumps({"at": time.time(), "body": body}) + "\n")
            self.do_GET()

    HTTPServer(("127.0.0.1", port), Hook).serve_forever()


if __name__ == "__main__":
    receive(int(sys.argv[1]), Path(sys.argv[2]))
