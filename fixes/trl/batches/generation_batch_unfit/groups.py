"""Makes the generation batch hold whole groups: by a factor of the batch, by `num_generations` only if none will do."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.finding import Finding
from doctor.catalogue.fix import Findings, fix
from doctor.catalogue.plan import Plan, Safety
from doctor.checks.trl.batches.generation_batch_unfit.groups import PROBLEM
from doctor.facts.training import Training
from doctor.mend.edits import Editor

_GROUP = "num_generations"
#: in this order, for the first costs no memory
_FACTORS = (
    "steps_per_generation", "gradient_accumulation_steps", "generation_batch_size", "per_device_train_batch_size",
)  # fmt: skip


@fix(PROBLEM)
def batch_not_divisible(findings: Findings, training: Training) -> Plan | None:
    """The size of the groups is the algorithm's, so it stays where another of the finding's values is enough."""
    values = _values(findings[0]) if len(findings) == 1 else {}
    group = training.get(_GROUP)
    names = [each for each in _FACTORS if each in values]
    written = next((each for each in names if _has_place(training.get(each))), None)
    if written is not None:
        return _plan(training.get(written), written, values)
    added = next((each for each in names if training.get(each) is None and training.complete), None)
    return _plan(group, added or _GROUP, values) if _has_place(group) else None


def _has_place(setting: Observed | None) -> bool:
    return setting is not None and setting.place is not None and setting.known


def _values(finding: Finding) -> dict[str, int]:
    """What the finding proposes, one value an argument; "name=8", or "--name 8" as ms-swift takes it."""
    pairs = (each.removeprefix("--").replace("=", " ").split() for each in reversed(finding.commands))
    return {name: int(value) for name, value in pairs}


def _plan(setting: Observed | None, name: str, values: dict[str, int]) -> Plan | None:
    """Write `name`, in its place or, where `setting` is another, behind that one."""
    if setting is None or setting.place is None or name not in values:
        return None
    editor, value = Editor(setting.place.file), values[name]
    if setting.name == name:
        editor.set_value(setting, value)
    else:
        editor.set_with(setting, setting.value, name, value)
    if name == _GROUP:
        note = "The size of the groups for the advantages changes."
        zh = "计算优势所用的分组大小会改变。"
    else:
        note = f"The groups stay as large as they are; with `{name}={value}` a generation has more or fewer prompts."
        zh = f"分组大小保持不变;`{name}={value}` 会改变每次生成的提示数量。"
    return Plan(
        PROBLEM.id,
        Safety.UNSAFE,
        (editor.step(),),
        f"{note} `doctor check` names other values for {PROBLEM.id}.",
        f"{zh}`doctor check` 针对 {PROBLEM.id} 列出了其他取值。",
    )
