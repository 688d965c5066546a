"""YAML text to plain data, with the line of every key and value. Strict on purpose.

Read from PyYAML's node graph: the ready-made constructors lose line numbers, drop duplicate keys
silently and follow YAML 1.1, where `off` is false and `1:30` is ninety.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

import yaml
from yaml.reader import ReaderError

from roundsman.errors import PolicyError

Path = tuple[str | int, ...]
LARGEST = 1_000_000
"""Bytes beyond which a file is no policy."""

_INT = re.compile(r"[-+]?[0-9][0-9_]{0,30}", re.ASCII)
_FLOAT = re.compile(r"[-+]?([0-9]+\.[0-9]*|\.[0-9]+|[0-9]+(?=[eE]))([eE][-+]?[0-9]+)?", re.ASCII)


_KINDS = ("map", "seq", "str", "int", "float", "bool", "null", "timestamp", "merge", "value")
_TAGS = frozenset(f"tag:yaml.org,2002:{kind}" for kind in _KINDS)
"""What plain YAML resolves to by itself; any other tag was written to make an object."""


@dataclass(frozen=True, slots=True)
class Document:
    """One file: its data, and for each path the line of its key and of its value (from 1)."""

    source: str
    data: dict[str, Any]
    keys: dict[Path, int] = field(default_factory=dict)
    values: dict[Path, int] = field(default_factory=dict)


class _Loader(yaml.SafeLoader):
    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.AliasEvent):
            mark = self.peek_event().start_mark  # type: ignore[no-untyped-call]
            raise yaml.MarkedYAMLError(
                problem="aliases are not read; write it out", problem_mark=mark
            )
        return super().compose_node(parent, index)


def read_document(raw: bytes, source: str) -> Document:
    """Read one policy file. Raises PolicyError with `source` and the line."""
    if len(raw) > LARGEST:
        raise PolicyError(f"{source}: {len(raw):,} bytes is no policy file; at most {LARGEST:,}")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as err:
        line = raw.count(b"\n", 0, err.start) + 1
        raise PolicyError(f"{source}:{line}: not UTF-8 text; save the file as UTF-8") from None
    try:
        return _document(yaml.compose(text, Loader=_Loader), source)
    except yaml.MarkedYAMLError as err:
        mark = err.problem_mark or err.context_mark
        where = f"{source}:{mark.line + 1}" if mark else source
        problem = " ".join((err.problem or "cannot be read").split())
        raise PolicyError(f"{where}: not valid YAML: {problem}") from None
    except ReaderError as err:
        line = text.count("\n", 0, err.position) + 1
        raise PolicyError(f"{source}:{line}: a control character; remove it") from None
    except RecursionError:
        raise PolicyError(f"{source}:{_deepest(text)}: nested too deeply to be a policy") from None


def _deepest(text: str) -> int:
    """The line on which the most brackets are open or, without any, the one indented most."""
    open_now, most, found = 0, 0, 0
    lines = text.splitlines()
    for number, line in enumerate(lines, start=1):
        open_now += sum(line.count(c) for c in "[{") - sum(line.count(c) for c in "]}")
        depth = max(open_now, *(line.count(c) for c in "[{"))
        if depth > most:
            most, found = depth, number
    indents = [len(line) - len(line.lstrip(" -")) for line in lines]
    return found or indents.index(max(indents)) + 1


def _document(root: yaml.Node | None, source: str) -> Document:
    if root is None or (isinstance(root, yaml.ScalarNode) and plain_scalar(root.value) is None):
        raise PolicyError(f"{source}: empty; write at least 'version: 1'")
    if not isinstance(root, yaml.MappingNode):
        line = root.start_mark.line + 1
        raise PolicyError(f"{source}:{line}: not a mapping; write 'key: value' lines")
    document = Document(source, {})
    document.data.update(_mapping(root, (), document))
    return document


def _mapping(node: yaml.MappingNode, path: Path, doc: Document) -> dict[str, Any]:
    data: dict[str, Any] = {}
    for key_node, value_node in node.value:
        line = key_node.start_mark.line + 1
        if not isinstance(key_node, yaml.ScalarNode):
            raise PolicyError(f"{doc.source}:{line}: a key must be plain text")
        key = key_node.value
        at = (*path, key)
        if key in data:
            first = doc.keys[at]
            raise PolicyError(
                f"{doc.source}:{line}: duplicate key {key!r} (first on line {first}); keep one"
            )
        doc.keys[at] = line
        data[key] = _value(value_node, at, doc)
    return data


def _value(node: yaml.Node, path: Path, doc: Document) -> Any:
    # an empty value's own mark is where the next token starts, often lines below
    empty = isinstance(node, yaml.ScalarNode) and node.value == "" and node.style is None
    line = doc.keys.get(path, 1) if empty else node.start_mark.line + 1
    doc.values[path] = line
    if node.tag not in _TAGS:
        raise PolicyError(f"{doc.source}:{line}: tag {node.tag!r} is not read; write a plain value")
    if isinstance(node, yaml.MappingNode):
        return _mapping(node, path, doc)
    if isinstance(node, yaml.SequenceNode):
        return [_value(item, (*path, i), doc) for i, item in enumerate(node.value)]
    assert isinstance(node, yaml.ScalarNode)
    return node.value if node.style is not None else plain_scalar(node.value)


def plain_scalar(text: str) -> Any:
    """A plain scalar by YAML 1.2's core rules: `off` is text, `1:30` is text, `010` is ten."""
    if text in ("", "~", "null"):
        return None
    if text in ("true", "false"):
        return text == "true"
    if _INT.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    return text
