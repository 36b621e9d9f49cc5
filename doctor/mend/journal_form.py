"""What stands in a `journal.json`, and whether one that was read is whole: a damaged one takes nothing back."""

from __future__ import annotations

from typing import Any

SCHEMA = "doctor-journal/1"
BEGUN, DONE, UNDONE, ABANDONED = "begun", "done", "undone", "abandoned"

_STATES = frozenset({BEGUN, DONE, UNDONE, ABANDONED})
_FILE_TEXTS = ("path", "temporary", "before", "after", "backup", "target")
_MOST_MODE = 0o7777


def is_whole(data: Any) -> bool:
    """Whether a journal has all that undoing and recovering ask of it, each of its kind."""
    return (
        isinstance(data, dict)
        and data.get("schema") == SCHEMA
        and _is_state(data.get("state"))
        and isinstance(data.get("plan"), dict)
        and isinstance(data["plan"].get("problem"), str)
        and isinstance(data.get("group"), (str, type(None)))
        and isinstance(data.get("steps"), list)
        and all(map(_is_step, data["steps"]))
    )


def _is_step(step: Any) -> bool:
    if not isinstance(step, dict) or not _is_state(step.get("state")):
        return False
    if step.get("kind") == "run":
        undo = step.get("undo_argv")
        return _are_words(step.get("argv")) and (undo is None or _are_words(undo))
    if step.get("kind") != "file" or not all(_is_text(step.get(name)) for name in _FILE_TEXTS):
        return False
    # contents lie beside the journal, under plain names
    names = (step["backup"], step["target"])
    mode = step.get("mode")
    return (
        bool(step["path"] and step["temporary"])
        and all(name.strip(".") and "/" not in name for name in names)
        and isinstance(mode, int)
        and 0 <= mode <= _MOST_MODE
    )


def _is_state(value: Any) -> bool:
    return isinstance(value, str) and value in _STATES


def _are_words(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(map(_is_text, value))


def _is_text(value: Any) -> bool:
    """A text that a system call takes: neither a NUL nor half a character."""
    return isinstance(value, str) and "\0" not in value and not any("\ud800" <= each <= "\udfff" for each in value)
