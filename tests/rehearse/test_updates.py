"""The large step of a rehearsal with an engine, what it leaves of the comparison of weights, and what is said of it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from doctor.monitors.rehearse import arguments, journal, moved, updates
from doctor.rehearse.record import Rehearsed
from doctor.rehearse.updates import unseen, weight_update
from tests.rehearse.test_hooks import set_up
from tests.rehearse.test_judge import WHOLE, entry, session

torch = pytest.importorskip("torch")


def trainer(*, engine: bool = True) -> Any:
    torch.manual_seed(0)
    model = torch.nn.Linear(4, 3)
    made = SimpleNamespace(model=model, optimizer=torch.optim.SGD(model.parameters(), lr=1e-6))
    if engine:
        made.llm = object()
    return made


@pytest.fixture(autouse=True)
def _anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moved._Before, "samples", {})
    monkeypatch.setattr(moved._Before, "moved", set())


def journalled(root: Path, kind: str) -> list[dict[str, Any]]:
    return [each for each in journal.entries(root) if each["kind"] == kind]


def test_the_weights_move_far_and_alike_on_every_rank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = set_up(tmp_path, monkeypatch)
    first, second = trainer(), trainer()
    before = first.model.weight.detach().clone()
    for each in (first, second):
        updates.enlarge(each, None, 1)
    assert float((first.model.weight.detach() - before).abs().mean()) > 0.1 * float(before.std())
    assert torch.equal(first.model.weight, second.model.weight)
    assert [each["tensors"] for each in journalled(root, "enlarged")] == [2, 2]


@pytest.mark.parametrize("wish", ["no engine", "null", "resume", "scale", "later"])
def test_no_other_run_is_moved(wish: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wishes: dict[str, Any] = {"null": {"null": True}, "resume": {"resume": True}, "scale": {"scale": "real"}}.get(
        wish, {}
    )
    root = set_up(tmp_path, monkeypatch, **wishes)
    made = trainer(engine=wish != "no engine")
    before = made.model.weight.detach().clone()
    updates.enlarge(made, made.model, 2 if wish == "later" else 1)
    assert torch.equal(made.model.weight, before)
    assert journalled(root, "enlarged") == []


@pytest.mark.parametrize("learns", [True, False])
def test_an_optimizer_that_moves_nothing_is_still_told(
    learns: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    root = set_up(tmp_path, monkeypatch)
    made = trainer()
    moved.remember(made, made.model)
    if learns:
        with torch.no_grad():
            made.model.weight.add_(1.0)
    updates.enlarge(made, made.model, 1)
    moved.compare(made, made.model)
    (told,) = journalled(root, "moved")
    assert (told["moved"], told["still"]) == ((1, 1) if learns else (0, 2))


def test_a_policy_in_parts_is_not_moved_and_said_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = set_up(tmp_path, monkeypatch)
    made = trainer()
    made.model.weight.ds_id = 0
    updates.enlarge(made, made.model, 1)
    assert [(each["name"], each["why"]) for each in journalled(root, "left_out")] == [("weight_update", "in_parts")]


@pytest.mark.parametrize(("version", "used"), [("0.27.0+cpu", True), ("0.27.0", False)])
def test_only_the_build_for_cpus_runs_on_one(
    version: str,
    used: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    set_up(tmp_path, monkeypatch)
    monkeypatch.setattr(arguments, "has_gpu", lambda: False)
    monkeypatch.setattr(arguments, "_vllm_installed", lambda: True)
    monkeypatch.setattr(arguments.metadata, "version", lambda _: version)
    args = SimpleNamespace(use_vllm=True, vllm_mode="colocate")
    arguments._engine(args)
    assert args.use_vllm is used
    server = SimpleNamespace(use_vllm=True, vllm_mode="server")
    arguments._engine(server)
    assert not server.use_vllm, "a running server is never asked"


def said(tmp_path: Path, *events: dict[str, Any], large: bool = True) -> Any:
    done = session(tmp_path)
    folder = done.run.path / "events"
    folder.mkdir(parents=True, exist_ok=True)
    lines = [{"t_ns": at, "host": "h", "pid": 7, "kind": "monitor", **each} for at, each in enumerate(events)]
    (folder / "h-7.jsonl").write_text("".join(json.dumps(each) + "\n" for each in lines))
    more = (entry("enlarged", 8, tensors=3),) if large else ()
    return replace(done, rehearsed=Rehearsed((*WHOLE, *more)))


def round_of(step: int, state: str, gap: float) -> dict[str, Any]:
    verdicts = {"agreement": {"state": state, "value": gap}}
    return {"step": step, "data": {"witness": "round", "verdicts": verdicts, "noise": 0.001, "baseline": 0.002}}


def test_what_the_witness_saw_behind_the_large_step_is_said(tmp_path: Path) -> None:
    done = said(tmp_path, round_of(0, "holds", 0.0), round_of(1, "broken", 0.3))
    assert "differ by 0.3 per token (before: 0.002)" in weight_update(done, "en")
    assert "0.3" in weight_update(done, "zh")
    assert unseen(done) == ""


def test_what_it_could_not_see_is_said_too(tmp_path: Path) -> None:
    off = {"step": None, "data": {"witness": "off", "reason": "it gives no log probabilities"}}
    done = said(tmp_path, round_of(0, "holds", 0.0), off)
    assert weight_update(done, "en") == ""
    assert unseen(done) == "it gives no log probabilities"
    assert unseen(said(tmp_path, large=False)) == ""
