"""Find, read, check and merge policy files. A refusal is one line: file, line, way out."""

from __future__ import annotations

from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from roundsman.errors import PolicyError
from roundsman.policy.complain import refusal
from roundsman.policy.merge import merge
from roundsman.policy.model import PRESETS, Policy, PolicyFile
from roundsman.policy.nodes import LARGEST, Document, read_document
from roundsman.policy.nodes import Path as KeyPath

_DEFAULT = "default"
_HEAD = ("version", "name", "extends")


@dataclass
class _Layers:
    """What has been merged so far, and which file said what."""

    data: dict[str, Any] = field(default_factory=dict)
    said: dict[KeyPath, tuple[str, int]] = field(default_factory=dict)
    usd_from_preset: bool = False


def load_policy(name_or_path: str | Path = _DEFAULT) -> Policy:
    """The policy of a preset's name or of a YAML file, merged over what it extends.

    Raises PolicyError: `file:line: what is wrong; the way out`.
    """
    given = str(name_or_path)
    if given in PRESETS and not (isinstance(name_or_path, Path) and name_or_path.is_file()):
        chain = _chain_of_preset(given)
        name = given
    else:
        chain = _chain_of_file(Path(name_or_path), given)
        name = chain[0][0].data.get("name") or Path(given).stem
    layers = _Layers()
    for document, is_preset in reversed(chain):
        _lay(layers, document, is_preset)
    try:
        return Policy.model_validate(
            {**layers.data, "name": name, "usd_from_preset": layers.usd_from_preset},
            context={"file": True},
        )
    except ValidationError as err:
        # each file was valid by itself: only their combination can fail here
        document = chain[0][0]
        raise refusal(err, document, layers.data, layers.said) from None


def _lay(layers: _Layers, document: Document, is_preset: bool) -> None:
    body = {k: v for k, v in document.data.items() if k not in _HEAD}
    layers.data = merge(layers.data, body)
    layers.said.update({p: (document.source, n) for p, n in document.keys.items()})
    if "usd" in (body.get("run") or {}):
        layers.usd_from_preset = is_preset and body["run"]["usd"] is not None


def _chain_of_preset(name: str) -> list[tuple[Document, bool]]:
    raw = files("roundsman.policy").joinpath("presets", f"{name}.yaml").read_bytes()
    document = _checked(raw, f"preset {name}")
    below = document.data.get("extends")
    return [(document, True), *(_chain_of_preset(below) if below else [])]


def _chain_of_file(path: Path, shown: str) -> list[tuple[Document, bool]]:
    chain: list[tuple[Document, bool]] = []
    seen: list[Path] = []
    blame = ""
    while True:
        raw = _read(path, shown, blame)
        document = _checked(raw, shown)
        chain.append((document, False))
        seen.append(_resolved(path))
        target = document.data.get("extends", _DEFAULT)
        if target in PRESETS:
            return chain + _chain_of_preset(target)
        blame = f"{document.source}:{document.values[('extends',)]}: extends: "
        path = path.parent / target
        shown = str(path)
        if _resolved(path) in seen:
            names = " -> ".join(p.name for p in (*seen, path))
            raise PolicyError(f"{blame}a circle of files ({names}); end it with a preset")


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):
        return path.absolute()


def _read(path: Path, shown: str, blame: str) -> bytes:
    presets = f"presets: {', '.join(PRESETS)}"
    try:
        if path.is_dir():
            raise PolicyError(f"{blame}{shown!r} is a folder, not a policy file; {presets}")
        with path.open("rb") as file:
            return file.read(LARGEST + 1)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        near = get_close_matches(path.name.lower(), PRESETS, n=1)
        if not near and path.parent.is_dir():
            around = sorted(p.name for p in path.parent.glob("*.y*ml"))[:200]
            near = get_close_matches(path.name, around, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ";"
        raise PolicyError(f"{blame}no policy file or preset {shown!r}{hint} {presets}") from None
    except OSError as err:
        raise PolicyError(f"{blame}cannot read {shown!r}: {err.strerror}") from None


def _checked(raw: bytes, source: str) -> Document:
    document = read_document(raw, source)
    try:
        PolicyFile.model_validate(document.data, context={"file": True})
    except ValidationError as err:
        raise refusal(err, document, document.data, {}) from None
    return document
