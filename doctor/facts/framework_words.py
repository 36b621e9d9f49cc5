"""What a training framework's own validator says to the settings of the command, asked in a process that is held."""

from __future__ import annotations

from typing import Literal

from doctor.base.record import record


@record
class FrameworkWords:
    """The answer of one framework.

    Args:
        framework: its name as in `doctor.facts.framework_config`, or "verl", "swift"; `program`: as people write it.
        version: of its distribution, None where that is not known.
        outcome: "accepts", "refuses" (it raised, or its parser ended the interpreter), "not_asked" (`message` says
            why), "signal" and "timeout" (its process ended so).
        kind: class of the exception, "SystemExit" of argparse's end.
        message: its words, redacted.
        file, line, function: the innermost frame in the framework's own package; `raised_in`: file of the innermost.
        system: the exception, or one that it was raised from, is an OSError: something outside of the settings.
        missing: the module that an import did not find; `imports`: an import failed.
        wanted: what the held process was refused, where the exception may be that refusal's doing.
        held: what the kernel holds, "network" and "files"; Python's audit events hold both everywhere.

    """

    framework: str
    program: str
    outcome: Literal["accepts", "refuses", "not_asked", "signal", "timeout"]
    version: str | None = None
    kind: str | None = None
    message: str | None = None
    file: str | None = None
    line: int | None = None
    function: str | None = None
    raised_in: str | None = None
    system: bool = False
    missing: str | None = None
    imports: bool = False
    wanted: str | None = None
    held: tuple[str, ...] = ()
    seconds: float = 0.0
