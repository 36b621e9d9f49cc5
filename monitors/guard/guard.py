"""The core of the guard, free of any framework: metrics in, alarms out, one decision on all ranks."""

from __future__ import annotations

import math
import os
import time
import traceback
from collections import deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from numbers import Real
from typing import Any, Callable, Optional

from doctor.base.record import replace
from doctor.catalogue.finding import Finding
from doctor.catalogue.problem import INFO
from doctor.catalogue.rules import RuleEngine, load_rules
from doctor.catalogue.series import ALIASES, as_number
from doctor.monitors.guard.agree import Decision, Group, decode, encode
from doctor.monitors.guard.alerts import Alerts
from doctor.monitors.guard.options import Options
from doctor.monitors.guard.options import options as read_options
from doctor.monitors.guard.policy import Policy
from doctor.monitors.guard.shield import shielded
from doctor.run.appender import Appender
from doctor.run.folder import Events, RunDir
from doctor.run.patience import touch

#: steps whose metrics are kept for the record of an exception, and metrics kept of each
KEPT_STEPS, KEPT_METRICS = 50, 100

#: names of metrics that are remembered as they are written
MOST_NAMES = 1000

#: findings kept of one run
MOST_FINDINGS = 200

#: seconds between two events that tell the step
STEP_EVENT_S = 1.0

#: said where the ranks can decide nothing together
APART = {
    "en": "doctor: guard: not every rank has a guard, so this one only warns; add it on all ranks, not rank 0 alone",
    "zh": "doctor: guard: 并非每个 rank 都有 guard,因此这里只发出警告;请在所有 rank 上添加,而不是只在 rank 0 上",
}
LEFT = {
    "en": "doctor: guard: a rank no longer takes part in decisions, so from now on the guard only warns",
    "zh": "doctor: guard: 有一个 rank 不再参与共同决定,此后 guard 只发出警告",
}

#: first line of a file of metrics
HEADER = "step,t_ns,name,value\n"


#: mark of an exception that is recorded
_RECORDED = "_doctor_recorded"


def rules_here() -> list[type]:
    """The live rules: of the catalogue, or of what was carried into an environment without the doctor."""
    return load_rules()


class Guard:
    """Watches one training process.

    Args:
        options: settings; None: those of doctor.toml and the environment.
        rank: of this process in the run; None: RANK, else 0.
        world_size: how many processes the run has; None: WORLD_SIZE, else 1.
        run: the run folder; None: the one of DOCTOR_RUN_DIR, or none.
        rules: live rules to judge by; None: all of the catalogue.

    """

    def __init__(
        self,
        options: Optional[Options] = None,
        *,
        rank: Optional[int] = None,
        world_size: Optional[int] = None,
        run: Optional[RunDir] = None,
        rules: Optional[Sequence[type]] = None,
    ) -> None:
        self.options = options if options is not None else read_options()
        self.rank = _of_variable("RANK", 0) if rank is None else rank
        self.world_size = _of_variable("WORLD_SIZE", 1) if world_size is None else world_size
        self.run = run if run is not None else RunDir.of_environment()
        #: the optimizer step that is being made, counted as the trainer logs it
        self.step: Optional[int] = None
        self.findings: list[Finding] = []
        self.recent: deque[tuple[int, dict[str, float]]] = deque(maxlen=KEPT_STEPS)
        self.group = Group()
        self.events = None if self.run is None else Events(self.run, self.rank, "trainer")
        self.alerts = Alerts(self.options, self.events, self.rank, self.run)
        self._policies = self.options.policies
        self._engine = RuleEngine(rules_here() if rules is None else list(rules))
        self._metrics = None if self.run is None else Appender(self.run.metrics(self.rank), head=HEADER)
        self._pending: Optional[Decision] = None
        self._carried: Optional[Decision] = None
        self._stopping = False
        self._said: deque[tuple[str, Optional[int]]] = deque(maxlen=50)
        self._scale: Optional[float] = None
        self._told_step_s = 0.0
        #: whether whoever carries policies out can save, and whether all ranks can be stopped together
        self.saves = self.stops = True
        #: told of every step
        self.on_step: Optional[Callable[[int], Any]] = None
        self._cells: dict[str, str] = {}
        #: writes what waits for the run folder
        self.flush: Callable[[], Any] = _nothing
        self._closed = self._told_apart = False

    def observe(self, step: int, metrics: Mapping[str, Any], t_ns: Optional[int] = None) -> list[Finding]:
        """Take in what was logged at a step; gives what is found because of it, which is said already.

        Args:
            step: the optimizer step.
            metrics: name -> number, by TRL's names or those of the stacks in `series.ALIASES`; None counts as NaN,
                anything that is no number (a tensor on a device would have to be read) is left out.
            t_ns: wall time since the epoch; now where None.

        """
        return self._observe(step, metrics, t_ns) or []

    @shielded
    def _observe(self, step: int, metrics: Mapping[str, Any], t_ns: Optional[int]) -> list[Finding]:
        t_ns = time.time_ns() if t_ns is None else t_ns
        row = {}
        for name, value in metrics.items():
            number = value if type(value) is float else _number(value)
            if number is not None:
                row[ALIASES.get(name, name)] = number  # `canonical`, without the call
        self._keep(step, row)
        self._write(step, t_ns, row)
        return self._feed(step, t_ns, row)

    def _feed(self, step: Optional[int], t_ns: int, row: dict[str, float]) -> list[Finding]:
        found = self._engine.feed_row(row, step, t_ns, self.rank)
        for finding in found:
            self.alarm(finding)
        return found

    def _keep(self, step: int, row: dict[str, float]) -> None:
        self.step = step
        if self.recent and self.recent[-1][0] == step:
            kept = self.recent[-1][1]
        else:
            kept = {}
            self.recent.append((step, kept))
        if len(kept) + len(row) <= KEPT_METRICS:
            kept.update(row)
            return
        for name, value in row.items():
            if len(kept) < KEPT_METRICS or name in kept:
                kept[name] = value

    @shielded
    def _write(self, step: int, t_ns: int, row: dict[str, float]) -> None:
        metrics, events = self._metrics, self.events
        if metrics is None or events is None or not row:
            return
        lines = "".join([f"{step},{t_ns},{self._cell(name)},{value:.9g}\n" for name, value in row.items()])
        touch(lambda: metrics.write(lines), late=False, dropped=lambda: events.drop(lines))

    def _cell(self, name: str) -> str:
        """The name of a metric in a row of comma separated values."""
        cell = self._cells.get(name)
        if cell is None:
            cell = name.replace(",", " ").replace("\n", " ").replace("\r", " ")
            if len(self._cells) < MOST_NAMES:
                self._cells[name] = cell
        return cell

    def alarm(self, finding: Finding, policy: Optional[Policy] = None, *, aloud: bool = False) -> Policy:
        """Say a finding wherever somebody looks, and note the policy to apply; gives that policy.

        Args:
            finding: of any problem; rank and step are filled in. The same problem is said once for a step.
            policy: what follows; None: what the settings say.
            aloud: said on this rank's console too, where else only rank 0 talks.

        """
        return self._alarm(finding, policy, aloud) or Policy.WARN

    @shielded
    def _alarm(self, finding: Finding, policy: Optional[Policy], aloud: bool) -> Policy:
        place = finding.where
        rank = self.rank if place.rank is None else place.rank
        step = self.step if place.step is None else place.step
        finding = replace(finding, where=replace(place, rank=rank, step=step))
        policy = self.policy(finding) if policy is None else policy
        if (finding.problem.id, step) in self._said:
            return Policy.WARN
        self._said.append((finding.problem.id, step))
        if len(self.findings) < MOST_FINDINGS:
            self.findings.append(finding)
        if policy is not Policy.WARN and (self._pending is None or policy.rank > self._pending.policy.rank):
            self._pending = Decision(policy, finding.problem.id, rank)
        self.alerts.say(finding, policy, aloud=aloud)
        return policy

    def policy(self, finding: Finding) -> Policy:
        """What is to be done about a finding: what the settings say, as far as it can be carried out here.

        Nothing where a rank has no guard. Where the run cannot be stopped the step is dropped at most; where nobody
        can save, a checkpoint is a stop.
        """
        if self.group.complete is False:
            return Policy.WARN
        policy = self._policies.of(finding)
        if policy.stops and not self.stops:
            return Policy.SKIP_STEP
        return Policy.STOP if policy is Policy.CHECKPOINT and not self.saves else policy

    @property
    def pending(self) -> Optional[Policy]:
        """The strongest policy that an alarm asked for and that nobody carried out yet; None where it is a warning."""
        return None if self._pending is None else self._pending.policy

    def agree(self) -> Optional[Policy]:
        """The strongest policy pending on any rank; the same answer on all of them.

        With several ranks one number goes round: all of them call it at the same place, at the cadence of logging.
        Where one has no guard, or leaves, nothing is decided and the answer is None, for what one rank alone does
        hangs the others; no rank waits for another one for ever. A rank that has pending what another asked for has
        said so.
        """
        return self._agree()

    @shielded
    def _agree(self) -> Optional[Policy]:
        mine = self._pending
        told = self.group.strongest(0 if mine is None else encode(*mine)) if self.group.join() else None
        if told is None:
            self.tell_apart()
            return None
        decision = decode(told)
        if decision is not None and decision != mine:
            self._pending = decision
            if self.rank == 0:
                done = self.alerts.done(decision.policy)
                self.alerts.print(f"doctor: {decision.problem} on rank {decision.rank}\n    -> {done}")
        return None if decision is None else decision.policy

    def tell_apart(self) -> None:
        """Say once that the ranks decide nothing together, and so nothing is done."""
        if not self._told_apart:
            self._told_apart = True
            self.alerts.print((LEFT if self.group.left else APART)[self.options.language])

    def settled(self) -> None:
        """Forget what is pending: it has been carried out."""
        self._carried, self._pending = self._pending or self._carried, None

    @shielded
    def stopping(self, policy: Policy, save: str) -> None:
        """Tell the run folder that the run is being stopped now, once; rank 0 says it on the console.

        Args:
            policy: that stops it.
            save: what becomes of the weights, one of `doctor.run.guard_stop.SAVES`.

        """
        if self._stopping:
            return
        self._stopping = True
        carried = self._carried or self._pending
        problem = carried.problem if carried is not None else None
        if self.events is not None:
            self.events.write("stop", id=problem, step=self.step, policy=policy.value, save=save)
        if self.rank == 0:
            self.alerts.print(self.alerts.stopped(problem or "", self.step, save))

    @shielded
    def scale(self, reading: Any) -> None:
        """Take in a `scale.Reading`, once for each step; the run folder gets it when it changes."""
        step, t_ns = self.step, time.time_ns()
        row: dict[str, float] = {}
        if reading.minimum is not None:
            row["min_loss_scale"] = float(reading.minimum)
        if reading.scale is not None:
            row["loss_scale"] = float(reading.scale)
        if reading.skipped_steps is not None:
            row["skipped_steps"] = float(reading.skipped_steps)
        elif reading.overflow:
            row["overflow"] = 1.0
        if step is not None and (row.get("loss_scale") != self._scale or "overflow" in row):
            self._write(step, t_ns, row)
        self._scale = row.get("loss_scale")
        self._feed(step, t_ns, row)

    @shielded
    def stepped(self, step: int) -> None:
        """Tell the run folder that a step is made, at most once a second, and who asked to be told."""
        self.step = step
        if self.on_step is not None:
            self.on_step(step)
        now = time.monotonic()
        if self.events is not None and now - self._told_step_s >= STEP_EVENT_S:
            self._told_step_s = now
            self.events.write("step", step=step)

    def hook_failed(self) -> None:
        """A hook of this rank is switched off: no other rank may wait for it in a collective."""
        self.group.withdraw()

    @shielded
    def start(self, **data: Any) -> None:
        """Tell the run folder that the guard looks on, and what it cannot see."""
        if self.events is not None:
            self.events.write("start", **data)

    @shielded
    def exception(self, error: BaseException) -> None:
        """Record an exception with the step and the metrics of the last steps; once, however many tell of it."""
        if self.events is None or getattr(error, _RECORDED, False):
            return
        self.flush()
        with suppress(AttributeError):
            setattr(error, _RECORDED, True)
        text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        self.events.write(
            "exception", step=self.step, type=type(error).__name__, text=str(error)[:2000], traceback=text[-8000:],
            recent=[{"step": step, **_plain(row)} for step, row in self.recent],
            alarms=sorted({each.problem.id for each in self.findings}),
        )  # fmt: skip

    @shielded
    def close(self) -> None:
        """Ask the rules for their last word and close the files; a second call does nothing."""
        if self._closed:
            return
        self._closed = True
        told = {each.problem.id for each in self.findings}
        for finding in self._engine.close():
            if finding.problem.id not in told and finding.severity is not INFO:
                self.alarm(finding, Policy.WARN)  # nobody carries out anything more
        if self.events is not None:
            self.events.write("end", step=self.step, crashed_rules=self._engine.crashed or None)
            self.events.close()
        if self._metrics is not None:
            touch(self._metrics.close, None)


def _nothing() -> None:
    """Nothing waits."""


def _number(value: Any) -> Optional[float]:
    """A logged value as a number; None where it is none, or would have to be read from a device."""
    if value is None:
        return math.nan
    return as_number(value) if isinstance(value, (Real, str)) else None


def _plain(row: Mapping[str, float]) -> dict[str, Any]:
    """Numbers as JSON knows them: what is not finite as text."""
    return {name: value if math.isfinite(value) else str(value) for name, value in row.items()}


def _of_variable(name: str, otherwise: int) -> int:
    text = os.environ.get(name, "")
    return int(text) if text.isdecimal() else otherwise
