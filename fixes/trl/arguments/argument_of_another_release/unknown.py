"""Writes the name that a misspelt argument resembles."""

from __future__ import annotations

from collections import Counter

from doctor.catalogue.fix import Findings, fix
from doctor.catalogue.plan import Plan, Safety
from doctor.checks.trl.arguments.argument_of_another_release.unknown import PROBLEM
from doctor.facts.training import Training
from doctor.mend.places import edited


@fix(PROBLEM)
def argument_unknown(findings: Findings, training: Training) -> Plan | None:
    """What was meant is a guess, so the plan asks; a name that has a value, or that two resemble, is not taken."""
    taken = Counter(each.values["near"] for each in findings)
    resembling = [
        each
        for each in findings
        if (near := each.values["near"]) and taken[near] == 1 and training.get(str(near)) is None
    ]
    steps = edited(resembling, [training], lambda editor, old, finding: editor.rename(old, str(finding.values["near"])))
    if not steps:
        return None
    names = sorted(f"`{each.values['name']}` -> `{each.values['near']}`" for each in resembling)
    return Plan(
        PROBLEM.id,
        Safety.UNSAFE,
        steps,
        f"The new names are the nearest that exist; check that they are meant: {', '.join(names)}.",
        f"新名称是现有名称中最接近的,请确认这正是所要的:{', '.join(names)}。",
    )
