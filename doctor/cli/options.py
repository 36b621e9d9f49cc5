"""Options that several commands share, and what they do."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from doctor.base.json_text import json_text
from doctor.base.record import record
from doctor.base.whole_file import write_whole
from doctor.catalogue.reasons import translated
from doctor.cli.outputs import Output
from doctor.diagnosis.suppress import Ignored, SettingsError, from_options, from_settings, settings_of
from doctor.run.guard_stop import CODE as STOPPED

FORMATS = ("text", "json", "markdown", "html", "github", "sarif", "concise")
LANGUAGES = ("en", "zh")
Function = TypeVar("Function", bound=Callable[..., Any])

ignore = click.option(
    "--ignore", multiple=True, metavar="ID[=REASON]", help="Ignore a problem by id or name, or an area by its letters."
)
stopped_exit = click.option(
    "--stopped-exit",
    type=click.IntRange(0, 255),
    default=STOPPED,
    show_default=True,
    metavar="CODE",
    help="Exit code of a run that the guard stopped and that ended with 0; give 0 to keep that.",
)
brief = click.option(
    "--brief", is_flag=True, help="With --format json: the ten findings that matter most, shortened (doctor-brief/1)."
)
strict = click.option("--strict", is_flag=True, help="Exit 1 on warnings too.")


def report(function: Function) -> Function:
    """Options of every command that prints a diagnosis."""
    for option in (
        click.option("-v", "--verbose", is_flag=True, help="List what was skipped, and why."),
        click.option(
            "--lang", type=click.Choice(LANGUAGES), help="Language of the findings (default: from the locale)."
        ),
        click.option("-o", "--output", metavar="FILE", type=Output(), help="Write to this file instead."),
        brief,
        click.option("--format", type=click.Choice(FORMATS), default="text", show_default=True),
    ):
        function = option(function)
    return function


def form_of(chosen: Mapping[str, Any], name: str = "format") -> str:
    """The form that was asked for: one of FORMATS, or `brief`.

    Raises:
        click.UsageError: `--brief` stands beside another form than JSON.

    """
    form = str(chosen[name])
    if not chosen["brief"]:
        return form
    if form != "json":
        msg = "--brief needs --format json"
        raise click.UsageError(msg)
    return "brief"


@record
class UserSettings:
    """What files and options ask for."""

    ignored: tuple[Ignored, ...] = ()
    strict: bool = False
    lang: str | None = None


def user_settings(folder: Path, ignore_options: tuple[str, ...]) -> UserSettings:
    """Settings of doctor.toml or pyproject.toml, with the command line on top."""
    try:
        data, path = settings_of(folder)
        ignored = [*from_options(ignore_options), *from_settings(data, path)]
    except SettingsError as exc:
        raise click.UsageError(str(exc)) from None
    lang = data.get("lang")
    if lang is not None and lang not in LANGUAGES:
        msg = f"{path}: `lang` is `{lang}`; known are {', '.join(LANGUAGES)}"
        raise click.UsageError(msg)
    return UserSettings(tuple(ignored), bool(data.get("strict", False)), lang)


def warn_of_unknown(ignored: tuple[Ignored, ...], diagnosis: Any, script: Any) -> None:
    """Tell on stderr what was asked to be ignored and is nothing; the report itself stays as it is."""
    from doctor.diagnosis.suppress import in_script, unknown_names

    written = in_script(script.value) if script is not None and script.status == "ok" else []
    for sentence in unknown_names([*ignored, *written], diagnosis.entries):
        notice(f"warning: {sentence}")


def language(chosen: str | None, settings: UserSettings) -> str:
    """The language asked for, or the locale's when it is Chinese, or English."""
    if chosen or settings.lang:
        return str(chosen or settings.lang)
    locale = next((value for name in ("LC_ALL", "LC_MESSAGES", "LANG") if (value := os.environ.get(name))), "")
    return "zh" if locale.startswith("zh") else "en"


def spoken(argv: Sequence[str] | None = None) -> str:
    """The language of the call that is running, wherever it stands; `argv` where click has not read it yet."""
    context = click.get_current_context(silent=True)
    chosen = context.params.get("lang") if context is not None and argv is None else _asked(argv or ())
    try:
        settings = user_settings(Path.cwd(), ())
    except (click.UsageError, OSError):
        settings = UserSettings()
    return language(chosen, settings)


def _asked(argv: Sequence[str]) -> str | None:
    own = argv[: argv.index("--")] if "--" in argv else argv
    for before, word in zip(("", *own), own, strict=False):
        chosen = word if before == "--lang" else word.removeprefix("--lang=")
        if chosen in LANGUAGES and (chosen != word or before == "--lang"):
            return chosen
    return None


def notice(text: str) -> None:
    """Say on stderr what a command says of itself, in the language of the call."""
    from doctor.base.redact import redact_text

    click.echo(redact_text(translated(text, spoken(), "notices"), homes=False), err=True)


def show(diagnosis: Any, form: str, output: Path | None, lang: str, *, verbose: bool) -> dict[str, Any]:
    """Print or write the diagnosis in the chosen form; returns the redacted report.

    A reader that has read enough (`head`, `less`) changes neither the exit code nor what else is to be written.
    """
    data = report_of(diagnosis, lang)
    show_report(data, form, output, lang, verbose=verbose)
    return data


def show_report(data: dict[str, Any], form: str, output: Path | None, lang: str, *, verbose: bool) -> None:
    """Print or write a redacted report in the chosen form; a reader that has read enough changes nothing else."""
    try:
        draw_report(data, form, output, lang, verbose=verbose)
    except (BrokenPipeError, SystemExit):  # rich makes an exit of it
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123 - nothing may be flushed at exit


def report_of(diagnosis: Any, lang: str) -> dict[str, Any]:
    """The redacted report, its reasons in the language asked for."""
    from doctor.diagnosis.report import as_dict

    data = as_dict(diagnosis)
    if lang == "en":
        return data
    from doctor.catalogue.reasons import localised

    return localised(data, lang)


def draw_report(data: dict[str, Any], form: str, output: Path | None, lang: str, *, verbose: bool) -> None:
    """Print a report, or write it to a file.

    Raises:
        BrokenPipeError: nobody reads any more.
        SystemExit: the same, as rich tells it.

    """
    from doctor.diagnosis.report import shortened

    drawn = data if form in {"json", "brief"} else shortened(data, Path.cwd())
    if form == "text" and output is None:
        from doctor.render.console import console_for, draw

        draw(drawn, console_for(sys.stdout), language=lang, verbose=verbose)
        return
    text = rendered(drawn, form, lang, verbose=verbose)
    if output is None:
        click.echo(text, nl=False)
        return
    try:
        write_whole(output, text)
    except OSError as exc:
        msg = f"cannot write `{output}`: {exc.strerror}"
        raise click.UsageError(msg) from None
    notice(f"written to {output}")


def rendered(data: dict[str, Any], form: str, lang: str, *, verbose: bool) -> str:
    """The report as text of one of FORMATS, or of `brief`."""
    import io

    if form == "text":
        from doctor.render.console import console_for, draw

        stream = io.StringIO()
        draw(data, console_for(stream, color=False), language=lang, verbose=verbose)
        return stream.getvalue()
    if form == "json":
        return json_text(data, indent=2) + "\n"
    if form == "brief":
        from doctor.diagnosis.brief import brief_of

        return json_text(brief_of(data), indent=2) + "\n"
    if form == "sarif":
        from doctor.render import sarif

        return json_text(sarif.render(data), indent=2) + "\n"
    if form == "concise":
        from doctor.render import concise

        return concise.render(data, lang)
    if form == "markdown":
        from doctor.render import markdown

        return markdown.render(data, lang)
    if form == "html":
        from doctor.render import html

        return html.render(data, lang)
    from doctor.render import github

    return github.render(data)
