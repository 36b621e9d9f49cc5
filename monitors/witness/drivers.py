"""What watches a run from its driver: the process that sends batches to workers of Ray, and has no model itself.

It holds guard and witness of the run, and carries out what the policy asks for between two updates, where the workers
have nothing to do. Losses and gradients are the workers' and are not seen from here.

Runs inside the patient: Python 3.9, the patient's own objects.
"""

from __future__ import annotations

import time
from typing import Any, Callable, Optional

from doctor.monitors.guard.guard import Guard
from doctor.monitors.guard.options import Options, options
from doctor.monitors.guard.policy import Policy
from doctor.monitors.guard.shield import GuardStop, shielded
from doctor.monitors.witness.asked import Engine
from doctor.monitors.witness.batches import BatchWitness, Rollouts, Sampling
from doctor.monitors.witness.questions import EngineWitness, moves


class DriverWatch:
    """Guard and witness of one driver.

    Args:
        sampling: how the engine samples.
        save: saves a checkpoint of the step that is made, and gives whether it is written: True or False where that is
            known, None where it was only asked for. None in its place: nobody can save.
        settings: of the guard; None: those of doctor.toml and the environment.

    """

    def __init__(
        self, sampling: Sampling, save: Optional[Callable[[], Optional[bool]]], settings: Optional[Options] = None
    ) -> None:
        # RANK is nobody's here: there is one driver, and it decides alone
        self.guard = Guard(options() if settings is None else settings, rank=0, world_size=1)
        self.guard.alerts.acts = True
        self.guard.saves = save is not None
        self._save = save
        #: updates made; None as long as that is not known
        self.made: Optional[int] = None
        #: asks the engine; None where nobody knows how
        self.questions: Optional[EngineWitness] = None
        self.sampling = sampling
        self.witness = BatchWitness(self.guard, sampling, self.guard.options.witness_every)

    @shielded
    def asks(self, engine: Callable[[], Engine], tokenizer: Any) -> None:
        """Ask the engine from now on, where the settings want a witness.

        Args:
            engine: gives it when it is first needed; may raise `CannotAsk`.
            tokenizer: of the model.

        """
        self.questions = EngineWitness(
            self.guard, engine, lambda: self.made or 0, tokenizer, self.sampling.precision
        )  # fmt: skip

    def attached(self, to: str) -> None:
        """Tell the run folder that somebody looks on, and from where."""
        if self.guard.events is not None:
            self.guard.events.write("monitor", guard="attached", to=to)

    @shielded
    def batch(self, step: int, rollouts: Callable[[], Optional[Rollouts]]) -> None:
        """Look at a batch that is about to be trained on, where it is time to.

        Args:
            step: updates made when it was sampled.
            rollouts: takes rows of it; None where nothing can be seen in them.

        """
        self.guard.step = step
        if not self.witness.wants(step):
            return
        began_s = time.monotonic()
        taken = rollouts()
        if taken is not None:
            self.witness.look(taken, step, began_s)

    def hook_failed(self) -> None:
        """The batches cannot be read: nothing is claimed from here on."""
        self.witness.switch_off("the witness failed")

    @shielded
    def learnt(self, step: int, metrics: Any) -> None:
        """An update is made.

        Args:
            step: updates made by now.
            metrics: that the trainer tells of it, by their names.

        """
        self.made = step
        if self.questions is not None:
            self.questions.updated(moves(metrics))

    @shielded
    def updated(self, step: int) -> None:
        """An update is over: carry out what an alarm asked for.

        Args:
            step: updates made by now.

        Raises:
            GuardStop: the policy ends the run.

        """
        policy = self.guard.pending
        if policy is None:
            return
        self.guard.step = step
        self.guard.settled()
        if not policy.stops:
            return
        self.guard.stopping(policy, self._checkpoint(step) if policy is Policy.CHECKPOINT else "none")
        raise GuardStop(f"the doctor's guard ends the run at step {step} (policy {policy.value})")

    def _checkpoint(self, step: int) -> str:
        """Have the step saved; what became of it, for `Guard.stopping`."""
        if self._save is None:
            return "none"
        try:
            written = self._save()
        except Exception as error:  # noqa: BLE001 - the trainer's own function: the run stops in any case
            self.guard.alerts.print(self.guard.alerts.not_saved(step, error))
            return "failed"
        return "asked" if written is None else "saved" if written else "none"

    @shielded
    def close(self) -> None:
        """Write the last word."""
        if self.questions is not None:
            self.questions.close()
        self.witness.close()
        self.guard.close()
