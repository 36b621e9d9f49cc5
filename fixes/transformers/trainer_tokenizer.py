"""Hands the tokenizer over by the name that the trainer takes."""

from __future__ import annotations

from doctor.checks.transformers.trainer_tokenizer import PROBLEM
from doctor.core.fixes import Findings, fix
from doctor.core.plan import Plan, Safety
from doctor.fixes._places import edited


@fix(PROBLEM)
def trainer_tokenizer(findings: Findings) -> Plan | None:
    """`processing_class` takes what `tokenizer` took."""
    steps = edited(findings, lambda editor, place, _: editor.rename(place, "processing_class"))
    return Plan(PROBLEM.id, Safety.SAFE, steps) if steps else None
