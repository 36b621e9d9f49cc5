"""What stands around loaders, arguments, samplers and generations: names change, functions are the user's own."""

from __future__ import annotations

import dataclasses
import importlib
import json
import sys
import time
import types
from contextlib import nullcontext
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from doctor.monitors.rehearse import (
    arguments,
    completions,
    data,
    engines,
    journal,
    loop_inventory,
    loops,
    moved,
    names,
    rows,
    trainers,
)
from doctor.monitors.rehearse.settings import VARIABLE, PassSettings, _Read


def set_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **wishes: Any) -> Path:
    stage = tmp_path / "stage"
    stage.mkdir(exist_ok=True)
    file = tmp_path / "settings.json"
    file.write_text(PassSettings(stage, time.time_ns(), **wishes).as_json())
    monkeypatch.setenv(VARIABLE, str(file))
    monkeypatch.setattr(_Read, "settings", None)
    monkeypatch.setattr(journal._Own, "pid", None)
    monkeypatch.setattr(journal._Own, "told", set())
    return stage


class Save(Enum):
    NO = "no"
    STEPS = "steps"


def argument_classes() -> tuple[Any, Any]:
    """Two classes as the libraries have them: the child validates what its parent has seen."""

    @dataclasses.dataclass
    class TrainingArguments:
        output_dir: str = "out"
        per_device_train_batch_size: int = 8
        gradient_accumulation_steps: int = 1
        learning_rate: float = 1e-5
        logging_strategy: Save = Save.STEPS
        logging_steps: int = 500
        push_to_hub: bool = False
        use_cpu: bool = False
        world_size: int = 1

        def __post_init__(self) -> None:
            self.seen = dict(vars(self))

    module = types.SimpleNamespace(TrainingArguments=TrainingArguments)
    arguments.attach(module)

    @dataclasses.dataclass
    class GRPOConfig(TrainingArguments):
        num_generations: int = 8
        max_completion_length: int = 512
        steps_per_generation: int | None = None
        generation_batch_size: int | None = None

        def __post_init__(self) -> None:
            super().__post_init__()
            self.validated = dict(vars(self))
            if self.steps_per_generation is None:
                self.steps_per_generation = self.gradient_accumulation_steps
            self.generation_batch_size = self.per_device_train_batch_size * self.steps_per_generation * self.world_size
            if self.generation_batch_size % self.num_generations:
                msg = "must be divisible"
                raise ValueError(msg)

    return TrainingArguments, GRPOConfig


def test_every_class_validates_the_users_own_values_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_up(tmp_path, monkeypatch, held=True)
    _, config = argument_classes()
    made = config(push_to_hub=True, max_completion_length=4096, gradient_accumulation_steps=64)
    assert made.validated["max_completion_length"] == 4096
    assert made.validated["gradient_accumulation_steps"] == 64
    assert made.validated["push_to_hub"]
    assert (made.max_completion_length, made.push_to_hub, made.logging_steps) == (arguments.COMPLETION, False, 1)
    assert made.output_dir == "out", "an overlay holds what is written there"


def test_what_a_class_refuses_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_up(tmp_path, monkeypatch)
    _, config = argument_classes()
    with pytest.raises(ValueError, match="must be divisible"):
        config(per_device_train_batch_size=3)
    with pytest.raises(TypeError):
        config(num_generation=8)


@pytest.mark.parametrize("accumulation", [1, 2, 3, 16, 48, 64, 100, 127])
@pytest.mark.parametrize("batch", [1, 2, 8, 16])
@pytest.mark.parametrize("generations", [2, 4, 6, 8])
def test_a_shortened_accumulation_goes_on_to_divide(
    accumulation: int, batch: int, generations: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_up(tmp_path, monkeypatch, held=True)
    _, config = argument_classes()
    if accumulation * batch % generations:
        return
    made = config(
        gradient_accumulation_steps=accumulation, per_device_train_batch_size=batch, num_generations=generations
    )
    assert made.generation_batch_size % generations == 0
    assert made.generation_batch_size == batch * made.steps_per_generation
    assert made.gradient_accumulation_steps == made.steps_per_generation <= accumulation
    assert made.gradient_accumulation_steps >= min(2, accumulation)


def test_a_copy_of_arguments_is_not_changed_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = set_up(tmp_path, monkeypatch)
    _, config = argument_classes()
    made = config(gradient_accumulation_steps=64)
    again = dataclasses.replace(made)
    assert again.output_dir == made.output_dir
    assert Path(made.output_dir).parent == stage / "out"
    assert again.gradient_accumulation_steps == made.gradient_accumulation_steps


def test_with_null_the_rate_is_0(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_up(tmp_path, monkeypatch, null=True)
    assert argument_classes()[1]().learning_rate == 0


def test_names_that_are_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = set_up(tmp_path, monkeypatch)
    large, tiny, state, own = (tmp_path / each for each in ("large", "tiny", "state", "stage/model"))
    for each in (large, tiny, state, own):
        each.mkdir(parents=True)
        (each / "config.json").write_text("{}")
    with (large / "model.safetensors").open("wb") as file:
        file.truncate(1 << 30)
    (tiny / "model.safetensors").write_bytes(b"0" * 1000)
    (state / "trainer_state.json").write_text("{}")
    assert stage in own.parents
    wanted = {
        str(large): None, str(tiny): "tiny", str(state): "state", str(own): "", "Qwen/Qwen2.5-7B": None, "gpt2": None,
        "./nowhere/at/all": "", "model.gguf": "", str(tmp_path): None,
    }  # fmt: skip
    assert {name: names.kept(name, "model") for name in wanted if name != str(tmp_path)} == {
        name: why for name, why in wanted.items() if name != str(tmp_path)
    }


def test_a_child_gets_neither_the_launcher_nor_the_hook(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_up(tmp_path, monkeypatch)
    hook = str(Path(names.library()).with_name("hook"))
    left = names.apart({
        "RANK": "1", "MASTER_ADDR": "x", "ACCELERATE_USE_DEEPSPEED": "true", "FSDP_VERSION": "2", "HOME": "/h",
        "PYTHONPATH": f"{hook}:/mine", VARIABLE: "x", "DOCTOR_RUN_DIR": "/r", "HF_HOME": "/hf",
    })  # fmt: skip
    assert left == {"HOME": "/h", "PYTHONPATH": "/mine", "HF_HOME": "/hf"}


@pytest.mark.process
def test_a_child_that_takes_too_long_ends_with_what_it_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = set_up(tmp_path, monkeypatch)
    pid = tmp_path / "pid"
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\nsleep 60 &\necho $! > {pid}\nwait\n")
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    monkeypatch.setattr(names, "_MAKING_S", 1.0)
    began = time.monotonic()
    assert names._made("Qwen/Qwen2-0.5B", "model", stage / "tiny", {}) is None
    assert time.monotonic() - began < 20, "the one that holds the pipe is not waited for"
    assert [each["error"] for each in journal.entries(stage) if each["kind"] == "not_made"] == [
        "it took longer than 1 s, or said too much"
    ]
    process = Path("/proc") / pid.read_text().strip() / "stat"
    while process.exists() and process.read_text().split()[2] != "Z":
        assert time.monotonic() - began < 20
        time.sleep(0.02)


@pytest.mark.process
def test_a_child_gets_its_wish_and_says_what_it_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = set_up(tmp_path, monkeypatch)
    python = tmp_path / "python"
    python.write_text(
        f"#!{sys.executable}\nimport json, os, sys\nwish = json.load(sys.stdin)\nos.makedirs(wish['into'])\n"
        "print('noise')\nprint(json.dumps({'of': wish['name'], 'token': wish['token']}))\n"
    )
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    folder = stage / "tiny"
    assert names._child("Qwen/Qwen2-0.5B", "model", folder, {"token": "secret"}) == {
        "of": "Qwen/Qwen2-0.5B", "token": "secret",
    }  # fmt: skip


@pytest.mark.parametrize("repeats", [1, 4])
def test_the_longest_rows_come_first_and_all_others_as_before(repeats: int) -> None:
    order = [each for each in (5, 2, 7, 0, 1, 3, 4, 6) for _ in range(repeats)]
    seen = list(rows.LongestFirst(order, [3, 6]))
    assert list(dict.fromkeys(seen))[:2] == [3, 6]
    assert sorted(seen) == sorted(order)
    assert list(dict.fromkeys(list(rows.LongestFirst(order, [5])))) == list(dict.fromkeys(order)), "it is first already"


def test_a_row_without_its_value_is_odd_and_a_column_that_often_has_none_is_not() -> None:
    class Data(dict[str, list[Any]]):
        column_names = ("prompt", "note", "answer")

        def __len__(self) -> int:
            return 40

        def __getitem__(self, _: Any) -> Any:
            return {name: dict.__getitem__(self, name) for name in self.column_names}

    prompts: list[Any] = [f"p{row}" for row in range(40)]
    prompts[7], prompts[23], prompts[31] = None, "", None
    made = Data(prompt=prompts, note=[None] * 30 + ["x"] * 10, answer=["1"] * 40)
    assert rows._odd(made) == [7, 23], "a few of them suffice"


def test_half_of_the_completions_end_and_the_others_go_on() -> None:
    torch = pytest.importorskip("torch")
    ending = completions.Ending(6, 3, 8, 2)
    ids = torch.zeros(6, 3, dtype=torch.long)
    ended = set()
    for _ in range(8):
        scores = ending(ids, torch.zeros(6, 5))
        ended |= {row for row in range(6) if scores[row].argmax() == 2 and scores[row, 0] == float("-inf")}
        ids = torch.cat([ids, torch.zeros(6, 1, dtype=torch.long)], dim=1)
    assert ended == {0, 2, 4}


def test_at_real_scale_no_completion_ends() -> None:
    torch = pytest.importorskip("torch")
    scores = completions.Endless([2, 99])(None, torch.zeros(3, 5))
    assert bool((scores[:, 2] == float("-inf")).all())
    assert float(scores[:, 3].sum()) == 0


def test_a_loop_ends_after_its_steps_and_a_trainers_does_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = set_up(tmp_path, monkeypatch)
    monkeypatch.setattr(loops._Loop, "steps", {})
    hooks: list[Any] = []
    loops.attach(types.SimpleNamespace(register_optimizer_step_post_hook=hooks.append))
    optimizer = object()
    monkeypatch.setattr(loops.Current, "training", True)
    for _ in range(5):
        hooks[0](optimizer)
    monkeypatch.setattr(loops.Current, "training", False)
    hooks[0](optimizer)
    with pytest.raises(loops.RehearsalOver) as over:
        hooks[0](optimizer)
    assert over.value.code == 0
    assert [each["step"] for each in journal.entries(stage) if each["kind"] == "trained"] == [2]


@pytest.mark.parametrize(("passes", "steps", "noted"), [(9, {}, 0), (30, {}, 1), (30, {1: 1}, 0)])
def test_gradients_without_a_step_are_noted_once(
    passes: int, steps: dict[int, int], noted: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = set_up(tmp_path, monkeypatch)
    monkeypatch.setattr(loops._Loop, "steps", steps)
    monkeypatch.setattr(loops._Loop, "backwards", 0)
    asked: list[int] = []
    module = types.SimpleNamespace(backward=lambda number, *, more: asked.append(number + more))
    loops.backwards(module)
    for number in range(passes):
        module.backward(number, more=1)
    assert asked == list(range(1, passes + 1))
    assert len([each for each in journal.entries(stage) if each["kind"] == "backwards"]) == noted


def test_indices_beyond_the_rows_that_were_kept_wrap_around(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = types.SimpleNamespace(_fingerprint="x", __len__=lambda: 4)

    class Rows(list[int]):
        _fingerprint = "x"

    monkeypatch.setattr(data._Bounded, "lengths", {"x": 1000})
    assert kept._fingerprint == "x"
    assert data._within(Rows(range(4)), range(12)) == [0, 1, 2, 3] * 3
    assert data._within(Rows(range(4)), [5000]) == [5000], "beyond the real length it is the library's to refuse"
    monkeypatch.setattr(data._Bounded, "lengths", {})
    assert data._within(Rows(range(4)), [9]) == [9]


def test_phases_leave_no_frame_and_change_no_exception(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = set_up(tmp_path, monkeypatch)
    error = KeyError("mine")
    with pytest.raises(KeyError) as raised, journal.phase("model"), journal.phase("model"):
        raise error
    assert raised.value is error
    frames = []
    trace = raised.tb
    while trace is not None:
        frames.append(trace.tb_frame.f_code.co_filename)
        trace = trace.tb_next
    assert set(frames) == {__file__}
    told = [(each["edge"], each.get("error")) for each in journal.entries(stage) if each["kind"] == "phase"]
    assert told == [("begin", None), ("end", "KeyError")]


def test_our_own_failure_is_noted_and_never_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = set_up(tmp_path, monkeypatch)

    @journal.shielded
    def fails() -> None:
        raise ZeroDivisionError

    fails()
    assert [each["kind"] for each in journal.entries(stage)] == ["crashed"]
    assert sys.exc_info() == (None, None, None)


def test_secrets_of_a_command_line_do_not_reach_the_journal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stage = set_up(tmp_path, monkeypatch)
    token = "hf_" + "abcdEFGHijklMNOPqrstUVWXyz0123456789"[:34]
    journal.write("process", argv=["train.py", f"--hub_token={token}"], note=f"failed with {token}")
    journal.write("refused", path="/data/x")
    text = "".join(each.read_text() for each in stage.rglob("*.jsonl"))
    assert token not in text
    assert "/data/x" in text


def test_a_loop_whose_every_rate_is_0_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    torch = pytest.importorskip("torch")
    stage = set_up(tmp_path, monkeypatch)
    monkeypatch.setattr(loops._Loop, "steps", {})
    monkeypatch.setattr(moved._Before, "rate", None)
    handles: list[Any] = []
    inner = importlib.import_module("torch.optim.optimizer")
    module = types.SimpleNamespace(**{
        name: lambda hook, name=name: handles.append(getattr(inner, name)(hook))
        for name in ("register_optimizer_step_pre_hook", "register_optimizer_step_post_hook")
    })  # fmt: skip
    loops.attach(module)
    parameter = torch.nn.Parameter(torch.ones(4))
    try:
        optimizer = torch.optim.SGD([parameter], lr=0.0)
        for at in range(5):  # more than usual: a warm-up may rise late
            parameter.grad = torch.ones(4)
            with pytest.raises(loops.RehearsalOver) if at == 4 else nullcontext():
                optimizer.step()
            optimizer.param_groups[0]["lr"] = 0.0 if at < 4 else 1.0
    finally:
        for each in handles:
            each.remove()
    (told,) = [each for each in journal.entries(stage) if each["kind"] == "moved"]
    assert (told["moved"], told["still"], told["used"]) == (0, 1, 0.0)


def test_sglang_serves_the_tiny_folder_with_a_bounded_share(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    set_up(tmp_path, monkeypatch)

    @dataclasses.dataclass
    class ServerArgs:
        model_path: str
        tokenizer_path: str | None = None
        mem_fraction_static: float | None = None

        def __post_init__(self) -> None:
            self.tokenizer_path = self.tokenizer_path or self.model_path

    monkeypatch.setattr(engines, "redirected", lambda name, **_: f"tiny/{name}")
    engines.servers(types.SimpleNamespace(ServerArgs=ServerArgs))
    made = ServerArgs("Qwen/Qwen3-8B")
    assert (made.model_path, made.tokenizer_path) == ("tiny/Qwen/Qwen3-8B", "tiny/Qwen/Qwen3-8B")
    assert made.mem_fraction_static == engines._SHARE
    assert ServerArgs("m", mem_fraction_static=0.1).mem_fraction_static == 0.1


@pytest.mark.parametrize(("checkpoint", "phases"), [(None, 0), ("out/checkpoint-2", 2)])
def test_a_training_that_resumes_nothing_has_no_such_phase(
    checkpoint: str | None, phases: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stage = set_up(tmp_path, monkeypatch)
    trainer = types.SimpleNamespace(_load_optimizer_and_scheduler=lambda checkpoint: checkpoint)
    trainers._marked(trainer, "_load_optimizer_and_scheduler", "resume")
    assert trainer._load_optimizer_and_scheduler(checkpoint) == checkpoint
    assert len([each for each in journal.entries(stage) if each["kind"] == "phase"]) == phases


@pytest.mark.parametrize("card", [True, False])
def test_vllm_compiles_nothing_where_there_is_no_card(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, card: bool
) -> None:
    stage = set_up(tmp_path, monkeypatch)

    @dataclasses.dataclass
    class EngineArgs:
        model: str
        gpu_memory_utilization: float = 0.9
        enforce_eager: bool = False

        def create_engine_config(self) -> tuple[str, float, bool]:
            return self.model, self.gpu_memory_utilization, self.enforce_eager

    monkeypatch.setattr(engines, "redirected", lambda name, **_: f"tiny/{name}")
    monkeypatch.setattr(engines, "has_gpu", lambda: card)
    engines.attach(types.SimpleNamespace(EngineArgs=EngineArgs))
    assert EngineArgs("m").create_engine_config() == ("tiny/m", engines._SHARE, not card)
    assert [each["name"] for each in journal.entries(stage) if each["kind"] == "left_out"] == ["compile"] * (not card)


def test_with_null_an_optimizers_own_rate_is_0_for_its_step_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    set_up(tmp_path, monkeypatch, null=True)
    monkeypatch.setattr(moved._Before, "rate", None)
    monkeypatch.setattr(loops.Current, "training", True)
    parameter = torch.nn.Parameter(torch.ones(4))
    parameter.grad = torch.ones(4)
    optimizer = torch.optim.SGD([parameter], lr=0.5)
    optimizer.register_step_pre_hook(loops._stepping)
    optimizer.register_step_post_hook(loops._stepped)
    optimizer.step()
    assert bool((parameter == 1).all())
    assert optimizer.param_groups[0]["lr"] == 0.5, "the schedule goes on from what it was"
    assert moved._Before.rate == 0


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({"zero_optimization": {"stage": 3, "stage3_param_persistence_threshold": 1e6}}, 0),
        ({"zero_optimization": {"stage": 3}}, 0),
        ({"zero_optimization": {"stage": 2}}, None),
        ({}, None),
    ],
)
def test_under_zero3_every_parameter_is_in_parts(given: dict[str, Any], expected: int | None) -> None:
    arguments._deepspeed(given)
    assert given.get("zero_optimization", {}).get("stage3_param_persistence_threshold") == expected
    arguments._deepspeed("zero3.json")


@pytest.mark.parametrize(("of_trainer", "ids_only"), [(False, False), (False, True), (True, False)])
def test_the_first_forward_that_trains_is_looked_at(
    of_trainer: bool, ids_only: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = pytest.importorskip("torch")
    set_up(tmp_path, monkeypatch)
    run = tmp_path / "run"
    run.mkdir()
    monkeypatch.setenv("DOCTOR_RUN_DIR", str(run))
    monkeypatch.setattr(loops.Current, "training", of_trainer)
    monkeypatch.setattr(torch.nn.Module, "zero_grad", torch.nn.Module.zero_grad)  # as it is now, afterwards
    bare = torch.nn.Module.__call__

    class Model(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = torch.nn.Embedding(9, 4)

        def forward(self, input_ids: Any, **_: Any) -> Any:
            return types.SimpleNamespace(loss=self.embed(input_ids).sum())

    model, ids = Model(), torch.arange(8).reshape(2, 4)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loops.modules(torch.nn.modules.module)
    try:
        with torch.no_grad():
            model(ids)
        assert torch.nn.Module.__call__ is not bare, "nothing has trained yet"
        for _ in range(2):
            (model(ids) if ids_only else model(ids, labels=ids)).loss.backward()
            assert torch.nn.Module.__call__ is bare
            loop_inventory.stepping(optimizer, of_trainer=of_trainer)
            optimizer.step()
    finally:
        loop_inventory.forget()
    assert torch.nn.Module.__call__ is bare
    assert not model.embed.weight._post_accumulate_grad_hooks
    if of_trainer:
        assert not (run / "inventory.json").exists()
        return
    found = json.loads((run / "inventory.json").read_text())
    assert (found["tensors"], found["with_gradient"], found["model"]) == (1, 1, "Model")
    assert found["batch"].get("trained") == (None if ids_only else 8)
