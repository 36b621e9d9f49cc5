"""Trains in bf16 what was saved in bf16, where every GPU can; else takes the strain off fp16."""

from __future__ import annotations

from doctor import data
from doctor.checks.numerics.fp16_for_bf16_model import PROBLEM
from doctor.core.fixes import Findings, fix
from doctor.core.plan import Plan, Safety
from doctor.facts.gpus import Gpus
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.fixes._edits import Editor

#: bfloat16 arithmetic begins with Ampere
#: (https://docs.nvidia.com/cuda/cuda-c-programming-guide/index.html#compute-capabilities)
AMPERE = (8, 0)


@fix(PROBLEM)
def fp16_for_bf16_model(findings: Findings, training: Training, gpus: Gpus, packages: Packages) -> Plan | None:
    """What DeepSpeed's file says is its own matter."""
    if not findings or not gpus.gpus:
        return None
    return _bf16(training) if can_bf16(gpus) else _gentler(training, packages)


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
        editor.rename(fp16.place, "bf16")
    else:
        editor.remove(fp16.place)
        if bf16.value is not True:
            editor.set_value(bf16.place, True)
    return Plan(PROBLEM.id, Safety.UNSAFE, (editor.step(),))


def _gentler(training: Training, packages: Packages) -> Plan | None:
    """Learning rate and clipping go back to the libraries' own values, where they are harsher."""
    editors: dict[str, Editor] = {}
    for name, default in _defaults(training, packages).items():
        setting = training.get(name)
        value = setting.value if setting is not None and setting.known else None
        if setting is None or setting.place is None or isinstance(value, bool) or not isinstance(value, (int, float)):
            continue
        if value > default or (name == "max_grad_norm" and value == 0):  # 0 clips nothing
            editor = editors.setdefault(setting.place.file, Editor(setting.place.file))
            editor.set_value(setting.place, default)
    if not editors:
        return None
    return Plan(
        PROBLEM.id,
        Safety.UNSAFE,
        tuple(each.step() for each in editors.values()),
        "These GPUs do not compute in bf16, so fp16 stays; smaller steps and clipping keep gradients within its range.",
        "这些 GPU 不支持 bf16 计算,因此保留 fp16;更小的步长与梯度裁剪可使梯度保持在其范围内。",
    )


def _defaults(training: Training, packages: Packages) -> dict[str, float]:
    """What the installed releases take when nobody says anything; a name whose default is not known is left out."""
    own = data.trl_argument(training.config_class or "", "learning_rate")
    base = data.training_argument
    found = {}
    for name in ("learning_rate", "max_grad_norm"):
        inherited = base(name)
        text = own.default_in(packages.version("trl") or "") if own is not None and name == "learning_rate" else None
        if text is None and inherited is not None:
            text = inherited.default_in(packages.version("transformers") or "")
        try:
            found[name] = float(text or "")
        except ValueError:
            continue
    return found
