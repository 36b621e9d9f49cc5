"""One report of a run folder: the verdict of its post-mortem, and what its machine did, in one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from doctor.base.record import record, replace
from doctor.catalogue.outcome import Outcome
from doctor.diagnosis.report import Diagnosis, as_dict
from doctor.diagnosis.suppress import Ignored
from doctor.logs.gathered import LogNotReadable
from doctor.logs.postmortem import examine
from doctor.logs.read.layouts import NoLogs
from doctor.monitors.usage import about as about_run
from doctor.monitors.usage.blocks import NotUsage
from doctor.monitors.usage.files import load
from doctor.monitors.usage.judged import Summary
from doctor.monitors.usage.report import diagnose, figures
from doctor.monitors.usage.settings_at import settings_at
from doctor.monitors.usage.tracks import Usage
from doctor.monitors.usage.warned import warned
from doctor.run.folder import RunDir, context_of


@record
class Whole:
    """A run's report, and what its page draws.

    Args:
        diagnosis: findings of the post-mortem first, then those of the figures.
        report: the same by the contract `doctor/1`, with `run` (`doctor.monitors.usage.about`) and `usage` in it.
        usage, summary: the figures; None where nothing was sampled.
        events: of the run, in order of time.

    """

    diagnosis: Diagnosis
    report: dict[str, Any]
    usage: Usage | None
    summary: Summary | None
    events: tuple[Any, ...]


def whole_run(path: Path, *, language: str, ignored: Iterable[Ignored] = (), past: bool = True) -> Whole:
    """Judge a run folder by everything in it.

    Args:
        path: the folder.
        language: `en` or `zh`.
        ignored: what the user does not want to hear.
        past: compare with the last good run.

    Raises:
        NotUsage: it holds neither logs nor figures.

    """
    kept = tuple(ignored)
    try:
        died = examine(
            (str(path),), ignored=kept, language=language, run_dir=str(path), context=context_of(path)
        ).diagnosis  # fmt: skip
    except (NoLogs, LogNotReadable):
        died = None
    try:
        usage = load(path)
    except NotUsage:
        if died is None:
            raise
        usage = None
    used, summary = (
        (None, None) if usage is None else diagnose(usage, run_dir=str(path), language=language, ignored=kept)
    )
    diagnosis = _joined(died, used)
    report = as_dict(diagnosis)
    if language != "en":
        from doctor.catalogue.reasons import localised

        report = localised(report, language)
    report["run"] = run_of(path, report, len(died.outcome.findings) if died is not None else 0, past=past)
    if usage is not None and summary is not None:
        report["usage"] = figures(usage, summary)
    return Whole(diagnosis, report, usage, summary, tuple(RunDir(path).read_events()))


def run_of(path: Path, report: Mapping[str, Any], causes: int, *, past: bool = True) -> dict[str, Any]:
    """The part `run` of a report; `causes`: how many of its findings, from the first on, are of the post-mortem."""
    first = report["findings"][0] if report["findings"] else None
    frame = about_run.frame_of(path, first) if first else None
    began = RunDir(path).read_run()
    before = warned(path, report, began.get("cwd"))
    run = {**about_run.about(path, past=past), "causes": causes, **({"frame": frame} if frame else {})}
    if before:
        run["warned"] = before
    if first:
        arguments = run.get("inventory", {}).get("arguments") or {}
        run["set_at"] = settings_at(
            first, about_run.own_files(run), began.get("cwd"), arguments=arguments, until_ns=began.get("ended_ns")
        )
    return run


def _joined(died: Diagnosis | None, used: Diagnosis | None) -> Diagnosis:
    """The post-mortem with what only the figures tell."""
    if died is None or used is None:
        one = died or used
        assert one is not None  # noqa: S101 - one of them is there, for the type checker
        return replace(one, command="report")
    said = {each.problem.id for each in died.outcome.findings}
    more = tuple(each for each in used.outcome.findings if each.problem.id not in said)
    skipped = {(each.id, each.reason): each for each in (*died.outcome.skipped, *used.outcome.skipped)}
    outcome = Outcome(
        (*died.outcome.findings, *more), tuple(skipped.values()), (*died.outcome.crashed, *used.outcome.crashed),
        died.outcome.checks_run + used.outcome.checks_run, died.seconds + used.seconds,
    )  # fmt: skip
    summary = tuple(dict.fromkeys((*died.target.summary, *used.target.summary)))
    target = replace(died.target, argv=used.target.argv, summary=summary)
    return replace(
        died, command="report", target=target, outcome=outcome, entries={**used.entries, **died.entries},
        seconds=died.seconds + used.seconds, machines=used.machines,
    )  # fmt: skip
