"""What a tiny model is given that a new one lacks."""

from __future__ import annotations

import pytest

from doctor.monitors.rehearse.make_tiny import _fill_padding, seed_of

torch = pytest.importorskip("torch")


class Norms(torch.nn.Module):  # type: ignore[misc, unused-ignore]
    """An embedding, and as many layers as make the gradient at a row of zeros infinite."""

    def __init__(self) -> None:
        super().__init__()
        self.table = torch.nn.Embedding(8, 16, padding_idx=0)
        self.norms = torch.nn.ModuleList(torch.nn.RMSNorm(16, eps=1e-6) for _ in range(28))

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        hidden = self.table(ids)
        for each in self.norms:
            hidden = each(hidden)
        return hidden


@pytest.mark.parametrize("filled", [True, False])
def test_padding_that_nobody_masks_has_a_finite_gradient(filled: bool) -> None:
    torch.manual_seed(0)
    model = Norms()
    if filled:
        _fill_padding(model)
    hidden = model(torch.tensor([[0, 3]]))
    (hidden * torch.randn(hidden.shape)).sum().backward()
    finite = all(bool(each.grad.isfinite().all()) for each in model.parameters())
    assert finite is filled


def test_models_of_two_names_are_two_models() -> None:
    assert seed_of("Qwen/Qwen2-0.5B") != seed_of("Qwen/Qwen2-1.5B")
    assert seed_of("/models/policy/") == seed_of("/models/policy"), "policy and reference are the same"
