"""Takes out `vllm_mode` and what belongs to it, where the installed TRL has no such argument."""

from __future__ import annotations

from doctor.catalogue.fix import Findings, fix
from doctor.catalogue.plan import Plan, Safety
from doctor.checks.trl.serving.colocate_absent import PROBLEM
from doctor.facts.training import Training
from doctor.mend.edits import Editor

_NAMES = ("vllm_mode", "vllm_tensor_parallel_size")


@fix(PROBLEM)
def colocate_absent(findings: Findings, training: Training) -> Plan | None:
    """The finding names the first; both go, for the release refuses each."""
    written = {each.place: each for name in _NAMES if (each := training.get(name)) is not None}
    files = {place.file for place in written if place is not None}
    if not findings or len(files) != 1 or None in written:  # the release refuses what the command line says too
        return None
    editor = Editor(files.pop())
    for setting in written.values():
        editor.remove(setting)
    return Plan(
        PROBLEM.id,
        Safety.UNSAFE,
        (editor.step(),),
        "The run then does with vLLM what this TRL release does; for colocate, upgrade TRL instead: "
        "doctor fix env --want 'trl[vllm]>=0.18'.",
        "此后按当前 TRL 版本的方式使用 vLLM;如需 colocate,请改为升级 TRL:doctor fix env --want 'trl[vllm]>=0.18'。",
    )
