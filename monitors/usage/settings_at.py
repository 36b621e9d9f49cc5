"""Where a run sets what a finding is about: lines of the files that its command and its script name.

A script often reads its settings from a file (`json.load(open("grpo.json"))`): the traceback ends in the script, and
the line to change is elsewhere. Only text files that are named are read: by the command, by a frame of the user's own
code, or by a string or an import in one of those.
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
#: a function of the user's own that a headline names, such as a reward
_FUNCTION = re.compile(r"[Ff]unction `(?P<name>\w+)`")
_IMPORTED = re.compile(r"^\s*(?:from|import)\s+(?P<module>\w{1,80})\b", re.MULTILINE)
_NAMED_FILE = re.compile(r"[\"'](?P<file>[\w./-]{1,200}\.(?:ya?ml|json|toml|py|cfg|ini))[\"']")


def settings_at(
    finding: Mapping[str, Any],
    files: Iterable[str],
    cwd: str | None,
    *,
    arguments: Iterable[str] = (),
    until_ns: int | None = None,
) -> list[dict[str, str]]:
    """Places that set what a finding names, at most three: `place` (file:line, as of `cwd`) and `code`, redacted.

    Args:
        finding: as reports have it.
        files: what the command names, and files of the user's own frames; relative to `cwd` or absolute.
        cwd: the folder that the run was started in; without it nothing is read.
        arguments: names of the trainer's arguments, which a remedy may name in words ("lower the learning rate").
        until_ns: end of the run; a file that was changed later is not the one that it read.

    """
    wanted = _patterns(finding, arguments)
    found: list[dict[str, str]] = []
    for path, text in _texts(files, Path(cwd), until_ns) if wanted and cwd else ():
        for number, line in enumerate(text.splitlines(), 1):
            if any(each.search(line) for each in wanted) and not line.lstrip().startswith("#"):
                shown = path.relative_to(str(cwd)) if path.is_relative_to(str(cwd)) else path
                code = line.strip()[:_MOST_TEXT]
                found.append({"place": redact_text(f"{shown}:{number}"), "code": redact_text(code)})
                if len(found) == _MOST_PLACES:
                    return found
    return found


def _patterns(finding: Mapping[str, Any], arguments: Iterable[str]) -> list[re.Pattern[str]]:
    """Functions and settings that the headline names, then settings that a remedy changes or names."""
    headline, remedy = finding["headline"], finding["remedy"]
    functions = [match["name"] for match in _FUNCTION.finditer(headline)]
    said = [match["name"] for match in _NAME.finditer(headline)]
    ordered = [each["name"].rpartition(".")[2] for each in remedy.get("changes") or ()
               if each["kind"] not in {"package", "variable"}]  # fmt: skip
    words = remedy["text"].lower()
    spoken = [name for name in arguments if "_" in name and name.replace("_", " ") in words]
    known = set(arguments)
    spoken += [match["name"] for match in _NAME.finditer(remedy["text"]) if match["name"] in known]
    names = list(dict.fromkeys(name.replace("-", "_") for name in (*said, *ordered, *spoken)))[:_MOST_NAMES]
    defined = [re.compile(rf"^\s*(?:async\s+)?def\s+{name}\s*\(") for name in functions]
    return [*defined, *(_set(name) for name in names if name not in functions)]


def _set(name: str) -> re.Pattern[str]:
    """`name: 3`, `name = 3`, `"name": 3`, `--name 3`, `--na-me=3`; never a longer name or an attribute that is read."""
    word = re.escape(name).replace("_", "[_-]")
    return re.compile(rf"(?:--{word}(?![\w-])|(?<![\w.-])[\"']?{word}[\"']?\s*(?::|=(?!=)))")


def _texts(files: Iterable[str], cwd: Path, until_ns: int | None) -> Iterator[tuple[Path, str]]:
    """(path, text) of named files, and once of files that these name or import; settings before code."""
    named, later = _read(files, cwd, (), until_ns), []
    for path, text in named:
        if path.suffix == ".py":
            named_files = [match["file"] for match in _NAMED_FILE.finditer(text)]
            later += [str(folder / each) for each in named_files for folder in (path.parent, cwd)]
            later += [str(path.parent / f"{match['module']}.py") for match in _IMPORTED.finditer(text)]
    others = _read(later, cwd, [path for path, _ in named], until_ns)
    yield from sorted([*named, *others], key=lambda each: each[0].suffix == ".py")


def _read(files: Iterable[str], cwd: Path, but: Sequence[Path], until_ns: int | None) -> list[tuple[Path, str]]:
    texts: dict[Path, str] = {}
    for name in list(dict.fromkeys(files))[:_MOST_FILES]:
        try:
            path = (cwd / Path(name).expanduser()).resolve()
            if path.suffix not in _SUFFIXES or path in but or not path.is_file():
                continue
            state = path.stat()
            if state.st_size <= _MOST_BYTES and (until_ns is None or state.st_mtime_ns <= until_ns):
                texts[path] = path.read_text("utf-8", "replace")
        except (OSError, RuntimeError, ValueError):
            continue
    return list(texts.items())
