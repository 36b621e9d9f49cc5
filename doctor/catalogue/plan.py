"""What a fix will do, as data: typed steps that can be shown, applied, journalled and undone."""

from __future__ import annotations

import hashlib
import os
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from enum import Enum
from pathlib import Path
from typing import Any

from doctor.base.patterns import later
from doctor.base.record import record

ABSENT = ""  # the sha256 of a file that is not there
_NAME = later(r"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGNMENT = later(r"^[ \t]*(?:export[ \t]+)?(?P<name>[A-Za-z_][A-Za-z0-9_]*)=(?P<value>[^\r\n]*)", re.MULTILINE)
_BARE = later(r"[A-Za-z0-9_@%+=:,./-]+")


class Safety(str, Enum):
    """Safe: this user's own files, reversible. Unsafe: installs, or changes what is computed. Manual: only shown."""

    SAFE = "safe"
    UNSAFE = "unsafe"
    MANUAL = "manual"


class Refused(Exception):  # noqa: N818 - nothing is broken: the plan does not fit what is there
    """A step cannot be done as planned; the message says why, and nothing was changed."""


@record
class Edit:
    """Bytes `start` to `end` (exclusive, from 0) of a file become `text` in UTF-8."""

    start: int
    end: int
    text: str


@record
class EditFile:
    """Changes of one file, which must still be what the plan was made for.

    Args:
        path: the file; of a link, what it points to is changed.
        sha256_before: of its content, ABSENT for a file to be made.
        edits: in order, not overlapping.
        own_copy: of a file with several names (hard links) only this one is changed: of an installed file the other
            name is in the package cache of uv or conda, which every environment shares. Else all names see the change.

    """

    path: str
    sha256_before: str
    edits: tuple[Edit, ...]
    own_copy: bool = False

    def content(self, before: bytes | None) -> bytes:
        """The file's content afterwards.

        Raises:
            Refused: it has changed since the plan was created.

        """
        if digest(before) != self.sha256_before:
            msg = f"`{self.path}` has changed since the plan was created"
            raise Refused(msg)
        old, parts, at = before or b"", [], 0
        for edit in self.edits:
            if not at <= edit.start <= edit.end <= len(old):
                msg = f"the edits of `{self.path}` overlap or leave the file"
                raise ValueError(msg)
            parts += [old[at : edit.start], edit.text.encode()]
            at = edit.end
        return b"".join([*parts, old[at:]])


@record
class SetEnv:
    """`name` is set to `value` in a dotenv file, in its place where it stood, else at the end."""

    file: str
    name: str
    value: str

    def __post_init__(self) -> None:
        """Refuse what no dotenv reader takes."""
        if not _NAME.fullmatch(self.name) or any(each in self.value for each in "\n\r\0"):
            msg = f"`{self.name}` cannot be set to that in a dotenv file"
            raise ValueError(msg)

    @property
    def path(self) -> str:
        """The file that changes."""
        return self.file

    def content(self, before: bytes | None) -> bytes:
        """The file's content afterwards; comments, also one behind the value, order and `export` stay."""
        text = (before or b"").decode("utf-8", "surrogateescape")
        value = self.value if _BARE.fullmatch(self.value) else shlex.quote(self.value)
        end = "\r\n" if "\r\n" in text else "\n"
        assignment = re.compile(
            rf"^(?P<head>[ \t]*(?:export[ \t]+)?{self.name}=)"
            r"(?:\"[^\"\r\n]*\"(?=[ \t]*(?:#|\r?$))|'[^'\r\n]*'(?=[ \t]*(?:#|\r?$))|(?:(?![ \t]+#)[^\r\n])*)",
            re.MULTILINE,
        )
        if found := list(assignment.finditer(text)):  # the last one wins in every reader
            last = found[-1]
            text = f"{text[: last.start()]}{last['head']}{value}{text[last.end() :]}"
        else:
            gap = "" if not text or text.endswith("\n") else end
            text = f"{text}{gap}{self.name}={value}{end}"
        return text.encode("utf-8", "surrogateescape")


@record
class Run:
    """A command, never a shell string; `undo_argv` takes it back, None when nothing does."""

    argv: tuple[str, ...]
    undo_argv: tuple[str, ...] | None = None


Step = EditFile | SetEnv | Run


@record
class Plan:
    """How a problem is mended.

    Args:
        problem: id of the problem.
        safety: see Safety.
        steps: in order; a file appears in at most one EditFile.
        note: what the user must know or do besides, in whole sentences; `note_zh` in Chinese.

    """

    problem: str
    safety: Safety
    steps: tuple[Step, ...]
    note: str = ""
    note_zh: str = ""

    def __post_init__(self) -> None:
        """Two EditFile of one file could not both know its content."""
        edited = [os.path.realpath(each.path) for each in self.steps if isinstance(each, EditFile)]
        if len(edited) != len(set(edited)):
            msg = "a plan edits each file once"
            raise ValueError(msg)

    @property
    def reversible(self) -> bool:
        """Whether every step can be taken back."""
        return all(not isinstance(each, Run) or each.undo_argv is not None for each in self.steps)

    def as_dict(self) -> dict[str, Any]:
        """For the journal and for `--format json`."""
        steps = [{"kind": type(each).__name__, **asdict(each)} for each in self.steps]
        return {"problem": self.problem, "safety": self.safety.value, "steps": steps, "note": self.note}


def digest(content: bytes | None) -> str:
    """The sha256 of a file's content as hex, ABSENT for None."""
    return ABSENT if content is None else hashlib.sha256(content).hexdigest()


def read_or_none(path: str) -> bytes | None:
    """A file's content, None when there is no such file.

    Raises:
        OSError: there is one, and it cannot be read.

    """
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        return None


def edit(path: str, *edits: Edit) -> EditFile:
    """An EditFile of a file as it is now.

    Raises:
        OSError: it cannot be read.

    """
    return EditFile(path, digest(Path(path).read_bytes()), tuple(sorted(edits, key=lambda each: each.start)))


def rewrite(path: str, text: str) -> EditFile:
    """An EditFile that makes a whole file `text`, as the smallest edits by lines."""
    from difflib import SequenceMatcher

    before = read_or_none(path)
    old = (before or b"").decode("utf-8", "surrogateescape").splitlines(keepends=True)
    new = text.splitlines(keepends=True)
    offsets = [0]
    for line in old:
        offsets.append(offsets[-1] + len(line.encode("utf-8", "surrogateescape")))
    edits = tuple(
        Edit(offsets[i1], offsets[i2], "".join(new[j1:j2]))
        for tag, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
        if tag != "equal"
    )
    return EditFile(path, digest(before), edits)


@record
class Content:
    """A file before a plan and after it; `before` is None where there is none yet."""

    before: bytes | None
    after: bytes


Contents = Mapping[str, Content]


def contents(plan: Plan) -> Contents:
    """What the plan makes of each file as it is now: path -> content before and after. What is shown and done is this.

    Raises:
        Refused: a file is no longer what the plan was made for.
        OSError: a file cannot be read.

    """
    found: dict[str, Content] = {}
    for step in plan.steps:
        if not isinstance(step, Run):
            path = os.path.realpath(step.path)
            first = found.get(path)
            before = read_or_none(path) if first is None else first.before
            found[path] = Content(before, step.content(before if first is None else first.after))
    return found


def diff(plan: Plan, made: Contents | None = None) -> Iterator[str]:
    """The changes of files as a unified diff, file by file, without line ends.

    Raises:
        Refused: a file is no longer what the plan was made for.
        OSError: a file cannot be read.

    """
    from difflib import unified_diff

    made = contents(plan) if made is None else made
    named = {os.path.realpath(each.path): each.path for each in plan.steps if not isinstance(each, Run)}
    for real, each in made.items():
        old, new = ((one or b"").decode("utf-8", "replace").splitlines() for one in (each.before, each.after))
        path = named.get(real, real)
        yield from unified_diff(old, new, path if each.before is not None else "/dev/null", path, lineterm="")


def variables(plan: Plan, made: Contents) -> dict[str, str | None]:
    """The environment variables that the plan changes where a dotenv file sets them; None for one that goes."""
    dotenv = {os.path.realpath(each.file) for each in plan.steps if isinstance(each, SetEnv)}
    changed: dict[str, str | None] = {}
    for path, each in made.items():
        if path in dotenv or os.path.basename(path) == ".env":  # noqa: PTH119 - as text, like the path
            old, new = assigned(each.before or b""), assigned(each.after)
            changed |= {name: new.get(name) for name in old.keys() | new.keys() if old.get(name) != new.get(name)}
    return changed


def assigned(content: bytes) -> dict[str, str]:
    """What a dotenv file sets; the last assignment of a name wins."""
    found = {}
    for match in _ASSIGNMENT.finditer(content.decode("utf-8", "surrogateescape")):
        value = match["value"].partition(" #")[0].strip()
        quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "\"'"
        found[match["name"]] = value[1:-1] if quoted else value
    return found
