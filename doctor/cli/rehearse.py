"""`doctor rehearse`: the whole run in miniature, before its hours are spent."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from doctor.cli import options


@click.command(context_settings={"allow_interspersed_args": False})
@click.option(
    "--scale", type=click.Choice(["tiny", "real"]), default="tiny", show_default=True,
    help="tiny: models of the same architecture with a fraction of the width. real: the model itself, its first steps "
    "at the longest lengths: is the memory enough?",
)  # fmt: skip
@click.option("--null", "null", is_flag=True, help="Learning rate 0: no weight may change.")
@click.option("--offline", is_flag=True, help="Refuse every address outside this machine.")
@click.option("--steps", type=click.IntRange(1, 20), default=2, show_default=True, help="Optimizer steps.")
@click.option(
    "--deadline", metavar="SECONDS", type=click.FloatRange(min=5), default=300.0, show_default=True,
    help="Time limit of the rehearsal. After it the doctor reports where each process waits.",
)  # fmt: skip
@click.option("--no-resume", is_flag=True, help="Skip the second start, from the saved checkpoint.")
@options.ignore
@options.strict
@options.report
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="-- COMMAND")
def command(words: tuple[str, ...], **chosen: Any) -> int:
    """Rehearse a training command: two steps, one save, one evaluation, one resume, with a tiny model of the same kind.

    Your own script, launcher, processes and files are used. Models are replaced by tiny ones, existing files stay as
    they are, nothing is uploaded, and no running server is contacted. Exit codes are those of `doctor check`.

    \b
    doctor rehearse -- accelerate launch --config_file zero3.yaml train_grpo.py
    doctor rehearse --null -- python train_grpo.py
    doctor rehearse --format html -o rehearsal.html -- torchrun --nproc-per-node 2 train.py
    """
    from doctor.cli.check import as_words
    from doctor.rehearse.judge import judged
    from doctor.rehearse.report import report as report_of
    from doctor.rehearse.session import RehearsalWishes

    words = as_words(words)
    if not words:
        raise click.UsageError("give the command to rehearse: doctor rehearse -- accelerate launch train_grpo.py")
    chosen["format"] = options.form_of(chosen)
    settings = options.user_settings(Path.cwd(), chosen["ignore"])
    language = options.language(chosen["lang"], settings)
    wishes = RehearsalWishes(
        steps=chosen["steps"], scale=chosen["scale"], null=chosen["null"], offline=chosen["offline"],
        resume=not chosen["no_resume"], deadline_s=chosen["deadline"], language=language,
    )  # fmt: skip
    session = rehearsed(words, wishes)
    diagnosis = judged(session, settings.ignored, language)
    report = report_of(session, diagnosis, language)
    _show(report, chosen, language)
    return diagnosis.outcome.exit_code(strict=chosen["strict"] or settings.strict)


def rehearsed(words: tuple[str, ...], wishes: Any) -> Any:
    """Say what will not be rehearsed, and rehearse.

    Raises:
        click.UsageError: there is no folder for it, or the program has a `doctor` of its own.

    """
    from doctor.diagnosis.suppress import settings_of
    from doctor.rehearse.ahead import has_gpu, known_of
    from doctor.rehearse.name_taken import name_taken
    from doctor.rehearse.session import rehearse
    from doctor.rehearse.told import beforehand
    from doctor.rehearse.words import SENTENCES

    language = wishes.language
    sentences = SENTENCES[language]
    if (taken := name_taken(words, Path.cwd(), os.environ)) is not None:
        raise click.UsageError(sentences["name_taken"].format(path=taken))
    _say(sentences["begins"].format(seconds=wishes.deadline_s))
    known = known_of(words)
    for each in beforehand(wishes, gpu=has_gpu(), nodes=known.nodes, language=language):
        _say(f"  - {each}", bare=True)
    given, _ = settings_of(Path.cwd())
    guard = given.get("guard", {})
    try:
        with _ended_like_an_interruption():
            session = rehearse(words, wishes, guard if isinstance(guard, dict) else {}, known=known)
    except OSError as error:
        msg = f"cannot create a folder for the rehearsal: {error.strerror}"
        raise click.UsageError(msg) from None
    except KeyboardInterrupt:
        _say(sentences["interrupted"])
        raise
    return session


@contextmanager
def _ended_like_an_interruption() -> Iterator[None]:
    """Have SIGTERM and the end of the terminal clear away what was started, as Ctrl-C does; under nohup none."""
    wanted = [each for each in (signal.SIGTERM, signal.SIGHUP) if signal.getsignal(each) != signal.SIG_IGN]
    before = {number: signal.signal(number, signal.default_int_handler) for number in wanted}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _say(text: str, *, bare: bool = False) -> None:
    from doctor.base.redact import redact_text

    click.echo(redact_text(text if bare else f"doctor: {text}", homes=False), err=True)


def _show(report: dict[str, Any], chosen: dict[str, Any], language: str) -> None:
    """Print or write the report; one page beside it where text is shown."""
    from doctor.base.state import keep_last

    try:
        options.draw_report(report, chosen["format"], chosen["output"], language, verbose=chosen["verbose"])
    except (BrokenPipeError, SystemExit):
        sys.stdout = open(os.devnull, "w")  # noqa: SIM115, PTH123 - the reader has gone
    try:
        keep_last("rehearse", Path.cwd(), report)
    except OSError:
        return
