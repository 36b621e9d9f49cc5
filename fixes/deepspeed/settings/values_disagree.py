"""Lets the training arguments decide: `auto` where DeepSpeed's configuration contradicts them."""

from __future__ import annotations

from doctor.catalogue.fix import Findings, fix
from doctor.catalogue.plan import Plan, Safety
from doctor.checks.deepspeed.settings.values_disagree import PROBLEM
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.mend.places import edited


@fix(PROBLEM)
def values_disagree(
    findings: Findings, deepspeed: DeepspeedConfig | None, accelerate: AccelerateConfig | None
) -> Plan | None:
    """Which of the two was meant is the user's to say, so it asks."""
    both = [
        each for each in findings if "ours" in each.values and each.where.file and not each.where.file.endswith(".py")
    ]
    steps = edited(both, [deepspeed, accelerate], lambda editor, setting, _: editor.set_value(setting, "auto"))
    if not steps:
        return None
    return Plan(
        PROBLEM.id,
        Safety.UNSAFE,
        steps,
        "The training arguments then decide; if you intended DeepSpeed's value, write it there.",
        "此后由训练参数决定;如果原本想要的是 DeepSpeed 配置中的值,请把它写到训练参数里。",
    )
