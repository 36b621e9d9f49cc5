"""Where an alarm is said: the console of rank 0, the run folder, and the trackers that are active."""

from __future__ import annotations

import shutil
import sys
import textwrap
from contextlib import suppress
from typing import Any, Callable, Iterable, Optional

from doctor.base.redact import redact_text
from doctor.catalogue.alarm import as_data
from doctor.catalogue.finding import Finding
from doctor.catalogue.problem import ERROR, INFO
from doctor.monitors.guard.options import Options
from doctor.monitors.guard.policy import Policy
from doctor.run.folder import Events, RunDir

#: the same problem is told in full so often; later only in the run folder
TOLD_IN_FULL, MOST_EVENTS = 2, 100

_WIDEST = 100

#: what a policy does, as the console says it; a warning does nothing
DONE = {
    "en": {
        Policy.SKIP_STEP: "the step is dropped, unless it was already applied (policy skip-step)",
        Policy.CHECKPOINT: "the weights will be saved, then the run stops (policy checkpoint)",
        Policy.STOP: "the run stops, and nothing is saved (policy stop)",
        Policy.RAISE: "GuardStop ends the program, and nothing is saved (policy raise)",
    },
    "zh": {
        Policy.SKIP_STEP: "丢弃该步(如果尚未应用)(策略 skip-step)",
        Policy.CHECKPOINT: "将保存权重,然后停止训练(策略 checkpoint)",
        Policy.STOP: "停止训练,不保存任何内容(策略 stop)",
        Policy.RAISE: "以 GuardStop 结束程序,不保存任何内容(策略 raise)",
    },
}

#: what is said when the run is stopped, by what becomes of the weights (`doctor.run.guard_stop.SAVES`)
STOPPED = {
    "en": {
        "asked": "doctor: guard: the run stops{at}{why}; the trainer was asked to save the weights",
        "saved": "doctor: guard: the run stops{at}{why}; the weights are saved",
        "failed": "doctor: guard: the run stops{at}{why}; the weights could not be saved",
        "none": "doctor: guard: the run stops{at}{why}; nothing was saved",
    },
    "zh": {
        "asked": "doctor: guard: 训练停止{at}{why};已通知 trainer 保存权重",
        "saved": "doctor: guard: 训练停止{at}{why};权重已保存",
        "failed": "doctor: guard: 训练停止{at}{why};权重未能保存",
        "none": "doctor: guard: 训练停止{at}{why};未保存任何内容",
    },
}
_AT = {"en": " at step {}", "zh": "(第 {} 步)"}
_NOT_SAVED = {
    "en": "doctor: guard: the checkpoint of step {} could not be written ({}); the run stops without it",
    "zh": "doctor: guard: 无法写入第 {} 步的检查点({});训练将在没有它的情况下停止",
}

_ASKED = {
    "en": "the policy is `{policy}`: `guard.agree()` passes it to the loop, which must carry it out",
    "zh": "策略要求 `{policy}`:`guard.agree()` 把它交给训练循环去执行",
}


class Alerts:
    """Says alarms; each sink fails on its own.

    Args:
        options: language, and whether trackers are told.
        events: writer of the run folder; None outside of one.
        rank: only rank 0 talks to the console and the trackers.
        run: the run folder, named at the end of an alarm.

    """

    def __init__(self, options: Options, events: Optional[Events], rank: int, run: Optional[RunDir]) -> None:
        self._options, self._events, self._rank, self._run = options, events, rank, run
        self._count: dict[str, int] = {}
        #: whether somebody carries policies out: an adapter says so; else it is for the caller of `Guard.agree`
        self.acts = False
        #: tensorboard writers that are open, with `add_text`; an adapter that knows them says how to get them
        self.writers: Callable[[], Iterable[Any]] = tuple

    def say(self, finding: Finding, policy: Policy, *, aloud: bool = False) -> None:
        """Say it wherever somebody looks; `aloud`: on this rank's console too, for it will say nothing more."""
        count = self._count[finding.problem.id] = self._count.get(finding.problem.id, 0) + 1
        if self._events is not None and count <= MOST_EVENTS:
            with suppress(Exception):
                data = as_data(finding, policy.value)
                self._events.write("alarm", id=finding.problem.id, step=finding.where.step, **data)
        if (self._rank != 0 and not aloud) or finding.severity is INFO or count > TOLD_IN_FULL:
            return
        self.print(self.text(finding, policy, brief=count > 1))
        if self._options.trackers:
            self._tell_trackers(finding, policy)

    def print(self, text: str) -> None:
        """Onto standard error, below whatever progress bar stands there."""
        with suppress(Exception):
            sys.stderr.write(f"\n{redact_text(text, homes=False)}\n")
            sys.stderr.flush()

    def text(self, finding: Finding, policy: Policy, *, brief: bool = False) -> str:
        """The alarm as the console shows it."""
        language = self._options.language
        words = finding.words(language)
        rank = "" if finding.where.rank in (None, self._rank) else f" (rank {finding.where.rank})"
        first = f"doctor: {finding.severity.value} {finding.problem.id}{rank}: {words.headline}"
        if brief:
            return first
        done = "" if policy is Policy.WARN else f"-> {self.done(policy)}"
        paste = [*finding.commands, f"doctor explain {finding.problem.id}"]
        if self._run is not None:
            paste.append(f"doctor postmortem --run {self._run.path}")
        paragraphs = (_indented(each) for each in (words.explanation, words.remedy, done) if each)
        return "\n".join((_coloured(first, finding), *paragraphs, *(f"      {each}" for each in paste)))

    def done(self, policy: Policy) -> str:
        """What a policy does, or that the caller is asked to do it; empty for a warning."""
        language = self._options.language
        if policy is Policy.WARN or self.acts:
            return DONE[language].get(policy, "")
        return _ASKED[language].format(policy=policy.value)

    def stopped(self, problem: str, step: Optional[int], save: str) -> str:
        """What is said when the run is stopped: for which problem, at which step, and with what saved."""
        language = self._options.language
        at = "" if step is None else _AT[language].format(step)
        return STOPPED[language][save].format(at=at, why=f" ({problem})" if problem else "")

    def not_saved(self, step: int, error: BaseException) -> str:
        """What is said when a checkpoint that the policy asks for cannot be written."""
        return _NOT_SAVED[self._options.language].format(step, f"{type(error).__name__}: {error}"[:300])

    def _tell_trackers(self, finding: Finding, policy: Policy) -> None:
        words = finding.words(self._options.language)
        title = redact_text(f"{finding.problem.id} {words.headline}")
        text = redact_text("\n\n".join((words.explanation, words.remedy, self.done(policy))))
        for tell in (_wandb, _trackio):
            with suppress(Exception):
                tell(title, text, finding.severity is ERROR)
        for writer in self.writers():
            with suppress(Exception):
                writer.add_text("doctor/alarms", f"**{title}**\n\n{text}", finding.where.step or 0)
                writer.flush()


def _wandb(title: str, text: str, error: bool) -> None:
    """https://docs.wandb.ai/models/runs/alert: only where a run is active in this process."""
    wandb = sys.modules.get("wandb")
    if wandb is not None and getattr(wandb, "run", None) is not None:
        level = wandb.AlertLevel.ERROR if error else wandb.AlertLevel.WARN
        wandb.run.alert(title=title[:64], text=text, level=level)


def _trackio(title: str, text: str, error: bool) -> None:
    """trackio/__init__.py of 0.43: `alert` raises where no run is active."""
    trackio = sys.modules.get("trackio")
    if trackio is not None and hasattr(trackio, "alert"):
        trackio.alert(title=title, text=text, level=trackio.AlertLevel.ERROR if error else trackio.AlertLevel.WARN)


def _coloured(text: str, finding: Finding) -> str:
    colour = "31" if finding.severity is ERROR else "33"
    return f"\033[1;{colour}m{text}\033[0m" if sys.stderr.isatty() else text


def _indented(text: str) -> str:
    """A paragraph, indented and wrapped; a line without blanks (Chinese, a path) is left to the terminal."""
    width = min(_WIDEST, shutil.get_terminal_size((_WIDEST, 24)).columns)
    return textwrap.fill(
        text, width, initial_indent="    ", subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
    )
