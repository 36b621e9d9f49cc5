"""`doctor fix --all`: every safe plan for what is found here, in order, each judged again; one undo takes all back."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from doctor.cli.fix_steps import Asked, judge, objection, show, tell_undone

_PHRASES: Mapping[str, Mapping[str, str]] = {
    "en": {
        "none": "No safe plan fixes what is found here.",
        "apply": "Nothing is changed yet: add --apply.",
        "done": "Done: {ids}. `doctor fix --all --undo` undoes all of it.",
        "left": "Left out:",
        "unsafe": "it installs packages, or changes results: doctor fix {id} --apply, or --all --apply --yes",
        "manual": "the plan is only shown: doctor fix {id}",
        "no_plan": "no plan can fix it here",
        "blind": "could not be planned: {reason}",
        "still": "{id} was applied and is still found:",
        "nothing_to_undo": "`doctor fix --all --apply` was never run in this folder",
    },
    "zh": {
        "none": "此处发现的问题中,没有可由安全方案处理的。",
        "apply": "尚未作任何更改:加上 --apply 才会执行。",
        "done": "已完成:{ids}。`doctor fix --all --undo` 可全部撤销。",
        "left": "未处理:",
        "unsafe": "会安装软件,或改变计算内容:doctor fix {id} --apply,或 --all --apply --yes",
        "manual": "该方案只作展示:doctor fix {id}",
        "no_plan": "此处没有可由方案处理的内容",
        "blind": "无法生成方案:{reason}",
        "still": "{id} 已执行,但仍然发现:",
        "nothing_to_undo": "此目录中没有执行过 `doctor fix --all --apply`",
    },
}


def mend(asked: Asked, *, apply: bool, yes: bool) -> int:
    """Show the plans, or carry them out one after another; what is left out is named with its reason.

    Returns: 1 where a plan was carried out and its problem is found still, else 0.
    """
    from doctor.mend import journal

    if not apply:
        return _show(asked, yes=yes)
    with journal.locked():
        return _apply(asked, yes=yes)


def undo(language: str) -> int:
    """Take back everything of the last `--all`, and what was changed on top of it."""
    from doctor.mend import journal, journal_form

    with journal.locked():
        everything, carried_out = journal.entries(Path.cwd()), (journal_form.BEGUN, journal_form.DONE)
        groups = [each.group for each in everything if each.group and each.state in carried_out]
        if not groups:
            raise click.UsageError(_PHRASES[language]["nothing_to_undo"])
        together = [each for each in everything if each.group == groups[-1]]
        tell_undone(journal.standing_on(together, everything), language)
    return 0


def _show(asked: Asked, *, yes: bool) -> int:
    left: dict[str, str] = {}
    shown = 0
    for entry, made in _plans(asked, judge(asked, []), left, yes=yes):
        show(made, entry, asked.language)
        shown += 1
    phrases = _PHRASES[asked.language]
    click.echo(phrases["apply" if shown else "none"])
    _tell_left(left, asked.language)
    return 0


def _apply(asked: Asked, *, yes: bool) -> int:
    """Each plan is made from what the checks say after the one before it."""
    from doctor.mend import journal

    group = str(time.time_ns())
    done: list[str] = []
    left: dict[str, str] = {}
    judged = judge(asked, [])
    while (first := next(_plans(asked, judged, left, yes=yes, but=done), None)) is not None:
        entry, made = first
        show(made, entry, asked.language)
        journal.apply(made.plan, Path.cwd(), made.contents, group)
        done.append(entry.id)
        judged = judge(asked, [])
    phrases = _PHRASES[asked.language]
    click.echo(phrases["done"].format(ids=", ".join(done)) if done else phrases["none"])
    _tell_left(left, asked.language)
    return _tell_still(done, judged, asked.language)


def _plans(
    asked: Asked, judged: Any, left: dict[str, str], *, yes: bool, but: list[str] | tuple[str, ...] = ()
) -> Iterator[tuple[Any, Any]]:
    """What can be carried out without a question, in the order of the findings; `left` gets the others' reasons."""
    from doctor.catalogue.fix import fixable

    found = dict.fromkeys(each.problem.id for each in judged.outcome.findings)
    entries = {each.id: each for each in judged.entries if each.id in found}
    mendable = fixable(entries.values())
    for problem in found:
        if problem not in mendable or problem in but:
            continue
        made = _offer(entries[problem], judged)
        reason = _reason(made, entries[problem], asked.language, yes=yes)
        if reason is None:
            left.pop(problem, None)
            yield entries[problem], made
        else:
            left[problem] = reason


def _offer(entry: Any, judged: Any) -> Any:
    """The plan, None, or the reason why there is none as text."""
    from doctor.catalogue.plan import Refused
    from doctor.diagnosis.offers import offer

    try:
        return offer(entry, judged)
    except (LookupError, Refused, OSError) as exc:
        return str(exc)


def _reason(made: Any, entry: Any, language: str, *, yes: bool) -> str | None:
    """Why a plan is not carried out here; None where it is."""
    from doctor.catalogue.plan import Safety

    phrases = _PHRASES[language]
    if made is None:
        return phrases["no_plan"]
    if isinstance(made, str):
        return phrases["blind"].format(reason=made)
    if not made.holds:
        return objection(made, entry, language)
    if made.plan.safety is Safety.MANUAL:
        return phrases["manual"].format(id=entry.id)
    return phrases["unsafe"].format(id=entry.id) if made.plan.safety is Safety.UNSAFE and not yes else None


def _tell_left(left: dict[str, str], language: str) -> None:
    if left:
        click.echo("\n".join([_PHRASES[language]["left"], *(f"  {each}: {reason}" for each, reason in left.items())]))


def _tell_still(done: list[str], judged: Any, language: str) -> int:
    still = [each for each in judged.outcome.findings if each.problem.id in done]
    for each in still:
        click.echo(_PHRASES[language]["still"].format(id=each.problem.id))
        click.echo(f"  {each.words(language).headline}")
    return 1 if still else 0
