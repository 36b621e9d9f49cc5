"""When the witness asks, what that may cost, and what becomes of the answers.

It never holds the run: an engine in this process is asked in its place, for a bounded number of tokens; one behind an
address is asked by a thread, for which the run waits a moment at most. What comes later than the next push is thrown
away and counted. Where the questions cost more than they may on average, the next ones wait.

Runs inside the patient: Python 3.9, the patient's own objects.
"""

from __future__ import annotations

import time
from typing import Any, Callable, Optional

from doctor.catalogue.finding import Finding
from doctor.checks.witness.adapter_not_in_engine import PROBLEM as ADAPTER
from doctor.checks.witness.engine_not_the_policy import PROBLEM as NOT_THE_POLICY
from doctor.monitors.guard.guard import Guard
from doctor.monitors.guard.shield import shielded
from doctor.monitors.witness.asked import CannotAsk, Engine
from doctor.monitors.witness.compared import REMEMBERED, Weights
from doctor.monitors.witness.forwards import Heard
from doctor.monitors.witness.judge import Batch, Judged, Known, as_event, judge, judge_batch
from doctor.monitors.witness.parts import Parts
from doctor.monitors.witness.policy import TrainedModel
from doctor.monitors.witness.seen import Asked, Fixed, Round, ask
from doctor.monitors.witness.sequences import beginnings
from doctor.monitors.witness.waiting import Waiting
from doctor.oracles.logps import coarser, repeat_noise
from doctor.oracles.verdict import HOLDS, Verdict

#: rounds behind the first pushes: before the first update, and after the first three
FIRST_ROUNDS = 5

#: share of the run's time that the witness may take on average, once those are over, the round that is due included
MOST_SHARE = 0.005

#: seconds that the run waits for an engine behind an address
PATIENCE_S = 3.0

#: rounds in a row without an answer after which none is asked any more
MOST_LATE = 3

_LATE = {
    "en": "doctor: witness: {engine} did not answer in time at step {step}; the run continued without waiting",
    "zh": "doctor: witness: {engine} 在第 {step} 步没有及时回答;训练没有等待,继续进行",
}
#: said where nothing is seen, with the reason
OFF = {
    "en": "doctor: witness: not seen whether the engine samples from the policy that learns: {reason}",
    "zh": "doctor: witness: 未能确认引擎是否从正在学习的策略采样:{reason}",
}


def affords(spent_s: float, rounds: int, begun_s: float) -> bool:
    """Whether a run has time for another round that takes as long as the ones before.

    Args:
        spent_s: seconds that those took.
        rounds: how many they were.
        begun_s: of the monotonic clock, when the run began.

    """
    return spent_s * (1 + 1 / max(1, rounds)) <= MOST_SHARE * (time.monotonic() - begun_s)


class Witness:
    """The witness of one run.

    `ROUND`, `OFF` and `END` are the words for its events, `FIRST` is how many rounds the first pushes have.

    Args:
        guard: takes findings, metrics and events.
        policy: what learns.
        engine: gives the engine when it is first needed; may raise `CannotAsk`.
        steps: tells how many optimizer steps are made.
        tokenizer: of the model, or None.
        every: updates between two rounds once the first ones are over; 0: no more of them.
        temperature: at which the policy's forward gives log probabilities where it gives no logits; None: not known.

    """

    ROUND, OFF, END, FIRST = "round", "off", "end", FIRST_ROUNDS

    def __init__(
        self,
        guard: Guard,
        policy: TrainedModel,
        engine: Callable[[], Engine],
        steps: Callable[[], int],
        tokenizer: Any = None,
        *,
        every: float = 50,
        temperature: Callable[[], Optional[float]] = lambda: None,
    ) -> None:
        self.guard, self.policy, self.every = guard, policy, every
        self.known = Known()
        self.pushes = self.rounds = self.late = self._late_in_a_row = 0
        #: seconds of the training's own thread that went into the witness
        self.spent_s = 0.0
        #: why nothing is seen any more; None while the witness looks on
        self.off: Optional[str] = None
        #: for `Round.moved`
        self.moved: Optional[int] = None
        self._make, self._steps, self._tokenizer, self._temperature = engine, steps, tokenizer, temperature
        #: hears the trainer's own forwards, where the policy lies in parts
        self._parts: Optional[Parts] = None
        self._engine: Optional[Engine] = None
        self._fixed: Optional[Fixed] = None
        self._begun_s = time.monotonic()
        self._last_step = -1
        self._due = self._batch_due = self._told_late = False
        self._waiting: Optional[Waiting] = None
        self._opening: Optional[Waiting] = None
        self._opened: list[Engine] = []
        self._weights = Weights(policy)
        self._noise_known = False
        #: whether both sides gave the same tokens the same when last asked; None: they could not be asked in time
        self._agrees: Optional[bool] = True
        self._told: set[str] = set()
        self._told_unheard = False

    @shielded
    def begin(self) -> None:
        """Look at the engine before anything is pushed; where it cannot be asked yet, the first push is looked at."""
        began = time.monotonic()
        if self._open():
            self._take_round()
        self.spent_s += time.monotonic() - began

    @shielded
    def pushing(self) -> None:
        """Weights are about to be pushed: what was not answered by now would be about other weights."""
        self.settle()
        self._give_up_waiting(same_weights=True)

    @shielded
    def stepped(self) -> None:
        """The optimizer has stepped, and the engine may be given other weights from now on, of which nobody tells."""
        self.settle()
        self._give_up_waiting(same_weights=True)

    @shielded
    def replaced(self) -> None:
        """Weights have been pushed already: nothing can be asked about those before any more."""
        if self._parts is not None:
            self._parts.listener.listen_no_more()
        self._give_up_waiting(same_weights=False)

    @shielded
    def settle(self) -> None:
        """The trainer has made a forward of its own, and the engine still has the weights that it was made with."""
        if self._parts is None or self.off is not None:
            return
        began = time.monotonic()
        heard = self._parts.listener.heard()
        if heard is not None:
            self._ask_about(self._parts, heard)
        self.spent_s += time.monotonic() - began + self._parts.listener.told_s()

    @shielded
    def pushed(self) -> None:
        """Weights were pushed: from now on they can be asked about."""
        self.pushes += 1
        step = self._steps()
        if self.rounds < self.FIRST and self.rounds + self.late < self.FIRST + MOST_LATE:
            self._due = self._due or step != self._last_step or self.pushes == 1
        elif self.every and step - self._last_step >= self.every:
            self._due = affords(self.spent_s, self.rounds + self.late, self._begun_s)

    @shielded
    def look(self) -> None:
        """Ask, where it is time to: engine and policy have the same weights now, and the engine has nothing to do."""
        if self.off is not None:
            return
        began = time.monotonic()
        self._give_up_waiting(same_weights=self._unmoved())
        if not self.pushes and self._steps() > max(self._last_step, 0):
            self.pushed()  # steps were made, and nothing that is known to push was called: it is asked all the same
        if self._due and self._open():
            self._due = False
            self._take_round()
        self.spent_s += time.monotonic() - began

    @property
    def wants_batch(self) -> bool:
        """Whether the next batch is to be looked at."""
        return self._batch_due and self.off is None

    @property
    def wants_sequences(self) -> bool:
        """Whether what the engine generates now may be of such a batch."""
        return (self._due or self._batch_due) and self.off is None

    @shielded
    def batch(self, batch: Batch, names: Callable[[int], str] = str) -> None:
        """Judge a batch that is trained on."""
        began = time.monotonic()
        self._batch_due = False
        if self._waiting is not None and self._unmoved():
            self._waiting.wait(0.0)
            if self._waiting.asked.enough:
                self._give_up_waiting(same_weights=False)
        if batch.ends is None:
            batch.ends = set(getattr(self._tokenizer, "all_special_ids", None) or ())
        unheard = self._parts is not None and self._parts.listener.unheard() is not None
        judged = judge_batch(batch, self._steps(), self.known, names, alike=self._agrees, alone=unheard)
        self._tell(judged, self._steps(), {})
        self.spent_s += time.monotonic() - began

    @shielded
    def close(self) -> None:
        """Tell the run folder what was seen, and what it cost."""
        self._give_up_waiting(same_weights=self._unmoved())
        if self._parts is not None:
            self._parts.listener.stop()
        if self.guard.events is not None:
            self.guard.events.write(
                "monitor", step=self.guard.step, witness=self.END, rounds=self.rounds, late=self.late, off=self.off,
                spent_s=round(self.spent_s, 3), run_s=round(time.monotonic() - self._begun_s, 1),
            )  # fmt: skip

    def hook_failed(self) -> None:
        """One of its functions failed and is switched off: nothing is claimed from here on."""
        self.off = self.off or "the witness failed"

    def switch_off(self, reason: str) -> None:
        """See nothing any more, and say why, once."""
        if self.off is not None:
            return
        self.off = reason
        if self._parts is not None:
            self._parts.listener.stop()
        self._unseen(reason)
        if self.guard.events is not None:
            self.guard.events.write("monitor", step=self.guard.step, witness=self.OFF, reason=reason)

    def _unseen(self, reason: str) -> None:
        if self.guard.rank == 0:
            self.guard.alerts.print(OFF[self.guard.options.language].format(reason=reason))

    def _open(self) -> bool:
        """Whether engine and policy can be asked; they are looked at once."""
        if self.off is not None:
            return False
        if self._engine is None:
            try:
                engine = self._found()
                if engine is None:
                    return False
                longest = [each for each in (engine.longest, self.policy.longest) if each]
                prompts = beginnings(self._tokenizer, self.policy.vocabulary, min(longest, default=None))
                precision = coarser(engine.precision, self.policy.precision)
                if self.policy.parts is not None:
                    self._parts = self._listens()
            except CannotAsk as reason:
                self.switch_off(str(reason))
                return False
            if not prompts:
                self.switch_off("sequences that both sides accept are too short for a comparison")
                return False
            self.known.precision, self._engine, self._fixed = precision, engine, Fixed(prompts)
        return True

    def _listens(self) -> Parts:
        """What hears the trainer's own forwards."""
        return Parts(self.policy, self._steps, self._temperature)

    def _found(self) -> Optional[Engine]:
        """The engine, once it has said what it is; None as long as it has not.

        Raises:
            CannotAsk: it cannot be asked at all.

        """
        if self._opening is None:
            self._opening = Waiting(self._steps(), self.pushes, self._opens)
            self._opening.start(inside=False)
        if not self._opening.wait(PATIENCE_S):
            self._is_late(self._opening)
            return None
        self._opening.reraise()
        return self._opened[0]

    def _opens(self, _: Asked) -> None:
        engine = self._make()
        engine.open()
        self._opened.append(engine)

    def _take_round(self) -> None:
        engine, fixed = self._engine, self._fixed
        assert engine is not None and fixed is not None  # noqa: S101, PT018 - for the type checker
        step = self._last_step = self._steps()
        adapter, noise = self.policy.has_adapter and self._parts is None, not self._noise_known
        waiting = Waiting(step, self.pushes, lambda told: ask(engine, fixed, told, adapter=adapter, noise=noise))
        known = bool(fixed.sequences)
        waiting.start(inside=engine.inside)
        if known:
            self._score(waiting, fixed)
        self._batch_due = waiting.pushes > 0
        if waiting.wait(PATIENCE_S):
            self._conclude(waiting)
        else:
            self._hold_on(waiting, fixed)
        if self._parts is not None and self.pushes and self.off is None:
            self._listen(self._parts)

    def _listen(self, parts: Parts) -> None:
        """Hear what the trainer's next forward says; where the last one said nothing, say so once."""
        reason = parts.listener.unheard()
        if reason is not None and not self._told_unheard:
            self._told_unheard = True
            self._unseen(reason)
        try:
            parts.listener.listen()
        except CannotAsk as refused:
            self.switch_off(str(refused))

    def _ask_about(self, parts: Parts, heard: Heard) -> None:
        """Have the engine score what the trainer has scored; the run waits for that as for any other answer."""
        engine, rows = self._engine, parts.wanted(heard)
        assert engine is not None  # noqa: S101 - for the type checker

        def question(told: Asked) -> None:
            told.scored = told.take("agreement", lambda: engine.score(rows))

        waiting = Waiting(heard.step, self.pushes, question)
        waiting.start(inside=engine.inside)
        if not waiting.wait(PATIENCE_S):
            self._is_late(waiting)
            return
        waiting.reraise()
        told = waiting.asked
        if told.scored is None:
            self.switch_off(next(iter(told.unseen.values()), ""))
            return
        judged = parts.judge(heard, told.scored, self.known)
        if _weights_wanted(engine, judged):
            weights = self._weights.asked(engine, heard.step)
            judged = parts.judge(heard, told.scored, self.known, weights) if weights is not None else judged
        self._agrees = not judged.findings and judged.verdicts["agreement"].state is HOLDS
        self._tell(judged, heard.step, told.unseen, about=(NOT_THE_POLICY.id, ADAPTER.id))

    def _score(self, waiting: Waiting, fixed: Fixed) -> None:
        """What the policy says now; its weights may have moved when the engine has answered."""
        try:
            waiting.checksums = self.policy.checksums()
            if self._parts is not None:
                return
            waiting.trained = self.policy.score(fixed.sequences)
            if self.policy.has_adapter:
                waiting.base = self.policy.score(fixed.sequences, base=True)
        except CannotAsk as reason:
            self.switch_off(str(reason))

    def _unmoved(self) -> bool:
        """Whether no step was made since the question that is under way: nobody pushes without one."""
        return self._waiting is not None and self._steps() == self._waiting.step

    def _hold_on(self, waiting: Waiting, fixed: Fixed) -> None:
        """Let the run go on; what comes before the next step or push counts, too."""
        self._waiting = waiting
        if self._parts is None:
            self._agrees = None  # as long as nobody knows
        if fixed.sequences and waiting.trained is None:
            self._score(waiting, fixed)

    def _give_up_waiting(self, *, same_weights: bool) -> None:
        """Take in what has come; with `same_weights` also what came since it was last looked at."""
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            if same_weights:
                waiting.wait(0.0)
            self._conclude(waiting)

    def _conclude(self, waiting: Waiting) -> None:
        """Judge what has come of an answer, where that is enough."""
        waiting.reraise()
        fixed, asked = self._fixed, waiting.asked
        self._measure_noise(asked)
        if not waiting.complete:
            if not asked.enough:
                self._is_late(waiting)
                return
            for what in () if asked.plain is None else (("caches", asked.salted), ("decode", asked.refilled)):
                if what[1] is None:
                    asked.unseen.setdefault(what[0], "no answer in time")
        if fixed is None or not fixed.sequences:
            return
        if waiting.trained is None and self._parts is None:
            if self._steps() != waiting.step:
                self._is_late(waiting)
                return
            self._score(waiting, fixed)
        if waiting.trained is not None or self._parts is not None:
            self._take_in(waiting, asked, fixed)

    def _measure_noise(self, asked: Asked) -> None:
        """The engine's own noise, once; of a round that was not answered whole as well."""
        if asked.scored is not None and (asked.again is not None or "noise" in asked.unseen):
            self._noise_known = True
        if asked.again is not None and asked.scored is not None:
            self.known.noise = _number(repeat_noise(asked.scored, asked.again))

    def _is_late(self, waiting: Waiting) -> None:
        self.late += 1
        self._late_in_a_row += 1
        self._agrees = None  # of a batch nobody may say now that everything else agrees
        name = "the engine" if self._engine is None else self._engine.name
        if not self._told_late and self.guard.rank == 0:
            self._told_late = True
            text = _LATE[self.guard.options.language]
            self.guard.alerts.print(text.format(engine=name, step=waiting.step))
        if self._late_in_a_row >= MOST_LATE:
            self.switch_off(f"{name} answered too late {self._late_in_a_row} times in a row")

    def _take_in(self, waiting: Waiting, asked: Asked, fixed: Fixed) -> None:
        """Judge a round, say what it found, and remember it."""
        self.rounds += 1
        self._late_in_a_row = 0
        if asked.scored is None and asked.plain is None:
            self.switch_off(next(iter(asked.unseen.values()), "the engine does not answer"))
            return
        seen = Round(waiting.step, waiting.pushes, asked, waiting.trained, waiting.base, moved=self.moved)
        still = self._steps() == waiting.step
        if asked.scored is None and asked.plain is not None and still and self._parts is None:
            pairs = zip(fixed.prompts, asked.plain)  # noqa: B905 - Python 3.9
            seen.continued = self.policy.score([[*prompt, *each.ids] for prompt, each in pairs])
        engine = self._engine
        if still and waiting.pushes and engine is not None and engine.inside:
            seen.weights = self._weights.inside(engine, waiting.step)
        judged = judge(seen, fixed, self.known)
        if engine is not None and still and seen.weights is None and _weights_wanted(engine, judged):
            seen.weights = self._weights.asked(engine, waiting.step)
            judged = judge(seen, fixed, self.known) if seen.weights is not None else judged
        self._remember(seen, waiting, judged)
        self._tell(judged, waiting.step, asked.unseen, asked.version)

    def _remember(self, seen: Round, waiting: Waiting, judged: Judged) -> None:
        agreement = judged.verdicts.get("agreement")
        self._agrees = self._parts is None and not judged.findings
        if agreement is not None and agreement.state is HOLDS and not judged.findings:
            if not seen.step:
                self.known.baseline = agreement.value
            if not seen.pushes:  # a resumed run has yet to give the engine its checkpoint, and does not come here
                self.known.identity = seen.asked.scored
        cached = judged.verdicts.get("prefix-cache")
        if cached is not None and cached.state is HOLDS and not seen.step:
            self.known.cached = cached.value
        elif cached is not None:
            self.known.suspected = None if cached.state is HOLDS else seen.step
        if seen.asked.version is not None and seen.pushes:
            self.known.versions.setdefault(seen.asked.version, seen.step)
        past = self.known.past
        if seen.trained is not None and (not past or past[-1][0] != seen.step):
            past.append((seen.step, seen.trained))
            del past[1:-REMEMBERED]
        self._weights.remember(seen.step, waiting.checksums)

    def _tell(
        self, judged: Judged, step: int, unseen: dict[str, str], version: Optional[str] = None,
        about: tuple[str, ...] = ("",),
    ) -> None:  # fmt: skip
        """Findings to the guard, once each while they last; figures to the run folder.

        Args:
            judged: what was found.
            step: optimizer steps made.
            unseen: what was not asked -> why.
            version: the engine's word on its weights.
            about: beginnings of the ids of problems that are over where nothing is found.

        """
        for finding in judged.findings:
            if _key(finding) not in self._told:
                self._told.add(_key(finding))
                self.guard.alarm(finding)
        agreement = judged.verdicts.get("agreement")
        if agreement is not None and not judged.findings:
            self._told = {each for each in self._told if not each.startswith(about)}
        if agreement is not None and agreement.details.get("mean_ratio") is not None:
            self.guard.observe(self._steps(), {"witness/logp_gap": agreement.value})  # it takes that for its own step
        if self.guard.events is not None:
            self.guard.events.write(
                "monitor", step=step, witness=self.ROUND, verdicts=as_event(judged.verdicts), unseen=unseen,
                version=version, noise=self.known.noise, baseline=self.known.baseline, spent_s=round(self.spent_s, 4),
            )  # fmt: skip


def _weights_wanted(engine: Engine, judged: Judged) -> bool:
    """Whether scores differ, and the engine lies behind an address, so that its weights are worth a question."""
    return not engine.inside and any(each.problem is NOT_THE_POLICY for each in judged.findings)


def _number(verdict: Verdict) -> float:
    """The value of a verdict; 0 where too few tokens were there for one."""
    return verdict.value if verdict.details.get("max") is not None else 0.0


def _key(finding: Finding) -> str:
    """What a finding says, whatever its figures are."""
    return finding.problem.id + finding.message.en.headline
