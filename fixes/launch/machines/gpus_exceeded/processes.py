"""Starts as many processes as GPUs are visible, where a file says how many."""

from __future__ import annotations

from doctor.catalogue.fix import Findings, fix
from doctor.catalogue.plan import Plan, Safety
from doctor.checks.launch.machines.gpus_exceeded.processes import PROBLEM
from doctor.facts.world import World
from doctor.mend.places import edited


@fix(PROBLEM)
def more_processes_than_gpus(findings: Findings, world: World) -> Plan | None:
    """`num_processes` counts all machines; with several it is not for this one to say."""
    if (world.machines or 1) != 1:
        return None
    steps = edited(
        findings, [world], lambda editor, setting, finding: editor.set_value(setting, finding.values["gpus"])
    )
    if not steps:
        return None
    return Plan(
        PROBLEM.id,
        Safety.UNSAFE,
        steps,
        "Fewer processes make a smaller global batch; raise `gradient_accumulation_steps` to keep it.",
        "进程变少会使全局批量变小;如需保持不变,请调大 `gradient_accumulation_steps`。",
    )
