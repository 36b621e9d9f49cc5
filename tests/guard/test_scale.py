"""The live loss scale is read from whoever holds it, in the shape of each release."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from doctor.monitors.guard.scale import Reading, read_scale


class Scaler:
    def __init__(self, *, dynamic, scale, minimum=None):
        self.dynamic, self.cur_scale = dynamic, scale
        if minimum is not None:
            self.min_scale = minimum


class Zero:
    """ZeRO 1 to 3 of every release: the scale is a property over the loss scaler."""

    def __init__(self, scaler, overflow=False):
        self.loss_scaler, self.overflow = scaler, overflow

    @property
    def loss_scale(self):
        return self.loss_scaler.cur_scale


class ZeroStageNothing:
    """ZeRO 0 in fp16 up to 0.18.5."""

    def __init__(self, *, dynamic=True):
        self.dynamic_loss_scale, self.cur_scale, self.min_loss_scale, self.overflow = dynamic, 512.0, 0.25, True

    @property
    def loss_scale(self):
        return self.cur_scale


class ZeroStageNothingNow:
    """ZeRO 0 in fp16 since 0.18.6: `cur_scale` of the optimizer is gone."""

    def __init__(self):
        self.loss_scale_config = SimpleNamespace(dynamic_loss_scale=True, cur_scale=64.0, min_loss_scale=1.0)
        self.overflow = False

    @property
    def loss_scale(self):
        return self.loss_scale_config.cur_scale


class Bf16:
    """BF16_Optimizer since 0.19.8: no scale, but a flag."""

    def __init__(self):
        self.overflow = True


def engine(optimizer, skipped=3):
    return SimpleNamespace(optimizer=optimizer, skipped_steps=skipped, loss_scale=lambda: 0)


@pytest.mark.parametrize(
    ("optimizer", "reading"),
    [
        (Zero(Scaler(dynamic=True, scale=2.0**15, minimum=1)), Reading(2.0**15, 1.0, 3, False, "Zero")),
        (Zero(Scaler(dynamic=False, scale=1.0), overflow=True), Reading(None, None, 3, True, "Zero")),
        (ZeroStageNothing(), Reading(512.0, 0.25, 3, True, "ZeroStageNothing")),
        (ZeroStageNothing(dynamic=False), Reading(None, None, 3, True, "ZeroStageNothing")),
        (ZeroStageNothingNow(), Reading(64.0, 1.0, 3, False, "ZeroStageNothingNow")),
        (Bf16(), Reading(None, None, 3, True, "Bf16")),
    ],
)
def test_each_shape_of_deepspeed(optimizer, reading):
    assert read_scale(engine(optimizer)) == reading
    wrapped = SimpleNamespace(optimizer=optimizer, step_was_skipped=False)  # Accelerate's wrapper knows no engine
    assert read_scale(wrapped) == reading._replace(skipped_steps=None)
    accelerator = SimpleNamespace(deepspeed_engine_wrapped=SimpleNamespace(engine=engine(optimizer)), scaler=None)
    assert read_scale(accelerator) == reading


def test_what_does_not_scale_has_no_reading():
    assert read_scale(engine(SimpleNamespace(step=print))) is None
    assert read_scale(SimpleNamespace(deepspeed_engine_wrapped=None, scaler=None)) is None
    assert read_scale(None) is None


def test_the_scaler_of_torch():
    torch = pytest.importorskip("torch")
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)
    assert read_scale(scaler) == Reading(1024.0, None, None, None, "GradScaler")
    assert read_scale(torch.amp.GradScaler("cpu", enabled=False)) is None
    accelerator = SimpleNamespace(deepspeed_engine_wrapped=None, scaler=scaler)
    assert read_scale(accelerator) == Reading(1024.0, None, None, None, "GradScaler")
    optimizer = SimpleNamespace(optimizer=None, scaler=scaler, step_was_skipped=True)  # Accelerate's
    assert read_scale(optimizer) == Reading(1024.0, None, None, True, "GradScaler")
