"""Takes out of accelerate's file what the DeepSpeed file beside it must say."""

from __future__ import annotations

from doctor.catalogue.fix import Findings, fix
from doctor.catalogue.plan import Plan, Safety
from doctor.checks.accelerate.config_file_beside_fields import FIELDS, PROBLEM
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.mend.edits import Editor


@fix(PROBLEM)
def config_file_beside_fields(findings: Findings, accelerate: AccelerateConfig) -> Plan | None:
    """The finding names the fields; their lines stand in the fact."""
    if accelerate.is_shipped or not findings:
        return None
    named = [f"deepspeed_config.{each}" for each in FIELDS] + ["mixed_precision"]
    fields = findings[0].values["fields"]
    beside = [
        setting
        for name in named
        if (setting := accelerate.settings.get(name)) and f"`{name.rpartition('.')[2]}`" in fields
    ]
    editor = Editor(accelerate.path)
    for setting in beside:
        if setting.place is not None:
            editor.remove(setting)
    return Plan(
        PROBLEM.id,
        Safety.UNSAFE,
        (editor.step(),),
        f"The DeepSpeed file alone then decides: check that it says what {fields} said.",
        f"此后只由 DeepSpeed 配置文件决定:请确认其中写有 {fields} 原来的内容。",
    )
