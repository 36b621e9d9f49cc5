"""Trains in bf16 what was saved in bf16, where every GPU can; else in fp32."""

from __future__ import annotations

from doctor.catalogue.fix import Findings, fix
from doctor.catalogue.plan import Plan, Safety
from doctor.checks.numerics.fp16_for_bf16_model import PROBLEM
from doctor.facts.gpus import Gpus
from doctor.facts.training import Training
from doctor.mend.edits import Editor

#: bfloat16 arithmetic begins with Ampere
#: (https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#compute-capabilities)
AMPERE = (8, 0)


@fix(PROBLEM)
def fp16_for_bf16_model(findings: Findings, training: Training, gpus: Gpus) -> Plan | None:
    """What DeepSpeed's file says is its own matter."""
    if not findings or not gpus.gpus:
        return None
    return _bf16(training) if can_bf16(gpus) else _fp32(training)


def can_bf16(gpus: Gpus) -> bool:
    """Whether every GPU is known to compute in bf16."""
    able = [each.compute_capability is not None and each.compute_capability >= AMPERE for each in gpus.gpus]
    return bool(able) and all(able)


def _bf16(training: Training) -> Plan | None:
    """`fp16=True` of the training arguments gives way to `bf16=True`."""
    fp16, bf16 = training.get("fp16"), training.get("bf16")
    if fp16 is None or fp16.place is None:
        return None
    if bf16 is not None and (bf16.place is None or bf16.place.file != fp16.place.file):
        return None
    editor = Editor(fp16.place.file)
    if bf16 is None or bf16.place is None:
        editor.rename(fp16, "bf16")
    else:
        editor.remove(fp16)
        if bf16.value is not True:
            editor.set_value(bf16, True)
    return Plan(PROBLEM.id, Safety.UNSAFE, (editor.step(),))


def _fp32(training: Training) -> Plan | None:
    """Both off: from 0.19 on TRL takes bf16 where only fp16 is off."""
    fp16, bf16 = training.get("fp16"), training.get("bf16")
    if fp16 is None or fp16.place is None or fp16.value is not True:
        return None
    editor = Editor(fp16.place.file)
    if bf16 is None:
        editor.set_with(fp16, False, "bf16", False)
    elif bf16.known and bf16.value is False:
        editor.set_value(fp16, False)
    else:
        return None
    return Plan(
        PROBLEM.id,
        Safety.UNSAFE,
        (editor.step(),),
        "These GPUs do not compute in bf16, so the run continues in fp32: slower, with more memory for activations.",
        "这些 GPU 不支持 bf16 计算,因此改用 fp32 训练:速度更慢,激活值占用更多显存。",
    )
