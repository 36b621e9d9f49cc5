"""Judges optimizer-and-scheduler-apart (DSP035), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.catalogue.finding import Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]


def explain(hits: Hits) -> Finding:
    """Say which of the two is missing."""
    missing = (hits.get("missing") or hits.get("missing_too") or "scheduler").lower().split()[-1]
    what, what_zh = f"the file lacks the {missing}", f"文件中没有 {missing}"
    if hits.get("missing_too"):
        what, what_zh = "`DummyOptim` beside a real scheduler", "`DummyOptim` 与真实的调度器同时使用"
    elif hits.get("there") == "scheduler":
        what, what_zh = "the file has the scheduler, the code the optimizer", "文件中有调度器,而优化器在代码中"
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), what=what, what_zh=what_zh)
