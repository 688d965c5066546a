"""What lies in a folder, and what of it cannot be looked at: nothing is passed over in silence."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable
from pathlib import Path

#: told of a path and why it cannot be read
Told = Callable[[Path, str], None]

_FOLDER = "a folder where a file is expected"
_KINDS = (
    (stat.S_ISDIR, _FOLDER),
    (stat.S_ISFIFO, "a pipe, no file"),
    (stat.S_ISSOCK, "a socket, no file"),
    (stat.S_ISCHR, "a device, no file"),
    (stat.S_ISBLK, "a device, no file"),
)


def why_not(error: OSError) -> str:
    """Why something cannot be read, in the system's words and without the path."""
    return f"cannot be read: {error.strerror or error}"


def regular(path: Path, told: Told) -> os.stat_result | None:
    """What the system says of a file; None when there is none, or (told) when it is no readable file."""
    try:
        found = path.stat()
    except (FileNotFoundError, NotADirectoryError):
        if path.is_symlink():
            told(path, "a link to nothing")
        return None
    except OSError as error:
        told(path, why_not(error))
        return None
    if stat.S_ISREG(found.st_mode):
        return found
    told(path, next((what for is_one, what in _KINDS if is_one(found.st_mode)), "no file"))
    return None


def is_folder(path: Path, told: Told) -> bool:
    """Whether there is a folder of that name; one that cannot be asked is told."""
    try:
        return stat.S_ISDIR(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        told(path, why_not(error))
        return False


def below(
    folder: Path, told: Told, expected: Callable[[Path], bool] = lambda _: False
) -> list[Path]:
    """Everything in a folder and in those below it that is no folder, in order.

    Links to folders are not followed: they may lead out, or in a circle. `expected` says of a path
    whether its name is that of a file to read. A folder with such a name is told, unless such files
    lie in it: a table may be a folder of parts.
    """
    if not is_folder(folder, told):
        return []
    found: list[Path] = []
    misnamed: list[Path] = []

    def failed(error: OSError) -> None:
        told(Path(error.filename) if error.filename else folder, why_not(error))

    for root, folders, files in os.walk(folder, onerror=failed):
        found += [Path(root) / name for name in files]
        for path in (Path(root) / name for name in folders):
            if path.is_symlink():
                told(path, "a link to a folder, which is not followed")
            elif expected(path):
                misnamed.append(path)
    held = {above for file in found if expected(file) for above in file.parents}
    for path in sorted(set(misnamed) - held):
        told(path, _FOLDER)
    return sorted(found)
