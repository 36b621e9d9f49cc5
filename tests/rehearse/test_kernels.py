"""What only a GPU runs is replaced on a machine without one, and nothing is replaced on one that has a card."""

from __future__ import annotations

import types
from enum import Enum
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from doctor.monitors.rehearse import arguments, kernels, models
from tests.real.runs import environment, interpreter
from tests.rehearse.cases import PROGRAMS, SMALL, Case
from tests.rehearse.running import make_stage, rehearse
from tests.rehearse.test_hooks import set_up
from tests.rehearse.test_updates import journalled


class Optim(Enum):
    PAGED = "paged_adamw_8bit"
    APEX = "adamw_apex_fused"
    TORCH = "adamw_torch"


@pytest.fixture
def root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A rehearsal on a machine without a card, whose interpreter has none of the packages."""
    monkeypatch.setattr(kernels, "has_gpu", lambda: False)
    monkeypatch.setattr(kernels.importlib.util, "find_spec", lambda _: None)
    return set_up(tmp_path, monkeypatch)


def left(root: Path) -> set[tuple[str, str]]:
    return {(each["name"], each["why"]) for each in journalled(root, "left_out")}


@pytest.mark.parametrize(
    ("asked", "package"),
    [
        ("flash_attention_2", "flash_attn"), ("flash_attention_3", "flash_attn_interface"),
        ("kernels-community/flash-attn3", ""), ({"text_config": "flash_attention_2"}, "flash_attn"),
    ],
)  # fmt: skip
def test_flash_attention_gives_way_to_what_the_library_chooses(asked: Any, package: str, root: Path) -> None:
    keywords = {"attn_implementation": asked, "dtype": "auto"}
    kernels.loading(keywords)
    assert keywords == {"dtype": "auto"}
    assert left(root) == {("attention", "attention"), *({(package, "not_here")} if package else ())}


@pytest.mark.parametrize("asked", ["sdpa", "eager", "flex_attention", None])
def test_other_attention_stays(asked: str | None, root: Path) -> None:
    keywords = {"attn_implementation": asked}
    kernels.loading(keywords)
    assert keywords == {"attn_implementation": asked}
    assert left(root) == set()


def test_the_attention_of_a_configuration_is_replaced_too(root: Path) -> None:
    config = SimpleNamespace(_attn_implementation="flash_attention_2")
    kernels.loading({"config": config})
    assert config._attn_implementation is None
    assert ("attention", "attention") in left(root)


@pytest.mark.parametrize(
    ("keywords", "method"),
    [
        ({"quantization_config": SimpleNamespace(quant_method=SimpleNamespace(value="bitsandbytes"))}, "bitsandbytes"),
        ({"quantization_config": {"load_in_4bit": True}}, "bitsandbytes"),
        ({"quantization_config": {"quant_method": "mxfp4"}}, "mxfp4"),
        ({"load_in_8bit": True}, "bitsandbytes"),
    ],
)
def test_plain_weights_are_loaded_in_the_place_of_quantised_ones(
    keywords: dict[str, Any], method: str, root: Path
) -> None:
    kernels.loading(keywords)
    assert keywords == {}
    (told,) = (each for each in journalled(root, "left_out") if each["why"] == "quantised_loading")
    assert told["values"] == {"method": method}


@pytest.mark.parametrize(
    ("asked", "used"),
    [({"": 0}, {"": "cpu"}), ("cuda:1", "cpu"), ("auto", "auto"), ({"head": "cpu"}, {"head": "cpu"})],
)
@pytest.mark.usefixtures("root")
def test_a_model_goes_to_no_card_that_is_not_there(asked: Any, used: Any) -> None:
    keywords = {"device_map": asked}
    kernels.loading(keywords)
    assert keywords == {"device_map": used}


def test_liger_and_optimizers_of_a_card_are_replaced(root: Path) -> None:
    for asked, package in ((Optim.PAGED, "bitsandbytes"), (Optim.APEX, "apex")):
        args = SimpleNamespace(use_liger_kernel=True, use_liger_loss=True, optim=asked)
        kernels.training(args)
        assert (args.use_liger_kernel, args.use_liger_loss, args.optim) == (False, False, Optim.TORCH)
        assert {("kernels", "liger"), ("liger_kernel", "not_here"), (package, "not_here")} <= left(root)


@pytest.mark.parametrize("place", ["own", "launcher"])
def test_torchs_adam_steps_in_the_place_of_the_fused_one(place: str, root: Path) -> None:
    config = {"optimizer": {"type": "AdamW", "params": {"lr": "auto"}}, "zero_optimization": {"stage": 2}}
    own, plugin = SimpleNamespace(config=config), SimpleNamespace(deepspeed_config=config)
    args = SimpleNamespace(**({"hf_deepspeed_config": own} if place == "own" else {"deepspeed_plugin": plugin}))
    kernels.training(args)
    assert config["optimizer"]["params"] == {"lr": "auto", "torch_adam": True}
    assert ("optimizer", "optimizer_of_gpu") in left(root)


def test_nothing_is_replaced_where_there_is_a_card(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = set_up(tmp_path, monkeypatch)
    monkeypatch.setattr(kernels, "has_gpu", lambda: True)
    keywords = {"attn_implementation": "flash_attention_2", "load_in_4bit": True, "device_map": {"": 0}}
    args = SimpleNamespace(use_liger_kernel=True, optim=Optim.PAGED)
    kernels.loading(keywords)
    kernels.training(args)
    assert keywords == {"attn_implementation": "flash_attention_2", "load_in_4bit": True, "device_map": {"": 0}}
    assert (args.use_liger_kernel, args.optim) == (True, Optim.PAGED)
    assert left(root) == set()


def test_the_configuration_of_a_missing_package_is_made(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Config:
        def post_init(self) -> None:
            raise ModuleNotFoundError("No package metadata was found for bitsandbytes")

    kernels.configurations(types.SimpleNamespace(BitsAndBytesConfig=Config))
    Config().post_init()
    assert left(root) == {("bitsandbytes", "not_here")}
    monkeypatch.setattr(kernels, "has_gpu", lambda: True)
    with pytest.raises(ModuleNotFoundError):
        Config().post_init()


@pytest.mark.usefixtures("root")
def test_attention_that_is_set_later_stays_what_it_was() -> None:
    asked = []

    class Model:
        def set_attn_implementation(self, attn_implementation: str) -> None:
            asked.append(attn_implementation)

    made = models._set_later(Model.set_attn_implementation)
    made(Model(), "flash_attention_2")
    made(Model(), attn_implementation="eager")
    assert asked == ["eager"]


def test_a_run_whose_vllm_is_elsewhere_generates_here(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(arguments, "has_gpu", lambda: False)
    monkeypatch.setattr(arguments, "_vllm_installed", lambda: False)
    args = SimpleNamespace(use_vllm=True, vllm_mode="colocate")
    arguments._engine(args)
    assert not args.use_vllm
    assert left(root) == {("engine", "no_engine"), ("vllm", "not_here")}


@pytest.mark.process
@pytest.mark.slow
def test_a_script_for_a_card_is_rehearsed_without_one(tmp_path: Path) -> None:
    python = interpreter()
    (stage := tmp_path / "stage").mkdir()
    (folder := tmp_path / "run").mkdir()
    make_stage(python, stage, environment(python, stage))
    done = rehearse(Case((f"{PROGRAMS}/card.py", SMALL)), python, stage, folder, environment(python, folder))
    assert (done.code, done.ids, done.broken, done.touched) == (0, [], [], ())
    assert "resume" in done.reached
    said = " ".join(each["why"] for each in done.report["rehearsal"]["not_rehearsed"])
    for each in ("flash_attention_2", "Liger", "bitsandbytes", "paged_adamw_8bit", "vLLM"):
        assert each in said, each
