"""Draws a plan on a terminal: what changes, as a diff, what is run, and how safe it is."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from doctor.base.redact import redact_lines, redact_text
from doctor.catalogue.plan import Contents, Plan, Run, Safety, diff
from doctor.render.console import prose
from doctor.render.ink import Text

if TYPE_CHECKING:
    from doctor.render.ink import Console


WORDS: Mapping[str, Mapping[str, str]] = {
    "en": {
        "safe": "safe: changes only your own files, can be undone",
        "unsafe": "asks first: it installs, or changes what is computed",
        "manual": "by hand: the doctor only shows it",
        "runs": "runs", "for_good": "cannot be undone", "title": "Plan for {id} {name}",
    },
    "zh": {
        "safe": "安全:只改你自己的文件,可撤销",
        "unsafe": "需要确认:会安装软件,或改变计算内容",
        "manual": "手动:doctor 只作展示",
        "runs": "运行", "for_good": "无法撤销", "title": "{id} {name} 的处理方案",
    },
}  # fmt: skip
_GRADES = {Safety.SAFE: "green", Safety.UNSAFE: "yellow", Safety.MANUAL: "magenta"}


def draw(plan: Plan, name: str, console: Console, language: str, made: Contents | None = None) -> None:
    """Print the plan; `made` are the contents that it is for and leads to, read now where they are not given.

    Raises:
        Refused: a file is no longer what the plan was made for.
        OSError: a file cannot be read.

    """
    words = WORDS[language]
    console.print(Text(words["title"].format(id=plan.problem, name=name), style="bold"))
    console.print(Text(f"  {words[plan.safety.value]}", style=_GRADES[plan.safety]))
    here = f"{Path.cwd()}/"
    changed = list(diff(plan, made))
    for line, shown in zip(changed, redact_lines(changed), strict=True):
        is_head = shown.startswith(("--- ", "+++ "))
        text = shown[:4] + shown[4:].removeprefix(redact_text(here)) if is_head else shown
        console.print(Text(f"  {text}", style=_style(line)), soft_wrap=True)
    for step in plan.steps:
        if isinstance(step, Run):
            line_of = Text(f"  {words['runs']} ", style="dim")
            line_of.append(redact_text(shlex.join(step.argv)), style="green")
            console.print(line_of, soft_wrap=True)
    if not plan.reversible:
        console.print(Text(f"  {words['for_good']}", style="bold yellow"))
    note = plan.note_zh if language == "zh" and plan.note_zh else plan.note
    if note:
        console.print()
        console.print(prose(note))


def _style(line: str) -> str:
    if line.startswith(("+++", "---")):
        return "bold"
    return {"+": "green", "-": "red", "@": "cyan"}.get(line[:1], "dim")
