"""Collects the fact `collectives`."""

from __future__ import annotations

from doctor.base.fact import Context, DoesNotApply, Meeting, Unavailable, fact
from doctor.facts.collectives import Collectives
from doctor.facts.gpus import Gpus
from doctor.facts.interpreter import Interpreter
from doctor.facts.launch import Launch


@fact(timeout_s=1800.0)  # slow by name: the user asked for it and gave the seconds; each process has a limit of its own
def collect(context: Context, interpreter: Interpreter, launch: Launch | None, gpus: Gpus | None) -> Collectives:
    """Measure with the other nodes of the meeting, in children of the patient's interpreter.

    Raises:
        Unavailable: `--deep` was not given, there is no meeting, or the interpreter cannot be started.

    """
    meeting: Meeting | None = context.meeting
    if not context.deep or meeting is None:
        raise DoesNotApply("measured between nodes by --deep only")
    from doctor.readers.machine import measuring

    environ = {**context.environ, **(launch.environment if launch else {})}
    try:
        return measuring.measure(meeting, interpreter.executable, environ, gpus)
    except OSError as exc:
        raise Unavailable(f"`{interpreter.executable}` cannot be started: {exc.strerror or exc}") from exc
