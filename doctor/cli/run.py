"""`doctor run`: checked before, guarded and sampled while it runs, and diagnosed when it fails."""

from __future__ import annotations

import errno
import os
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import click

from doctor.base.json_text import json_text
from doctor.cli import options
from doctor.cli.run_words import Voice
from doctor.cli.runs import bare, last_of, new_run, no_folder_here, short
from doctor.run.disk import identity, lost, refusal
from doctor.run.folder import host_name
from doctor.run.guard_stop import exit_code
from doctor.run.kept import keep
from doctor.run.supervise import NOT_EXECUTABLE, NOT_FOUND, answers, within

REFUSED = 1
#: how long a launch waits until what the check found lies on the disk
_KEEP_S = 5.0

#: alarms and the like, after which even a run that went well is looked at
_SIGNS = frozenset({"alarm", "exception", "hang"})


@click.command(context_settings={"allow_interspersed_args": False})
@click.option("--no-check", is_flag=True, help="Launch without the check.")
@click.option("--gate", is_flag=True, help="Do not launch when the check finds a confirmed error; exit 1.")
@click.option("--rehearse", is_flag=True, help="Rehearse first (`doctor rehearse`); launch only if nothing broke.")
@click.option("--no-guard", is_flag=True, help="Do not load the guard into the processes of the command.")
@click.option(
    "--capsule-text", is_flag=True,
    help="Keep up to 200 characters of prompts and completions in the capsule of a failure; otherwise only their "
    "length and a hash.",
)  # fmt: skip
@click.option("--no-monitor", is_flag=True, help="Do not sample GPUs and host.")
@click.option("--no-capture", is_flag=True, help="Leave the terminal to the command; its output is not kept.")
@click.option(
    "--lang", type=click.Choice(options.LANGUAGES), help="Language of the messages (default: from the locale)."
)
@options.stopped_exit
@options.ignore
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="-- COMMAND")
def command(words: tuple[str, ...], **chosen: Any) -> int:
    """Run a training command under the doctor; its exit code is kept, or 119 if the guard stopped it.

    First `doctor check` examines the command. While it runs, a guard in every training process stops it before NaNs
    ruin the weights, and GPUs are sampled. When it fails, the post-mortem says why. The script stays as it is.

    \b
    doctor run -- accelerate launch train_grpo.py
    doctor run --gate -- torchrun --nproc-per-node 8 train.py
    doctor run --rehearse -- accelerate launch train_grpo.py
    DOCTOR_GUARD_POLICY=NUM006=warn doctor run -- python train.py
    """
    if not words:
        raise click.UsageError("give the command to run: doctor run -- accelerate launch train_grpo.py")
    if chosen["gate"] and chosen["no_check"]:
        raise click.UsageError("--gate needs the check that --no-check skips")
    if (reason := no_folder_here()) is not None and not (chosen["gate"] or chosen["rehearse"]):
        Voice(options.spoken()).say("no_folder", reason=reason)
        return bare(words)
    settings = options.user_settings(Path.cwd(), chosen["ignore"])
    voice = Voice(options.language(chosen["lang"], settings))
    checked = None if chosen["no_check"] else _check(words, settings, voice)
    if chosen["gate"] and _refused(checked, voice):
        return REFUSED
    if chosen["rehearse"]:
        code = _rehearsed(words, settings, voice)
        if code:
            return code
    try:
        run = new_run(Path(words[0]).name, voice.language)
    except OSError as exc:
        voice.say("no_folder", reason=exc.strerror)
        return bare(words)
    within(_KEEP_S, lambda: _keep(run, checked))
    within(_KEEP_S, lambda: keep(run, words, Path.cwd()))
    variables = None if chosen["no_guard"] else _guarded(run, voice)
    folder = identity(run)
    began_ns = time.time_ns()
    code = _supervised(words, run, chosen, variables or {}, voice)
    returned = code
    # neither the doctor's own failure nor an impatient Ctrl-C changes the code of the command
    with suppress(Exception, KeyboardInterrupt):
        if (number := lost(run, folder)) is not None:
            name = "folder_lost" if number == errno.ENOENT else "folder_unreadable"
            voice.say(name, path=short(run.path), reason=os.strerror(number))
        elif answers(run):
            returned = exit_code(run, code, wanted=chosen["stopped_exit"], since_ns=began_ns)
            _looked_at(run, code, chosen, settings, voice, guarded=variables is not None)
            if returned != code:
                voice.say("stopped", code=returned)
    return returned


def _looked_at(run: Any, code: int, chosen: dict[str, Any], settings: Any, voice: Voice, *, guarded: bool) -> None:
    """See `_afterwards`; that it failed is said, for silence would be read as health."""
    try:
        _afterwards(run, code, chosen, settings, voice, guarded=guarded)
    except OSError as exc:
        voice.say("folder_unreadable", path=short(run.path), reason=exc.strerror or exc)
    except Exception as exc:  # noqa: BLE001 - a bug of ours is told, and changes nothing
        voice.say("no_report", error=f"{type(exc).__name__}: {exc}")


class Checked(NamedTuple):
    """What the check found, and the facts that it had collected for that."""

    report: dict[str, Any]
    facts: Mapping[str, Any]


def _check(words: tuple[str, ...], settings: Any, voice: Voice) -> Checked | None:
    """What `doctor check` finds, drawn on stderr; None where the check itself failed."""
    from doctor.base.fact import Context
    from doctor.diagnosis.diagnose import diagnose
    from doctor.diagnosis.report import as_dict

    try:
        context = Context(words, Path.cwd(), dict(os.environ), None, False)
        diagnosis, collectors = diagnose(context, ignored=settings.ignored, language=voice.language)
        report = as_dict(diagnosis)
        if any(each["severity"] != "info" for each in report["findings"]):
            _draw(report, voice.language)
    except Exception as exc:  # noqa: BLE001 - a bug of ours must not keep a run from its start
        voice.say("check_failed", error=f"{type(exc).__name__}: {exc}")
        return None
    return Checked(report, collectors[0].states)


def _draw(report: dict[str, Any], language: str) -> None:
    from doctor.catalogue.reasons import localised
    from doctor.diagnosis.report import shortened
    from doctor.render.console import console_for, draw

    shown = localised(report, language) if language != "en" else report
    draw(shortened(shown, Path.cwd()), console_for(sys.stderr), language=language)


def _refused(checked: Checked | None, voice: Voice) -> bool:
    """Whether a confirmed error keeps the command from being launched, which is said."""
    found = [] if checked is None else checked.report["findings"]
    errors = [each["id"] for each in found if each["severity"] == "error" and each["confidence"] == "confirmed"]
    if errors:
        voice.say("refused", ids=", ".join(dict.fromkeys(errors)), first=errors[0])
    return bool(errors)


def _rehearsed(words: tuple[str, ...], settings: Any, voice: Voice) -> int:
    """Rehearse, and say what was found on stderr; 0 where the command may be launched."""
    from doctor.cli.rehearse import rehearsed
    from doctor.rehearse.judge import judged
    from doctor.rehearse.report import report as report_of
    from doctor.rehearse.session import RehearsalWishes

    session = rehearsed(words, RehearsalWishes(language=voice.language))
    diagnosis = judged(session, settings.ignored, voice.language)
    _draw(report_of(session, diagnosis, voice.language), voice.language)
    code: int = diagnosis.outcome.exit_code(strict=settings.strict)
    voice.say("not_rehearsed" if code else "rehearsed")
    return code


def _keep(run: Any, checked: Checked | None) -> None:
    """Write what the check found and what it knows of this host into the run folder; a full disk costs only that."""
    from doctor.readers.saved import save

    if checked is None:
        return
    with suppress(OSError):
        text = json_text(checked.report, indent=1) + "\n"
        (run.path / "check.json").write_text(text, "utf-8")
    with suppress(Exception):
        (run.path / "facts").mkdir(exist_ok=True)
        save(checked.facts, run.path / "facts" / f"{host_name()}.json")


def _supervised(
    words: tuple[str, ...], run: Any, chosen: dict[str, Any], variables: dict[str, str], voice: Voice
) -> int:
    """The command's exit code, with guard and sampler beside it."""
    from doctor.cli.run_ended import prepare
    from doctor.hang.watching import Watching
    from doctor.monitors.sampler import start
    from doctor.run.supervise import supervise

    variables = variables | ({"DOCTOR_CAPSULE_TEXT": "1"} if chosen["capsule_text"] else {})
    samplers: list[Any] = []
    watching = Watching(run) if variables else None

    def on_start(pid: int) -> None:
        if not chosen["no_monitor"]:
            samplers.append(start.start(run, start.SamplingWishes(), pid))
        prepare()

    voice.say("folder", path=short(run.path))
    capture, language = not chosen["no_capture"], voice.language
    code = supervise(words, run, capture=capture, environment=variables, on_start=on_start, language=language)
    with suppress(Exception, KeyboardInterrupt):
        for each in samplers:
            start.end(each)
        if watching is not None:
            watching.close()
    return code


def _guarded(run: Any, voice: Voice) -> dict[str, str] | None:
    """Variables that bring the guard into the command's processes; None where it cannot be laid down, which is said."""
    from doctor.diagnosis.suppress import SettingsError, settings_of
    from doctor.monitors.inject.lay import lay

    try:
        given, _ = settings_of(Path.cwd())
        section = given.get("guard", {})
        return lay(run, {"lang": voice.language, **(section if isinstance(section, Mapping) else {})})
    except (OSError, SettingsError) as exc:
        voice.say("no_guard", reason=exc)
        return None


def _afterwards(run: Any, code: int, chosen: dict[str, Any], settings: Any, voice: Voice, *, guarded: bool) -> None:
    """Say whether the guard was there, and why the run failed."""
    if _never_started(run, code):
        return
    if guarded:
        from doctor.monitors.inject.lay import what_became_of_it

        absent = what_became_of_it(run)
        unwritten = None if absent is None else refusal(run)
        if unwritten is not None:
            voice.say("unrecorded", error=os.strerror(unwritten))
        elif absent is not None:
            voice.say(absent.name, error=absent.error)
    signs = {each["kind"] for each in run.read_events()} & _SIGNS
    if signs or code not in (0, 128 + signal.SIGINT):
        if _postmortem(run, code, settings, voice) and not chosen["no_monitor"]:
            voice.say("usage", path=short(run.path))
    elif not (code == 0 and _found_nevertheless(run, settings, voice)) and not chosen["no_monitor"]:
        voice.say("usage", path=short(run.path))


def _found_nevertheless(run: Any, settings: Any, voice: Voice) -> bool:
    """Say in two lines what the logs of a run that ended with 0 show; whether anything was said."""
    from doctor.cli.run_ended import seen

    told = run.read_run()
    run_s = (told.get("ended_ns", 0) - told.get("started_ns", 0)) / 1e9
    ended = seen(run, run_s, language=voice.language, ignored=settings.ignored)
    if not ended.complete:
        voice.say("not_judged", seconds=f"{ended.seconds:.2g}", path=short(run.path))
        return True
    if not ended.findings:
        return False
    first, others = ended.findings[0], len(ended.findings) - 1
    sentence = "found_likely" if first["confidence"] == "likely" else "found"
    voice.say(sentence, problem=f"{first['id']} {first['name']}", headline=first["headline"])
    voice.say("found_more" if others else "found_one", count=others, path=short(run.path))
    return True


def _never_started(run: Any, code: int) -> bool:
    """Whether the command could not be started, which is said already."""
    return code in (NOT_FOUND, NOT_EXECUTABLE) and not (run.console.is_file() and run.console.stat().st_size)


def _postmortem(run: Any, code: int, settings: Any, voice: Voice) -> bool:
    """Say why it failed in a few plain lines; all of it lies in the run folder. Whether there was anything to read."""
    from doctor.base.state import keep_last
    from doctor.diagnosis.report import shortened
    from doctor.monitors.usage.blocks import NotUsage
    from doctor.monitors.usage.whole import whole_run
    from doctor.render import evidence

    try:
        report = whole_run(run.path, language=voice.language, ignored=settings.ignored).report
    except NotUsage as exc:
        number = refusal(run)
        if number == errno.ENOSPC:
            voice.say("nothing_fitted", code=code, path=short(run.path))
        elif number is not None:
            voice.say("nothing_kept", code=code, path=short(run.path), reason=os.strerror(number))
        else:
            voice.say("nothing_to_examine", code=code, reason=exc)
        return False
    where = last_of(run.path)
    with suppress(OSError):
        keep_last("postmortem", Path.cwd(), report)
    written = _written(run.path / "report.json", json_text(report, indent=1) + "\n")
    written &= _written(run.path / "EVIDENCE.md", evidence.page(report, where, voice.language))
    if code != 0:
        voice.say("ended", code=code)
    for line in evidence.terse(shortened(report, Path.cwd()), where, voice.language, written=written):
        click.echo(line, err=True)
    return True


def _written(path: Path, text: str) -> bool:
    """Whether a file could be written; a half of one is not left behind."""
    made = path.with_suffix(f".{os.getpid()}")
    try:
        made.write_text(text, "utf-8")
        made.replace(path)
    except OSError:
        with suppress(OSError):
            made.unlink()
        return False
    return True
