"""Takes apart what the system says of a path that a program asked for: what of the path itself tells why it is absent.

Sentences: https://docs.python.org/3/library/exceptions.html#os-exceptions, worded by the C library.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from doctor.base.patterns import later
from doctor.logs.failures.frames import Frame

Kind = Literal[
    "path_program", "path_blank", "path_unexpanded", "path_kind", "path_vanished", "path_part", "path_relative",
    "path_absent",
]  # fmt: skip

PATH = later(
    r"^\[Errno (?P<number>2|20|21)\] (?:No such file or directory|Not a directory|Is a directory): "
    r"(?P<quote>['\"])(?P<path>[^\n]{1,500}?)(?P=quote)(?: -> ['\"][^\n]{1,500}['\"])?$"
)
_ABSENT = "2"
#: blanks as `repr` writes them, which a file with Windows line ends or a quoted variable leaves behind
_BLANK = later(r"^(?:\s|\\[rnt])|(?:\s|\\[rnt])$")
_UNEXPANDED = later(r"\$\{?\w|\{\w*\}|^~|^<[^<>]{1,60}>|\bpath/to/")
#: what other processes, or a cleaner, take away while it is in use
_SHARED = later(r"^/(?:tmp|var/tmp|dev/shm|proc)/|/\.cache/|/__pycache__/|\.(?:lock|incomplete|tmp)$|/tmp[\w-]*/")
_PART = later(
    r"(?:^|/)(?:(?:adapter_|generation_|preprocessor_|processor_|special_tokens_|tokenizer_)?config\.json|tokenizer\.json|"
    r"special_tokens_map\.json|trainer_state\.json|vocab\.json|merges\.txt|(?:optimizer|scheduler|scaler|training_args)\."
    r"(?:pt|bin)|latest|[\w.-]{1,100}\.(?:safetensors|bin|pt|pth|distcp|index\.json|metadata)|\.metadata)$"
)
_SHORTEST = 3  # characters of a setting's value that is looked for in a path


def kind_of(number: str, path: str, frames: Sequence[Frame]) -> Kind:
    """What an absent path shows of itself, the most telling first.

    Args:
        number: the system's number of the error.
        path: as the message quotes it.
        frames: outermost first.

    """
    if number == _ABSENT and "/" not in path and any(each.path.endswith("subprocess.py") for each in frames[-2:]):
        return "path_program"
    if _BLANK.search(path):
        return "path_blank"
    if _UNEXPANDED.search(path):
        return "path_unexpanded"
    if number != _ABSENT:
        return "path_kind"
    if _SHARED.search(path):
        return "path_vanished"
    if _PART.search(path):
        return "path_part"
    return "path_absent" if path.startswith("/") else "path_relative"


def settings_of_path(path: str, settings: Mapping[str, object]) -> Iterator[str]:
    """The settings whose value is this path, begins it or ends it, as `name=value`."""
    for name, value in settings.items():
        if not isinstance(value, str) or len(value) < _SHORTEST:
            continue
        given = value.rstrip("/").removeprefix("./")
        if path.rstrip("/") == given or path.startswith(f"{given}/") or path.endswith(f"/{given}"):
            yield f"{name}={value}"
