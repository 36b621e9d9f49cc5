"""What follows an alarm under a transformers Trainer, whatever its model is wrapped in."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from doctor.monitors.guard.guard import Guard
from doctor.monitors.guard.policy import Policy
from doctor.monitors.guard.trainer_hooks import TrainerHooks

torch = pytest.importorskip("torch")


def test_the_gradients_of_a_compiled_model_are_dropped() -> None:
    """It has no truth value: `len()` of it raises."""
    model = torch.nn.Linear(2, 1)
    model.weight.grad = torch.full_like(model.weight, float("nan"))
    compiled = torch.compile(model, backend="eager")
    trainer = SimpleNamespace(compute_loss=None, model=model, model_wrapped=compiled)
    hooks = TrainerHooks(trainer, Guard(rank=0, world_size=1, rules=[]))
    hooks.apply(Policy.CHECKPOINT, before=True)
    assert model.weight.grad is None
    assert (hooks.stop, hooks.save) == (True, True)
