"""The inventory of loops under `doctor.watch`: what it keeps, what it says, and that nothing else is other for it."""

from __future__ import annotations

import json

import pytest

import doctor
from doctor.monitors.guard.guard import Guard
from doctor.monitors.guard.options import options
from doctor.run.folder import RunDir

torch = pytest.importorskip("torch")
nn = torch.nn


class Output(dict):
    """As Transformers gives it."""

    __getattr__ = dict.__getitem__


class TinyForCausalLM(nn.Module):
    """A model that computes its loss itself, as those of Transformers do."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embed, self.lm_head, self.spare = nn.Embedding(40, 8), nn.Linear(8, 40), nn.Linear(8, 40)

    def loss_function(self, logits, labels):
        moved = labels[..., 1:]
        return nn.functional.cross_entropy(logits[:, :-1].reshape(-1, 40), moved.reshape(-1), ignore_index=-100)

    def forward(self, input_ids, labels=None, task=0, **_):
        hidden = self.embed(input_ids)
        logits = self.spare(hidden) if task else self.lm_head(hidden)
        loss = None if labels is None else self.loss_function(logits, labels)
        return Output(loss=loss, logits=logits)


def batch(rows=2, width=24):
    ids = (torch.arange(rows * width).reshape(rows, width) * 7) % 39
    return {"input_ids": ids, "labels": ids.clone(), "attention_mask": torch.ones_like(ids)}


@pytest.fixture
def model():
    made = TinyForCausalLM()
    made.spare.requires_grad_(False)
    return made


@pytest.fixture
def guard(tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    return Guard(options(), rank=0, world_size=1, run=RunDir(folder))


def train(model, optimizer, count=3, *, given=None, own=False, task=lambda step: 0, between=lambda: None):
    for step in range(count):
        row = batch() if given is None else given
        output = model(**row, task=task(step))
        loss = output.loss
        if own:
            loss = nn.functional.cross_entropy(output.logits.reshape(-1, 40), row["labels"].reshape(-1))
        loss.backward()
        between()
        optimizer.step()
        optimizer.zero_grad()


def kept(guard):
    return json.loads((guard.run.path / "inventory.json").read_text())


def headlines(guard):
    return [each.words().headline for each in guard.findings if each.problem.id == "NUM5191"]


def test_a_healthy_loop_is_kept_and_nothing_is_said(model, guard):
    optimizer = torch.optim.AdamW([each for each in model.parameters() if each.requires_grad], lr=1e-3)
    with doctor.watch(model, optimizer, guard=guard, save=print):
        train(model, optimizer)
    found = kept(guard)
    assert (found["trainable"], found["frozen"]) == ({"float32": 320 + 360}, {"float32": 360})
    assert (found["tensors"], found["with_gradient"], found["without_gradient"]) == (3, 3, {})
    assert (found["optimizer"], found["rates"], found["model"]) == ("AdamW", [1e-3], "TinyForCausalLM")
    assert (found["batch"]["tokens"], found["batch"]["trained"], found["batch"]["rows"]) == (48, 48, 2)
    assert found["shifts"] is True
    assert found["arguments"] == {"world_size": 1, "autocast": None, "forwards": 1}
    assert not guard.findings


def test_gradients_that_are_zero_are_told(model, guard):
    model.lm_head.bias.register_hook(torch.zeros_like)
    optimizer = torch.optim.SGD([each for each in model.parameters() if each.requires_grad], lr=0.1)
    with doctor.watch(model, optimizer, guard=guard, save=print):
        train(model, optimizer)
    found = kept(guard)
    assert (found["with_gradient"], found["zero_gradient"]) == (3, {"lm_head.bias": 1})
    assert not guard.findings


def test_a_run_with_it_learns_the_very_same_and_nothing_stays_behind(guard):
    def run(watched):
        trained = TinyForCausalLM()
        optimizer = torch.optim.AdamW(trained.parameters(), lr=1e-2)
        handle = doctor.watch(trained, optimizer, guard=guard, save=print) if watched else None
        train(trained, optimizer, 12)
        if handle is not None:
            assert not any(each._post_accumulate_grad_hooks for each in trained.parameters()), "of step 1 alone"
            assert not trained._forward_hooks
            handle.close()
        return [each.detach().clone() for each in trained.parameters()]

    assert all(torch.equal(a, b) for a, b in zip(run(False), run(True), strict=True))
    assert kept(guard)["with_gradient"] == 3


def test_no_number_more_is_read_for_it(guard):
    from torch.utils._python_dispatch import TorchDispatchMode

    class Reads(TorchDispatchMode):
        count = 0

        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            self.count += "_local_scalar_dense" in str(function)
            return function(*args, **(kwargs or {}))

    def reads(with_folder):
        model = TinyForCausalLM()
        optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
        with doctor.watch(model, optimizer, guard=guard if with_folder else None, save=print), Reads() as counted:
            train(model, optimizer, 10)
        return counted.count

    assert reads(True) == reads(False)
    assert kept(guard)["tensors"] == 5


@pytest.mark.parametrize(
    ("change", "own", "expected"),
    [
        (lambda row: row["labels"].fill_(-100), False, ["No token of the 48 in the first batch counts for the loss"]),
        (
            lambda row: row.update(labels=torch.roll(row["labels"], -1, 1)), False,
            ["of 46 labels are already the next token, and `TinyForCausalLM` shifts them again"],
        ),
        (lambda row: row.update(labels=torch.roll(row["labels"], -1, 1)), True, []),
        (
            lambda row: row["attention_mask"][:, 12:].zero_(), False,
            ["50 % of the tokens that count for the loss are padding: 24 of 48 in the first batch"],
        ),
    ],
)  # fmt: skip
def test_labels_are_judged_where_the_loss_of_the_model_trains(model, guard, change, own, expected):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-9)
    row = batch()
    change(row)
    with doctor.watch(model, optimizer, guard=guard, save=print):
        train(model, optimizer, 1, given=row, own=own)
    found = headlines(guard)
    assert len(found) == len(expected)
    assert all(told in said for told, said in zip(expected, found, strict=True))


def test_an_optimizer_that_holds_other_tensors_is_told(guard):
    optimizer, model = torch.optim.SGD(TinyForCausalLM().parameters(), lr=0.1), TinyForCausalLM()
    with doctor.watch(model, optimizer, guard=guard, save=print):
        train(model, optimizer)
    names = "`embed.weight`, `lm_head.bias`, `lm_head.weight`"
    assert headlines(guard) == [f"The optimizer holds none of the 3 tensors that got a gradient: {names}"]


def test_gradients_that_are_cleared_before_the_step_are_told(model, guard):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with doctor.watch(model, optimizer, guard=guard, save=print):
        train(model, optimizer, between=optimizer.zero_grad)
    (headline,) = headlines(guard)
    assert headline.startswith("The gradients of 3 tensors are removed before the optimizer's step")


def test_copies_in_another_precision_are_no_finding(model, guard):
    masters = [each.detach().double().requires_grad_() for each in model.parameters() if each.requires_grad]
    trained = [each for each in model.parameters() if each.requires_grad]
    optimizer = torch.optim.SGD(masters, lr=0.1)

    def fill():
        for master, each in zip(masters, trained, strict=True):
            master.grad, each.grad = each.grad.double(), None

    with doctor.watch(model, optimizer, guard=guard, save=print):
        train(model, optimizer, between=fill)
    assert not headlines(guard)
    assert kept(guard)["held_with_gradient"] == 3


@pytest.mark.parametrize(
    ("task", "count", "expected"),
    [
        (lambda _: 0, 3, ["2 of 5 trainable tensors get no gradient: `spare.bias`, `spare.weight`"]),
        (lambda _: 0, 1, []),  # one step tells nothing of the next
        (lambda step: step % 2, 4, []),
        (lambda step: step == 6, 9, []),
    ],
)
def test_parts_without_a_gradient_are_told_if_no_step_uses_them(guard, task, count, expected):
    model = TinyForCausalLM()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with doctor.watch(model, optimizer, guard=guard, save=print):
        train(model, optimizer, count, task=task)
    assert headlines(guard) == expected
    assert kept(guard)["without_gradient"] == {"spare.weight": 1, "spare.bias": 1}
    assert kept(guard)["settled"] is bool(expected)


def test_a_model_that_nothing_trains(model, guard):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model.requires_grad_(False)
    model.embed.register_forward_hook(lambda _module, _args, output: output.requires_grad_())
    with doctor.watch(model, optimizer, guard=guard, save=print):
        train(model, optimizer, 2)
    assert headlines(guard) == ["No parameter of the model requires a gradient"]


def test_parts_called_by_other_names_are_looked_at_a_step_later(model, guard):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with doctor.watch(model, optimizer, guard=guard, save=print):
        for _ in range(3):
            model.lm_head(model.embed(batch()["input_ids"])).sum().backward()
            optimizer.step()
            optimizer.zero_grad()
    assert kept(guard)["with_gradient"] == 3
    assert kept(guard)["batch"]["shapes"] == {}
    assert not guard.findings


def test_with_a_scaler_it_is_taken_in_the_first_step_that_is_made(model, guard):
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**10)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with doctor.watch(scaler, model, optimizer, guard=guard, save=print):
        for _ in range(3):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                loss = model(**batch()).loss
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
    found = kept(guard)
    assert (found["with_gradient"], found["batch"]["trained"], found["arguments"]["autocast"]) == (3, 48, "bfloat16")
    assert not headlines(guard)


def test_other_ranks_and_runs_without_a_folder_keep_nothing(model, tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with doctor.watch(model, optimizer, guard=Guard(options(), rank=1, world_size=1, run=RunDir(folder)), save=print):
        train(model, optimizer, 2)
    assert not (folder / "inventory.json").exists()


@pytest.mark.parametrize("in_place", [False, True])
def test_a_compiled_model_learns_the_very_same(guard, in_place):
    pytest.importorskip("torch._dynamo")

    def run(watched):
        torch._dynamo.reset()
        trained = TinyForCausalLM()
        compiled = trained if in_place else torch.compile(trained, backend="aot_eager")
        if in_place:
            trained.compile(backend="aot_eager")
        optimizer = torch.optim.AdamW(trained.parameters(), lr=1e-2)
        handle = doctor.watch(compiled, optimizer, guard=guard, save=print) if watched else None
        train(compiled, optimizer, 4)
        if handle is not None:
            handle.close()
        return [each.detach().clone() for each in trained.parameters()]

    assert all(torch.equal(a, b) for a, b in zip(run(False), run(True), strict=True))
    assert kept(guard)["with_gradient"] == 3
