"""Takes trackers out of `report_to`."""

from __future__ import annotations

from collections.abc import Collection

from doctor.catalogue.plan import Plan, Safety
from doctor.catalogue.shared.trackers import words_of
from doctor.facts.training import Training
from doctor.mend.edits import Editor


def without(problem: str, training: Training, names: Collection[str]) -> Plan | None:
    """The plan; None where no file says `report_to`, or it does not name them ("all")."""
    setting = training.get("report_to")
    if setting is None or setting.place is None or not setting.known:
        return None
    listed = words_of(setting.value)
    left = [each for each in listed if each not in names]
    if len(left) == len(listed):
        return None
    editor = Editor(setting.place.file)
    editor.set_value(setting, left[0] if len(left) == 1 else left or "none")
    gone = ", ".join(f"`{each}`" for each in listed if each in names)
    return Plan(
        problem,
        Safety.UNSAFE,
        (editor.step(),),
        f"The run reports to {gone} no more; if you want it, fix that instead of applying this.",
        f"训练将不再向 {gone} 汇报;如果需要它,请先解决上述问题,而不要执行此计划。",
    )
