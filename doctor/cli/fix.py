"""`doctor fix`: mend what the other commands found, visibly and reversibly."""

from __future__ import annotations

import copy
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from doctor.base.redact import redact_text
from doctor.cli import options
from doctor.cli.fix_steps import _PHRASES, Asked, judge, objection, show, tell_undone

#: first word after `doctor fix` -> (module, one line of help): what is no problem of the catalogue
SUBCOMMANDS: Mapping[str, tuple[str, str]] = {
    "env": ("fix_env", "Versions that fit each other and this machine."),
    "hang": ("fix_hang", "Stacks of a stalled run, and a way to end it."),
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
            chosen: click.Command = copy.copy(module.command)
            chosen.context_class = self.context_class
            return chosen.make_context(f"{info_name} {args[0]}", args[1:], parent, **extra)
        return super().make_context(info_name, args, parent, **extra)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Words behind `--` are the launch command, whether or not a problem stands before it."""
        at = args.index("--") if "--" in args else len(args)
        rest = super().parse_args(ctx, args[:at])
        ctx.params["launch_command"] = (*ctx.params["launch_command"], *args[at + 1 :])
        return rest

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Name the commands beside it."""
        super().format_options(ctx, formatter)
        with formatter.section("Commands"):
            formatter.write_dl([(f"doctor fix {name}", text) for name, (_, text) in SUBCOMMANDS.items()])


@click.command(cls=FixCommand, context_settings={"allow_interspersed_args": True})
@click.argument("problem", required=False)
@click.argument("launch_command", nargs=-1, type=click.UNPROCESSED, metavar="[-- LAUNCH COMMAND]")
@click.option("--all", "all_", is_flag=True, help="All safe plans for what is found here, one after another.")
@click.option("--apply", is_flag=True, help="Apply the plan, then check again.")
@click.option("--undo", is_flag=True, help="Undo what was applied here, byte for byte.")
@click.option("--yes", is_flag=True, help="Do not ask before a plan that installs packages or changes results.")
@click.option(
    "--within", multiple=True, metavar="DIR", type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Refuse a plan that changes a file outside this folder.",
)  # fmt: skip
@click.option("--python", metavar="PATH", help="The interpreter, venv or conda prefix that was checked.")
@click.option("--lang", type=click.Choice(options.LANGUAGES), help="Language (default: from the locale).")
def command(problem: str | None, launch_command: tuple[str, ...], **chosen: Any) -> int:
    """Fix what `doctor check` or `doctor postmortem` found: shown first, applied when asked, undone on request.

    \b
    doctor fix                   what was found here and can be fixed
    doctor fix TRL2205/removed            show the plan
    doctor fix TRL2205/removed --apply    apply it, then check again
    doctor fix TRL2205/removed --undo     undo it, and what was changed on top of it
    doctor fix --all --apply     all safe plans, each checked again; --all --undo undoes them
    """
    from doctor.catalogue.plan import Refused

    settings = options.user_settings(Path.cwd(), ())
    language = options.language(chosen["lang"], settings)
    try:
        if not chosen["undo"]:
            recover(language)
        if chosen["all_"]:
            return _all(problem, launch_command, chosen, language)
        if problem is None:
            return _without_id(launch_command, chosen, settings, language)
        asked = _asked(problem, launch_command, chosen["python"], language)
        if chosen["undo"]:
            return _undo(asked)
        return _mend(asked, apply=chosen["apply"], yes=chosen["yes"], within=chosen["within"])
    except Refused as exc:
        raise click.UsageError(str(exc)) from None
    except OSError as exc:
        msg = f"`{exc.filename}`: {exc.strerror}"
        raise click.UsageError(msg) from None


def _all(problem: str | None, launch_command: tuple[str, ...], chosen: dict[str, Any], language: str) -> int:
    """Every safe plan."""
    from doctor.cli import fix_all

    if problem is not None:
        msg = f"`{problem}` and --all exclude each other"
        raise click.UsageError(msg)
    if chosen["undo"]:
        return fix_all.undo(language)
    argv, python = _of_last(launch_command, chosen["python"], "--all", language)
    return fix_all.mend(Asked(None, argv, python, language), apply=chosen["apply"], yes=chosen["yes"])


def _without_id(argv: tuple[str, ...], chosen: dict[str, Any], settings: Any, language: str) -> int:
    """The list; what would change something must say what."""
    for option in ("apply", "undo"):
        if chosen[option]:
            raise click.UsageError(_PHRASES[language]["name_one"].format(option=f"--{option}"))
    return _list(_reports(Asked(None, argv, chosen["python"], language), settings), language)


def _reports(asked: Asked, settings: Any) -> list[Any]:
    """What is found with a command now; without one, the last reports of this folder."""
    from doctor.base.state import read_last

    if not asked.argv:
        return [report for name in ("check", "postmortem") if (report := read_last(name, Path.cwd()))]
    from doctor.base.fact import Context
    from doctor.diagnosis.diagnose import diagnose
    from doctor.diagnosis.report import as_dict

    context = Context(asked.argv, Path.cwd(), dict(os.environ), asked.python)
    diagnosis, _ = diagnose(context, ignored=settings.ignored, language=asked.language)
    _keep_shown(asked)
    return [as_dict(diagnosis)]


def recover(language: str) -> None:
    """Take back what a killed doctor left half-done, before anything else is looked at.

    Where that cannot be, it is said, and what only looks goes on.
    """
    from doctor.catalogue.plan import Refused
    from doctor.mend import journal, journal_form

    unfinished = [each.problem for each in journal.entries(Path.cwd()) if each.state == journal_form.BEGUN]
    if not unfinished:
        return
    if "ENV" in unfinished:
        from doctor.mend.environment import uv

        os.environ.update(uv.taken_over(os.environ))
    try:
        with journal.locked():
            for entry in journal.recover(Path.cwd()):
                click.echo(_PHRASES[language]["recovered"].format(id=entry.problem), err=True)
    except Refused as exc:
        click.echo(str(exc), err=True)


def _list(reports: list[Any], language: str) -> int:
    """What reports hold that has a fix."""
    found = {each["remedy"]["fix"]: each for report in reports for each in report["findings"] if each["remedy"]["fix"]}
    phrases = _PHRASES[language]
    if not found:
        click.echo(phrases["none"])
        return 0
    from doctor.render.console import console_for, draw_fixable

    click.echo(phrases["list"])
    draw_fixable(found.values(), console_for(sys.stdout))
    click.echo(phrases["how"])
    return 0


def _entry(problem: str) -> Any:
    """The problem of an id or a name; of a table the row that has a plan.

    Raises:
        click.UsageError: several rows have one.

    """
    from doctor.catalogue.fix import fixable
    from doctor.catalogue.index import load
    from doctor.catalogue.retired_ids import successor
    from doctor.cli.explain import named

    entries = load()
    entry = named(entries, successor(problem) or problem)
    if entry is None or not entry.rows:
        return entry
    rows = [each for each in entries if each.id in fixable(entries) and each.id in entry.rows]
    if len(rows) > 1:
        msg = f"`{problem}` has several plans; name one: {', '.join(each.id for each in rows)}"
        raise click.UsageError(msg)
    return rows[0] if rows else entry


def _asked(problem: str, argv: tuple[str, ...], python: str | None, language: str) -> Asked:
    """The problem, and the command and interpreter that the last check judged where no command is given."""
    entry = _entry(problem)
    if entry is None:
        msg = f"unknown problem `{problem}`; `doctor list` shows all problems"
        raise click.UsageError(msg)
    return Asked(entry, *_of_last(argv, python, entry.id, language), language)


#: under this name the command of the plan that was shown last is kept, beside the last check's
_SHOWN = "fix-shown"


def _of_last(argv: tuple[str, ...], python: str | None, what: str, language: str) -> tuple[tuple[str, ...], str | None]:
    """Command and interpreter, those of the last check or of the plan shown since where no command is given."""
    from doctor.base.state import read_newest

    last = read_newest(("check", _SHOWN), Path.cwd())
    if argv or last is None:
        return argv, python
    argv = tuple(last["target"]["argv"])
    if any("***" in word for word in argv):
        raise click.UsageError(_PHRASES[language]["hidden"].format(id=what))
    return argv, python or _still_there(last["target"].get("python"))


def _keep_shown(asked: Asked) -> None:
    """Remember the command of a plan that is shown, so that `doctor fix ID --apply` needs no more words."""
    from doctor.base.redact import redact_argv
    from doctor.base.state import keep_last

    if not asked.argv:
        return
    argv = [redact_text(word, homes=False) for word in redact_argv(asked.argv)]
    with suppress(OSError):  # the plan is shown all the same
        keep_last(_SHOWN, Path.cwd(), {"findings": [], "target": {"argv": argv, "python": asked.python}})


def _still_there(python: str | None) -> str | None:
    """The interpreter of a report, where its path was not redacted and leads to it still."""
    path = Path(python or "").expanduser()
    return str(path) if python and path.is_file() else None


def _undo(asked: Asked) -> int:
    """Take back what was done for the problem, and before it what later plans made of the same files."""
    from doctor.mend import journal, journal_form

    with journal.locked():
        everything = journal.entries(Path.cwd())
        done = [
            each
            for each in everything
            if each.problem == asked.entry.id and each.state in (journal_form.BEGUN, journal_form.DONE)
        ]
        if not done:
            raise click.UsageError(asked.say("nothing_to_undo"))
        tell_undone(journal.standing_on(done, everything), asked.language)
    return 0


def _mend(asked: Asked, *, apply: bool, yes: bool, within: tuple[Path, ...] = ()) -> int:
    """Show the plan; carry it out when asked: under one lock from the check to the check that follows."""
    from doctor.mend import journal

    if not apply:
        return _planned(asked, apply=False, yes=yes, within=within)
    with journal.locked():
        return _planned(asked, apply=True, yes=yes, within=within)


def _planned(asked: Asked, *, apply: bool, yes: bool, within: tuple[Path, ...]) -> int:
    from doctor.catalogue.fix import load_fix
    from doctor.diagnosis.offers import offer
    from doctor.mend import journal

    fix = load_fix(asked.entry)
    if fix is None:
        click.echo(asked.say("no_fix"))
        return 0
    judged = judge(asked, [fact for fact, _ in fix.facts.values()])
    blind = tuple(each.reason for each in judged.outcome.skipped if each.id == asked.entry.id)
    if fix.findings is not None and not any(each.problem.id == asked.entry.id for each in judged.outcome.findings):
        absent = "not_found" if asked.argv else "no_command"
        click.echo(asked.say("blind" if blind else absent, blind))
        return 0
    try:
        made = offer(asked.entry, judged)
    except LookupError as exc:
        raise click.UsageError(str(exc)) from None
    if made is None:
        click.echo(asked.say("no_plan"))
        return 0
    show(made, asked.entry, asked.language)
    if not made.holds:
        raise click.UsageError(objection(made, asked.entry, asked.language))
    _refuse_outside(made.plan, within)
    if not apply:
        _keep_shown(asked)
        click.echo(asked.say("apply"))
        return 0
    _consent(made.plan, asked, yes=yes)
    journal.apply(made.plan, Path.cwd(), made.contents)
    click.echo(asked.say("done" if made.plan.reversible else "done_for_good"))
    return _again(asked)


def _refuse_outside(plan: Any, folders: tuple[Path, ...]) -> None:
    """Refuse a plan that changes a file outside of the folders, where any are named.

    Raises:
        click.UsageError: it does.

    """
    allowed = [each.resolve() for each in folders]
    for step in plan.steps if allowed else ():
        path = getattr(step, "path", None)
        if path is not None and not any(each in Path(path).resolve().parents for each in allowed):
            msg = f"the plan changes `{redact_text(str(path), homes=False)}`, which is outside --within"
            raise click.UsageError(msg)


def _consent(plan: Any, asked: Asked, *, yes: bool) -> None:
    """Ask, where the plan's grade wants it.

    Raises:
        click.UsageError: the plan is only shown, or nobody can answer.
        click.Abort: the answer is no.

    """
    from doctor.catalogue.plan import Safety

    if plan.safety is Safety.MANUAL:
        raise click.UsageError(asked.say("manual"))
    if plan.safety is Safety.UNSAFE and not yes:
        if not sys.stdin.isatty():
            raise click.UsageError(asked.say("no_answer"))
        click.confirm(asked.say("ask"), abort=True)


def _again(asked: Asked) -> int:
    """Check again and say whether the problem is gone; 1 when it is not."""
    if not asked.entry.checks:
        return 0
    outcome = judge(asked, []).outcome
    found = [each for each in outcome.findings if each.problem.id == asked.entry.id]
    if not found:
        blind = tuple(each.reason for each in outcome.skipped if each.id == asked.entry.id)
        click.echo(asked.say("blind" if blind else "gone", blind))
        return 0
    click.echo(asked.say("still"))
    for each in found:
        click.echo(f"  {redact_text(each.words(asked.language).headline)}")
    return 1
