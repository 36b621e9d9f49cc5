"""What `doctor check` says of the command that is rehearsed, found while the rehearsal runs.

Only the run is judged, not the machine: a rehearsal need not be where the run will be.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path

from doctor.base.fact import Context
from doctor.base.record import record, replace
from doctor.catalogue.bites import stage_of
from doctor.catalogue.finding import Finding
from doctor.catalogue.index import Entry
from doctor.catalogue.outcome import Crashed, crash_of
from doctor.catalogue.problem import ERROR, INFO
from doctor.facts.script import Script

#: who found a finding, as the report names them
CHECK, REHEARSAL = "check", "rehearsal"
#: areas of problems that a machine has, whatever runs on it
_OF_MACHINE = frozenset({"cuda", "flash_attn", "gpu", "host", "hub", "memory", "nccl"})
#: areas of problems that end the run before its first step or never: a rehearsal starts and loads as the run does
_BEFORE_STEPS = frozenset({"accelerate", "deepspeed", "launch", "peft", "python", "transformers"})
_STAGES = frozenset({"start", "load"})
#: what a rehearsal left out or replaced because this machine lacks it: passing without it shows nothing
_ABSENT = frozenset(
    {"not_here", "no_engine", "server", "own_server", "attention", "liger", "hub_kernels", "quantised_loading",
     "optimizer_of_gpu", "compile"}
)  # fmt: skip
PAST = "the rehearsal went past the place where it would have ended the run"
#: seconds that a rehearsal which has ended waits for the check
_PATIENCE_S = 20.0


@record
class Checked:
    """What was found without running the command.

    Args:
        findings: of the run, without notes.
        script: whose comments silence findings.
        crashed: our own failure; the rehearsal goes on without a check.

    """

    findings: tuple[Finding, ...] = ()
    script: Script | None = None
    crashed: tuple[Crashed, ...] = ()


class Checking:
    """A check under way in a thread of its own; most of a rehearsal's time the doctor itself only waits."""

    def __init__(self, argv: Sequence[str]) -> None:
        """Begin."""
        self._done = Checked()
        self._context = Context(tuple(argv), Path.cwd(), dict(os.environ), None, False, framework=False)
        self._thread = threading.Thread(target=self._check, name="check", daemon=True)
        self._thread.start()

    def result(self) -> Checked:
        """What was found; that nothing was judged, where the check does not come to an end."""
        self._thread.join(_PATIENCE_S)
        if self._thread.is_alive():
            return Checked(crashed=(crash_of("check", TimeoutError(f"no answer within {_PATIENCE_S:g} s")),))
        return self._done

    def _check(self) -> None:
        try:
            self._done = check(self._context)
        except Exception as exc:  # noqa: BLE001 - a check costs itself, not the rehearsal
            self._done = Checked(crashed=(crash_of("check", exc),))


def check(context: Context) -> Checked:
    """Judge a command without running it."""
    from doctor.diagnosis.diagnose import judge

    done = judge(context, ("script",))
    state = done.collector.states.get("script")
    script = state.value if state is not None and state.status == "ok" else None
    told = (each for each in done.outcome.findings if each.severity is not INFO)
    return Checked(tuple(each for each in told if each.problem.area not in _OF_MACHINE), script)


def together(rehearsed: Iterable[Finding], checked: Iterable[Finding]) -> tuple[Finding, ...]:
    """Findings of both with who found them; what both found stands once, as the rehearsal saw it."""
    statically: dict[str, list[Finding]] = {}
    for each in checked:
        statically.setdefault(each.problem.id, []).append(each)
    merged = [
        replace(each, detectors=(CHECK, REHEARSAL) if each.problem.id in statically else (REHEARSAL,))
        for each in rehearsed
    ]
    seen = {each.problem.id for each in merged}
    alone = (each for name, found in statically.items() if name not in seen for each in found)
    return (*merged, *(replace(each, detectors=(CHECK,)) for each in alone))


def disproved(finding: Finding, entry: Entry | None, left_out: Iterable[str]) -> bool:
    """Whether a rehearsal that made its steps and ended well has shown that a problem of the check is not there.

    Args:
        finding: of the check.
        entry: of its problem in the catalogue.
        left_out: keys of what the rehearsal left out.

    """
    if entry is None or finding.severity is not ERROR or not entry.ends_run or _ABSENT.intersection(left_out):
        return False
    stage = stage_of(entry.id, {entry.id: entry.bites} if entry.bites else {}, ends_run=entry.ends_run)
    return finding.problem.area in _BEFORE_STEPS and stage in _STAGES
