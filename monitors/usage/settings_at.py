"""Where a run sets what a finding is about: lines of the files that its command and its script name.

A script often reads its settings from a file (`json.load(open("grpo.json"))`): the traceback ends in the script, and
the line to change is elsewhere. Only text files that are named are read: by the command, by a frame of the user's own
code, or by a string in one of those.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from doctor.base.redact import redact_text

_SUFFIXES = frozenset({".py", ".yaml", ".yml", ".json", ".toml", ".sh", ".cfg", ".ini", ".slurm", ".sbatch"})
_MOST_BYTES, _MOST_FILES, _MOST_PLACES, _MOST_NAMES, _MOST_TEXT = 256 << 10, 32, 3, 4, 160
#: a name of a setting, as headlines and commands write it; shorter words are names of anything
_NAME = re.compile(r"`(?:--)?(?P<name>[a-z][a-z0-9]*(?:[_-][a-z0-9]+)+)(?:=[^`]*)?`")
_NAMED_FILE = re.compile(r"[\"'](?P<file>[\w./-]{1,200}\.(?:ya?ml|json|toml|py|cfg|ini))[\"']")


def settings_at(finding: Mapping[str, Any], files: Iterable[str], cwd: str | None) -> list[dict[str, str]]:
    """Places that set what a finding names, at most three: `place` (file:line, as of `cwd`) and `code`, redacted.

    Args:
        finding: as reports have it.
        files: what the command names, and files of the user's own frames; relative to `cwd` or absolute.
        cwd: the folder that the run was started in; without it nothing is read.

    """
    names = _names(finding)
    if not names or not cwd:
        return []
    wanted = [_pattern(name) for name in names]
    found = []
    for path, text in _texts(files, Path(cwd)):
        for number, line in enumerate(text.splitlines(), 1):
            if any(each.search(line) for each in wanted) and not line.lstrip().startswith("#"):
                shown = path.relative_to(cwd) if path.is_relative_to(cwd) else path
                found.append(
                    {"place": redact_text(f"{shown}:{number}"), "code": redact_text(line.strip()[:_MOST_TEXT])}
                )
                if len(found) == _MOST_PLACES:
                    return found
    return found


def _names(finding: Mapping[str, Any]) -> list[str]:
    """Settings that the headline names, then those that a remedy changes."""
    said = [match["name"] for match in _NAME.finditer(finding["headline"])]
    ordered = [each["name"].rpartition(".")[2] for each in finding["remedy"].get("changes") or ()
               if each["kind"] not in {"package", "variable"}]  # fmt: skip
    return list(dict.fromkeys(name.replace("-", "_") for name in (*said, *ordered)))[:_MOST_NAMES]


def _pattern(name: str) -> re.Pattern[str]:
    """`name: 3`, `name = 3`, `"name": 3`, `--name 3`, `--na-me=3`; never a longer name or an attribute that is read."""
    word = re.escape(name).replace("_", "[_-]")
    return re.compile(rf"(?:--{word}(?![\w-])|(?<![\w.-])[\"']?{word}[\"']?\s*(?::|=(?!=)))")


def _texts(files: Iterable[str], cwd: Path) -> Iterator[tuple[Path, str]]:
    """(path, text) of named files, and once of files that these name; settings before code."""
    named, later = _read(files, cwd, ()), []
    for path, text in named:
        if path.suffix == ".py":
            later += [str(path.parent / match["file"]) for match in _NAMED_FILE.finditer(text)]
            later += [str(cwd / match["file"]) for match in _NAMED_FILE.finditer(text)]
    yield from sorted(
        [*named, *_read(later, cwd, [path for path, _ in named])], key=lambda each: each[0].suffix == ".py"
    )


def _read(files: Iterable[str], cwd: Path, but: Sequence[Path]) -> list[tuple[Path, str]]:
    texts: dict[Path, str] = {}
    for name in list(dict.fromkeys(files))[:_MOST_FILES]:
        try:
            path = (cwd / Path(name).expanduser()).resolve()
            if path.suffix in _SUFFIXES and path not in but and path.is_file() and path.stat().st_size <= _MOST_BYTES:
                texts[path] = path.read_text("utf-8", "replace")
        except (OSError, RuntimeError, ValueError):
            continue
    return list(texts.items())
