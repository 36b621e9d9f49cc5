"""`doctor monitor --collect FOLDER`: one sampler a node, into a run folder that all nodes share."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from typing import Any

import click

from doctor.base.record import replace
from doctor.cli import options
from doctor.cli.runs import bare, short
from doctor.run.starting import become


def collect(words: tuple[str, ...], chosen: dict[str, Any], wishes: Any) -> int:
    """Sample this node while the command runs, or for a while; the other processes of the node only run the command.

    Returns:
        The command's exit code; 0 without a command.

    """
    from doctor.cluster import shared_run
    from doctor.run.folder import HOST_VARIABLE, VARIABLE, RunDir

    run = RunDir(chosen["collect"].absolute())
    try:
        run.path.mkdir(parents=True, exist_ok=True)
        os.environ[HOST_VARIABLE] = shared_run.own_name(run)
    except OSError as exc:
        said = f"`{chosen['collect']}` cannot be written ({exc.strerror})"
        if not words:
            raise click.UsageError(f"--collect: {said}") from None
        options.notice(f"doctor: {said}: the command runs without the doctor")
        return bare(words)
    if not shared_run.samples(os.environ):
        return _only(words, {**os.environ, VARIABLE: str(run.path)})
    first = shared_run.keeps_record(os.environ)
    if first:
        options.notice(f"doctor: every node samples into {short(run.path)}")
    # the ranks of a node are its launcher's children, as this process is
    wishes = replace(wishes, notes=_compared(run), tree=os.getppid() if shared_run.launched(os.environ) else None)
    code = _during(words, run, wishes, chosen["stopped_exit"], noted=first) if words else _for_a_while(run, wishes)
    if first:
        from doctor.cli.monitor_words import summary

        with suppress(Exception, KeyboardInterrupt):  # nothing of ours changes the code of the command
            summary(run, None)
    return code


def _only(words: tuple[str, ...], environ: dict[str, str]) -> int:
    """Become the command: another process of this node samples."""
    if not words:
        return 0
    try:
        become(words, environ)
    except OSError:
        return bare(words)  # says what is wrong as it always does


def _during(words: tuple[str, ...], run: Any, wishes: Any, wanted: int, *, noted: bool) -> int:
    from doctor.monitors.sampler import start
    from doctor.run.guard_stop import exit_code
    from doctor.run.supervise import supervise

    started: list[Any] = []
    began_ns = time.time_ns()
    # the launcher of the nodes has what the command prints: the terminal is left to it
    code = supervise(
        words,
        run,
        capture=False,
        noted=noted,
        on_start=lambda pid: started.append(start.start(run, wishes, pid)),
        language=options.spoken(),
    )
    for each in started:
        start.end(each)
    return exit_code(run, code, wanted=wanted, since_ns=began_ns, noted=noted)


def _for_a_while(run: Any, wishes: Any) -> int:
    from doctor.cli.monitor_words import wait
    from doctor.monitors.sampler import start

    sampler = start.start(run, wishes)
    try:
        wait(sampler)
    finally:
        start.end(sampler)
    return 0


def _compared(run: Any) -> tuple[str, ...]:
    """Compare this machine's clock with the shared folder's: an event, and a note for the heads of the files."""
    from doctor.cluster.clocks import against_folder
    from doctor.run.folder import Events, host_name

    found = None
    with suppress(OSError):  # a folder that cannot be written is told elsewhere
        found = against_folder(run.path)
    if found is None:
        return ("clock offset unknown: the stamps of this file system are not those of a server's clock",)
    events = Events(run, role="monitor")
    events.write("monitor", what="clock", of=host_name(), offset_s=found.offset_s, error_s=found.error_s)
    events.close()
    return (f"clock offset_s={found.offset_s:.6f} error_s={found.error_s:.6f} against the server of the folder",)
