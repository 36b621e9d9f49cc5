"""Loops that nobody hands over: their model is found at the first step, and the inventory says what they train."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from doctor.monitors.guard import unwatched

torch = pytest.importorskip("torch")
nn = torch.nn
optimizers = pytest.importorskip("torch.optim.optimizer")


class Net(nn.Module):
    def __init__(self, *, cut: bool = False):
        super().__init__()
        torch.manual_seed(0)
        self.blocks = nn.ModuleList([nn.Linear(8, 8) for _ in range(4)])
        self.head, self.cut = nn.Linear(8, 1), cut

    def forward(self, x):
        for each in self.blocks:
            x = torch.relu(each(x))
        return self.head(x.detach() if self.cut else x)


class Loop:
    """A training whose model is an attribute, as in a trainer of one's own."""

    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer

    def run(self, steps: int = 12, pieces: int = 1):
        for _ in range(steps):
            for _ in range(pieces):
                self.model(torch.ones(2, 8)).pow(2).mean().backward()
            self.optimizer.step()
            self.optimizer.zero_grad()


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A run folder, in a process in which no guard was made."""
    run = tmp_path / "run"
    run.mkdir()
    monkeypatch.setenv("DOCTOR_RUN_DIR", str(run))
    for name in ("RANK", "WORLD_SIZE", "DOCTOR_REHEARSAL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(unwatched, "_WATCHES", "a.module.that.nobody.imports")
    yield run
    unwatched._over()
    if unwatched._Taken.waiting is not None:
        unwatched._Taken.waiting.remove()
        unwatched._Taken.waiting = None


def kept(folder: Path) -> dict:
    file = folder / "inventory.json"
    return json.loads(file.read_text()) if file.exists() else {}


def hooks(model, optimizer) -> int:
    return (
        len(model._forward_pre_hooks)
        + len(optimizer._optimizer_step_pre_hooks)
        + sum(len(each._post_accumulate_grad_hooks or {}) for each in model.parameters())
        + len(optimizers._global_optimizer_pre_hooks)
    )


@pytest.mark.parametrize("pieces", [1, 3])
def test_a_loop_that_trains_all_is_kept_and_let_go(folder, pieces):
    unwatched.attach(optimizers)
    model = Net()
    optimizer = torch.optim.AdamW(model.parameters())
    Loop(model, optimizer).run(pieces=pieces)
    assert kept(folder)["tensors"] == kept(folder)["with_gradient"] == 10
    assert kept(folder)["arguments"]["forwards"] == pieces
    assert not kept(folder)["without_gradient"]
    assert not hooks(model, optimizer)


def test_what_gets_no_gradient_is_told(folder, capsys):
    unwatched.attach(optimizers)
    model = Net(cut=True)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    Loop(model, optimizer).run()
    assert kept(folder)["with_gradient"] == 2
    assert "8 of 10 trainable tensors get no gradient" in capsys.readouterr().err
    assert not hooks(model, optimizer)


def test_weights_are_the_same_with_and_without():
    weights = []
    for on in (False, True):
        if on:
            unwatched.attach(optimizers)
        model = Net()
        Loop(model, torch.optim.AdamW(model.parameters(), lr=1e-2)).run()
        weights.append([each.detach().clone() for each in model.parameters()])
    assert all(torch.equal(*pair) for pair in zip(*weights, strict=True))


def compiled_loop() -> Loop:
    model = Net()
    model.compile(backend="eager")
    return Loop(model, torch.optim.SGD(model.parameters(), lr=0.1))


def loop_of_another_model() -> Loop:
    """The optimizer's parameters belong to a model that is gone."""
    return Loop(Net(), torch.optim.SGD([each.detach().requires_grad_() for each in Net().parameters()], lr=0.1))


@pytest.mark.parametrize("made", [compiled_loop, loop_of_another_model])
def test_a_compiled_model_and_an_optimizer_of_another_are_left_alone(folder, made):
    unwatched.attach(optimizers)
    loop = made()
    loop.run(3)
    assert not kept(folder)
    assert not hooks(loop.model, loop.optimizer)


def test_ranks_but_the_first_are_left_alone(monkeypatch):
    monkeypatch.setenv("RANK", "1")
    unwatched.attach(optimizers)
    assert unwatched._Taken.waiting is None


def test_a_guard_of_this_process_takes_its_own(folder, monkeypatch):
    monkeypatch.setattr(unwatched, "_WATCHES", "doctor.monitors.guard.unwatched")
    unwatched.attach(optimizers)
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    Loop(model, optimizer).run(3)
    assert not kept(folder)
    assert not hooks(model, optimizer)


PROGRAM = """
import torch
from torch import nn
torch.manual_seed(0)
body, head = nn.Linear(8, 8), nn.Linear(8, 1)
model = nn.Sequential(body, head)
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(12):
    loss = head(body(torch.ones(2, 8)).detach()).pow(2).mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print("done", loss.item())
"""


@pytest.mark.process
def test_doctor_run_keeps_the_inventory_of_a_plain_loop(tmp_path):
    (tmp_path / "loop.py").write_text(PROGRAM)
    bare = subprocess.run([sys.executable, "loop.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    command = [sys.executable, "-m", "doctor", "run", "--no-check", "--", sys.executable, "loop.py"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert bare.stdout.strip() in done.stdout
    assert kept(tmp_path / "doctor-runs" / "last")["trainer"] == "a custom loop"
