"""The published JSON schemas. A change that a reader could notice raises the number in the schema's name."""

from __future__ import annotations

from typing import Any

_TEXT = {"type": "string"}
_COUNT = {"type": "integer", "minimum": 0}
_TEXTS = {"type": "array", "items": _TEXT}

_WHERE: dict[str, Any] = {
    "type": "object",
    "properties": {
        **dict.fromkeys(("file", "host", "module"), _TEXT),
        **{name: {"type": "integer"} for name in ("line", "column", "rank", "gpu", "step")},
    },
    "additionalProperties": False,
}

_CHANGE: dict[str, Any] = {
    "type": "object",
    "required": ["command", "kind", "name", "old", "new"],
    "properties": {
        "command": _COUNT,
        "kind": {"enum": ["setting", "package", "variable", "launch"]},
        "name": _TEXT,
        "old": {},
        "new": {},
    },
    "additionalProperties": False,
}

_FINDING: dict[str, Any] = {
    "type": "object",
    "required": [
        "id", "name", "severity", "confidence", "role", "headline", "explanation", "remedy", "where", "evidence",
        "links", "affects",
    ],
    "properties": {
        "id": {"type": "string", "pattern": "^[A-Z]{3}[0-9]{3,4}(/[a-z0-9_]+)?$"},
        "name": _TEXT,
        "severity": {"enum": ["error", "warning", "info"]},
        "confidence": {"enum": ["confirmed", "likely"]},
        "role": {"enum": ["cause", "symptom", "contributing"]},
        "headline": _TEXT,
        "explanation": _TEXT,
        "remedy": {
            "type": "object",
            "required": ["text", "commands", "fix"],
            "properties": {
                "text": _TEXT,
                "commands": _TEXTS,
                "fix": {"type": ["string", "null"]},
                "changes": {"type": "array", "items": _CHANGE},
            },
            "additionalProperties": False,
        },
        "where": _WHERE,
        "evidence": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["source", "line", "text"],
                "properties": {"source": _TEXT, "line": {"type": ["integer", "null"]}, "text": _TEXT},
            },
        },
        "links": _TEXTS,
        "affects": {"type": "object", "additionalProperties": _TEXT},
        "detectors": {"type": "array", "items": {"enum": ["check", "rehearsal"]}},
        "nodes": {
            "type": "object",
            "required": ["count", "of", "names"],
            "properties": {"count": _COUNT, "of": _COUNT, "names": _TEXT},
            "additionalProperties": False,
        },
    },
    "additionalProperties": False,
}  # fmt: skip

_LINK: dict[str, Any] = {
    "type": "object",
    "required": ["what", "role", "process", "rank", "file", "line", "time_ns", "detail"],
    "properties": {
        "what": {"enum": ["raised", "lost", "waited", "ended", "signal", "closed"]},
        "role": {"enum": ["cause", "symptom", ""]},
        "process": _TEXT,
        "rank": {"type": ["integer", "null"]},
        "file": _TEXT,
        "line": {"type": "integer"},
        "time_ns": {"type": ["integer", "null"]},
        "detail": _TEXT,
        "alike": {"type": "integer", "minimum": 0},
    },
    "additionalProperties": False,
}

_SERIES: dict[str, Any] = {
    "type": "object",
    "required": ["name", "source", "x", "count", "span", "first", "last", "findings", "points", "not_finite_from"],
    "properties": {
        "name": _TEXT,
        "source": _TEXT,
        "x": {"enum": ["step", "sample"]},
        "count": _COUNT,
        "span": {"type": "array", "items": {"type": "integer"}, "minItems": 2, "maxItems": 2},
        "first": {"type": ["number", "null"]},
        "last": {"type": ["number", "null"]},
        "findings": _TEXTS,
        "points": {
            "type": "array",
            "items": {"type": "array", "items": {"type": "number"}, "minItems": 2, "maxItems": 2},
        },
        "not_finite_from": {"type": ["integer", "null"]},
    },
    "additionalProperties": False,
}

_SOME_NODES: dict[str, Any] = {"count": _COUNT, "names": _TEXT}

#: several machines side by side; names are folded as Slurm folds them: node[001-037]
_NODES: dict[str, Any] = {
    "type": "object",
    "required": ["engine", "expected", "asked", "heard", "states", "groups", "rows", "alike"],
    "properties": {
        "engine": _TEXT,
        "expected": {"type": ["integer", "null"]},
        "asked": _COUNT,
        "heard": _COUNT,
        "states": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["state", "reason", "count", "names"],
                "properties": {**_SOME_NODES, "state": _TEXT, "reason": _TEXT},
                "additionalProperties": False,
            },
        },
        "groups": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["label", "count", "names"],
                "properties": {**_SOME_NODES, "label": _TEXT},
                "additionalProperties": False,
            },
        },
        "rows": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["name", "area", "majority", "values", "unseen", "cells"],
                "properties": {
                    "name": _TEXT,
                    "area": _TEXT,
                    "majority": {"type": ["string", "null"]},
                    "values": {
                        "type": "array",
                        "items": {
                            "type": "object",
                            "required": ["text", "count", "names"],
                            "properties": {**_SOME_NODES, "text": _TEXT},
                            "additionalProperties": False,
                        },
                    },
                    "unseen": _COUNT,
                    "cells": {"type": "object", "additionalProperties": {"type": ["string", "null"]}},
                },
                "additionalProperties": False,
            },
        },
        "alike": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["name", "area", "value", "unseen"],
                "properties": {"name": _TEXT, "area": _TEXT, "value": _TEXT, "unseen": _COUNT},
                "additionalProperties": False,
            },
        },
    },
    "additionalProperties": False,
}

#: the guard's stop, `doctor.run.guard_stop.Stop`
_STOPPED: dict[str, Any] = {
    "type": "object",
    "required": ["id", "step", "rank", "policy", "save"],
    "properties": {
        "id": _TEXT,
        "step": {"type": ["integer", "null"]},
        "rank": {"type": ["integer", "null"]},
        "policy": {"enum": ["checkpoint", "stop", "raise", ""]},
        "save": {"enum": ["asked", "saved", "failed", "none"]},
    },
}

#: `doctor rehearse`: what was come to, and what was not
_REHEARSAL: dict[str, Any] = {
    "type": "object",
    "required": ["phases", "not_rehearsed", "contacted", "extrapolated", "passes", "steps", "scale", "null", "held"],
    "properties": {
        "phases": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["name", "mark", "seconds", "error"],
                "properties": {
                    "name": _TEXT,
                    "mark": {"enum": ["ok", "broke", "open", "not_reached"]},
                    "seconds": {"type": "number", "minimum": 0},
                    "error": _TEXT,
                },
                "additionalProperties": False,
            },
        },
        "not_rehearsed": {
            "type": "array",
            "items": {"type": "object", "required": ["what", "why"], "properties": {"what": _TEXT, "why": _TEXT}},
        },
        "contacted": {
            "type": "array",
            "items": {"type": "object", "required": ["address", "by"], "properties": {"address": _TEXT, "by": _TEXT}},
        },
        "extrapolated": _TEXTS,
        "passes": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["exit", "seconds", "late"],
                "properties": {"exit": {"type": "integer"}, "seconds": {"type": "number"}, "late": {"type": "boolean"}},
            },
        },
        "rewards": {
            "type": "object",
            "additionalProperties": {"type": "object", "additionalProperties": {"type": ["number", "null"]}},
        },
        "inventory": {"type": "object"},
        "memory": {"type": "object"},
        "weight_update": _TEXT,
        "steps": _COUNT,
        "scale": {"enum": ["tiny", "real"]},
        "null": {"type": "boolean"},
        "held": {"type": "boolean"},
    },
    "additionalProperties": False,
}

REPORT: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "doctor/1",
    "type": "object",
    "required": ["schema", "doctor_version", "command", "target", "findings", "skipped", "crashed", "summary"],
    "properties": {
        "schema": {"const": "doctor/1"},
        "doctor_version": _TEXT,
        "command": _TEXT,
        "target": {
            "type": "object",
            "required": ["python", "argv", "files", "run_dir"],
            "properties": {
                "python": {"type": ["string", "null"]},
                "argv": _TEXTS,
                "files": _TEXTS,
                "run_dir": {"type": ["string", "null"]},
                "summary": _TEXTS,
                "stopped": _STOPPED,
            },
        },
        "verdict": {"enum": ["known", "unknown", "healthy"]},
        "chain": {"type": "array", "items": _LINK},
        "series": {"type": "array", "items": _SERIES},
        "judged": {
            "type": "object",
            "required": ["not_seen", "unjudged"],
            "properties": {"not_seen": _TEXTS, "unjudged": _TEXTS},
        },
        "wasted": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["of", "share", "gpu_hours", "rollouts", "money"],
                "properties": {
                    "of": {"enum": ["groups", "plateau"]},
                    "share": {"type": "number"},
                    **{name: {"type": ["number", "null"]} for name in ("gpu_hours", "rollouts", "money")},
                },
            },
        },
        "usage": {
            "type": "object",
            "required": ["seconds", "gpu_hours", "idle_gpu_hours", "gpus", "phases_from", "phases"],
        },
        "run": {"type": "object", "required": ["name", "state", "causes"]},
        "nodes": _NODES,
        "rehearsal": _REHEARSAL,
        "findings": {"type": "array", "items": _FINDING},
        "skipped": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["id", "reason"],
                "properties": {"id": _TEXT, "reason": _TEXT, "ignored": {"type": "boolean"}},
            },
        },
        "crashed": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["id", "error"],
                "properties": {"id": _TEXT, "error": _TEXT, "traceback": _TEXT},
            },
        },
        "summary": {
            "type": "object",
            "required": ["errors", "warnings", "checks_run", "seconds"],
            "properties": {
                "errors": _COUNT,
                "warnings": _COUNT,
                "checks_run": _COUNT,
                "seconds": {"type": "number"},
                "areas": {
                    "type": "object",
                    "additionalProperties": {
                        "type": "object",
                        "required": ["checked", "not_judged"],
                        "properties": {"checked": _COUNT, "not_judged": _COUNT},
                    },
                },
            },
        },
    },
    "additionalProperties": False,
}

REPORTS: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "doctor-reports/1",
    "type": "object",
    "required": ["schema", "reports"],
    "properties": {
        "schema": {"const": "doctor-reports/1"},
        "reports": {"type": "array", "items": {key: each for key, each in REPORT.items() if key != "$schema"}},
    },
    "additionalProperties": False,
}

FACTS: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "title": "doctor-facts/1",
    "type": "object",
    "required": ["schema", "host", "captured_ns", "doctor_version", "facts"],
    "properties": {
        "schema": {"const": "doctor-facts/1"},
        "host": _TEXT,
        "captured_ns": {"type": "integer"},
        "doctor_version": _TEXT,
        "facts": {
            "type": "object",
            "additionalProperties": {
                "type": "object",
                "required": ["status", "value", "reason", "source"],
                "properties": {
                    "status": {"enum": ["ok", "unavailable", "timeout"]},
                    "value": {},
                    "reason": _TEXT,
                    "source": _TEXT,
                    "applies": {"const": False},  # there is nothing of the kind to be seen
                },
                "additionalProperties": False,
            },
        },
        "clock": {  # of a node in a shared folder: its clock minus the file server's
            "type": "object",
            "required": ["offset_s", "error_s"],
            "properties": {"offset_s": {"type": "number"}, "error_s": {"type": "number"}},
            "additionalProperties": False,
        },
    },
    "additionalProperties": False,
}
