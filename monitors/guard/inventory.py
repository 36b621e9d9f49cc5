"""What a training really trains, looked at once, in its first step: parameters, gradients, tokens, settings.

Nothing of it makes the trainer wait for a device: hooks note that a gradient came, and what lies on a device is read
when the trainer has read its own figures (`on_log`).

Runs inside the patient: Python 3.9, the patient's own objects.
"""

from __future__ import annotations

import os
import re
from contextlib import suppress
from typing import Any, Callable, Optional

from doctor.checks.numerics.trains_other_than_asked import of_inventory
from doctor.monitors.guard.first_step import (
    SCHEMA,
    active,
    adapters_of,
    cut_rows,
    ending,
    groups_of,
    kept_of,
    moves_labels,
    of_batch,
    of_parameters,
    write,
)
from doctor.monitors.guard.gradients import Gradients
from doctor.monitors.guard.guard import Guard
from doctor.monitors.guard.policy import Policy
from doctor.monitors.guard.shield import shielded
from doctor.monitors.guard.wrapping import wrap

#: trainers of answers that are good or bad each for itself, and rows that are looked at
_SINGLE, _MOST_ROWS = re.compile(r"KTO|BCO"), 2000
#: rows of pairs that are looked at: each holds the tokens of two answers
_MOST_PAIRS = 200
#: settings of a trainer's arguments that are told as they came out
_ASKED = (
    "per_device_train_batch_size", "gradient_accumulation_steps", "world_size", "num_generations", "learning_rate",
    "lr_scheduler_type", "warmup_steps", "max_steps", "num_train_epochs", "bf16", "fp16", "gradient_checkpointing",
    "beta", "use_vllm", "max_completion_length", "max_prompt_length", "max_length", "optim", "max_grad_norm", "seed",
)  # fmt: skip


class Inventory:
    """The inventory of one training, by the process of rank 0.

    Args:
        trainer: about to train, its optimizer made.
        guard: whose run folder it is kept in, and who says what is wrong.

    """

    def __init__(self, trainer: Any, guard: Guard) -> None:
        self._trainer, self._guard = trainer, guard
        self._model: Any = getattr(trainer, "model", None)
        self._undo: list[Callable[[], None]] = []
        self._gradients = Gradients()
        self._batch: dict[str, Any] = {}
        self._names: set[str] = set()
        self._data: Optional[dict[str, Any]] = None
        #: whether there is nothing more to look at
        self.done = False

    @shielded
    def begin(self) -> None:
        """Look at what is there, and at the gradients and the batch of the first step."""
        if self._guard.rank != 0 or self._guard.run is None or self._model is None:
            self.done = True
            return
        parameters = list(self._model.named_parameters())
        self._data = {"schema": SCHEMA, **of_parameters(parameters), **_of_trainer(self._trainer, self._model)}
        self._gradients.watch(parameters)
        if callable(getattr(self._trainer, "compute_loss", None)):
            self._undo.append(wrap(self._trainer, "compute_loss", self._seen))

    def _seen(self, original: Any) -> Any:
        def compute_loss(*args: Any, **kwargs: Any) -> Any:
            self._look(args[1] if len(args) > 1 else kwargs.get("inputs"))
            return original(*args, **kwargs)

        return compute_loss

    @shielded
    def _look(self, inputs: Any) -> None:
        if self._batch or not hasattr(inputs, "items"):
            return
        self._names = set(map(str, inputs))
        self._batch = kept_of(inputs)

    @shielded
    def stepped(self) -> None:
        """The first step is made: take the hooks off."""
        self._off()

    @shielded
    def read(self) -> None:
        """Judge and keep it; the trainer has just read its own figures from the device."""
        data, batch, self._batch = self._data, self._batch, {}
        if self.done or data is None or self._gradients.watching:
            self._batch = batch if not self.done else {}
            return
        self.done, self._data = True, None
        if self._gradients.hooked:
            came = self._gradients.names
            data["without_gradient"] = groups_of(
                name for name, each in self._model.named_parameters() if each.requires_grad and name not in came
            )
            data.update(with_gradient=len(came), zero_gradient=groups_of(self._gradients.zero()))
        tokenizer = _tokenizer(self._trainer)
        data["batch"] = of_batch(batch, tokenizer, ending(tokenizer, self._model))
        data["batch"]["cut"] = cut_rows(batch, data.get("arguments") or {})
        data["shifts"] = "shift_labels" not in self._names and shifts(self._trainer, self._model)
        for finding in of_inventory(data):
            self._guard.alarm(finding, Policy.WARN)
        assert self._guard.run is not None  # noqa: S101 - for the type checker
        write(data, self._guard.run)

    def _off(self) -> None:
        self._gradients.off()
        while self._undo:
            self._undo.pop()()

    @shielded
    def close(self) -> None:
        """Take off what is still there."""
        self._off()
        self._batch = {}


def _of_trainer(trainer: Any, model: Any) -> dict[str, Any]:
    """Adapters, reference, attention, optimizer and arguments, as they came out."""
    args, config = getattr(trainer, "args", None), getattr(model, "config", None)
    optimizer = getattr(trainer, "optimizer", None)
    return {
        "trainer": type(trainer).__name__, "model": type(model).__name__,
        "attention": str(getattr(config, "_attn_implementation", None)),
        "adapters": adapters_of(model),
        "active_adapters": active(model),
        "reference": type(trainer.ref_model).__name__ if getattr(trainer, "ref_model", None) is not None else None,
        "optimizer": type(getattr(optimizer, "optimizer", optimizer)).__name__,
        "rates": [each.get("lr") for each in getattr(optimizer, "param_groups", [])][:16],
        "desirable": _desirable(trainer),
        "pairs": _pairs(trainer),
        "resumed": _resumed(trainer, getattr(optimizer, "optimizer", optimizer)),
        "arguments": {
            name: value if isinstance(value, (int, float, bool)) else str(value)
            for name, value in ((each, getattr(args, each)) for each in _ASKED if hasattr(args, each))
        },
    }  # fmt: skip


def _desirable(trainer: Any) -> dict[str, int]:
    """Of single answers that are called good or bad (KTO, BCO): how many of the first rows are good ones."""
    data = getattr(trainer, "train_dataset", None)
    if not _SINGLE.search(type(trainer).__name__) or "label" not in (getattr(data, "column_names", None) or ()):
        return {}
    with suppress(Exception):  # a stream, or rows of another kind
        labels = data.select_columns(["label"])[:_MOST_ROWS]["label"]  # type: ignore[union-attr]  # no image is decoded
        return {"rows": len(labels), "good": sum(bool(each) for each in labels)}
    return {}


def _pairs(trainer: Any) -> dict[str, int]:
    """Of pairs of answers: in how many of the first rows both are the same, token by token where they are tokens."""
    data = getattr(trainer, "train_dataset", None)
    names = [str(each) for each in getattr(data, "column_names", None) or ()]
    both = [(each, each.replace("chosen", "rejected")) for each in names if "chosen" in each]
    both = [each for each in both if each[1] in names]
    both = [each for each in both if each[0].endswith("_ids")] or [each for each in both if each[0] == "chosen"]
    if not both:
        return {}
    with suppress(Exception):  # a stream, or rows of another kind
        columns = [each for pair in both for each in pair]
        rows = data.select_columns(columns)[:_MOST_PAIRS]  # type: ignore[union-attr]  # no image is decoded
        alike = [all(rows[one][at] == rows[other][at] for one, other in both) for at in range(len(rows[columns[0]]))]
        return {"rows": len(alike), "alike": sum(alike)}
    return {}


def _resumed(trainer: Any, optimizer: Any) -> dict[str, int]:
    """Of a training that goes on from a step: of how many tensors its optimizer, one of torch's Adams, has a state.

    What a rehearsal resumes from, nobody may mean to resume from.
    """
    step = getattr(getattr(trainer, "state", None), "global_step", 0)
    kind = type(optimizer)
    if (
        not step
        or "DOCTOR_REHEARSAL" in os.environ
        or kind.__name__ not in ("Adam", "AdamW")
        or not kind.__module__.startswith("torch.optim.")
    ):
        return {}
    return {"step": int(step), "states": len(optimizer.state)}


def _tokenizer(trainer: Any) -> Any:
    made = getattr(trainer, "processing_class", None) or getattr(trainer, "tokenizer", None)
    return getattr(made, "tokenizer", made)


def shifts(trainer: Any, model: Any) -> bool:
    """Whether the labels go to a model that moves them by one place itself, as those for causal language do.

    False where anybody else may compute the loss.
    """
    own = type(trainer).compute_loss.__module__.partition(".")[0] in ("transformers", "trl")
    if not own or any(getattr(trainer, each, None) is not None for each in ("label_smoother", "compute_loss_func")):
        return False
    return moves_labels(model)
