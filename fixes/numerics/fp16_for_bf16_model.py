"""Trains in bf16 what was saved in bf16, where every GPU can."""

from __future__ import annotations

from doctor.checks.numerics.fp16_for_bf16_model import PROBLEM
from doctor.core.fixes import Findings, fix
from doctor.core.plan import Plan, Safety
from doctor.facts.gpus import Gpus
from doctor.facts.training import Training
from doctor.fixes._edits import Editor

#: bfloat16 arithmetic begins with Ampere
#: (https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#compute-capabilities)
AMPERE = (8, 0)


@fix(PROBLEM)
def fp16_for_bf16_model(findings: Findings, training: Training, gpus: Gpus) -> Plan | None:
    """`fp16=True` of the training arguments gives way to `bf16=True`; what DeepSpeed's file says is its own matter."""
    fp16, bf16 = training.get("fp16"), training.get("bf16")
    able = [each.compute_capability is not None and each.compute_capability >= AMPERE for each in gpus.gpus]
    if not findings or fp16 is None or fp16.place is None or not able or not all(able):
        return None
    if bf16 is not None and (bf16.place is None or bf16.place.file != fp16.place.file):
        return None
    editor = Editor(fp16.place.file)
    if bf16 is None or bf16.place is None:
        editor.rename(fp16.place, "bf16")
    else:
        editor.remove(fp16.place)
        if bf16.value is not True:
            editor.set_value(bf16.place, True)
    return Plan(PROBLEM.id, Safety.UNSAFE, (editor.step(),))
