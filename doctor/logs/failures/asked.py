"""Which frame of a traceback asked for what is not there, and which expression of its line was asked."""

from __future__ import annotations

import re
from collections.abc import Sequence

from doctor.base.patterns import later
from doctor.catalogue.finding import Finding
from doctor.logs.failures.case import Case
from doctor.logs.failures.frames import Frame
from doctor.logs.failures.raised import Raised

#: functions through which something is asked; who asked is the frame above them
_THROUGH = frozenset({
    "__getattr__", "__getattribute__", "__getitem__", "__missing__", "_getitem", "__delitem__", "getattr", "get_loc",
    "_call_impl", "_wrapped_call_impl", "__call__", "_format_and_raise", "_get_impl", "_get_node",
})  # fmt: skip
#: files that hold such functions alone: of mappings, tables, configurations and the environment
_CONTAINERS = later(
    r"[\\/](?:datasets[\\/]formatting|pandas[\\/]core|omegaconf|collections|multiprocess|concurrent)[\\/]"
    r"|[\\/](?:os|_collections_abc|collections[\\/]__init__)\.py$|[\\/]torch[\\/]nn[\\/]modules[\\/]module\.py$"
    r"|[\\/]ml_collections[\\/]|[\\/]easydict\b|[\\/]tensordict[\\/]"
)
#: a name with what follows it: attributes, calls without arguments, entries
_OWNER = r"(?P<of>[A-Za-z_][\w.]*(?:(?:\[[^\]\n]{1,40}\]|\(\))[\w.]*){0,4})"
_ENTRY = later(rf"(?<![\w.]){_OWNER}\[")
_LENGTH = later(r"\blen\((?P<of>[^()\n]{1,80})\)")
_CODE = later(r"^\s{2,}(?!File\b)\S[^\n]*[=(\[.]")
_MARKS = later(r"^[\s~^]+$")


def asking_frame(frames: Sequence[Frame]) -> Frame | None:
    """The innermost frame that asked, not one through which it asked; None where none is shown."""
    ran = [each for each in frames if not each.starts]
    asked = [each for each in ran if each.function not in _THROUGH and not _CONTAINERS.search(each.path)]
    return (asked or ran)[-1] if ran else None


def raised_at(first: Finding, case: Case) -> Raised | None:
    """The exception that a finding is about."""
    at = (first.where.file, first.where.line)
    return next((one.cause for one in case.failures if (one.cause.line.file, one.cause.line.number) == at), None)


def code_of(raised: Raised, case: Case) -> str:
    """The line that raised, as far as it is shown; of an excerpt without frames the line above the exception."""
    frame = asking_frame(raised.frames)
    if frame is not None:
        return frame.code.strip()
    source = raised.line.source
    above = [text for number, text in case.kept[source] if number < raised.line.number][-3:] if case.kept else []
    shown = [text for text in above if not _MARKS.match(text)]
    return shown[-1].strip() if shown and _CODE.match(shown[-1]) else ""


def asked_for_attribute(code: str, name: str) -> str:
    """The expression of which an attribute is asked; "" where the line does not tell one."""
    found = {match["of"] for match in re.finditer(rf"{_OWNER}\.{re.escape(name)}\b", code)}
    return found.pop() if len(found) == 1 else ""


def asked_for_entry(code: str, key: str = "") -> str:
    """The expression of which an entry is asked, of several the one with this key; "" where none is told."""
    if key:
        quoted = {match["of"] for match in re.finditer(rf"{_OWNER}\[\s*f?['\"]{re.escape(key)}['\"]", code)}
        if quoted:
            return quoted.pop() if len(quoted) == 1 else ""
    found = {match["of"] for match in _ENTRY.finditer(code)}
    return found.pop() if len(found) == 1 else ""


def asked_for_length(code: str) -> str:
    """The expression of which the length is asked."""
    found = {match["of"].strip() for match in _LENGTH.finditer(code)}
    return found.pop() if len(found) == 1 else ""
