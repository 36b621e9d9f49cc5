"""What the logs of a run that ended with 0 show nevertheless, as far as that is known at once."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from doctor.base.record import record
from doctor.run.console import thread
from doctor.run.folder import RunDir, context_of

#: how long the end of a run waits for the judgement, since a job script continues after it: about a second. Of a long
#: run, whose logs are large, a thousandth of its time, within the last limit
_LEAST_S, _SHARE, _MOST_S = 1.5, 0.001, 10.0
#: times as long, while others use the processor and the judgement got less time on it
_BUSY, _LOOK_S = 3, 0.05


@record
class Seen:
    """What was found in time.

    Args:
        findings: warnings and errors of the post-mortem, in its order.
        complete: whether the logs were judged in time.
        seconds: that the end of the run waited for the judgement, or would have.

    """

    findings: tuple[Mapping[str, Any], ...]
    complete: bool
    seconds: float


def patience(run_s: float) -> float:
    """Seconds that the end of a run of `run_s` seconds may wait."""
    return min(max(_LEAST_S, run_s * _SHARE), _MOST_S)


def prepare() -> None:
    """Import what `seen` needs while the command runs: on a network's disk that alone takes longer than a second."""

    def work() -> None:
        with suppress(Exception):
            import doctor.diagnosis.report
            import doctor.logs.postmortem
            import doctor.logs.read.dividing  # noqa: F401

    thread(work, "doctor-prepare")


def seen(run: RunDir, run_s: float, *, language: str, ignored: Sequence[Any] = ()) -> Seen:
    """Judge the logs of a run that ended well, as `doctor postmortem` does, and give up when the time is over.

    A thread that was given up reads on until the process ends, which is next.
    """
    made: list[tuple[Mapping[str, Any], ...]] = []

    def work() -> None:
        with suppress(Exception):  # a bug of ours leaves the list empty: not judged, which is said
            made.append(tuple(_findings(run.path, language, ignored)))

    seconds = patience(run_s)
    judging = thread(work, "doctor-ended")
    began, worked = time.monotonic(), time.process_time()
    while judging.is_alive() and time.monotonic() - began < seconds * _BUSY:
        if time.process_time() - worked >= seconds:
            break
        judging.join(_LOOK_S)
    waited = time.monotonic() - began if judging.is_alive() else seconds
    return Seen(made[0] if made else (), bool(made), waited)


def _findings(path: Path, language: str, ignored: Iterable[Any]) -> Iterable[Mapping[str, Any]]:
    from functools import partial

    from doctor.diagnosis.report import as_dict, shortened
    from doctor.logs.gathered import LogNotReadable
    from doctor.logs.postmortem import examine
    from doctor.logs.read.dividing import here
    from doctor.logs.read.layouts import NoLogs

    try:  # by one process: others would outlive a reading that is given up
        found = examine(
            (str(path),), ignored=ignored, language=language, run_dir=str(path), context=context_of(path),
            work=partial(here, workers=1),
        )  # fmt: skip
    except (NoLogs, LogNotReadable):
        return ()
    report = shortened(as_dict(found.diagnosis), Path.cwd())
    return (each for each in report["findings"] if each["severity"] != "info")
