"""The steps that `doctor fix` takes for one problem or for all: judge, plan, show, undo."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from doctor.base.redact import redact_text

_PHRASES: Mapping[str, Mapping[str, str]] = {
    "en": {
        "none": "No plan fixes what the last `doctor check` or `doctor postmortem` found here.",
        "list": "Found here, and can be fixed:",
        "how": "`doctor fix ID` shows the plan, `doctor fix ID --apply` applies it, `--undo` undoes it.",
        "no_fix": "{id} {name} has no plan; `doctor explain {id}` says what to do.",
        "no_plan": "{id} {name}: no plan can fix it here.",
        "not_found": "{id} {name} is not found here now.",
        "no_command": "{id} {name} is not found here without the launch command: doctor fix {id} -- COMMAND",
        "blind": "Could not judge whether {id} {name} is present: {reasons}",
        "apply": "Nothing is changed yet: add --apply.",
        "ask": "Do this?",
        "no_answer": "this plan asks first: add --yes if there is no terminal",
        "manual": "this plan is only shown: the doctor does not apply it",
        "done": "Done. `doctor fix {id} --undo` undoes it.",
        "done_for_good": "Done.",
        "gone": "{id} is no longer found.",
        "still": "{id} is still found:",
        "undone": "Undone: {id}.",
        "nothing_to_undo": "no plan for {id} was applied in this folder",
        "recovered": "An earlier fix of {id} was interrupted; everything is as it was before it.",
        "hidden": "the last command contained a secret, so it was not kept; pass it again: doctor fix {id} -- COMMAND",
        "name_one": "name what to fix: `doctor fix ID {option}` for one problem, `doctor fix --all {option}` for all",
        "uncovers": "This will be found next; {id} hid it until now: {new} {headline}",
        "would_stay": "Not offered: after the change, {id} would still be found: {headline}",
        "would_bring": "Not offered: after the change, {new} would be found: {headline}",
        "would_blind": "Not offered: after the change, {id} could no longer be judged: {headline}",
    },
    "zh": {
        "none": "最近一次 `doctor check` 或 `doctor postmortem` 在此发现的问题中,没有可自动处理的。",
        "list": "在此发现、可以处理的问题:",
        "how": "`doctor fix ID` 显示方案,`doctor fix ID --apply` 执行,`--undo` 撤销。",
        "no_fix": "{id} {name} 没有可执行的方案;处理方法见 `doctor explain {id}`。",
        "no_plan": "{id} {name}:此处没有可由方案处理的内容。",
        "not_found": "此处现在没有发现 {id} {name}。",
        "no_command": "没有给出启动命令,此处没有发现 {id} {name}:doctor fix {id} -- COMMAND",
        "blind": "无法判断此处是否有 {id} {name}:{reasons}",
        "apply": "尚未作任何更改:加上 --apply 才会执行。",
        "ask": "是否执行?",
        "no_answer": "该方案需要确认:无人应答时请加 --yes",
        "manual": "该方案只作展示,doctor 不会执行",
        "done": "已完成。`doctor fix {id} --undo` 可撤销。",
        "done_for_good": "已完成。",
        "gone": "已不再发现 {id}。",
        "still": "仍然发现 {id}:",
        "undone": "已撤销:{id}。",
        "nothing_to_undo": "此目录中没有执行过 {id} 的方案",
        "recovered": "之前对 {id} 的处理被中断;一切已恢复原状。",
        "hidden": "上次的命令含有机密,未被保存;请重新给出:doctor fix {id} -- COMMAND",
        "name_one": "请指明要处理的问题:单个问题用 `doctor fix ID {option}`,全部用 `doctor fix --all {option}`",
        "uncovers": "之后会发现此前被 {id} 掩盖的问题:{new} {headline}",
        "would_stay": "不予提供:按更改后的文件判断,仍会发现 {id}:{headline}",
        "would_bring": "不予提供:按更改后的文件判断,会出现 {new}:{headline}",
        "would_blind": "不予提供:按更改后的文件判断,将无法再判断 {id}:{headline}",
    },
}


@dataclass(frozen=True)
class Asked:
    """What the command line asks for; `entry` is None for all problems."""

    entry: Any
    argv: tuple[str, ...]
    python: str | None
    language: str

    def say(self, phrase: str, reasons: tuple[str, ...] = ()) -> str:
        """A phrase about the problem, in the language of the user."""
        text = _PHRASES[self.language][phrase]
        return text.format(id=self.entry.id, name=self.entry.name, reasons="; ".join(reasons))


def tell_undone(newest_first: list[Any], language: str) -> None:
    """Take plans back, all or none, and say which.

    Raises:
        Refused: one cannot be undone; nothing was changed.

    """
    from doctor.mend import journal

    journal.undo_all(newest_first)
    for each in newest_first:
        click.echo(_PHRASES[language]["undone"].format(id=each.problem))


def show(made: Any, entry: Any, language: str) -> None:
    """Draw the plan of an offer."""
    from doctor.render.console import console_for
    from doctor.render.plan import draw

    draw(made.plan, entry.name, console_for(sys.stdout), language, made.contents)
    click.echo()
    for each in made.uncovered:
        headline = redact_text(each.words(language).headline)
        click.echo(_PHRASES[language]["uncovers"].format(id=entry.id, new=each.problem.id, headline=headline))


def objection(made: Any, entry: Any, language: str) -> str:
    """Why a plan that was tried is not offered."""
    verdict, phrases = made.verdict, _PHRASES[language]
    finding = next(iter((*verdict.left, *verdict.new)), None)
    if finding is None:
        return phrases["would_blind"].format(id=entry.id, headline="; ".join(verdict.unseen))
    headline = redact_text(finding.words(language).headline)
    if verdict.left:
        return phrases["would_stay"].format(id=entry.id, headline=headline)
    return phrases["would_bring"].format(new=finding.problem.id, headline=headline)


def judge(asked: Asked, facts: list[str]) -> Any:
    """Run the checks, and collect what a fix needs besides."""
    from doctor.base.fact import Context
    from doctor.diagnosis.diagnose import judge as judge_here

    return judge_here(Context(asked.argv, Path.cwd(), dict(os.environ), asked.python), facts)
