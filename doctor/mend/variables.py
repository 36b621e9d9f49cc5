"""Environment variables where a file sets them: a script, a YAML's `env:`, or the dotenv file beside the run."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from doctor.base.evidence import Observed
from doctor.catalogue.finding import Finding
from doctor.catalogue.plan import Edit, EditFile, Refused, SetEnv, edit
from doctor.facts.environment import Environment
from doctor.facts.training import Training
from doctor.mend.edits import Editor
from doctor.mend.places import edited

DOTENV = ".env"

NOTE = "What has loaded the file already, like this shell, keeps the old value until it loads the file again."
NOTE_ZH = "已加载过该文件的程序(例如当前 shell)在重新加载之前仍使用旧值。"


def changed(
    findings: Iterable[Finding], training: Training | None, environment: Environment, name: str, value: str | None
) -> tuple[EditFile | SetEnv, ...]:
    """Steps that give a variable another value, or none (None), where a file sets it; empty where the shell does.

    Raises:
        Refused: a file does not hold any more what was found there.

    """
    if in_files := edited(findings, [training], lambda editor, setting, _: _change(editor, setting, value)):
        return in_files
    current, path = environment.get(name), Path.cwd() / DOTENV
    if current is None or not _holds(path, name, current):
        return ()
    return (_without(path, name),) if value is None else (SetEnv(str(path), name, value),)


def _change(editor: Editor, setting: Observed, value: str | None) -> None:
    if value is None:
        editor.remove(setting)
    else:
        editor.set_value(setting, value)


def _lines(name: str) -> re.Pattern[str]:
    return re.compile(rf"^[ \t]*(?:export[ \t]+)?{re.escape(name)}=(?P<value>[^\r\n]*)(?:\r?\n)?", re.MULTILINE)


def _read(path: Path) -> str:
    """The text with the line ends that it has: places in it are places in the file."""
    return path.read_bytes().decode("utf-8")


def _holds(path: Path, name: str, value: str) -> bool:
    """Whether the file's last assignment of a variable is the one in force."""
    try:
        found = _lines(name).findall(_read(path))
    except (OSError, UnicodeDecodeError):
        return False
    return bool(found) and found[-1].partition(" #")[0].strip().strip("'\"") == value


def _without(path: Path, name: str) -> EditFile:
    text = _read(path)
    cuts = []
    for match in _lines(name).finditer(text):
        start = len(text[: match.start()].encode())
        cuts.append(Edit(start, start + len(match[0].encode()), ""))
    if not cuts:
        msg = f"`{path}` does not set `{name}` any more"
        raise Refused(msg)
    return edit(str(path), *cuts)
