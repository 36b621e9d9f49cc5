"""What the inventory of a first step says of labels, and of who moves them by one place."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from doctor.checks.numerics import trains_other_than_asked
from doctor.monitors.guard.first_step import cut_rows, ending, of_batch
from doctor.monitors.guard.inventory import _desirable, _pairs, _resumed, shifts

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
    assert of_batch(batch, None)["aligned"] == expected


TURNS = [5, 6, 2, 9, 5, 7, 8]


@pytest.mark.parametrize(
    ("ids", "mask", "labels", "expected"),
    [
        ([*TURNS, 0, 0], 7, TURNS, {"padded": 0, "open": 1}),
        ([*TURNS, 2, 0], 8, [*TURNS, 2], {"padded": 0, "open": 0}),
        ([*TURNS, 2, 9, 0], 9, [*TURNS, 2, 9], {"padded": 0, "open": 0}),  # a line break behind it
        (TURNS, 7, TURNS, {"padded": 0, "open": 0}),  # perhaps cut
        ([5, 6, 9, 5, 7, 8, 0], 6, [5, 6, 9, 5, 7, 8], {"padded": 0, "open": 0}),  # a text without turns
        ([*TURNS, 2, 9, 5, 6, 0], 11, [-100] * 11, {"padded": 0, "open": 0}),  # whose turn it is, nobody trains
        ([*TURNS, 2, 0, 0, 0], 8, [*TURNS, 2, 0, 0, 0], {"padded": 3, "open": 0}),
    ],
)  # fmt: skip
def test_what_lies_behind_the_end(ids: list[int], mask: int, labels: list[int], expected: dict[str, int]) -> None:
    batch = {
        "input_ids": torch.tensor([ids]),
        "attention_mask": torch.tensor([[1] * mask + [0] * (len(ids) - mask)]),
        "labels": torch.tensor([labels + [-100] * (len(ids) - len(labels))]),
    }
    told = of_batch(batch, None, frozenset({2}))
    assert {name: told[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("tokenizer", "generation", "config", "expected"),
    [
        (2, 7, 7, {2}), (None, 7, 7, set()), ("absent", [4, 5], 7, {4, 5}), ("absent", None, 7, {7}),
        ("absent", None, None, set()),
    ],
)  # fmt: skip
def test_where_a_trainer_has_no_tokenizer_the_model_says_what_ends_an_answer(
    tokenizer: Any, generation: Any, config: Any, expected: set[int]
) -> None:
    model = SimpleNamespace(
        generation_config=SimpleNamespace(eos_token_id=generation), config=SimpleNamespace(eos_token_id=config)
    )
    made = None if tokenizer == "absent" else SimpleNamespace(eos_token_id=tokenizer)
    assert ending(made, model) == expected


@pytest.mark.parametrize(
    ("mask", "limits", "expected"),
    [
        ("attention_mask", {"max_length": 4}, 1), ("attention_mask", {"max_length": 5}, 0),
        ("prompt_mask", {"max_prompt_length": 4, "max_length": 2}, 1), ("prompt_mask", {"max_length": 4}, None),
        ("attention_mask", {"max_length": "None"}, None), ("labels", {"max_length": 4}, None),
    ],
)  # fmt: skip
def test_rows_that_fill_the_limit_may_have_been_cut(mask: str, limits: dict[str, Any], expected: int | None) -> None:
    assert cut_rows({mask: torch.tensor([[1, 1, 1, 1], [0, 1, 1, 1]])}, limits) == expected


class Rows:
    """A dataset, of which only the columns that are asked for are read."""

    column_names = ("prompt", "label", "image")

    def select_columns(self, names: list[str]) -> Any:
        assert names == ["label"], "nothing else is decoded"
        return self

    def __getitem__(self, place: slice) -> dict[str, list[bool]]:
        return {"label": [True, False, True][place]}


class KTOTrainer:
    train_dataset: Any = Rows()


class ExperimentalBCOTrainer(KTOTrainer):
    train_dataset = iter(())


class DPOTrainer(KTOTrainer):
    pass


def test_of_single_answers_only_their_labels_are_read() -> None:
    assert _desirable(KTOTrainer()) == {"rows": 3, "good": 2}
    assert _desirable(ExperimentalBCOTrainer()) == {}
    assert _desirable(DPOTrainer()) == {}
    assert _desirable(object()) == {}


class Pairs:
    """Preferences, of which only the columns that are compared are read."""

    def __init__(self, **columns: list[Any]) -> None:
        self.columns = columns
        self.column_names = [*columns, "images", "ref_chosen_logps"]

    def select_columns(self, names: list[str]) -> Pairs:
        assert set(names) <= set(self.columns), "nothing else is decoded"
        return self

    def __getitem__(self, place: slice) -> dict[str, list[Any]]:
        return {name: values[place] for name, values in self.columns.items()}


@pytest.mark.parametrize(
    ("data", "pairs"),
    [
        (Pairs(chosen_ids=[[1, 2], [1]], rejected_ids=[[1, 2], [2]]), {"rows": 2, "alike": 1}),
        (Pairs(chosen_input_ids=[[1], [2]], rejected_input_ids=[[1], [2]]), {"rows": 2, "alike": 2}),
        (Pairs(chosen=["a", "b"], rejected=["c", "b"]), {"rows": 2, "alike": 1}),
        # the tokens are what is trained: a template may drop what differs
        (Pairs(chosen=["a"], rejected=["b"], chosen_ids=[[1]], rejected_ids=[[1]]), {"rows": 1, "alike": 1}),
        (Pairs(chosen=["a"]), {}),
        (Pairs(label=[True]), {}),
        (iter(()), {}),
        (None, {}),
    ],
)
def test_pairs_are_compared_as_they_are_trained(data: Any, pairs: dict[str, int]) -> None:
    class Trainer:
        train_dataset = data

    assert _pairs(Trainer()) == pairs


def test_only_a_training_that_goes_on_is_asked_for_the_state_of_its_optimizer(monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    weight = torch.nn.Parameter(torch.ones(2))
    fresh, plain = torch.optim.AdamW([weight]), torch.optim.SGD([weight])

    class Trainer:
        state = SimpleNamespace(global_step=30)

    assert _resumed(Trainer(), fresh) == {"step": 30, "states": 0}
    assert _resumed(Trainer(), plain) == {}  # it never has one
    assert _resumed(object(), fresh) == {}
    weight.grad = torch.ones(2)
    fresh.step()
    assert _resumed(Trainer(), fresh) == {"step": 30, "states": 1}
    monkeypatch.setenv("DOCTOR_REHEARSAL", "1")
    assert _resumed(Trainer(), fresh) == {}
    monkeypatch.delenv("DOCTOR_REHEARSAL")
    Trainer.state.global_step = 0
    assert _resumed(Trainer(), fresh) == {}


@pytest.mark.parametrize("kind", ["labels", "completion_mask"])
@pytest.mark.parametrize(
    ("answer", "repeated"),
    [([*IDS[:12], 7, 8], 2), ([*IDS[1:12], 7, 8], 2), ([7, 8], 0), ([*IDS[:6], 7, 8], 0)],
)
def test_answers_that_begin_with_their_prompt_are_counted(kind: str, answer: list[int], repeated: int) -> None:
    prompt = IDS[:12]
    size = len(prompt) + len(answer)
    padded = [[0, 0, *prompt, *answer], [*prompt, *answer, 0, 0]]
    masks = [[0, 0, *[1] * size], [*[1] * size, 0, 0]]
    kept = [[*[0] * 14, *[1] * len(answer)], [*[0] * 12, *[1] * len(answer), 0, 0]]
    labels = [
        [token if one else -100 for token, one in zip(*row, strict=True)] for row in zip(padded, kept, strict=True)
    ]
    batch = {"input_ids": padded, "attention_mask": masks, kind: labels if kind == "labels" else kept}
    told = of_batch({name: torch.tensor(each) for name, each in batch.items()}, None)
    assert (told["prompted"], told["repeated"]) == (2, repeated)
    found = [each.message for each in trains_other_than_asked.of_inventory({"batch": told})]
    assert (trains_other_than_asked.REPEATED in found) is bool(repeated)


def test_a_short_prompt_is_repeated_by_chance() -> None:
    ids = torch.tensor([[5, 6, 7, 5, 6, 7, 9]] * 2)
    labels = torch.tensor([[-100] * 3 + [5, 6, 7, 9]] * 2)
    told = of_batch({"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": labels}, None)
    assert (told["prompted"], told["repeated"]) == (0, 0)
