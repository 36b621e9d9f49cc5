"""`doctor fix`: mend what the other commands found, visibly and reversibly."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from doctor.cli import options

_PHRASES: Mapping[str, Mapping[str, str]] = {
    "en": {
        "none": "Nothing that the last `doctor check` or `doctor postmortem` found here can be mended by a plan.",
        "list": "Found here, and can be mended:",
        "how": "`doctor fix ID` shows the plan, `doctor fix ID --apply` does it, `--undo` takes it back.",
        "no_fix": "{id} {name} has no plan; `doctor explain {id}` says what to do.",
        "no_plan": "{id} {name}: nothing here that a plan could mend.",
        "not_found": "{id} {name} is not found here now.",
        "no_command": "{id} {name} is not found here without the launch command: doctor fix {id} -- COMMAND",
        "blind": "Whether {id} {name} is here could not be judged: {reasons}",
        "apply": "Nothing is changed yet: add --apply.",
        "ask": "Do this?",
        "no_answer": "this plan asks first: add --yes where nobody can answer",
        "manual": "this plan is only shown: the doctor does not do it",
        "done": "Done. `doctor fix {id} --undo` takes it back.",
        "done_for_good": "Done.",
        "gone": "{id} is not found any more.",
        "still": "{id} is still found:",
        "undone": "Taken back: {id}.",
        "nothing_to_undo": "no plan for {id} was carried out in this folder",
        "recovered": "An earlier fix of {id} was interrupted; everything is as it was before it.",
        "hidden": "the last command held a secret, so it was not kept; give it again: doctor fix {id} -- COMMAND",
    },
    "zh": {
        "none": "最近一次 `doctor check` 或 `doctor postmortem` 在此发现的问题中,没有可自动处理的。",
        "list": "在此发现、可以处理的问题:",
        "how": "`doctor fix ID` 显示计划,`doctor fix ID --apply` 执行,`--undo` 撤销。",
        "no_fix": "{id} {name} 没有可执行的计划;处理方法见 `doctor explain {id}`。",
        "no_plan": "{id} {name}:此处没有可由计划处理的内容。",
        "not_found": "此处现在没有发现 {id} {name}。",
        "no_command": "没有给出启动命令,此处没有发现 {id} {name}:doctor fix {id} -- COMMAND",
        "blind": "无法判断此处是否有 {id} {name}:{reasons}",
        "apply": "尚未作任何更改:加上 --apply 才会执行。",
        "ask": "是否执行?",
        "no_answer": "该计划需要确认:无人应答时请加 --yes",
        "manual": "该计划只作展示,doctor 不会执行",
        "done": "已完成。`doctor fix {id} --undo` 可撤销。",
        "done_for_good": "已完成。",
        "gone": "已不再发现 {id}。",
        "still": "仍然发现 {id}:",
        "undone": "已撤销:{id}。",
        "nothing_to_undo": "此目录中没有执行过 {id} 的计划",
        "recovered": "之前对 {id} 的处理被中断;一切已恢复原状。",
        "hidden": "上次的命令含有机密,未被保存;请重新给出:doctor fix {id} -- COMMAND",
    },
}


@dataclass(frozen=True)
class _Asked:
    """What the command line asks for."""

    entry: Any
    argv: tuple[str, ...]
    python: str | None
    language: str

    def say(self, phrase: str, reasons: tuple[str, ...] = ()) -> str:
        text = _PHRASES[self.language][phrase]
        return text.format(id=self.entry.id, name=self.entry.name, reasons="; ".join(reasons))


@dataclass(frozen=True)
class _Judged:
    """What the check says of the problem now: findings, why it could not see, and the facts."""

    findings: tuple[Any, ...]
    blind: tuple[str, ...]
    states: Any


#: first word after `doctor fix` -> (module, one line of help): what is no problem of the catalogue
SUBCOMMANDS: Mapping[str, tuple[str, str]] = {
    "env": ("fix_env", "Versions that fit each other and this machine."),
    "hang": ("fix_hang", "Stacks of a run that stands still, and its end."),
    "orphans": ("fix_orphans", "Workers that outlived their run, with the proof."),
}


class FixCommand(click.Command):
    """`doctor fix ID`, or one of the commands beside it."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: Any
    ) -> click.Context:
        """Hand the line to the command that its first word names."""
        import importlib

        if args and args[0] in SUBCOMMANDS:
            module = importlib.import_module(f"doctor.cli.{SUBCOMMANDS[args[0]][0]}")
            chosen: click.Command = module.command
            return chosen.make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Name the commands beside it."""
        super().format_options(ctx, formatter)
        with formatter.section("Commands"):
            formatter.write_dl([(f"doctor fix {name}", text) for name, (_, text) in SUBCOMMANDS.items()])


@click.command(cls=FixCommand, context_settings={"allow_interspersed_args": True})
@click.argument("problem", required=False)
@click.argument("launch_command", nargs=-1, type=click.UNPROCESSED, metavar="[-- LAUNCH COMMAND]")
@click.option("--apply", is_flag=True, help="Carry the plan out, then check again.")
@click.option("--undo", is_flag=True, help="Take back what was carried out here, byte for byte.")
@click.option("--yes", is_flag=True, help="Do not ask before a plan that installs or changes what is computed.")
@click.option("--python", metavar="PATH", help="The interpreter, venv or conda prefix that was checked.")
@click.option("--lang", type=click.Choice(options.LANGUAGES), help="Language (default: the locale's).")
def command(problem: str | None, launch_command: tuple[str, ...], **chosen: Any) -> int:
    """Mend what `doctor check` or `doctor postmortem` found: shown first, applied when asked, undone on request.

    \b
    doctor fix                   what was found here and can be mended
    doctor fix TRL002            show the plan
    doctor fix TRL002 --apply    carry it out, then check again
    doctor fix TRL002 --undo     take it back
    """
    from doctor.core.plan import Refused

    settings = options.user_settings(Path.cwd(), ())
    language = options.language(chosen["lang"], settings)
    try:
        if not chosen["undo"]:
            recover(language)
        if problem is None:
            return _list(language)
        asked = _asked(problem, launch_command, chosen["python"], language)
        if chosen["undo"]:
            return _undo(asked)
        return _mend(asked, apply=chosen["apply"], yes=chosen["yes"])
    except Refused as exc:
        raise click.UsageError(str(exc)) from None
    except OSError as exc:
        msg = f"`{exc.filename}`: {exc.strerror}"
        raise click.UsageError(msg) from None


def recover(language: str) -> None:
    """Take back what a killed doctor left half-done, before anything else is looked at.

    Where that cannot be, it is said, and what only looks goes on.
    """
    from doctor.core import journal
    from doctor.core.plan import Refused

    unfinished = [each.problem for each in journal.entries(Path.cwd()) if each.state == journal.BEGUN]
    if not unfinished:
        return
    if "ENV" in unfinished:
        from doctor.fixes.environment import uv

        os.environ.update(uv.taken_over(os.environ))
    try:
        with journal.locked():
            for entry in journal.recover(Path.cwd()):
                click.echo(_PHRASES[language]["recovered"].format(id=entry.problem), err=True)
    except Refused as exc:
        click.echo(str(exc), err=True)


def _list(language: str) -> int:
    """What the last reports of this folder hold that has a fix."""
    from doctor.core.state import read_last

    reports = [report for name in ("check", "postmortem") if (report := read_last(name, Path.cwd()))]
    found = {
        each["id"]: f"  {each['id']} {each['name']}  {each['headline']}"
        for report in reports
        for each in report["findings"]
        if each["remedy"]["fix"]
    }
    phrases = _PHRASES[language]
    click.echo("\n".join([phrases["list"], *found.values(), phrases["how"]]) if found else phrases["none"])
    return 0


def _asked(problem: str, argv: tuple[str, ...], python: str | None, language: str) -> _Asked:
    """The problem, and the command and interpreter that the last check judged where no command is given."""
    from doctor.core.index import load
    from doctor.core.state import read_last

    entry = next((each for each in load() if problem.upper() == each.id or problem == each.name), None)
    if entry is None:
        msg = f"there is no problem `{problem}`; `doctor list` shows them all"
        raise click.UsageError(msg)
    last = read_last("check", Path.cwd())
    if not argv and last is not None:
        argv = tuple(last["target"]["argv"])
        if any("***" in word for word in argv):
            raise click.UsageError(_PHRASES[language]["hidden"].format(id=entry.id))
        python = python or _still_there(last["target"].get("python"))
    return _Asked(entry, argv, python, language)


def _still_there(python: str | None) -> str | None:
    """The interpreter of a report, where its path was not redacted and leads to it still."""
    path = Path(python or "").expanduser()
    return str(path) if python and path.is_file() else None


def _undo(asked: _Asked) -> int:
    from doctor.core import journal

    with journal.locked():
        done = [
            each
            for each in journal.entries(Path.cwd())
            if each.problem == asked.entry.id and each.state in (journal.BEGUN, journal.DONE)
        ]
        if not done:
            raise click.UsageError(asked.say("nothing_to_undo"))
        journal.undo(done[-1])
    click.echo(asked.say("undone"))
    return 0


def _mend(asked: _Asked, *, apply: bool, yes: bool) -> int:
    """Show the plan; carry it out when asked."""
    from doctor.core import journal
    from doctor.core.fixes import load_fix
    from doctor.core.plan import Safety
    from doctor.render.console import console_for
    from doctor.render.plan import draw

    fix = load_fix(asked.entry)
    if fix is None:
        click.echo(asked.say("no_fix"))
        return 0
    judged = _judged(asked, [fact for fact, _ in fix.facts.values()])
    if not judged.findings and fix.findings is not None:
        absent = "not_found" if asked.argv else "no_command"
        click.echo(asked.say("blind" if judged.blind else absent, judged.blind))
        return 0
    try:
        plan = fix.plan(judged.findings, judged.states)
    except LookupError as exc:
        raise click.UsageError(str(exc)) from None
    if plan is None:
        click.echo(asked.say("no_plan"))
        return 0
    draw(plan, asked.entry.name, console_for(sys.stdout), asked.language)
    click.echo()
    if not apply:
        click.echo(asked.say("apply"))
        return 0
    if plan.safety is Safety.MANUAL:
        raise click.UsageError(asked.say("manual"))
    if plan.safety is Safety.UNSAFE and not yes:
        if not sys.stdin.isatty():
            raise click.UsageError(asked.say("no_answer"))
        click.confirm(asked.say("ask"), abort=True)
    with journal.locked():
        journal.apply(plan, Path.cwd())
    click.echo(asked.say("done" if plan.reversible else "done_for_good"))
    return _again(asked)


def _judged(asked: _Asked, facts: list[str]) -> _Judged:
    """Run the checks, and collect what a fix needs besides."""
    from doctor.core.diagnose import diagnose
    from doctor.facts.base import Context

    context = Context(asked.argv, Path.cwd(), dict(os.environ), asked.python)
    diagnosis, collectors = diagnose(context, also_collect=facts, language=asked.language)
    outcome = diagnosis.outcome
    return _Judged(
        tuple(each for each in outcome.findings if each.problem.id == asked.entry.id),
        tuple(each.reason for each in outcome.skipped if each.id == asked.entry.id),
        collectors[0].states,
    )


def _again(asked: _Asked) -> int:
    """Check again and say whether the problem is gone; 1 when it is not."""
    if not asked.entry.checks:
        return 0
    judged = _judged(asked, [])
    if not judged.findings:
        click.echo(asked.say("blind" if judged.blind else "gone", judged.blind))
        return 0
    click.echo(asked.say("still"))
    for each in judged.findings:
        click.echo(f"  {each.words(asked.language).headline}")
    return 1
