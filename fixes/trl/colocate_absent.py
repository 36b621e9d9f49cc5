"""Takes out `vllm_mode` and what belongs to it, where the installed TRL has no such argument."""

from __future__ import annotations

from doctor.checks.trl.colocate_absent import PROBLEM
from doctor.core.fixes import Findings, fix
from doctor.core.plan import Plan, Safety
from doctor.facts.training import Training
from doctor.fixes._edits import Editor

_NAMES = ("vllm_mode", "vllm_tensor_parallel_size")


@fix(PROBLEM)
def colocate_absent(findings: Findings, training: Training) -> Plan | None:
    """The finding names the first; both go, for the release refuses each."""
    places = [each.place for name in _NAMES if (each := training.get(name)) is not None and each.place is not None]
    if not findings or len({each.file for each in places}) != 1:
        return None
    editor = Editor(places[0].file)
    for place in places:
        editor.remove(place)
    return Plan(
        PROBLEM.id,
        Safety.UNSAFE,
        (editor.step(),),
        "The run then does with vLLM what this TRL release does; for colocate, upgrade TRL instead: "
        "doctor fix env --want 'trl[vllm]>=0.18'.",
        "此后按当前 TRL 版本的方式使用 vLLM;如需 colocate,请改为升级 TRL:doctor fix env --want 'trl[vllm]>=0.18'。",
    )
