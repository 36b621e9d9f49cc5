"""Where a NaN is born is found by running the forward again, and nothing else of the run changes."""

from __future__ import annotations

import math
import random
import time

import pytest

from doctor.monitors.guard.locate import Birth, locate, module_name

torch = pytest.importorskip("torch")
nn = torch.nn
inf, nan = math.inf, math.nan


class Attention(nn.Module):
    """Something is computed between its children: `break_it` says what."""

    def __init__(self):
        super().__init__()
        self.q, self.o = nn.Linear(4, 4), nn.Linear(4, 4)
        self.break_it = None

    def forward(self, x, mask=None):
        scores = self.q(x)
        if mask is not None:
            scores = (scores + mask).softmax(-1)
        if self.break_it is not None:
            scores = self.break_it(scores)
        return self.o(scores)


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(10, 4)
        self.layers = nn.ModuleList([Attention(), Attention()])
        self.norm = nn.BatchNorm1d(4)
        self.drop = nn.Dropout(0.5)
        self.head = nn.Linear(4, 10)
        self.register_buffer("mask", torch.tensor([[0.0, -inf, 0.0, 0.0]]))

    def forward(self, ids, scale=1.0):
        x = self.embed(ids) * scale
        for layer in self.layers:
            x = layer(x, mask=self.mask)
        x = self.drop(self.norm(x.transpose(1, 2)).transpose(1, 2))
        return {"logits": self.head(x)}


IDS = torch.arange(6).reshape(3, 2)


@pytest.fixture
def model():
    return Model()


def born(model, **keywords):
    return locate(model, lambda: model(IDS, **keywords)["logits"].logsumexp(-1).sum())


def test_a_model_that_is_well_has_no_birth_though_its_mask_is_infinite(model):
    assert born(model) is None


@pytest.mark.parametrize(("value", "kind"), [(nan, "nan"), (inf, "inf"), (-inf, "inf")])
def test_a_weight(model, value, kind):
    with torch.no_grad():
        model.layers[1].q.weight[2, 1] = value
    assert born(model) == Birth("layers.1.q", "layers.1.q.weight", kind, "parameter")


def test_a_buffer_counts_only_with_a_nan(model):
    model.mask[0, 0] = nan
    assert born(model) == Birth("", "mask", "nan", "buffer")


def test_what_a_module_computes_between_its_children_is_not_laid_at_the_next_child(model):
    def break_row(x):
        x = x.clone()
        x[1, 0, 0] = nan
        return x

    model.layers[0].break_it = break_row
    assert born(model) == Birth("layers.0", None, "nan", "activation", (1,))


def test_an_infinity_before_the_nan_is_the_birth(model):
    model.layers[0].break_it = lambda x: x * 1e38 * 1e38
    assert born(model) == Birth("layers.0", None, "inf", "activation", (0, 1, 2))


@pytest.mark.parametrize("sign", [1, -1])
def test_a_layer_that_overflows_names_itself(sign):
    """Half precision ends at 65504, on both sides."""
    half = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 2)).half()
    with torch.no_grad():
        half[1].weight.fill_(60000.0 * sign)
        half[1].bias.fill_(0)
        half[0].weight.fill_(1.0)
    found = locate(half, lambda: half(torch.ones(2, 4, dtype=torch.float16)).sum())
    assert found == Birth("1", None, "inf", "activation", (0, 1))


def test_the_batch():
    inner = nn.Sequential(nn.Linear(4, 4))
    batch = torch.ones(3, 4)
    batch[2, 1] = nan
    assert locate(inner, lambda: inner(batch).sum()) == Birth(None, None, "nan", "input", (2,))


def test_the_loss(model):
    advantages = torch.tensor([1.0, nan, 1.0])

    def forward():
        return (model(IDS)["logits"].sum((1, 2)) * advantages).sum()

    found = locate(model, forward)
    assert found == Birth(None, None, "nan", "loss")


def test_a_gradient_that_is_born_in_the_backward(model):
    """The root of zero is fine, its slope is not; the head is behind it and keeps a finite gradient."""
    model.layers[1].break_it = lambda x: (x * 0).sqrt()
    (model(IDS)["logits"].sum()).backward()
    assert torch.isfinite(model.head.weight.grad).all()
    found = born(model)
    assert found is not None
    assert (found.what, found.kind, found.module) == ("gradient", "nan", "layers.1.q")
    assert found.parameter in {"layers.1.q.weight", "layers.1.q.bias"}


def test_no_parameter_is_accused_where_clipping_has_spread_the_nan_over_all_gradients(model):
    model.layers[1].break_it = lambda x: (x * 0).sqrt()
    (model(IDS)["logits"].sum()).backward()
    assert torch.isfinite(model.head.weight.grad).all()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    assert born(model) == Birth(None, None, "nan", "gradient")


def test_without_a_forward_weights_and_gradients_are_looked_at(model):
    assert locate(model, None) is None
    model.head.bias.grad = torch.full((10,), nan)
    assert locate(model, None) == Birth("head", "head.bias", "nan", "gradient")


def test_nothing_else_changes(model):
    """Random states, running statistics, buffers that are replaced, modes, gradients."""
    model.layers[0].eval()
    kept = model.mask

    def forward():
        model.mask = kept * 2
        random.random()  # noqa: S311
        return model(IDS)["logits"].sum()

    before = {name: value.clone() for name, value in model.state_dict().items()}
    drawn, python = torch.get_rng_state(), random.getstate()
    assert locate(model, forward) is None
    assert torch.equal(torch.get_rng_state(), drawn)
    assert random.getstate() == python
    assert model.mask is kept
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert not model.layers[0].training
    assert model.training
    assert all(each.grad is None for each in model.parameters())
    assert not any(each._forward_hooks or each._forward_pre_hooks for each in model.modules())


def test_the_forward_is_broken_off_at_the_deadline(model):
    calls = []

    def slow(x):
        calls.append(x)
        time.sleep(0.2)
        return x * nan

    for layer in model.layers:
        layer.break_it = slow
    assert locate(model, lambda: model(IDS), deadline_s=0.1) is None
    assert len(calls) == 1
    assert not any(each._forward_hooks for each in model.modules())


def test_a_forward_that_fails_is_no_error(model, capsys):
    def fail():
        raise RuntimeError("out of memory")

    assert locate(model, fail) is None
    assert "out of memory" in capsys.readouterr().err
    assert not any(each._forward_hooks for each in model.modules())


def test_what_was_not_seen_is_not_called_finite(model, monkeypatch, capsys):
    """A hook that fails lets the forward go on, for other ranks are in it; neither loss nor gradient is blamed then."""
    from doctor.monitors.guard import locate as module

    def fail(*_):
        raise RuntimeError("no memory is left for that")

    calls = []
    monkeypatch.setattr(module, "_code", fail)
    trace = module._Trace(torch, model, time.monotonic() + 30, None)
    loss = trace.run(lambda: calls.append(model(IDS)["logits"].sum()) or calls[0] * nan)
    assert len(calls) == 1
    assert capsys.readouterr().err.count("no memory is left for that") == 1
    assert trace.blind
    monkeypatch.undo()
    assert trace.birth(loss) is None
    model.head.bias.grad = torch.full((10,), nan)
    model.layers[0].break_it = lambda _x: fail()
    assert locate(model, lambda: model(IDS)) is None


def test_a_birth_that_was_seen_before_the_forward_failed_counts(model):
    def fail(_):
        raise RuntimeError("too late")

    model.layers[0].break_it, model.layers[1].break_it = lambda x: x * nan, fail
    assert locate(model, lambda: model(IDS)) == Birth("layers.0", None, "nan", "activation", (0, 1, 2))


def test_where_the_loss_is_not_seen_it_is_not_called_finite(model):
    nn.init.ones_(model.head.weight)
    (model(IDS)["logits"].mean() * nan).backward()
    found = locate(model, lambda: model(IDS)["logits"], saw_loss=False)
    assert found is not None
    assert (found.what, found.kind) == ("loss or gradient", "nan")


def test_names_are_the_users_own():
    assert module_name("layers.2._fsdp_wrapped_module") == "layers.2"
    assert module_name("_orig_mod") == ""
    assert module_name("module.module.layers.0") == "layers.0"
    assert module_name("_orig_mod.model._fsdp_wrapped_module.head.weight") == "model.head.weight"
    assert module_name("encoder.module.weight") == "encoder.module.weight"
    assert module_name("module") == ""


def test_a_compiled_model_is_run_as_written(model):
    """Its hooks would not be called otherwise; the compiler itself is not needed for that."""
    if not hasattr(torch.compiler, "set_stance"):
        pytest.skip("this torch cannot be told to run a compiled model as written")
    model.layers[0].break_it = lambda x: x * nan
    compiled = torch.compile(model, backend="eager")
    found = locate(compiled, lambda: compiled(IDS))
    assert found == Birth("layers.0", None, "nan", "activation", (0, 1, 2))
