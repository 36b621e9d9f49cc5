"""One number on the device tells whether tensors are finite, and what it is if not."""

from __future__ import annotations

import math

import pytest

from doctor.monitors.guard.finite import INF, NAN, kind, non_finite

torch = pytest.importorskip("torch")
inf, nan = math.inf, math.nan


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64", "complex64"])
@pytest.mark.parametrize(
    ("values", "answer"),
    [
        ([1.0, -2.0], None), ([1.0, inf], "inf"), ([-inf, 1.0], "inf"), ([nan, 1.0], "nan"),
        ([inf, nan], "nan"), ([nan, inf], "nan"), ([0.0, 0.0], None),
    ],
)  # fmt: skip
def test_inf_and_nan_are_told_apart(dtype, values, answer):
    tensor = torch.tensor(values).to(getattr(torch, dtype))
    assert kind(non_finite([torch.ones(3), tensor])) == answer
    assert kind(non_finite([tensor.reshape(2, 1), torch.ones(2, dtype=torch.float64)])) == answer


def test_large_values_of_half_precision_are_finite():
    """Their sum and their 2-norm are not, in fp16."""
    assert kind(non_finite([torch.full((100_000,), 60_000.0, dtype=torch.float16)])) is None


def test_a_nan_wins_over_an_infinity_in_another_tensor():
    scalar = non_finite([torch.tensor([inf]), torch.tensor([nan], dtype=torch.bfloat16)])
    assert scalar is not None
    assert int(scalar) == NAN
    assert int(non_finite([torch.tensor([inf], dtype=torch.float16)])) == INF


def test_what_holds_no_fractions_is_left_out():
    assert non_finite([]) is None
    assert non_finite([None, torch.arange(3), torch.empty(0), torch.empty(3, device="meta")]) is None


def test_eight_bit_and_sparse_values_are_read():
    eight = torch.tensor([1.0, nan]).to(torch.float8_e4m3fn)
    sparse = torch.sparse_coo_tensor([[0, 1]], [1.0, nan], (3,), check_invariants=True)
    assert kind(non_finite([eight])) == "nan"
    assert kind(non_finite([sparse])) == "nan"


def test_gradients_keep_their_graph_and_nothing_is_read():
    """The number stays where it is: no `item()` on the way."""
    from torch.utils._python_dispatch import TorchDispatchMode

    reads = []

    class Reads(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            if "_local_scalar_dense" in str(function):
                reads.append(function)
            return function(*args, **(kwargs or {}))

    weight = torch.ones(4, requires_grad=True)
    loss = (weight * 2).sum()
    with Reads():
        scalar = non_finite([weight, loss])
        assert not reads
        assert kind(scalar) is None
    assert len(reads) == 1
    loss.backward()
    assert weight.grad is not None
