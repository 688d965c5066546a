"""VictoriaMetrics, which Prometheus writes to: a second store with the same samples."""

from __future__ import annotations

from pathlib import Path

from roundsman.drill.backends.http import answers
from roundsman.drill.supervisor import Spec


class Victoria:
    """One single-node store."""

    def __init__(self, program: Path, folder: Path, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"
        self.write_url = f"{self.url}/api/v1/write"
        self._program, self._folder, self._port = program, folder, port

    def spec(self) -> Spec:
        """How it is started; without its latency offset fresh samples can be asked for at once."""
        return Spec(
            name="victoria-metrics",
            args=[
                str(self._program),
                f"-httpListenAddr=127.0.0.1:{self._port}",
                f"-storageDataPath={self._folder / 'victoria'}",
                "-search.latencyOffset=0s",
                "-memory.allowedPercent=5",
            ],
            output=self._folder / "victoria.log",
            ready=answers(f"{self.url}/health"),
        )
