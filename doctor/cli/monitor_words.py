"""What `doctor monitor` says while it waits and at its end."""

from __future__ import annotations

import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

from doctor.cli import options
from doctor.cli.runs import short

#: more figures than some seconds can read: the end of a long run is not put off by its summary
MOST_BYTES = 256 << 20


def wait(sampler: Any) -> None:
    """Until the sampler has ended or somebody ends us."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with suppress(KeyboardInterrupt):
        sampler.wait()


def _say_where(run: Any, csv: Path | None) -> None:
    """Where the figures lie; a file that was asked for and holds none is told, and rows that were lost."""
    if csv is None and not _bytes_of(run, None):
        return  # what became of them is said instead
    if csv is None or (csv.is_file() and csv.stat().st_size):
        options.notice(f"doctor: figures in {short(csv or run.path)}")
    else:
        options.notice(f"doctor: nothing was written to {short(csv)}; what was sampled is in {short(run.path)}")
    full = [each["data"] for each in run.read_events() if each["data"].get("what") == "disk full"]
    if full:
        options.notice(f"doctor: {max(int(each.get('rows_lost') or 0) for each in full)} rows could not be written")


def _say_unheard(run: Any) -> None:
    from doctor.catalogue.nodes.hosts import folded
    from doctor.cluster.shared_run import unheard

    if nodes := unheard(run):
        options.notice(
            f"doctor: {len(nodes)} nodes reported nothing before the end (their samplers had not started, or they do "
            f"not answer): {folded(nodes, 8)}"
        )


def say_lost(run: Any, before: tuple[int, int] | None) -> bool:
    """Say that the run folder is gone, where it is; `before`: its identity when it was made."""
    import errno
    import os

    from doctor.run.disk import lost

    if (number := lost(run, before)) is None:
        return False
    reason = os.strerror(number)
    if number != errno.ENOENT:
        options.notice(
            f"doctor: the run folder {short(run.path)} can no longer be read ({reason}), with its samples and output; "
            f"once it can be read again: doctor report {short(run.path)}; the command was not affected"
        )
        return True
    options.notice(
        f"doctor: the run folder {short(run.path)} was lost during the run ({reason}), with its samples "
        "and output; the command was not affected"
    )
    return True


def _say_nothing(run: Any) -> None:
    import errno
    import os

    from doctor.run.disk import refusal

    number = refusal(run)
    if number == errno.ENOSPC:
        options.notice(
            f"doctor: nothing that was sampled could be written: the disk of {short(run.path)} has no room or no "
            "inode left; see `df -h` and `df -i`"
        )
        return
    if number is not None:
        options.notice(
            f"doctor: nothing that was sampled could be written into {short(run.path)}: {os.strerror(number)}"
        )
        return
    options.notice("doctor: nothing was sampled: the command ended before the sampler started")


def _say_cut_short(run: Any) -> None:
    """That the figures end before the run does, where the disk takes nothing more: the last word of a summary."""
    import os

    from doctor.run.disk import refusal

    if (number := refusal(run)) is not None:
        options.notice(
            f"doctor: these figures are incomplete: nothing more can be written into {short(run.path)} "
            f"({os.strerror(number)})"
        )


def _bytes_of(run: Any, csv: Path | None) -> int:
    """Size of what a summary would read."""
    files = [*run.path.glob("gpu/*.csv"), *run.path.glob("host/*.csv"), *([csv] if csv is not None else [])]
    return sum(each.stat().st_size for each in files if each.exists())


def summary(run: Any, csv: Path | None) -> None:
    """Where the figures lie, and what they come to, on stderr: the command has stdout to itself."""
    _say_where(run, csv)
    from doctor.cli import report
    from doctor.monitors.usage.blocks import NotUsage
    from doctor.monitors.usage.files import load, read_gpu_files

    if (held := _bytes_of(run, csv)) > MOST_BYTES:
        options.notice(
            f"doctor: {held / 1e9:.1f} GB of figures are not summarized here: doctor report {short(run.path)}"
        )
        return
    from doctor.monitors.usage.report import as_report, diagnose

    try:
        _say_unheard(run)
        usage = load(run.path)
        if csv is not None and csv.exists():
            read_gpu_files([csv], usage)
    except NotUsage:
        _say_nothing(run)
        return
    settings = options.user_settings(Path.cwd(), ())
    language = options.spoken()
    diagnosis, summary = diagnose(usage, run_dir=str(run.path), language=language, ignored=settings.ignored)
    report.draw(as_report(diagnosis, usage, summary, language), language, sys.stderr)
    _say_cut_short(run)
