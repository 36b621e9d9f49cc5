"""What the inventory of a first step says of labels, and of who moves them by one place."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.monitors.guard.inventory import _of_batch, shifts

torch = pytest.importorskip("torch")

IDS = list(range(100, 140))


def compute_loss(*_: Any) -> None:
    """Stands for the library's own."""


compute_loss.__module__ = "transformers.trainer"


class Trainer:
    compute_loss = compute_loss
    label_smoother = compute_loss_func = None


class OwnLoss(Trainer):
    def compute_loss(self, *_: Any) -> None: ...


class Smoothed(Trainer):
    label_smoother = object()


class QwenForCausalLM:
    def forward(self, labels: Any) -> Any:
        return self.loss_function(labels)

    def loss_function(self, labels: Any) -> Any:
        return labels


class BartForCausalLM:
    def forward(self, labels: Any) -> Any:
        return labels.view(-1)


class QwenForSequenceClassification(QwenForCausalLM):
    pass


class Adapted:
    def get_base_model(self) -> Any:
        return QwenForCausalLM()


def with_own_loss() -> Any:
    made = QwenForCausalLM()
    made.__dict__["_loss_function"] = compute_loss
    return made


@pytest.mark.parametrize(
    ("trainer", "model", "expected"),
    [
        (Trainer(), QwenForCausalLM(), True),
        (Trainer(), Adapted(), True),
        (Trainer(), BartForCausalLM(), False),
        (Trainer(), QwenForSequenceClassification(), False),
        (Trainer(), with_own_loss(), False),
        (OwnLoss(), QwenForCausalLM(), False),
        (Smoothed(), QwenForCausalLM(), False),
    ],
)
def test_who_shifts_labels(trainer: Any, model: Any, *, expected: bool) -> None:
    assert shifts(trainer, model) is expected


@pytest.mark.parametrize(
    ("ids", "labels", "expected"),
    [
        (IDS, IDS, {"of": 39, "own": 39, "next": 0}),
        (IDS, [*IDS[1:], -100], {"of": 39, "own": 0, "next": 39}),
        (IDS, [-100] * 30 + IDS[30:], {"of": 9, "own": 9, "next": 0}),
        ([7] * 40, [7] * 40, {"of": 0, "own": 0, "next": 0}),
        ([*IDS[:20], *[0] * 20], [*IDS[1:20], *[0] * 21], {"of": 20, "own": 0, "next": 20}),
    ],
)
def test_labels_are_laid_beside_their_tokens(ids: list[int], labels: list[int], expected: dict[str, int]) -> None:
    batch = {"input_ids": torch.tensor([ids]), "labels": torch.tensor([labels])}
    assert _of_batch(batch, None)["aligned"] == expected
