"""Writes a misspelt key as DeepSpeed reads it."""

from __future__ import annotations

from doctor.catalogue.fix import Findings, fix
from doctor.catalogue.plan import Plan, Safety
from doctor.checks.deepspeed.settings.ignored_key import PROBLEM
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.mend.edits import Editor


@fix(PROBLEM)
def ignored_key(findings: Findings, deepspeed: DeepspeedConfig) -> Plan | None:
    """A key that stands there rightly spelt too is left to the user, and so is a dictionary in a script."""
    present = {name.partition(".")[0] for name in deepspeed.settings}
    only = [each for each in findings if each.values["nearest"] not in present]
    file = next((each.where.file for each in only), None)
    if file is None or file.endswith(".py"):
        return None
    editor = Editor(file)
    for each in only:
        editor.rename_top(str(each.values["key"]), str(each.values["nearest"]))
    return Plan(
        PROBLEM.id,
        Safety.UNSAFE,
        (editor.step(),),
        "The setting, ignored until now, takes effect.",
        "此前被忽略的设置将会生效。",
    )
