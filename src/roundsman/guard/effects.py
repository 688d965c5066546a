"""Does a call change anything? A declared effect says so; for the rest there is only what it looks
like: the verb in the tool's name, the command in its arguments.

A guess serves repetition alone (a rerun after a change is work). Scheduling and resuming take an
undeclared tool for a write, whatever it looks like.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

_VERBS = frozenset(
    {
        "add", "append", "apply", "approve", "assign", "book", "buy", "cancel", "change", "checkout",
        "commit", "create", "delete", "deploy", "disable", "drop", "edit", "enable", "exchange",
        "insert", "install", "kill", "merge", "modify", "move", "order", "patch", "pay", "post",
        "publish", "push", "put", "refund", "remove", "rename", "replace", "reserve", "reset",
        "restart", "rollback", "save", "scale", "send", "set", "start", "stop", "submit",
        "terminate", "undo", "uninstall", "update", "upgrade", "upload", "upsert", "write",
    }
)  # fmt: skip
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])")
_COMMAND = re.compile(
    r"""
      (?:^|[\s\w"')])(?<![=<>-])>>?(?!\s*/dev/null|&|=)\s*(?!\d+\b)["']?
        (?:[\w~$-]*[./][\w./~$-]+|[\w~$-]+["']?\s*(?:$|[;&|)}\]]|<<|\d?>))
    | (?:^|[;&|(`{\[]\s*|\bsudo\s|\bxargs\s(?:-\S+\s)*|-exec\s|\bthen\s|\bdo\s)
      (?:rm|mv|cp|mkdir|rmdir|touch|chmod|chown|ln|tee|dd|truncate|patch|kill|pkill|unzip|tar
        |useradd|systemctl|service|apt|apt-get|yum|apk|make|install)\b
    | \bsed\s(?:-\w+\s)*-\w*i | \b(?:pip3?|npm|yarn|cargo|conda|brew)\s(?:un)?install\b
    | \bgit\s(?:add|apply|checkout|clone|commit|merge|mv|pull|push|rebase|reset|restore|revert|rm
        |stash|switch)\b
    | \b(?:kubectl|oc|helm|docker|terraform|aws|gcloud)\s(?:[\w-]+\s)*?(?:apply|annotate|cordon|create|delete
        |destroy|drain|edit|exec|expose|install|label|patch|replace|restart|rm|rollback|rollout|run
        |scale|set|start|stop|taint|uncordon|upgrade)\b
    | (?:^|;)\s*(?:insert\s+into|update\s+\S+\s+set|delete\s+from|replace\s+into|truncate|merge\s+into
        |(?:create|drop|alter)\s+(?:or\s+replace\s+)?(?:table|view|index|database|schema|user|temporary))\b
    | \.(?:write|writelines|write_text|to_csv|savefig|unlink)\(
    """,
    re.VERBOSE | re.IGNORECASE | re.MULTILINE,
)
_READS = re.compile(r"\W*(?:\w+\[)?(?:select|with|show|desc|describe|explain)\b", re.IGNORECASE)
_SHELLS = ("command", "cmd", "code", "action")
_COMMANDS = ("command", "cmd", "code", "script", "sql", "query", "statement", "action", "input")
_PICKS = ("command", "action", "operation", "op", "method", "mode", "verb")
_READ_METHODS = frozenset({"get", "head", "view", "list", "read", "show", "open"})


def looks_like_a_write(tool: str, args: Mapping[str, Any]) -> bool:
    """Whether a call of this tool seems to change something."""
    for key in _PICKS:
        picked = args.get(key)
        if isinstance(picked, str) and picked.lower() in _READ_METHODS:
            return False
        if isinstance(picked, str) and _verb(picked[:40]):
            return True
    for key in _SHELLS:
        command = args.get(key)
        if isinstance(command, str) and command[:20].split(maxsplit=1)[:1]:
            first = command[:20].split(maxsplit=1)[0]
            if first.islower() and _verb(first):
                return True
    for key in _COMMANDS:
        command = args.get(key)
        if not isinstance(command, str) or _READS.match(command):
            continue
        if _COMMAND.search(command[:4_000]):
            return True
    return _verb(tool)


@lru_cache(maxsize=512)
def _verb(name: str) -> bool:
    """Whether the first two words of a name hold a verb of change; `get_orders` reads."""
    words = [w.lower() for w in _WORD.findall(name)[:2]]
    if not words or len(name.split()) > 2:
        return False
    return words[0] in _VERBS or (len(words) > 1 and words[0] == "str" and words[1] in _VERBS)
