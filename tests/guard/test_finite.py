"""One number read from the device tells whether tensors are finite, and what it is if not."""

from __future__ import annotations

import math

import pytest

from doctor.monitors.guard import finite
from doctor.monitors.guard.finite import FINITE, INF, NAN, SIDE_BY_SIDE, SMALL, kind, worst, worst_gradient

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
    assert kind([torch.ones(3), tensor]) == answer
    assert kind([tensor.reshape(2, 1), torch.ones(2, dtype=torch.float64)]) == answer


def test_large_values_of_half_precision_are_finite():
    """Their sum and their 2-norm are not, in fp16."""
    assert kind([torch.full((100_000,), 60_000.0, dtype=torch.float16)]) is None


def test_a_nan_wins_over_an_infinity_in_another_tensor():
    assert worst([torch.tensor([inf]), torch.tensor([nan], dtype=torch.bfloat16)]) == NAN
    assert worst([torch.tensor([inf], dtype=torch.float16)]) == INF


def test_infinities_that_cancel_and_sums_that_overflow_are_told_rightly():
    assert worst([torch.tensor([inf, 1.0]), torch.tensor([-inf])]) == INF
    assert worst([torch.full((8,), 3e38)]) == FINITE
    assert worst([torch.full((8,), -1e308, dtype=torch.float64), torch.tensor([1e30 + 0j])]) == FINITE


def test_one_bad_element_among_many_tensors_of_all_sizes_is_found():
    """Small tensors are copied side by side: none may be lost at the seams."""
    sizes = [1, 7, SMALL, SMALL + 1, 0] * 30 + [SMALL] * (SIDE_BY_SIDE // SMALL) + [3 * SMALL]
    tensors = [torch.randn(each) for each in sizes]
    assert worst(tensors) == FINITE
    for index, tensor in enumerate(tensors):
        if len(tensor):
            tensor[-1], kept = (nan, -inf)[index % 2], tensor[-1].clone()
            assert worst(tensors) == (NAN, INF)[index % 2], sizes[index]
            tensor[-1] = kept
    assert worst(tensors) == FINITE


def test_what_holds_no_fractions_is_left_out():
    assert worst([]) == FINITE
    assert worst([None, torch.arange(3), torch.empty(0), torch.empty(3, device="meta")]) == FINITE
    assert worst([torch.empty(0), torch.empty(0, dtype=torch.float64), torch.tensor([nan])]) == NAN


def test_eight_bit_and_sparse_values_are_read():
    eight = torch.tensor([1.0, nan]).to(torch.float8_e4m3fn)
    sparse = torch.sparse_coo_tensor([[0, 1]], [1.0, nan], (3,), check_invariants=True)
    assert kind([eight]) == "nan"
    assert kind([sparse]) == "nan"


def test_gradients_keep_their_graph_and_one_number_is_read_a_second_one_only_in_trouble():
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
        assert worst([weight, loss, torch.ones(3, dtype=torch.float64)]) == FINITE
        assert len(reads) == 1
        assert worst([weight, loss * nan]) == NAN
    assert len(reads) == 3
    loss.backward()
    assert weight.grad is not None


@pytest.mark.parametrize("values", [[1.0, 2.0], [inf, 1.0], [-inf, nan]])
def test_the_fused_norm_of_other_devices_tells_the_same(values, monkeypatch):
    tensors = [torch.tensor(values), torch.ones(5000)]
    expected = worst(tensors)
    monkeypatch.setattr(finite, "_sum", finite._norm)
    assert worst(tensors) == expected


@pytest.fixture
def fresh(monkeypatch):
    """No device has refused GradScaler's kernel yet."""
    monkeypatch.setattr(finite, "_refused", set())


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16", "float64"])
def test_no_gradient_is_changed_by_looking_at_it(dtype):
    """Denormal numbers, both zeros, infinities; of a NaN only that it is one."""
    kind_of = getattr(torch, dtype)
    whole = {2: torch.int16, 4: torch.int32, 8: torch.int64}[torch.empty(0, dtype=kind_of).element_size()]
    limits = torch.iinfo(whole)
    bits = torch.randint(limits.min, limits.max, (40_000,), dtype=whole, generator=torch.Generator().manual_seed(1))
    bits[:2] = torch.tensor([0, limits.min], dtype=whole)
    gradient = bits.clone().view(kind_of)
    worst_gradient([gradient])
    assert finite._refused == set()
    same = (gradient.view(whole) == bits) | (gradient.isnan() & bits.view(kind_of).isnan())
    assert bool(same.all())


@pytest.mark.usefixtures("fresh")
@pytest.mark.parametrize(("value", "told"), [(1.0, FINITE), (inf, INF), (-inf, INF), (nan, NAN)])
def test_gradients_of_all_kinds_are_told_rightly(value, told):
    bad = torch.tensor([1.0, value])
    assert worst_gradient([None, torch.ones(3), bad]) == told
    assert worst_gradient([torch.ones(3, dtype=torch.float64), bad]) == told
    assert worst_gradient([torch.ones(3), torch.sparse_coo_tensor([[0, 1]], bad, (3,), check_invariants=True)]) == told
    assert worst_gradient([bad.to(torch.complex64)]) == told, "which the kernel refuses"
    assert worst_gradient([torch.ones(3), bad]) == told
    assert worst_gradient([]) == worst_gradient([None]) == FINITE


@pytest.mark.usefixtures("fresh")
def test_a_gradient_that_has_a_graph_itself_is_not_written():
    gradient = torch.ones(3, requires_grad=True) * 2
    version = gradient._version
    assert worst_gradient([gradient, torch.ones(2)]) == FINITE
    assert gradient._version == version
