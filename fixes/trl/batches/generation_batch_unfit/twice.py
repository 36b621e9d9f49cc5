"""Lets `generation_batch_size` decide alone."""

from __future__ import annotations

from doctor.catalogue.fix import Findings, fix
from doctor.catalogue.plan import Plan, Safety
from doctor.checks.trl.batches.generation_batch_unfit.twice import PROBLEM
from doctor.facts.training import Training
from doctor.mend.edits import Editor


@fix(PROBLEM)
def generation_batch_twice(findings: Findings, training: Training) -> Plan | None:
    """Which of the two was meant is the user's to say, so it asks."""
    steps = training.get("steps_per_generation")
    if not findings or steps is None or steps.place is None:
        return None
    editor = Editor(steps.place.file)
    editor.remove(steps)
    size = findings[0].values["size"]
    return Plan(
        PROBLEM.id,
        Safety.UNSAFE,
        (editor.step(),),
        f"`generation_batch_size={size}` then decides; if you intended `steps_per_generation`, remove the other.",
        f"此后由 `generation_batch_size={size}` 决定;如果原意是 `steps_per_generation`,请改为删除前者。",
    )
