"""The published JSON schema of capsules. A change that a reader could notice raises the number in the schema's name."""

from __future__ import annotations

from typing import Any

_TEXT = {"type": "string"}
_COUNT = {"type": "integer", "minimum": 0}
_MAYBE_COUNT = {"type": ["integer", "null"], "minimum": 0}
_MAYBE_TEXT = {"type": ["string", "null"]}
_REF_FACT = {"$ref": "#/$defs/fact"}

#: what is told of a value; which of these there are depends on its type
_FACT: dict[str, Any] = {
    "type": "object",
    "required": ["type"],
    "properties": {
        "type": _TEXT,
        "value": {"type": ["string", "number", "boolean", "null", "array"]},
        "length": _MAYBE_COUNT,
        "sha256": {"type": "string", "pattern": "^[0-9a-f]{16}$"},
        "first": {"type": "array", "items": _REF_FACT},
        "of": {"type": "array", "items": _TEXT},
        "lengths": {"type": "array"},
        "entries": {"type": "array", "items": {"type": "array", "minItems": 2, "maxItems": 2}},
        "tensor": {"const": True},
        "shape": {"type": "array"},
        "stride": {"type": "array"},
        "dtype": _TEXT,
        "device": _TEXT,
        "layout": _TEXT,
        "requires_grad": {"type": ["boolean", "integer"]},
        "is_leaf": {"type": "boolean"},
        "placements": {"type": "array", "items": _TEXT},
        "shard": {"type": "array"},
        "module": {"const": True},
        "parameters": _COUNT,
        "dtypes": {"type": "object", "additionalProperties": _COUNT},
        "devices": {"type": "object", "additionalProperties": _COUNT},
        "training": {},
        "wraps": {"type": "array", "items": _TEXT},
        "apart": {"type": "object", "additionalProperties": {"type": "array", "items": _TEXT}},
        "without_gradient": {"type": "array", "items": _TEXT},
        "partial": {"const": True},
        "config": {"const": True},
        "fields": {"type": "object", "additionalProperties": _REF_FACT},
        "defaults": {"type": "object", "additionalProperties": _REF_FACT},
        "name": _TEXT,
        "file": _TEXT,
        "line": _COUNT,
        "trouble": _TEXT,
    },
    "additionalProperties": False,
}

_VALUES: dict[str, Any] = {
    "type": "array",
    "items": {"type": "array", "prefixItems": [_TEXT, _REF_FACT], "minItems": 2, "maxItems": 2},
}

_FRAME: dict[str, Any] = {
    "type": "object",
    "required": ["file", "line", "function", "qualname", "module", "own"],
    "properties": {
        **dict.fromkeys(("file", "function", "qualname", "module", "trouble"), _TEXT),
        "line": _COUNT,
        "own": {"type": "boolean"},
        "span": {"type": "array", "items": {"type": "integer"}, "minItems": 4, "maxItems": 4},
        "changed": {"const": True},  # the source is another than the one that runs
        "statement": _COUNT,  # its first line
        "lines": {"type": "array", "items": _TEXT},
        "values": _VALUES,
        # a value that is None, what was called for it, and what that is
        "made_by": {
            "type": "array",
            "items": {
                "type": "array",
                "prefixItems": [_TEXT, _TEXT, _REF_FACT],
                "minItems": 3,
                "maxItems": 3,
            },
        },
        "conditions": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["text", "line", "kind", "taken", "now", "values"],
                "properties": {
                    "text": _TEXT,
                    "line": _COUNT,
                    "kind": {"enum": ["if", "while", "assert"]},
                    "taken": {"type": "boolean"},
                    "now": {"type": ["boolean", "null"]},  # null: it cannot be told without running code
                    "values": _VALUES,
                },
                "additionalProperties": False,
            },
        },
    },
    "additionalProperties": False,
}
_FRAMES = {"type": "array", "items": {"$ref": "#/$defs/frame"}}

_LINK: dict[str, Any] = {
    "type": "object",
    "required": ["type", "message", "relation", "frames"],
    "properties": {
        "type": _TEXT,
        "message": _TEXT,
        "relation": {"enum": ["raised", "cause", "context", "remote", "group"]},
        "notes": {"type": "array", "items": _TEXT},
        "remote": _TEXT,
        "frames": _FRAMES,
        "frames_left_out": _COUNT,
    },
    "additionalProperties": False,
}

_FAILURE: dict[str, Any] = {
    "type": "object",
    "required": ["source", "ends", "thread", "code", "t_ns", "chain"],
    "properties": {
        "source": {"enum": ["excepthook", "thread", "process", "exit", "logged", "worker", "ray", "watch"]},
        "ends": {"type": "boolean"},
        "thread": _MAYBE_TEXT,
        "code": {"type": ["integer", "string", "null"]},
        "t_ns": _COUNT,
        "chain": {"type": "array", "items": _LINK},  # the first raise first
    },
    "additionalProperties": False,
}

_PROCESS: dict[str, Any] = {
    "type": "object",
    "properties": {
        **dict.fromkeys(("host", "role", "python"), _TEXT),
        **dict.fromkeys(("pid", "ppid"), _COUNT),
        **dict.fromkeys(("rank", "local_rank", "world_size"), _MAYBE_COUNT),
        "phase": _MAYBE_TEXT,
        "argv": {"type": ["array", "object"]},
        "progress": {"type": "object"},
        **{name: {"type": "object"} for name in ("versions", "environment", "memory", "device", "collectives")},
        **{name: {"type": ["array", "object"]} for name in ("cards", "threads")},
    },
    "additionalProperties": False,
}

CAPSULE: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "doctor-capsule/1",
    "type": "object",
    "required": ["schema", "captured_ns", "seconds", "process", "failures", "stands", "configs", "modules", "trouble"],
    "properties": {
        "schema": {"const": "doctor-capsule/1"},
        "captured_ns": _COUNT,
        "seconds": {"type": "number"},
        "process": _PROCESS,
        "failures": {"type": "array", "items": _FAILURE},
        "stands": {
            "type": ["object", "null"],
            "required": ["t_ns", "frames"],
            "properties": {"t_ns": _COUNT, "frames": _FRAMES},
            "additionalProperties": False,
        },
        "configs": {"type": "array", "items": _REF_FACT},
        "modules": {"type": "array", "items": _REF_FACT},
        "trouble": {"type": "array", "items": _TEXT},
    },
    "additionalProperties": False,
    "$defs": {"fact": _FACT, "frame": _FRAME},
}
