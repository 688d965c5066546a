"""What a tool itself says of its arguments: names, types, defaults."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from inspect import isfunction
from typing import Any
from weakref import WeakKeyDictionary

from google.adk.tools.function_tool import FunctionTool


@dataclass(frozen=True, slots=True)
class Signature:
    """A tool's arguments. `names` is None when it takes any; `declared` holds for each bounded
    path {type, default, required}, what of it is known; `missing` are bounded paths that no argument
    of the tool can have."""

    names: frozenset[str] | None
    declared: Mapping[str, Mapping[str, Any]]
    missing: tuple[str, ...] = ()

    schema: Mapping[str, Any] = field(default_factory=dict)

    def unknown(self, args: Mapping[str, Any]) -> tuple[str, ...]:
        """Names in `args` the tool does not have, at any depth. An object takes a field by an alias,
        too, which no bound speaks of."""
        if self.names is None:
            return ()
        above = [a for a in args if a not in self.names]
        properties = self.schema.get("properties")
        known = properties if isinstance(properties, Mapping) else {}
        inner = (n for a, v in args.items() for n in _strange(v, known.get(a), self.schema, a))
        return (*above, *inner)


def apart(value: Any) -> Any:
    """A copy that shares no mapping and no list with `value`: whoever changes those later changes
    nothing that was judged."""
    if isinstance(value, dict):
        return {key: apart(item) for key, item in value.items()}
    return [apart(item) for item in value] if isinstance(value, list) else value


_CACHE: WeakKeyDictionary[Any, tuple[frozenset[str], Signature]] = WeakKeyDictionary()


def signature_of(tool: Any, bounded: frozenset[str]) -> Signature:
    """The signature of `tool` for these bounded arguments; read once for a tool object, and once for
    a function the engine makes a tool of anew with every call."""
    key = tool.func if type(tool) is FunctionTool and isfunction(tool.func) else tool
    try:
        held = _CACHE.get(key)
    except TypeError:  # a tool that cannot be hashed or referred to weakly
        return _read(tool, bounded)
    if held is None or held[0] != bounded:
        held = _CACHE[key] = (bounded, _read(tool, bounded))
    return held[1]


def _read(tool: Any, bounded: frozenset[str]) -> Signature:
    schema, parameters = _schema(tool), _parameters(tool)
    properties = schema.get("properties")
    names = None if not isinstance(properties, Mapping) else frozenset(properties)
    if parameters is not None:
        any_name = any(p.kind is inspect.Parameter.VAR_KEYWORD for p in parameters.values())
        names = None if any_name else frozenset(parameters) | (names or frozenset())
    elif schema.get("additionalProperties"):
        names = None
    declared = {}
    for path in (p.replace("[]", "") for p in bounded):
        said = _said(schema, path)
        parameter = (parameters or {}).get(path)
        if parameter is not None:
            said = dict(said or {})
            if parameter.default is inspect.Parameter.empty:
                said["required"] = True
            elif _plain(parameter.default):
                said["default"] = parameter.default
        if said is not None:
            declared[path] = said
    missing = [] if names is None else _missing(schema, names, sorted(bounded))
    for name, node in (schema.get("properties") or {}).items() if bounded else ():
        if name not in declared and (shape := _shape(node, schema)):
            declared[name] = {"type": shape}
    return Signature(names, declared, tuple(missing), schema)


def _strange(value: Any, node: Any, schema: Mapping[str, Any], path: str) -> Iterator[str]:
    """Keys of `value`, at any depth, that an object of a known shape does not have."""
    if not isinstance(node, Mapping):
        return
    shapes = _alternatives(node, schema)
    if isinstance(value, list | tuple):
        items = [s.get("items") for s in shapes if isinstance(s.get("items"), Mapping)]
        if len(items) == 1:
            for n, item in enumerate(value):
                yield from _strange(item, items[0], schema, f"{path}[{n}]")
    elif isinstance(value, Mapping):
        objects = [s for s in shapes if isinstance(s.get("properties"), Mapping)]
        loose = any(
            s.get("additionalProperties") or s.get("patternProperties") or _is_open(s)
            for s in shapes
        )
        for key, item in value.items() if objects and not loose else ():
            nodes = [s["properties"][key] for s in objects if key in s["properties"]]
            if not nodes:
                yield f"{path}.{key}"
            elif len(nodes) == 1:
                yield from _strange(item, nodes[0], schema, f"{path}.{key}")


def _is_open(shape: Mapping[str, Any]) -> bool:
    """Whether anything fits: no type is told, or an object without fields."""
    kind = str(shape.get("type", "")).lower()
    return kind in ("", "object") and not shape.get("properties") and "enum" not in shape


def _alternatives(
    node: Mapping[str, Any], schema: Mapping[str, Any], deep: int = 0
) -> list[Mapping[str, Any]]:
    """What a value may look like, references followed."""
    if isinstance(node.get("$ref"), str):
        target: Any = schema
        for part in node["$ref"].removeprefix("#/").split("/"):
            target = target.get(part) if isinstance(target, Mapping) else None
        node = target if isinstance(target, Mapping) else {}
    choices = [*_listed(node.get("anyOf")), *_listed(node.get("oneOf"))]
    if not choices or deep > 16:  # a schema may refer to itself
        return [node]
    inner = [c for c in choices if isinstance(c, Mapping)]
    return [a for c in inner for a in _alternatives(c, schema, deep + 1)]


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _shape(node: Any, schema: Mapping[str, Any]) -> str:
    """`object` for an argument that is one, or a list of them, and never a text; else empty."""
    if not isinstance(node, Mapping):
        return ""
    shapes = _alternatives(node, schema)
    items = [s["items"] for s in shapes if isinstance(s.get("items"), Mapping)]
    kinds = {str(s.get("type", "")).lower() for s in shapes}
    if "string" in kinds or any(_is_open(s) and not s.get("type") for s in shapes):
        return ""
    if "object" in kinds or any("properties" in s for s in shapes):
        return "object"
    return "object" if any(_shape(i, schema) for i in items) else ""


def _missing(schema: Mapping[str, Any], names: frozenset[str], bounded: list[str]) -> list[str]:
    """A plain name may be meant at any depth, so what can hold anything may hold it."""
    inner, closed = _every_name(schema)
    untold = not inner and bool(names - {"tool_context", "ctx"})
    paths = {path: path.replace("[]", "") for path in bounded}
    if untold or not closed:
        return [p for p, q in paths.items() if "." in q and q.partition(".")[0] not in names]
    return [
        p
        for p, q in paths.items()
        if q not in names and (_said(schema, q) is None if "." in q else q not in inner)
    ]


def _every_name(schema: Mapping[str, Any]) -> tuple[set[str], bool]:
    """Names of properties at every depth, and whether there can be no others."""
    found, closed, seen = set[str](), True, set[int]()
    todo: list[tuple[Mapping[str, Any], bool]] = [(schema, False)]
    while todo:
        node, is_value = todo.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        properties = node.get("properties")
        properties = properties if isinstance(properties, Mapping) else {}
        found |= set(properties)
        inside: list[Any] = [p for p in properties.values() if isinstance(p, Mapping)]
        for key in ("$defs", "definitions"):
            shared = node.get(key)
            inside += shared.values() if isinstance(shared, Mapping) else []
        for key in ("anyOf", "oneOf", "allOf", "items"):
            choice = node.get(key)
            inside += choice if isinstance(choice, list) else [choice]
        inside = [i for i in inside if isinstance(i, Mapping)]
        todo += [(i, True) for i in inside]
        if is_value and not inside:
            told = str(node.get("type", "")).lower() in _SCALARS or {"enum", "const", "$ref"} & set(
                node
            )
            closed = closed and bool(told)
        closed = closed and not (is_value and node.get("additionalProperties"))
    return found, closed


_SCALARS = frozenset({"string", "integer", "number", "boolean", "null"})


def _parameters(tool: Any) -> Mapping[str, inspect.Parameter] | None:
    func = getattr(tool, "func", None)
    if not callable(func):
        return None
    try:
        return inspect.signature(func).parameters
    except (TypeError, ValueError):
        return None


def _schema(tool: Any) -> Mapping[str, Any]:
    raw = getattr(getattr(tool, "_mcp_tool", None), "inputSchema", None)  # it keeps the defaults
    if isinstance(raw, Mapping):
        return raw
    try:
        declaration = tool._get_declaration()
    except Exception:  # a toolset's own code; the call itself will say what is wrong
        return {}
    if declaration is None:
        return {}
    schema = getattr(declaration, "parameters_json_schema", None)
    if isinstance(schema, Mapping):
        return schema
    parameters = getattr(declaration, "parameters", None)
    if parameters is None:
        return {}
    found: Mapping[str, Any] = parameters.model_dump(exclude_none=True, mode="json")
    return found


def _said(schema: Mapping[str, Any], path: str) -> dict[str, Any] | None:
    """What a JSON schema says at a path; members of lists are gone into."""
    node: Mapping[str, Any] = schema
    required = False
    for part in path.split("."):
        node = _inside(node, schema)
        properties = node.get("properties")
        if not isinstance(properties, Mapping) or not isinstance(properties.get(part), Mapping):
            return None
        required = part in (node.get("required") or ())
        node = properties[part]
    kind = _inside(node, schema).get("type")
    said: dict[str, Any] = {"type": str(kind).lower()} if isinstance(kind, str) else {}
    if not _takes_lists(node, schema):
        said["single"] = True
    if required:
        said["required"] = True
    if _plain(node.get("default")):
        said["default"] = node["default"]
    return said


_SINGLE = frozenset({"string", "integer", "number", "boolean", "object", "null"})


def _takes_lists(node: Any, schema: Mapping[str, Any], depth: int = 16) -> bool:
    """Whether a schema may let a list pass: unless it says that it does not."""
    if not isinstance(node, Mapping) or depth == 0:
        return True
    if isinstance(node.get("$ref"), str):
        return _takes_lists(_referred(node["$ref"], schema), schema, depth - 1)
    for word in ("anyOf", "oneOf", "allOf"):
        if isinstance(node.get(word), list):
            return any(_takes_lists(one, schema, depth - 1) for one in node[word])
    kind = node.get("type")
    kinds = kind if isinstance(kind, list) else [kind]
    return not all(str(one).lower() in _SINGLE for one in kinds)


def _referred(reference: str, schema: Mapping[str, Any]) -> Any:
    target: Any = schema
    for part in reference.removeprefix("#/").split("/"):
        target = target.get(part) if isinstance(target, Mapping) else None
    return target


def _inside(node: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The node behind references, alternatives with null, and list members."""
    for _ in range(16):  # a schema may refer to itself
        target: Any = None
        if isinstance(node.get("$ref"), str):
            target = _referred(node["$ref"], schema)
        elif isinstance(node.get("anyOf"), list):
            kinds = [n for n in node["anyOf"] if isinstance(n, Mapping)]
            target = next((n for n in kinds if n.get("type") != "null"), None)
        elif str(node.get("type")).lower() == "array":
            target = node.get("items")
        if not isinstance(target, Mapping):
            return node
        node = target
    return node


def _plain(value: Any) -> bool:
    return isinstance(value, str | int | float | list)
