"""A NaN of the backward is traced to its parameter although the gradients were clipped, and to its operation."""

from __future__ import annotations

import math
from contextlib import suppress

import pytest

from doctor.monitors.guard.finite import FINITE, INF, NAN
from doctor.monitors.guard.locate import locate
from doctor.monitors.guard.norms import Norms, code_of
from doctor.monitors.guard.operation import first_nan

torch = pytest.importorskip("torch")
nn = torch.nn
clip_grad = pytest.importorskip("torch.nn.utils.clip_grad")
if not hasattr(clip_grad, "_get_total_norm"):
    pytest.skip("this torch computes the norm within clip_grad_norm_ (before 2.6)", allow_module_level=True)


class Root(nn.Module):
    """Finite forward, and a slope that does not exist where a row is zero."""

    def forward(self, values):
        return (values * 0).pow(2).sum(-1).sqrt() + values.sum(-1)


def model_with(root):
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4), root, nn.Linear(3, 2))


BATCH = torch.randn(5, 3, 4)


def spoiled(root=None, **clipping):
    """A model after backward and clipping, with the norms that were kept."""
    model = model_with(root or Root())
    norms = Norms()
    model(BATCH).pow(2).sum().backward()
    with suppress(RuntimeError):
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, **clipping)
    return model, norms


@pytest.mark.parametrize("clipping", [{}, {"foreach": True}, {"foreach": False}, {"norm_type": math.inf}])
def test_the_gradient_that_was_nan_before_the_clipping_is_named(clipping):
    model, norms = spoiled(**clipping)
    assert not any(each.grad.isfinite().any() for each in model.parameters())
    assert locate(model, lambda: model(BATCH).pow(2).sum()).parameter is None
    found = locate(model, lambda: model(BATCH).pow(2).sum(), norms=norms)
    assert (found.what, found.parameter, found.kind) == ("gradient", "1.bias", "nan")
    codes = {name: code_of(each.grad, norms.codes()) for name, each in model.named_parameters()}
    assert codes == {
        "0.weight": NAN,
        "0.bias": NAN,
        "1.weight": NAN,
        "1.bias": NAN,
        "3.weight": FINITE,
        "3.bias": FINITE,
    }
    norms.close()


def test_a_clipping_that_raises_leaves_its_norms():
    model, norms = spoiled(error_if_nonfinite=True)
    assert code_of(model[1].weight.grad, norms.codes()) == NAN
    norms.close()


def test_norms_are_what_torch_computes_anyway_and_nothing_changes():
    torch.manual_seed(1)
    twins = [nn.Sequential(nn.Linear(8, 8), nn.Linear(8, 8)) for _ in range(2)]
    twins[1].load_state_dict(twins[0].state_dict())
    clipped = []
    for number, model in enumerate(twins):
        norms = Norms() if number else None
        model(torch.ones(2, 8)).sum().backward()
        clipped.append(
            (torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1), [each.grad for each in model.parameters()])
        )
        if norms is not None:
            assert set(norms.codes().values()) == {FINITE}
            norms.close()
    assert torch.equal(clipped[0][0], clipped[1][0])
    assert all(map(torch.equal, clipped[0][1], clipped[1][1]))
    many, one = torch._foreach_norm, torch.linalg.vector_norm
    assert "norms" not in (many.__module__ or "")
    assert "norms" not in (getattr(one, "__module__", "") or "")
    assert "guard" not in clip_grad._get_total_norm.__code__.co_filename


def test_a_norm_that_overflows_is_no_nan():
    model = nn.Linear(2, 2, bias=False)
    model.weight.grad = torch.full((2, 2), 3e38)
    norms = Norms()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    assert code_of(model.weight.grad, norms.codes()) == INF
    assert bool((model.weight.grad == 0).all()), "as torch has it, without us too"
    norms.close()


def test_nothing_of_the_gradients_is_kept_alive():
    import gc
    import weakref

    model, norms = spoiled()
    held = weakref.ref(model[0].weight.grad)
    model.zero_grad()
    gc.collect()
    assert held() is None
    norms.close()


def test_the_operation_and_its_statement_are_named_and_the_gradients_left():
    model, norms = spoiled()
    before = [each.grad for each in model.parameters()]
    told = first_nan(model, lambda: model(BATCH).pow(2).sum())
    assert told is not None
    assert told.name == "PowBackward0"
    assert told.file == __file__
    assert told.text == "return (values * 0).pow(2).sum(-1).sqrt() + values.sum(-1)"
    assert "test_norms.py:" in told.words
    assert all(each.grad is kept for each, kept in zip(model.parameters(), before, strict=True))
    norms.close()


def test_an_optimizer_inside_of_hooks_makes_no_step():
    model = model_with(Root())
    stepped = []
    for each in model.parameters():
        each.register_post_accumulate_grad_hook(lambda _: stepped.append(1))
    assert first_nan(model, lambda: model(BATCH).pow(2).sum()) is not None
    assert stepped == []


@pytest.mark.parametrize(
    "forward",
    [lambda model: model(BATCH).abs().sum() * 0 + 1, lambda _: 3.0, lambda _: torch.ones(()), lambda _: 1 / 0],
)
def test_where_nothing_is_shown_nothing_is_said(forward):
    model = model_with(nn.Linear(4, 3))
    model = nn.Sequential(model[0], model[1])
    assert first_nan(model, lambda: forward(model)) is None


def test_a_compiled_step_is_left_alone():
    dynamo = pytest.importorskip("torch._dynamo")
    model, before = model_with(nn.Linear(4, 3)), clip_grad._get_total_norm
    parameters = [each for each in model.parameters() if each.requires_grad]
    for each in parameters:
        each.grad = torch.ones_like(each)
    seen = []

    def kept_graph(graph, _):
        seen.append({str(node.target) for node in graph.graph.nodes if node.op == "call_function"})
        return graph.forward

    def step():
        return clip_grad._get_total_norm([each.grad for each in parameters])

    plain = step()
    dynamo.reset()
    bare = torch.compile(step, backend=kept_graph, fullgraph=True)()
    norms = Norms()
    try:
        dynamo.reset()
        compiled = torch.compile(step, backend=kept_graph, fullgraph=True)()
        assert norms.codes() == {}
        assert torch.equal(bare, compiled)
        assert torch.allclose(plain, compiled)
        assert seen[0] == seen[1], "the same operations, with and without"
    finally:
        norms.close()
        dynamo.reset()
    assert clip_grad._get_total_norm is before


def test_norms_of_another_thread_pass_through():
    import threading

    norms, foreign = Norms(), torch.ones(3)
    begun, ended = threading.Event(), threading.Event()

    def other():
        begun.wait(30)
        torch.linalg.vector_norm(foreign)
        ended.set()

    thread = threading.Thread(target=other)
    thread.start()

    class Slow(torch.Tensor):
        """Lets the other thread compute its norm while this one's is computed."""

        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            begun.set()
            ended.wait(30)
            return super().__torch_function__(function, types, args, kwargs or {})

    mine = torch.ones(2).as_subclass(Slow)
    clip_grad._get_total_norm([mine], foreach=False)
    thread.join()
    try:
        kept = [key for keys, _ in norms._kept for key in keys]
        assert foreign.data_ptr() not in kept
        assert mine.data_ptr() in kept
    finally:
        norms.close()
