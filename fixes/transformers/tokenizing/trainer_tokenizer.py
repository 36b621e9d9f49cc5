"""Hands the tokenizer over by the name that the trainer takes."""

from __future__ import annotations

from doctor.catalogue.fix import Findings, fix
from doctor.catalogue.plan import Plan, Safety
from doctor.checks.transformers.tokenizing.trainer_tokenizer import PROBLEM
from doctor.facts.training import Training
from doctor.mend.places import edited


@fix(PROBLEM)
def trainer_tokenizer(findings: Findings, training: Training) -> Plan | None:
    """`processing_class` takes what `tokenizer` took."""
    steps = edited(findings, [training], lambda editor, setting, _: editor.rename(setting, "processing_class"))
    return Plan(PROBLEM.id, Safety.SAFE, steps) if steps else None
