"""What differs between two runs, from what their folders hold: what is not held by both is said to be unknown."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from doctor.base.json_text import json_text
from doctor.base.record import record
from doctor.base.redact import redact_text
from doctor.diagnosis.differ import differences
from doctor.logs.history.metrics import Divergence, departures, series_of
from doctor.logs.history.runs import PastRun, read
from doctor.run import kept
from doctor.run.folder import RunDir

#: what is compared, in the order in which it is told: what the user writes first, what changes by itself last
PARTS = ("command", "configuration", "code", "data", "environment", "machine")
#: facts about the interpreter and what is installed; about the machine. Others are read from the command and its files
_ENVIRONMENT = ("packages", "interpreter", "environment", "cuda")
_MACHINE = ("host", "gpus", "nvidia", "network", "cluster", "node")
#: variables of the shell and the session, not of the training
_SHELL = frozenset({
    "PWD", "OLDPWD", "SHLVL", "_", "TERM", "COLUMNS", "LINES", "SSH_CLIENT", "SSH_CONNECTION", "SSH_TTY", "TMUX",
    "TMUX_PANE", "WINDOWID", "XDG_SESSION_ID", "DBUS_SESSION_BUS_ADDRESS", "PS1", "LS_COLORS", "HISTSIZE", "STY",
})  # fmt: skip
#: lines of a diff that are none of a file
_OF_GIT = ("diff --git", "index ", "@@", "--- ", "+++ ", "new file mode", "deleted file mode")
#: lines of a file's difference, and differences of a part, that are told
_MOST_LINES, _MOST_CHANGES, _LONGEST = 12, 40, 160


@record
class Difference:
    """One thing that differs; None: not there. `part` is one of PARTS."""

    part: str
    name: str
    old: str | None
    new: str | None
    lines: tuple[str, ...] = ()

    def as_data(self) -> dict[str, Any]:
        """For programs."""
        lines = {"lines": list(self.lines)} if self.lines else {}
        return {"part": self.part, "name": self.name, "old": self.old, "new": self.new, **lines}


@record
class Compared:
    """Two runs beside each other.

    Args:
        old, new: the runs.
        changes: what differs, in the order of PARTS.
        unknown: parts that cannot be compared -> why.
        departed: metrics that lie apart, the earliest first; `shared`: how many metrics both runs have.

    """

    old: PastRun
    new: PastRun
    changes: tuple[Difference, ...]
    unknown: Mapping[str, str]
    departed: tuple[Divergence, ...]
    shared: int

    def as_data(self) -> dict[str, Any]:
        """For programs."""
        return {
            "old": self.old.as_data(), "new": self.new.as_data(), "changes": [each.as_data() for each in self.changes],
            "unknown": dict(self.unknown), "departed": [each.as_data() for each in self.departed],
            "shared_metrics": self.shared,
        }  # fmt: skip


def compare(old: Path, new: Path) -> Compared:
    """Compare two run folders."""
    unknown: dict[str, str] = {}
    one, other = read(old), read(new)
    changes = [*_command(one.argv, other.argv)]
    changes += _made_of(old, new, unknown)
    changes += _facts(old, new, unknown)
    changes.sort(key=lambda each: PARTS.index(each.part))
    mine, yours = series_of(old), series_of(new)
    return Compared(
        one, other, tuple(_few(changes)), unknown, tuple(departures(mine, yours)), len(mine.keys() & yours.keys())
    )


def _few(changes: Sequence[Difference]) -> Iterator[Difference]:
    """The first of each part, and how many more there are."""
    for part in PARTS:
        of_part = [each for each in changes if each.part == part]
        yield from of_part[:_MOST_CHANGES]
        if len(of_part) > _MOST_CHANGES:
            yield Difference(part, f"and {len(of_part) - _MOST_CHANGES} more", None, None)


def _command(old: Sequence[str], new: Sequence[str]) -> Iterator[Difference]:
    """Options by name, other words by their places."""
    one, other = _options(old), _options(new)
    for name in dict.fromkeys([*one, *other]):
        if one.get(name) != other.get(name):
            yield Difference("command", name, one.get(name), other.get(name))


def _options(argv: Sequence[str]) -> dict[str, str]:
    """Name -> value: `--lr 1e-5`, `--lr=1e-5`, `trainer.lr=1e-5`; words that are no option by their place."""
    found: dict[str, str] = {}
    words = list(argv)
    place = at = 0
    while at < len(words):
        word, after = words[at], words[at + 1] if at + 1 < len(words) else None
        at += 1
        name, sign, value = word.partition("=")
        if sign and re.fullmatch(r"[-+~\w.]+", name):
            found[name] = value
        elif word.startswith("--") and after is not None and not _is_option(after):
            found[word] = after
            at += 1
        elif word.startswith("-") and len(word) > 1:
            found[word] = "given"
        else:
            found[f"argument {place}"] = word
            place += 1
    return found


def _is_option(word: str) -> bool:
    """Whether a word begins an option; a negative number does not."""
    return word.startswith("-") and re.fullmatch(r"-\d+(?:\.\d+)?(?:e-?\d+)?", word) is None


def _made_of(old: Path, new: Path, unknown: dict[str, str]) -> Iterator[Difference]:
    one, other = kept.read(RunDir(old)), kept.read(RunDir(new))
    if not one or not other:
        without = ", ".join(path.name for path, data in ((old, one), (new, other)) if not data)
        unknown.update(dict.fromkeys(("configuration", "code", "data"), f"not kept in {without}"))
        return
    yield from _files(old, new, one, other)
    yield from _code(old, new, one.get("code") or {}, other.get("code") or {}, unknown)


def _files(old: Path, new: Path, one: Mapping[str, Any], other: Mapping[str, Any]) -> Iterator[Difference]:
    """Files and folders that the commands name, by the words that name them."""
    mine, yours = ({each["word"]: each for each in data["files"]} for data in (one, other))
    for word in dict.fromkeys([*mine, *yours]):
        a, b = mine.get(word), yours.get(word)
        if a is None or b is None or a.get("print") == b.get("print"):
            continue  # a word that came or went is a change of the command
        lines: tuple[str, ...] = ()
        if a.get("copy") and b.get("copy"):
            lines = _lines(_text(old / a["copy"]), _text(new / b["copy"]))
            yield Difference("configuration" if not word.endswith(".py") else "code", word, None, None, lines)
        else:
            yield Difference("data", word, _size(a), _size(b))


def _size(file: Mapping[str, Any]) -> str:
    """`1,234 bytes, print 0123abcd`."""
    files = f"{file['files']:,} files, " if "files" in file else ""
    return f"{files}{file.get('bytes', 0):,} bytes, print {str(file.get('print') or 'not taken')[:8]}"


def _code(
    old: Path, new: Path, one: Mapping[str, Any], other: Mapping[str, Any], unknown: dict[str, str]
) -> Iterator[Difference]:
    if not one or not other:
        unknown["code"] = "not started in a git work tree" if not one and not other else "one run has no git revision"
        return
    if one.get("revision") != other.get("revision"):
        yield Difference("code", "git revision", _revision(one), _revision(other))
    if one.get("diff_sha256") != other.get("diff_sha256"):
        lines = _lines(_text(old / kept.DIFF), _text(new / kept.DIFF))
        yield Difference("code", "uncommitted changes", _dirty(one), _dirty(other), lines)


def _revision(code: Mapping[str, Any]) -> str:
    return f"{str(code.get('revision'))[:12]} {code.get('subject') or ''}".strip()


def _dirty(code: Mapping[str, Any]) -> str:
    return "none" if not code.get("diff_sha256") else f"diff {code['diff_sha256'][:8]}"


def _text(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8", "replace").splitlines()
    except OSError:
        return []


def _lines(old: list[str], new: list[str]) -> tuple[str, ...]:
    """Lines that went (`-`) and came (`+`)."""
    found = [
        line[:_LONGEST]
        for line in difflib.unified_diff(old, new, lineterm="", n=0)
        if line[:1] in "+-" and not line.startswith(("+++", "---")) and not line[1:].startswith(_OF_GIT)
    ]
    more = [f"({len(found) - _MOST_LINES} more lines)"] if len(found) > _MOST_LINES else []
    return (*found[:_MOST_LINES], *more)


def _facts(old: Path, new: Path, unknown: dict[str, str]) -> Iterator[Difference]:
    """What differs in the facts that were collected before the launch."""
    from doctor.readers.saved import NotFacts
    from doctor.readers.saved import read as read_facts

    states = []
    for path in (old, new):
        files = sorted((path / "facts").glob("*.json"))
        try:
            states.append(read_facts(files[0])[0].states if files else None)
        except (NotFacts, OSError):
            states.append(None)
    before, after = states
    if before is None or after is None:
        without = ", ".join(path.name for path, state in ((old, before), (new, after)) if state is None)
        unknown.update(dict.fromkeys(("environment", "machine"), f"no facts in {without}"))
        return
    for change in differences(before, after):
        fact, _, path_in = change.input.name.partition(".")
        part = "environment" if fact in _ENVIRONMENT else "machine" if fact in _MACHINE else None
        if part is not None and _is_ours(fact, path_in):
            name = path_in.removeprefix("distributions.").removesuffix(".version").removeprefix("variables.")
            yield Difference(part, name or fact, _short(change.old), _short(change.new))


def _is_ours(fact: str, path: str) -> bool:
    """Whether a difference says something of a training: versions of packages, its variables, the machine."""
    if fact == "packages":
        return path.endswith(".version") or not path.startswith("distributions.")
    return not (fact == "environment" and path.removeprefix("variables.") in _SHELL)


def _short(value: Any) -> str | None:
    if value is None:
        return None
    text = redact_text(value if isinstance(value, str) else json_text(value))
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"
