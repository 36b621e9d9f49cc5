"""Laws of a first step: answers are trained from their first token to their end, new weights train, rows stay apart."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from doctor.checks.numerics import first_step_contradicts_its_data as judge
from doctor.checks.numerics import margins_stay_zero
from doctor.checks.numerics import trains_other_than_asked as asked
from doctor.checks.rl.rewards import template_rewrites_history
from doctor.monitors.rehearse import journal as notes
from doctor.monitors.rehearse.relations import (
    accumulating,
    collating,
    contracts,
    extents,
    frozen,
    held,
    margins,
    rendered,
)
from doctor.monitors.rehearse.relations.forwards import Forward
from doctor.monitors.rehearse.relations.leaks import Leak
from doctor.monitors.rehearse.settings import PassSettings, _Read

torch: Any = pytest.importorskip("torch")
nn: Any = torch.nn
F: Any = torch.nn.functional
END, PAD, WORDS = 1, 0, 12


@pytest.fixture(autouse=True)
def journal(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[list[dict[str, Any]]]:
    """Entries that are written; nothing is left of what was looked at."""
    told: list[dict[str, Any]] = []
    monkeypatch.setattr(notes, "write", lambda kind, **values: told.append({"kind": kind, **values}))
    monkeypatch.setattr(notes, "once", lambda kind, _, **values: told.append({"kind": kind, **values}))
    monkeypatch.setattr(_Read, "settings", PassSettings(tmp_path, 0))
    monkeypatch.setattr(extents.Known, "prompts", {})
    monkeypatch.setattr(contracts._Calls, "made", {})
    monkeypatch.setattr(collating._Looked, "done", False)
    fresh: list[tuple[Any, dict[str, Any]]] = [
        (margins._Seen, {"steps": 0, "calls": 0, "zero": 0}),
        (rendered._Seen, {"asked": set(), "lost": 0}),
        (held._Seen, {"held": {}, "weights": {}, "optimizers": {}, "told": False}),
        (frozen._Seen, {"loaded": {}, "steps": 0, "optimizer": None, "suspects": {}, "flowed": set(), "handles": []}),
    ]
    for owner, values in fresh:
        for name, value in values.items():
            monkeypatch.setattr(owner, name, value)
    torch.manual_seed(0)
    yield told
    for each in frozen._Seen.handles:
        each.remove()


# answers -------------------------------------------------------------------------------------------------------------

PROMPTS = [[0, 5, 6, 7], [4, 5, 6, 8]]
ANSWERS = [[3, 4, END, PAD], [6, 9, 10, END]]


def forward(trained: Callable[[int, int], bool], *, ends: int = END) -> Forward:
    """Answers behind prompts that are padded on the left, and which of their tokens are trained by (row, place)."""
    ids = torch.tensor([prompt + answer for prompt, answer in zip(PROMPTS, ANSWERS, strict=True)])
    mask = (ids != PAD).long()
    extents.generated(torch.tensor(PROMPTS), torch.tensor([[0, 1, 1, 1], [1, 1, 1, 1]]))
    told = Forward(ids, mask, 0, causal=True, pad=PAD, ends=frozenset({ends}))
    told.target = torch.full_like(ids, -1)
    for row in range(2):
        for place in range(1, 8):
            if trained(row, place):
                told.target[row, place - 1] = ids[row, place]
    return told


def headlines(*told: Forward, least: float = -1.0) -> list[str]:
    forwards = [{"logits": False, "causal": True, "rows": 2, "least": least}]
    entry = {"forwards": forwards, "generated": True, "extents": [extents.of_forward(each) for each in told]}
    return [each.words().headline for each in judge.of_outputs([entry])]


LAST = {0: 6, 1: 7}


def test_answers_that_are_trained_as_a_whole_are_left_alone() -> None:
    assert headlines(forward(lambda row, place: 4 <= place <= LAST[row])) == []
    one = forward(lambda row, place: row == 0 and 4 <= place <= LAST[row])  # the other one has an advantage of 0
    assert headlines(one) == []
    assert headlines(forward(lambda row, place: 4 <= place < LAST[row], ends=11)) == []  # answers that were cut


def test_a_first_token_an_end_and_a_prompt_are_told() -> None:
    assert headlines(forward(lambda row, place: 5 <= place <= LAST[row])) == [
        "The first token of 2 of 2 answers is not trained"
    ]
    assert headlines(forward(lambda row, place: 4 <= place < LAST[row])) == [
        "In 2 answers that end, the end token is not trained, while the token before it is"
    ]
    whole = forward(lambda row, place: 2 <= place <= LAST[row])
    assert headlines(whole) == ["2 of 2 answers train tokens of their prompt as well"]
    assert headlines(whole, least=0.1) == []  # texts that are learned by heart, prompts and all


def test_texts_that_nobody_generated_are_no_answers() -> None:
    told = forward(lambda row, place: 5 <= place <= LAST[row])
    extents.Known.prompts.clear()
    assert extents.of_forward(told) is None


def turns(trained: set[int]) -> Forward:
    """A question (0, 1), an answer (2, 3), a tool's result (4, 5) and an answer (6, 7), twice."""
    ids = torch.tensor([[2, 3, 4, 5, 6, 7, 8, END], [2, 3, 9, 5, 6, 7, 10, END]])
    for start, end in ((2, 4), (6, 8)):
        extents.generated(ids[:, :start], None)
        extents.answered(ids[:, :start], None, ids[:, :end])
    told_row = Forward(ids, None, 0, causal=True, pad=PAD, ends=frozenset({END}))
    told_row.target = torch.full_like(ids, -1)
    for place in trained:
        told_row.target[:, place - 1] = ids[:, place]
    return told_row


def test_of_several_turns_only_what_stands_between_them_is_no_answer() -> None:
    assert headlines(turns({2, 3, 6, 7})) == []
    assert headlines(turns({2, 3, 4, 5, 6, 7})) == [
        "2 of 2 answers train tokens between their turns that nobody generated"
    ]
    assert headlines(turns({1, 2, 3, 6, 7})) == ["2 of 2 answers train tokens of their prompt as well"]


# packed rows ---------------------------------------------------------------------------------------------------------


class Mean(nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
    """Each place sees the mean of all places before it, or of its own text alone."""

    def __init__(self, *, apart: bool) -> None:
        super().__init__()
        self.table, self.apart = nn.Embedding(WORDS, WORDS), apart

    def forward(self, input_ids: Any, position_ids: Any, **_: Any) -> Any:
        size = input_ids.shape[1]
        seen = torch.ones(size, size).tril().expand(len(input_ids), size, size)
        if self.apart:
            text = (position_ids == 0).cumsum(1)
            seen = seen * (text[:, None] == text[:, :, None])
        return types.SimpleNamespace(logits=seen @ self.table(input_ids) / seen.sum(-1, keepdim=True))


@pytest.mark.parametrize(("apart", "positions", "found"), [
    (False, [0, 1, 2, 0, 1, 2, 3, 4], ["In 1 of 1 packed rows a text sees the text before it"]),
    (True, [0, 1, 2, 0, 1, 2, 3, 4], []),
    (False, [0, 1, 2, 3, 4, 5, 6, 7], []),
    (False, [0, 1, 2, 3, 4, 5, 0, 0], []),  # padding
])  # fmt: skip
def test_texts_of_a_packed_row_do_not_see_each_other(apart: bool, positions: list[int], found: list[str]) -> None:
    ids = torch.tensor([[2, 3, 4, 5, 6, 7, 8, 9]])
    told = Forward(ids, None, 0, causal=True)
    told.target = torch.full_like(ids, -1)
    told.target[0, 4] = 7
    model = Mean(apart=apart)
    leak = Leak(model, (), {"position_ids": torch.tensor([positions])}, told).measured()
    entry = {"forwards": [], "generated": False, "leak": leak}
    assert [each.words().headline for each in judge.of_outputs([entry])] == found


# a step --------------------------------------------------------------------------------------------------------------


def summed(parts: int, totals: list[float], *, backwards: int | None = None, least: float = 0.1) -> list[str]:
    forwards = [
        {"logits": False, "causal": True, "rows": 2, "tokens": 10, "places": 20, "least": least, "alike": False,
         "total": each}
        for each in totals
    ]  # fmt: skip
    entry = {"forwards": forwards, "generated": False, "parts": parts, "backwards": backwards or len(totals)}
    return [each.words().headline for each in judge._summed([entry])]


def test_micro_batches_that_count_as_whole_steps_are_told() -> None:
    assert summed(4, [1.0] * 4) == ["Each of the 4 micro-batches of a step counts as a whole step"]
    for healthy in (
        summed(4, [0.25] * 4), summed(1, [1.0]), summed(4, [0.2, 0.3, 0.26, 0.24]),
        summed(2, [1.0, 1.0], backwards=1), summed(2, [1.0, 1.0], least=-0.5),
    ):  # fmt: skip
        assert healthy == []


def test_a_step_in_the_middle_of_an_accumulation_is_told(
    journal: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    state = types.SimpleNamespace(_shared_state={"sync_gradients": False, "plugin_kwargs": {"num_steps": 8}})
    monkeypatch.setitem(sys.modules, "accelerate.state", types.SimpleNamespace(GradientState=state))
    optimizer = torch.optim.SGD([nn.Parameter(torch.ones(1))], lr=0.1)
    accumulating.stepping(optimizer)
    (told,) = journal
    assert judge.of_early_step(told).words().headline.startswith("`SGD` steps after each micro-batch")
    journal.clear()
    for healthy in ({"sync_gradients": True, "plugin_kwargs": {"num_steps": 8}}, {}, {"sync_gradients": False}):
        state._shared_state = healthy
        accumulating.stepping(optimizer)
    assert journal == []


def test_all_processes_on_the_same_rows_are_told() -> None:
    def entries(*rows: str) -> list[dict[str, Any]]:
        return [{"step": 1, "rank": rank, "rows": each} for rank, each in enumerate(rows)]

    found = judge.of_processes(entries("a", "a"), 2)
    assert found is not None
    assert found.words().headline == "All 2 processes train on the same rows"
    for healthy, world in ((entries("a", "b"), 2), (entries("a"), 1), (entries("a", "a"), 0), (entries("a", "a"), 4)):
        assert judge.of_processes(healthy, world) is None


def test_targets_of_another_kind_are_told(journal: list[dict[str, Any]]) -> None:
    logits = torch.randn(4, WORDS, requires_grad=True)
    log, other = logits.log_softmax(-1), torch.randn(4, WORDS).log_softmax(-1)
    for name, args, kwargs, count in (
        ("kl_div", (log, other), {}, 1), ("kl_div", (log, other), {"log_target": True}, 0),
        ("kl_div", (log, other.exp()), {}, 0), ("kl_div", (log, other.exp()), {"log_target": True}, 1),
        ("kl_div", (log.detach(), other), {}, 0),
        ("cross_entropy", (logits, other), {}, 1), ("cross_entropy", (logits, other.exp()), {}, 0),
        ("cross_entropy", (logits, torch.zeros(4).long()), {}, 0),
        ("binary_cross_entropy_with_logits", (logits, torch.ones(4, WORDS)), {}, 0),
        ("binary_cross_entropy_with_logits", (logits, -torch.ones(4, WORDS)), {}, 1),
    ):  # fmt: skip
        journal.clear()
        contracts._look_at_target(name, args, kwargs)
        assert len(journal) == count, (name, kwargs)
        assert all(judge.of_contract(each).words(language).headline for each in journal for language in ("en", "zh"))


# weights -------------------------------------------------------------------------------------------------------------


class ActorCritic(nn.Module):  # type: ignore[misc, name-defined, unused-ignore]
    def __init__(self) -> None:
        super().__init__()
        self.actor, self.critic = nn.Linear(3, 2), nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 1))


def held_headlines(journal: list[dict[str, Any]]) -> list[str]:
    return [each.words().headline for entry in journal for each in asked.of_held(entry, ())]


def two_steps(optimizer: Any, loss: Callable[[], Any]) -> None:
    for _ in range(2):
        optimizer.zero_grad()
        loss().backward()
        held.stepping(optimizer)
        frozen.stepping(optimizer)
        optimizer.step()


@pytest.mark.parametrize("moving", [True, False])
def test_a_critic_whose_target_moves_along_is_told(journal: list[dict[str, Any]], moving: bool) -> None:
    net, x = ActorCritic(), torch.randn(5, 3)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def loss() -> Any:
        values = net.critic(x)
        returns = (1 - values.detach()) + (values if moving else values.detach())
        return net.actor(x).pow(2).mean() + (values - returns).pow(2).mean()

    two_steps(optimizer, loss)
    assert held_headlines(journal) == (
        ["All gradients of `critic (Sequential)` are 0 in the first 2 steps: 4 tensors"] if moving else []
    )


def test_a_head_beside_the_model_without_a_gradient_is_told(journal: list[dict[str, Any]]) -> None:
    model, head, x = nn.Linear(3, 2), nn.Linear(2, 1), torch.randn(5, 3)
    optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=0.1)
    two_steps(optimizer, lambda: model(x).pow(2).mean() + (head(model(x)).detach() - 1).pow(2).mean())
    assert held_headlines(journal) == ["All gradients of `Linear` are 0 in the first 2 steps: 2 tensors"]


def test_weights_that_no_optimizer_holds_are_told(journal: list[dict[str, Any]]) -> None:
    model, x = nn.Sequential(nn.Linear(3, 8), nn.LayerNorm(8), nn.Linear(8, 1)), torch.randn(5, 3)
    linear = [each for module in (model[0], model[2]) for each in module.parameters()]
    two_steps(torch.optim.SGD(linear, lr=0.1), lambda: model(x).pow(2).mean())
    (headline,) = held_headlines(journal)
    assert headline.startswith("2 tensors of `Sequential` get a gradient, and no optimizer holds them: ")


@pytest.mark.parametrize("case", ["all", "head", "frozen", "two"])
def test_optimizers_that_hold_what_they_should_are_left_alone(journal: list[dict[str, Any]], case: str) -> None:
    model, x = nn.Sequential(nn.Linear(3, 8), nn.Linear(8, 1)), torch.randn(5, 3)
    if case == "frozen":
        model[0].requires_grad_(False)
    wanted = {"all": model, "head": model[1], "frozen": model[1], "two": model[1]}[case]
    other = torch.optim.SGD(model[0].parameters(), lr=0.1) if case == "two" else None
    two_steps(torch.optim.SGD(wanted.parameters(), lr=0.1), lambda: model(x).pow(2).mean())
    assert held_headlines(journal) == [], other


@pytest.mark.parametrize(("case", "count"), [
    ("new", 1), ("loaded", 0), ("copied", 0), ("from_file", 0), ("trained", 0), ("unused", 0), ("adapter", 0),
])  # fmt: skip
def test_new_weights_that_are_frozen_and_used_are_told(journal: list[dict[str, Any]], case: str, count: int) -> None:
    frozen.attach(torch.nn.modules.module)
    model, x = nn.Sequential(nn.Linear(3, 3)), torch.randn(5, 3)
    model.head = nn.Linear(3, 3)
    if case == "loaded":
        frozen.loaded(model)
    frozen.loaded(model[0])
    if case == "copied":
        model.head.load_state_dict(model[0].state_dict())
        frozen._Seen.loaded.pop(id(model.head.weight))
    if case == "from_file":
        model.head.load_state_dict(nn.Linear(3, 3).state_dict())
    if case == "adapter":
        model.lora_head, model.head = model.head, nn.Identity()
    last = model.lora_head if case == "adapter" else model.head
    last.requires_grad_(case == "trained")
    optimizer = torch.optim.SGD([each for each in model.parameters() if each.requires_grad], lr=0.1)

    def loss() -> Any:
        hidden = model[0](x)
        return hidden.pow(2).mean() + (0 if case == "unused" else last(hidden).pow(2).mean())

    two_steps(optimizer, loss)
    told = [each for each in journal if each["kind"] == "frozen"]
    assert len(told) == count
    for each in told:
        assert (
            asked.of_frozen(each).words().headline
            == "New weights that the loss uses are frozen: `head.bias`, `head.weight`"
        )


# rows ----------------------------------------------------------------------------------------------------------------

ROWS = [([5, 6, 7], [8, 9]), ([5, 6, 7, 8, 4], [9]), ([5], [6, 7])]


def collator(side: str, *, by_place: bool, draws: bool = False) -> Callable[[Any], dict[str, Any]]:
    def collate(rows: Any) -> dict[str, Any]:
        width = max(len(prompt) + len(answer) for prompt, answer in rows)
        batch: dict[str, list[list[int]]] = {"input_ids": [], "labels": [], "attention_mask": []}
        for prompt, answer in rows:
            ids = prompt + answer
            empty = width - len(ids)
            masked = len(prompt) + (empty if side == "left" and by_place else 0)
            pads = [PAD] * empty
            whole = pads + ids if side == "left" else ids + pads
            mask = [int(each != PAD) for each in whole]
            labels = [-100 if at < masked or not mask[at] else each for at, each in enumerate(whole)]
            if draws and torch.rand(()) < 0.5:
                labels = [-100] * width
            batch["input_ids"].append(whole)
            batch["labels"].append(labels)
            batch["attention_mask"].append(mask)
        return {name: torch.tensor(each) for name, each in batch.items()}

    return collate


@pytest.mark.parametrize(("collate", "count"), [
    (collator("left", by_place=False), 1), (collator("left", by_place=True), 0), (collator("right", by_place=False), 0),
    (collator("left", by_place=False, draws=True), 0), (lambda rows: torch.zeros(len(rows)), 0),
])  # fmt: skip
def test_rows_train_the_same_tokens_beside_others(journal: list[dict[str, Any]], collate: Any, count: int) -> None:
    watched = collating._watched(collate)
    assert type(watched(ROWS)) is type(collate(ROWS))
    found = [judge.of_collated(each) for each in journal]
    told = [each for each in found if each is not None]
    assert [each.words().headline for each in told] == [
        "In 2 of 2 padded rows other tokens are trained if the row is collated alone"
    ] * count


def test_a_collator_that_fails_alone_costs_nothing(journal: list[dict[str, Any]]) -> None:
    def collate(rows: Any) -> dict[str, Any]:
        if len(rows) == 1:
            raise ValueError
        return collator("left", by_place=True)(rows)

    assert set(collating._watched(collate)(ROWS)) == {"input_ids", "labels", "attention_mask"}
    assert [each["kind"] for each in journal] == ["crashed"]


# pairs and templates -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("rate", "itself", "count"), [(0.1, True, 1), (0.1, False, 0), (0.0, True, 0)])
def test_margins_of_a_policy_against_itself_are_told(
    journal: list[dict[str, Any]], rate: float, itself: bool, count: int
) -> None:
    module = types.SimpleNamespace(logsigmoid=F.logsigmoid)
    margins.attach(module)
    policy, pairs = nn.Linear(3, 1), torch.randn(4, 3)
    first = policy(pairs).detach()
    optimizer = torch.optim.SGD(policy.parameters(), lr=rate)
    for _ in range(2):
        reference = policy(pairs).detach() if itself else first
        optimizer.zero_grad()
        (-module.logsigmoid(policy(pairs) - reference).mean()).backward()
        optimizer.step()
        margins.stepped(optimizer)
    told = [margins_stay_zero.of_loop(each) for each in journal]
    assert len(told) == count
    assert all(each.words(language).headline for each in told for language in ("en", "zh"))


class Tokenizer:
    def __init__(self, *, cuts: bool) -> None:
        self.cuts = cuts

    def apply_chat_template(self, conversation: Any, **_: Any) -> str:
        def content(text: str) -> str:
            return text.rsplit("</think>", maxsplit=1)[-1] if self.cuts else text.strip()

        return "".join(f"<|{each['role']}|> {content(each['content'])}" for each in conversation)


@pytest.mark.parametrize(("cuts", "thinks", "open_end", "count"), [
    (True, True, False, 1), (False, True, False, 0), (True, False, False, 0), (True, True, True, 0),
])  # fmt: skip
def test_answers_that_a_template_cuts_are_told(
    journal: list[dict[str, Any]], cuts: bool, thinks: bool, open_end: bool, count: int
) -> None:
    class Watched(Tokenizer):
        pass

    rendered.attach(types.SimpleNamespace(PreTrainedTokenizerBase=Watched))
    tokenizer = Watched(cuts=cuts)
    for number in range(6):
        answer = f"<think> I add {number} and 7. </think> It is {number + 7}." if thinks else f"It is {number + 7}."
        turns = [{"role": "user", "content": "Add."}, {"role": "assistant", "content": answer}]
        with rendered.silent():
            tokenizer.apply_chat_template(turns)
        tokenizer.apply_chat_template([*turns, {"role": "user", "content": "And?"}] if open_end else turns)
    told = [template_rewrites_history.of_last_answers(each) for each in journal[:1]]
    assert len(told) == count
    assert all(each.words(language).headline for each in told for language in ("en", "zh"))
