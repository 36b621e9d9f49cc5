"""Marks in the run folder what a trainer is doing, so that the figures of the GPUs can be told by phase.

A step of the trainer is `update`; inside of it the methods of TRL's trainers tell generation, rewards, scoring and the
push of weights, by whatever of them an object has. Names of the methods, TRL 0.14 to 1.16:
https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/grpo_trainer.py
https://github.com/huggingface/trl/blob/v0.17.0/trl/trainer/grpo_trainer.py
https://github.com/huggingface/trl/blob/v0.14.0/trl/trainer/grpo_trainer.py

Only rank 0 marks: the others do the same at the same time. Runs inside the patient: Python 3.9, its own objects.
"""

from __future__ import annotations

import functools
import math
import sys
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Callable, Optional

from doctor.monitors.guard.canary import LLMS
from doctor.monitors.guard.guard import Guard
from doctor.monitors.guard.shield import shielded
from doctor.monitors.guard.wrapping import wrap

#: the whole of a generation with its scoring; where no trainer has one, the generators themselves are marked
WHOLE = ("_generate_and_score_completions", "_generate", "_generate_vllm")
GENERATORS = ("generate", "chat")
#: methods of a trainer -> phase
METHODS = {
    "_calculate_rewards": "reward", "_move_model_to_vllm": "weight_sync", "_save_checkpoint": "checkpoint",
    "evaluate": "eval",
}  # fmt: skip
#: log-probabilities: of the old policy or the reference where no gradient is kept, else part of the update
SCORING = ("_get_per_token_logps_and_entropies", "_get_per_token_logps")

#: seconds between two writes where generations follow one another faster; marks that wait at most in any case
WRITE_EVERY_S, MOST_WAITING = 1.0, 64


class PhaseMarks:
    """The marks of one trainer. Without a run folder there are none.

    A mark is a time in a queue. They are written when a generation begins, for it may last minutes and be where the run
    dies, and by the thread of the hang watch, which calls `write` every few seconds.

    Args:
        trainer: a transformers Trainer.
        guard: whose events are written.

    """

    def __init__(self, trainer: Any, guard: Guard) -> None:
        self._trainer, self._guard = trainer, guard
        self._undo: list[Callable[[], None]] = []
        self._in_step = False
        self._waiting: deque[tuple[int, str, str, Optional[int]]] = deque()
        self._written_s = -math.inf

    @shielded
    def attach(self) -> None:
        """Put the marks around the trainer's methods."""
        if self._guard.events is None or self._guard.rank != 0:
            return
        for owner, name, phase in places(self._trainer):
            around = self._scored if name in SCORING else functools.partial(self._around, phase)
            self._undo.append(wrap(owner, name, around))
        self._guard.flush = self.write

    @shielded
    def detach(self) -> None:
        """Take them off, and write what waits."""
        self.step_ended()
        while self._undo:
            with suppress(Exception):
                self._undo.pop()()
        self._write()

    def step_begun(self) -> None:
        """An optimizer step begins, with its first batch."""
        if self._undo and not self._in_step:
            self._in_step = True
            self._mark("update", "begin")

    def step_ended(self) -> None:
        """It is made."""
        if self._in_step:
            self._in_step = False
            self._mark("update", "end")

    @shielded
    def write(self) -> None:
        """Write what waits. May be called in a thread of its own."""
        self._write()

    def _around(self, phase: str, original: Any) -> Callable[..., Any]:
        def marked(*args: Any, **kwargs: Any) -> Any:
            self._mark(phase, "begin")
            try:
                return original(*args, **kwargs)
            finally:
                self._mark(phase, "end")

        return marked

    def _scored(self, original: Any) -> Callable[..., Any]:
        marked = self._around("reference", original)
        learning = getattr(sys.modules.get("torch"), "is_grad_enabled", lambda: True)

        def scored(*args: Any, **kwargs: Any) -> Any:
            return original(*args, **kwargs) if learning() else marked(*args, **kwargs)

        return scored

    def _mark(self, phase: str, edge: str) -> None:
        self._waiting.append((time.time_ns(), phase, edge, self._guard.step))
        begins = phase == "generation" and edge == "begin"
        if len(self._waiting) >= MOST_WAITING or (begins and time.monotonic() - self._written_s > WRITE_EVERY_S):
            self.write()

    def _write(self) -> None:
        events, self._written_s = self._guard.events, time.monotonic()
        marks = []
        with suppress(IndexError):  # two threads may empty it
            while True:
                marks.append(self._waiting.popleft())
        if events is not None and marks:
            events.write_phases(marks)


def places(trainer: Any) -> Iterator[tuple[Any, str, str]]:
    """(object, method, phase) of everything that a trainer can be seen doing."""
    for name, phase in METHODS.items():
        if callable(getattr(trainer, name, None)):
            yield trainer, name, phase
    for name in SCORING:
        if callable(getattr(trainer, name, None)):
            yield trainer, name, "reference"
    engine = getattr(trainer, "vllm_generation", None)
    if callable(getattr(engine, "sync_weights", None)):
        yield engine, "sync_weights", "weight_sync"
    whole = next((name for name in WHOLE if callable(getattr(trainer, name, None))), None)
    if whole is not None:
        yield trainer, whole, "generation"
        return
    for owner in _generators(trainer):
        for name in GENERATORS:
            if callable(getattr(owner, name, None)):
                yield owner, name, "generation"


def _generators(trainer: Any) -> Iterator[Any]:
    """What generates in a trainer that has no method of its own for it: vLLM, its client, or the model."""
    for path in (*LLMS, "vllm_client"):
        owner: Any = trainer
        for name in path.split("."):
            owner = getattr(owner, name, None)
        if owner is not None:
            yield owner
    with suppress(Exception):
        yield trainer.accelerator.unwrap_model(trainer.model)
