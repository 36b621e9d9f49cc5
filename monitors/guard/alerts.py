"""Where an alarm is said: the console of rank 0, the run folder, and the trackers that are active."""

from __future__ import annotations

import shutil
import sys
import textwrap
from contextlib import suppress
from typing import Any, Callable, Iterable, Optional

from doctor.core.alarm import as_data
from doctor.core.finding import Finding
from doctor.core.problem import ERROR, INFO
from doctor.core.run_dir import Events, RunDir
from doctor.monitors.guard.options import Options
from doctor.monitors.guard.policy import Policy

#: the same problem is told in full so often; later only in the run folder
TOLD_IN_FULL, MOST_EVENTS = 2, 100

_WIDEST = 100

#: what a policy does, as the console says it; a warning does nothing
DONE = {
    "en": {
        Policy.SKIP_STEP: "the step is dropped on all ranks, where it is not applied yet (policy skip-step)",
        Policy.CHECKPOINT: "the weights are saved and the run stops (policy checkpoint)",
        Policy.STOP: "the run stops (policy stop)",
        Policy.RAISE: "the program is ended with GuardStop (policy raise)",
    },
    "zh": {
        Policy.SKIP_STEP: "在所有 rank 上丢弃该步(如果尚未应用)(策略 skip-step)",
        Policy.CHECKPOINT: "保存权重,然后停止训练(策略 checkpoint)",
        Policy.STOP: "停止训练(策略 stop)",
        Policy.RAISE: "以 GuardStop 结束程序(策略 raise)",
    },
}

_ASKED = {
    "en": "the policy asks for `{policy}`: `guard.agree()` gives it to the loop that is to carry it out",
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
            sys.stderr.write(f"\n{text}\n")
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

    def _tell_trackers(self, finding: Finding, policy: Policy) -> None:
        words = finding.words(self._options.language)
        title = f"{finding.problem.id} {words.headline}"
        text = "\n\n".join((words.explanation, words.remedy, self.done(policy)))
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
