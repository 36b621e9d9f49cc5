"""A trainer in fp16 with torch's GradScaler: its calibration is no alarm, a NaN loss is, and the scale is judged."""

from __future__ import annotations

import math
from types import SimpleNamespace

import pytest

from doctor.monitors.guard.guard import Guard
from doctor.monitors.guard.options import Options
from doctor.monitors.guard.trainer_hooks import TrainerHooks

torch = pytest.importorskip("torch")


class Trainer:
    """What the hooks need of transformers' Trainer, stepped by a real GradScaler (on a CPU Accelerate makes none)."""

    def __init__(self, init_scale):
        torch.manual_seed(0)
        self.model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Softmax(-1), torch.nn.Linear(8, 1))
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-3)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=init_scale)
        self.accelerator = SimpleNamespace(
            scaler=self.scaler, clip_grad_norm_=torch.nn.utils.clip_grad_norm_, optimizer_step_was_skipped=False
        )
        self.callback_handler = SimpleNamespace(callbacks=[])
        self.args = SimpleNamespace()
        self.factor = 1.0

    def compute_loss_context_manager(self):
        return torch.autocast("cpu", dtype=torch.float16)

    def compute_loss(self, model, inputs):
        return (model(inputs["x"]) - 1).float().pow(2).mean() * self.factor

    def training_step(self, model, inputs):
        with self.compute_loss_context_manager():
            loss = self.compute_loss(model, inputs)
        self.scaler.scale(loss).backward()

    def step(self, hooks):
        """One optimizer step, with the events in the order of transformers' Trainer; gives the norm it would log."""
        hooks.begin_step()
        self.training_step(self.model, {"x": torch.randn(8, 4)})
        self.scaler.unscale_(self.optimizer)
        norm = self.accelerator.clip_grad_norm_(self.model.parameters(), 1.0)
        hooks.before_step()
        before = self.scaler.get_scale()
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.accelerator.optimizer_step_was_skipped = self.scaler.get_scale() < before
        hooks.after_step()
        self.optimizer.zero_grad()
        return float(norm)


def train(trainer, steps, spoil=None):
    """Train; `spoil` is a step and the factor of the loss from it on. Gives guard, hooks and norms."""
    guard = Guard(Options(lang="en"))
    hooks = TrainerHooks(trainer, guard)
    hooks.attach()
    norms = []
    for step in range(1, steps + 1):
        guard.step = step
        trainer.factor = spoil[1] if spoil and step >= spoil[0] else 1.0
        norms.append(trainer.step(hooks))
        if hooks.stop:
            break
    hooks.detach()
    return guard, hooks, norms


def test_the_nan_gradients_of_a_calibration_are_no_alarm():
    """The scale begins far too high. Measured here: the norm is NaN, not inf, and the run is well."""
    trainer = Trainer(2.0**40)
    guard, hooks, norms = train(trainer, 40)
    assert sum(map(math.isnan, norms)) >= 3
    assert math.isfinite(norms[-1])
    assert not hooks.stop
    assert {each.severity.value for each in guard.findings} <= {"info"}


def test_a_nan_loss_stops_the_run_in_its_step():
    trainer = Trainer(2.0**10)
    guard, hooks, norms = train(trainer, 9, (4, math.nan))
    assert len(norms) == 4
    assert (hooks.stop, hooks.save) == (True, True)
    (finding,) = guard.findings
    assert (finding.problem.id, finding.where.step, finding.severity.value) == ("NUM006", 4, "error")
    assert all(bool(each.isfinite().all()) for each in trainer.model.parameters())


def test_a_scale_that_falls_is_flagged_long_before_it_is_used_up():
    trainer = Trainer(2.0**10)  # fits from the first step on
    guard, hooks, _ = train(trainer, 14, (6, 1e30))
    falling = next(each for each in guard.findings if each.problem.id == "NUM005")
    assert falling.where.step == 6
    assert "halved 3 times" in falling.words().headline
    assert "NUM006" not in {each.problem.id for each in guard.findings}
    assert "now 128;" in falling.words().headline
    assert not hooks.stop
