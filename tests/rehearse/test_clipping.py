"""Gradients that a loop clips before they are whole."""

from __future__ import annotations

import types
from typing import Any

import pytest

from doctor.checks.numerics import first_step_contradicts_its_data as judge
from doctor.monitors.rehearse import journal as written
from doctor.monitors.rehearse.relations import clipping

torch = pytest.importorskip("torch")


@pytest.fixture
def journal(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    told: list[dict[str, Any]] = []
    monkeypatch.setattr(written, "write", lambda kind, **more: told.append({"kind": kind, **more}))
    for name, value in (("optimizers", set()), ("steps", []), ("backwards", 0), ("last", None)):
        monkeypatch.setattr(clipping._Loop, name, value)
    return told


def trains(order: str, *, bound: float = 1.0, optimizers: int = 1, moves: bool = False, other: bool = False) -> None:
    """Run a loop: `z` clears, `b` computes gradients, `c` clips, `s` steps."""
    model, beside = torch.nn.Linear(3, 1), torch.nn.Linear(3, 1)
    made = [torch.optim.SGD(model.parameters(), lr=0.1) for _ in range(optimizers)]
    real = torch.nn.utils.clip_grad_norm_
    functions = types.SimpleNamespace(clip_grad_norm_=getattr(real, "__wrapped__", real))
    clipping.attach(functions)
    for letter in order:
        if letter == "z":
            made[0].zero_grad()
        elif letter == "b":
            clipping.backward()
            model(torch.full((2, 3), 50.0)).sum().backward()
            if moves:
                with torch.no_grad():
                    model.weight.add_(0.1)
        elif letter == "c":
            functions.clip_grad_norm_((beside if other else model).parameters(), bound)
        else:
            for each in made:
                clipping.stepping(each)
                each.step()


@pytest.mark.parametrize(
    ("order", "options", "told"),
    [
        ("zcbszcbs", {}, True), ("bsczbscz", {}, True), ("zbcbszbcbs", {}, True), ("bcsbcbs", {}, False),
        ("zbcszbcs", {}, False), ("zbcbcszbcbcs", {}, False), ("zbszbs", {}, False), ("bcszbcsz", {}, False),
        ("zcbszcbs", {"bound": float("inf")}, False), ("zcbszcbs", {"bound": 1e9}, False),
        ("zbcbszbcbs", {"moves": True}, False), ("zcbszcbs", {"optimizers": 2}, False),
        ("zbcbszbcbs", {"other": True}, False), ("zbcscz", {}, False),
    ],
)  # fmt: skip
def test_what_a_step_uses_is_what_was_clipped(
    journal: list[dict[str, Any]], order: str, options: dict[str, Any], told: bool
) -> None:
    trains(order, **options)
    found = [judge.of_clipping(each) for each in journal if each["kind"] == "clipping"]
    headlines = [each.words().headline for each in found if each is not None]
    assert [each.startswith("Gradients are clipped before") for each in headlines] == [True] * told


def test_parameters_that_can_be_read_only_once_are_clipped(journal: list[dict[str, Any]]) -> None:
    trains("zbcs")
    assert clipping._Loop.steps == [False]
    model = torch.nn.Linear(3, 1)
    model(torch.full((2, 3), 50.0)).sum().backward()
    functions = types.SimpleNamespace(clip_grad_value_=torch.nn.utils.clip_grad_value_)
    clipping.attach(functions)
    functions.clip_grad_value_(model.parameters(), 1.0)
    assert float(model.weight.grad.abs().max()) == 1.0
    assert clipping._Loop.last is not None
    assert clipping._Loop.last.gradient is model.weight.grad
    assert journal == []
