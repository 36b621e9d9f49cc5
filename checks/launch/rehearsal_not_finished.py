"""Judges rehearsal-not-finished (LCH7208), whose words stand in the TOML beside it."""

from __future__ import annotations

from collections.abc import Mapping

from doctor.base.evidence import Observed
from doctor.catalogue.finding import LIKELY, Finding, found
from doctor.catalogue.problem import ERROR
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LATE = TOML["late"]
UNSEEN = TOML["unseen"]
NO_STEP, NO_STEPS = TOML["no_step"], TOML["no_steps"]
ELSEWHERE = TOML["elsewhere"]
BROKE = TOML["broke"]
REFUSED = TOML["refused"]


def late(phase: str, seconds: float, steps: int, stacks: Mapping[str, str]) -> Finding:
    """The deadline ended it.

    Args:
        phase: in which it stood.
        seconds: of the deadline.
        steps: that had been made.
        stacks: process -> its innermost frames.

    """
    evidence = tuple(Observed.quoted(f"process {name}", text) for name, text in list(stacks.items())[:4])
    return found(PROBLEM, LATE, evidence=evidence, phase=phase, seconds=f"{seconds:.0f}", steps=steps)


def unseen(processes: int) -> Finding:
    """It ended without a training that could be seen."""
    return found(
        PROBLEM, UNSEEN, evidence=(Observed.quoted("rehearsal", f"{processes} Python processes were looked into"),)
    )


def no_step(backwards: int) -> Finding:
    """It ended without a step, and computed gradients all the while."""
    seen = f"at least {backwards} backward passes, no optimizer step"
    return found(PROBLEM, NO_STEP, confidence=LIKELY, evidence=(Observed.quoted("rehearsal", seen),))


def no_steps() -> Finding:
    """A trainer trained, and was through before its first step."""
    return found(PROBLEM, NO_STEPS, evidence=(Observed.quoted("rehearsal", "0 optimizer steps of the trainer"),))


def elsewhere(framework: str) -> Finding:
    """The command starts a framework that is not rehearsed on this machine."""
    return found(PROBLEM, ELSEWHERE, evidence=(Observed.quoted("launch command", framework),), framework=framework)


def broke(code: int, phase: str, error: str) -> Finding:
    """The command failed, whatever the reason is.

    Args:
        code: its exit code.
        phase: in which it broke.
        error: name of the exception that left the phase; "" where none was seen.

    """
    evidence = (Observed.quoted("rehearsal", f"{phase}: {error or 'no exception was seen'}"),)
    return found(PROBLEM, BROKE, severity=ERROR, evidence=evidence, code=code, phase=phase)


def refused(code: int, path: str) -> Finding:
    """The command failed after the rehearsal had refused it a change.

    Args:
        code: its exit code.
        path: that it wanted to change.

    """
    return found(PROBLEM, REFUSED, evidence=(Observed.quoted("rehearsal", path),), code=code, path=path)
