"""`doctor check`: what will go wrong on this machine with this command."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

import click

from doctor.cli import options


@click.command(context_settings={"allow_interspersed_args": False, "ignore_unknown_options": False})
@click.option("--python", metavar="PATH", help="Judge the environment of this interpreter, venv or conda prefix.")
@click.option(
    "--from", "sources", metavar="FILE", multiple=True, type=click.Path(exists=True, path_type=Path),
    help="Judge saved facts, a folder of them, or a pasted report (collect_env, trl env, pip list, nvidia-smi ...).",
)  # fmt: skip
@click.option("--save-facts", metavar="FILE", type=click.Path(path_type=Path), help="Write the facts, redacted.")
@click.option("--deep", is_flag=True, help="Also import, multiply and communicate, in child processes.")
@options.ignore
@options.strict
@options.report
@click.argument("launch_command", nargs=-1, type=click.UNPROCESSED, metavar="[-- LAUNCH COMMAND]")
def command(launch_command: tuple[str, ...], **chosen: Any) -> int:
    """Find what will go wrong on this machine, with this command, before it is launched.

    Nothing of yours is run: files are read, the interpreter is asked for its packages in isolation.

    \b
    doctor check
    doctor check -- accelerate launch --config_file zero3.yaml train_grpo.py
    doctor check --python ~/venvs/train
    doctor check --from report.txt
    """
    from doctor.core.diagnose import diagnose
    from doctor.facts.base import Context

    launch_command = as_words(launch_command)
    settings = options.user_settings(Path.cwd(), chosen["ignore"])
    language = options.language(chosen["lang"], settings)
    context = Context(launch_command, Path.cwd(), dict(os.environ), chosen["python"], chosen["deep"])
    if not chosen["sources"]:
        refuse_wrong_python(context)
    if chosen["deep"]:
        click.echo("importing, multiplying and communicating in child processes; this can take minutes", err=True)
    diagnosis, collectors = diagnose(
        context,
        _patients(chosen["sources"]),
        ignored=settings.ignored,
        also_collect=_every_fact() if chosen["save_facts"] else (),
        language=language,
    )
    options.warn_of_unknown(settings.ignored, diagnosis, collectors[0].states.get("script"))
    if chosen["save_facts"]:
        _save(collectors[0], chosen["save_facts"])
    report = options.show(diagnosis, chosen["format"], chosen["output"], language, verbose=chosen["verbose"])
    if not chosen["sources"]:
        _remember(report)
    return diagnosis.outcome.exit_code(strict=chosen["strict"] or settings.strict)


def as_words(command: tuple[str, ...]) -> tuple[str, ...]:
    """A whole command given as one quoted word is split as the shell would have done."""
    if len(command) != 1 or not command[0].strip() or len(command[0].split()) == 1 or Path(command[0]).exists():
        return command
    import shlex

    try:
        return tuple(shlex.split(command[0]))
    except ValueError as exc:
        msg = f"the launch command cannot be split into words: {exc}"
        raise click.UsageError(msg) from None


def refuse_wrong_python(context: Any) -> None:
    """A mistyped `--python` is an error of use: a report that judged nothing would read like a healthy machine."""
    from doctor.facts.base import Unavailable
    from doctor.facts.target import refuse_wrong_option

    if context.python is not None and not context.python.strip():
        msg = "--python names nothing (an unset variable?)"
        raise click.UsageError(msg)
    try:
        refuse_wrong_option(context)
    except Unavailable as exc:
        msg = f"--python: {exc}"
        raise click.UsageError(msg) from None


def _patients(sources: tuple[Path, ...]) -> list[Any]:
    from doctor.core.diagnose import Patient
    from doctor.facts.saved import NotFacts, read

    if not sources:
        return [Patient()]
    try:
        saved = [each for source in sources for each in read(source)]
    except (NotFacts, OSError) as exc:
        raise click.UsageError(str(exc)) from None
    return [Patient(each.states, f"`{each.name}`", each.host or each.name) for each in saved]


def _every_fact() -> tuple[str, ...]:
    from doctor.facts.saved import fact_names

    return fact_names()


def _save(collector: Any, path: Path) -> None:
    from doctor.facts.saved import save

    try:
        save(collector.states, path)
    except OSError as exc:
        msg = f"cannot write `{path}`: {exc.strerror}"
        raise click.UsageError(msg) from None
    click.echo(f"facts written to {path}", err=True)


def _remember(report: dict[str, Any]) -> None:
    """Keep the last result for `doctor fix`; a read-only home costs only that."""
    from doctor.core.state import keep_last

    try:
        keep_last("check", Path.cwd(), report)
    except OSError as exc:
        if sys.stderr.isatty():
            click.echo(f"the result could not be kept for `doctor fix`: {exc.strerror}", err=True)
