"""The published JSON schema of a look at a run that stands still, as `doctor hang --format json` gives it."""

from __future__ import annotations

from typing import Any

_TEXT = {"type": "string"}
_TEXTS = {"type": "array", "items": _TEXT}
_PID = {"type": "integer", "minimum": 1}
_PIDS = {"type": "array", "items": _PID}
_SECONDS = {"type": ["number", "null"], "minimum": 0}

_PROCESS: dict[str, Any] = {
    "type": "object",
    "required": ["pid", "name", "title", "state", "at", "cores", "by", "blind", "values", "frames", "led_by"],
    "properties": {
        "pid": _PID,
        **dict.fromkeys(("name", "title", "at", "led_by"), _TEXT),
        "state": {"enum": ["runs", "sleeps", "stuck", "idle", "waits", "stands"]},
        "cores": {"type": "number", "minimum": 0},
        "by": {"enum": ["hook", "py-spy", ""]},  # "": nobody told its stacks, and `blind` says why
        "blind": {"type": ["string", "null"]},
        "values": {"type": "array", "items": {"type": "array", "items": _TEXT, "minItems": 2, "maxItems": 2}},
        "frames": _TEXTS,  # innermost first
    },
    "additionalProperties": False,
}

_WAIT: dict[str, Any] = {
    "type": "object",
    "required": ["who", "targets", "kind", "every", "what", "outside", "since_s", "sure"],
    "properties": {
        "who": _PID,
        "targets": _PIDS,
        "kind": {"enum": ["socket", "unix", "pipe", "write", "child", "lock", "collective", "ray"]},
        "every": {"type": "boolean"},  # it needs all of the targets; else one of them is enough
        "what": _TEXT,
        "outside": _TEXT,
        "since_s": _SECONDS,
        "sure": {"type": "boolean"},  # the kernel or Ray tells it; else it is read off the stacks
    },
    "additionalProperties": False,
}

#: threads of one process that wait for each other's locks
_LOCKED: dict[str, Any] = {
    "type": "object",
    "required": ["pid", "circle"],
    "properties": {
        "pid": _PID,
        "circle": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["thread", "at", "wants", "holds"],
                "properties": dict.fromkeys(("thread", "at", "wants", "holds"), _TEXT),
                "additionalProperties": False,
            },
        },
    },
    "additionalProperties": False,
}

_NUMBERS = {"type": "array", "items": {"type": "integer", "minimum": 0}}
#: who has come to the making of a process group
_ARRIVED: dict[str, Any] = {
    "type": "object",
    "required": ["call", "waiting", "members", "missing", "store"],
    "properties": {"call": _TEXT, "waiting": _PIDS, "members": _NUMBERS, "missing": _NUMBERS, "store": _TEXT},
    "additionalProperties": False,
}

HANG: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "doctor-hang/1",
    "type": "object",
    "required": ["schema", "seconds", "told", "processes", "waits", "sinks", "cycles", "locks", "arrived", "notes"],
    "properties": {
        "schema": {"const": "doctor-hang/1"},
        "seconds": {"type": "number", "minimum": 0},
        "told": {
            "type": "object",
            "required": ["en", "zh"],
            "properties": {"en": _TEXTS, "zh": _TEXTS},
            "additionalProperties": False,
        },
        "notes": _TEXTS,
        "processes": {"type": "array", "items": {"$ref": "#/$defs/process"}},
        "waits": {"type": "array", "items": {"$ref": "#/$defs/wait"}},
        "sinks": _PIDS,
        "cycles": {"type": "array", "items": _PIDS},
        "locks": {"type": "array", "items": {"$ref": "#/$defs/locked"}},
        "arrived": {"type": "array", "items": {"$ref": "#/$defs/arrived"}},
    },
    "additionalProperties": False,
    "$defs": {"process": _PROCESS, "wait": _WAIT, "locked": _LOCKED, "arrived": _ARRIVED},
}
