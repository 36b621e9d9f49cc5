"""Moves `max_grad_norm` from the optimizer's parameters to where DeepSpeed reads the bound: `gradient_clipping`."""

from __future__ import annotations

from doctor.catalogue.fix import Findings, fix
from doctor.catalogue.plan import Plan, Safety
from doctor.catalogue.settings import at, number
from doctor.catalogue.shared.proofs import effective
from doctor.checks.deepspeed.settings.max_grad_norm_of_optimizer import PROBLEM
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.mend.edits import Editor

_KEY = "gradient_clipping"


@fix(PROBLEM)
def max_grad_norm_of_optimizer(
    findings: Findings, deepspeed: DeepspeedConfig, training: Training | None, packages: Packages | None
) -> Plan | None:
    """The number is kept unless the file or the training arguments say another: which was meant, the user knows."""
    finding = next((each for each in findings if each.where.file and each.where.column is not None), None)
    if finding is None or str(finding.where.file).endswith(".py"):
        return None
    value, there = finding.values["value"], deepspeed.settings.get(_KEY)
    editor = Editor(str(finding.where.file))
    named = (each for each in deepspeed.settings.values() if at(each.place) == finding.where)
    if (setting := next(named, None)) is None:
        return None
    editor.remove(setting)
    if there is not None:
        same = there.known and there.value == value
        note = "" if same else f"`{_KEY}` at the top of the file, {there.text}, counts then."
        note_zh = "" if same else f"此后以文件顶层的 `{_KEY}`({there.text})为准。"
        return Plan(PROBLEM.id, Safety.SAFE if same else Safety.UNSAFE, (editor.step(),), note, note_zh)
    by_trainer = training is not None and training.config_class is not None
    decided = effective(training, packages, "max_grad_norm") if training is not None and by_trainer else None
    if decided is None or number(decided.value) == number(value):
        editor.add_top(_KEY, value)
        unknown = by_trainer and decided is None
        return Plan(
            PROBLEM.id, Safety.UNSAFE if unknown else Safety.SAFE, (editor.step(),),
            "The argument `max_grad_norm` must be equal: the Trainer refuses another value." if unknown else "",
            "训练参数 `max_grad_norm` 必须与之相同,否则 Trainer 会拒绝。" if unknown else "",
        )  # fmt: skip
    editor.add_top(_KEY, "auto")
    return Plan(
        PROBLEM.id, Safety.UNSAFE, (editor.step(),),
        f"The training argument `max_grad_norm`, {decided.text}, counts then: the Trainer refuses another beside it.",
        f"此后以训练参数 `max_grad_norm`({decided.text})为准;Trainer 不接受与它不同的值。",
    )  # fmt: skip
