"""`doctor plan` as it is typed."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import yaml

from doctor.cli.app import run
from doctor.sizing.words import WORDS

from .configs import CONFIGS

Answer = tuple[int, str, str]
ABSENT = "PYT3270/deepspeed"  # DeepSpeed is not installed here, which is no fault of a file


@pytest.fixture
def plan(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[..., Answer]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("HOME", str(tmp_path))

    def call(*words: str) -> Answer:
        code = run(["plan", *words])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


def read(plan: Callable[..., Answer], *words: str) -> dict[str, Any]:
    code, out, err = plan("--format", "json", *words)
    assert code in {0, 1}, err
    found: dict[str, Any] = json.loads(out)
    return found


def model(folder: Path, name: str = "Qwen2.5-7B") -> Path:
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(CONFIGS[name]))
    return folder


SCRIPT = """
from trl import GRPOConfig, GRPOTrainer
args = GRPOConfig("out", per_device_train_batch_size=4, gradient_accumulation_steps=2, num_generations=4,
                  max_completion_length=256, beta=0.04, use_vllm=True, vllm_mode="{mode}",
                  vllm_gpu_memory_utilization=0.4, bf16=True, model_init_kwargs={{"dtype": "bfloat16"}})
trainer = GRPOTrainer(model="./model", reward_funcs=len, args=args, train_dataset=rows)
trainer.train()
"""
ZERO = {"zero_optimization": {"stage": 3, "offload_optimizer": {"device": "cpu"}, "reduce_bucket_size": 500_000_000}}
ACCELERATE = {
    "distributed_type": "DEEPSPEED", "num_processes": 4, "num_machines": 1,
    "deepspeed_config": {"deepspeed_config_file": "ds.json", "zero3_init_flag": True},
}  # fmt: skip


def command(folder: Path, mode: str = "colocate") -> list[str]:
    model(folder / "model")
    (folder / "train.py").write_text(SCRIPT.format(mode=mode))
    (folder / "ds.json").write_text(json.dumps(ZERO))
    (folder / "zero3.yaml").write_text(yaml.safe_dump(ACCELERATE))
    return ["--", "accelerate", "launch", "--config_file", "zero3.yaml", "train.py"]


@pytest.mark.parametrize("language", ["en", "zh"])
def test_page_fits_eighty_columns(plan: Callable[..., Answer], language: str) -> None:
    code, out, _ = plan("7B", "--gpus", "8xH100", "--lang", language)
    assert code == 0
    words = WORDS[language]
    assert words["part_optimizer"] in out
    assert words["fits"].split("{")[0] in out
    body = out.split(words["start"])[0]
    assert all(wide(line) <= 80 for line in body.splitlines())
    assert "{" not in body
    assert "…" not in out


@pytest.mark.parametrize("language", ["en", "zh"])
def test_a_narrow_page_loses_no_figure(
    plan: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch, language: str
) -> None:
    wide_page = plan("7B", "--gpus", "8xH100", "--lang", language)[1]
    monkeypatch.setenv("COLUMNS", "50")
    code, out, _ = plan("7B", "--gpus", "8xH100", "--lang", language)
    assert code == 0
    table, wide_table = (page.split(WORDS[language]["engine"] + "\n")[0] for page in (out, wide_page))
    figures = re.compile(r"\d+\.\d|\d+ %")
    assert sorted(figures.findall(table)) == sorted(figures.findall(wide_table))
    assert "…" not in out
    assert all(wide(line) <= 50 for line in table.splitlines())


@pytest.mark.parametrize(("words", "sentence"), [
    (("0.5B", "--gpus", "1xH100"), "beside the trainer, 30 % of the GPU\n"),
    (("7B", "--gpus", "8xH100"), "beside the trainer, 30 % of each GPU: 8 copies, one on each GPU\n"),
    (("72B", "--gpus", "8xH100"), "beside the trainer, 30 % of each GPU: one copy over 8 GPUs\n"),
    (("72B", "--gpus", "8xH100", "--vllm", "server"), "server, 90 % of each of its 4 GPUs: tensor parallel 4, "),
])  # fmt: skip
def test_copies_of_the_engine_are_counted_in_words(
    plan: Callable[..., Answer], words: tuple[str, ...], sentence: str
) -> None:
    assert sentence in plan("--lang", "en", *words)[1]


def wide(line: str) -> int:
    from rich.cells import cell_len

    return cell_len(line)


def test_sentences_are_the_same_in_both_languages() -> None:
    import string

    assert WORDS["en"].keys() == WORDS["zh"].keys()
    for key, sentence in WORDS["en"].items():
        fields = [{name for _, name, _, _ in string.Formatter().parse(each) if name} for each in
                  (sentence, WORDS["zh"][key])]  # fmt: skip
        assert fields[0] == fields[1], key


def test_too_large_exits_one_and_says_what_to_change(plan: Callable[..., Answer]) -> None:
    code, out, _ = plan("7B", "--gpus", "8x24GiB", "--strategy", "ddp")
    assert code == 1
    assert "Does not fit" in out
    assert "Change first" in out


def test_command_is_read(plan: Callable[..., Answer], tmp_path: Path) -> None:
    found = read(plan, "--gpus", "8xH100", *command(tmp_path))
    assert (found["model"]["parameters"], found["model"]["exact"]) == (7_615_616_512, True)
    assert (found["strategy"], found["offload"], found["hardware"]["trainers"]) == ("zero3", "optimizer", 4)
    assert (found["engine"]["mode"], found["engine"]["share"], found["engine"]["wanted"]) == ("colocate", 0.4, 8)
    parts = {each["name"]: each["bytes"] for each in found["phases"][1]["parts"]}
    assert parts["reference"] == pytest.approx(2 * 7_615_616_512 / 4)
    assert parts["buckets"] == 2 * 500_000_000 * 2  # as the file says; twice, for stage 3 overlaps unless told not to
    assert found["batches"]["completions_a_step"] == 32
    assert "idle" in {each["key"] for each in found["notes"]}
    assert found["commands"][-1][-1] == "train.py"


def test_command_in_one_word_is_split(plan: Callable[..., Answer], tmp_path: Path) -> None:
    words = command(tmp_path)
    assert read(plan, "--gpus", "8xH100", "--", " ".join(words[1:]))["strategy"] == "zero3"


def test_trl_command_is_read(plan: Callable[..., Answer], tmp_path: Path) -> None:
    model(tmp_path / "model")
    settings = {"model_name_or_path": "./model", "dataset_name": "d", "per_device_train_batch_size": 2,
                "num_generations": 2, "bf16": True, "use_peft": True, "lora_r": 32, "num_processes": 2}  # fmt: skip
    (tmp_path / "grpo.yaml").write_text(yaml.safe_dump(settings))
    found = read(plan, "--gpus", "2xH100", "--", "trl", "grpo", "--config", "grpo.yaml", "--lora_r", "8")
    assert (found["strategy"], found["hardware"]["trainers"]) == ("ddp", 2)
    assert found["trained_parameters"] == 28 * 8 * ((3584 + 3584) + (3584 + 512))  # q_proj and v_proj
    assert found["engine"] is None  # `use_vllm` is off unless it is said


def test_options_win_over_the_command(plan: Callable[..., Answer], tmp_path: Path) -> None:
    found = read(plan, "--gpus", "8xH100", "--strategy", "zero2", "--batch", "16", *command(tmp_path))
    assert found["strategy"] == "zero2"
    assert found["batches"]["completions_a_step"] == 16 * 4 * 2


def test_server_beside_the_commands_processes(plan: Callable[..., Answer], tmp_path: Path) -> None:
    words = command(tmp_path, "server")
    here = read(plan, "--gpus", "8xH100", "--tensor-parallel", "2", "--data-parallel", "2", *words)
    assert (here["hardware"]["trainers"], here["hardware"]["server"]) == (4, 4)
    assert here["engine"]["share"] == 0.9  # the script's 0.4 is for a colocated engine
    assert "CUDA_VISIBLE_DEVICES=4,5,6,7" in here["commands"][0]
    elsewhere = read(plan, "--gpus", "4xH100", "--tensor-parallel", "2", *words)
    assert (elsewhere["hardware"]["trainers"], elsewhere["hardware"]["server"]) == (4, 0)
    assert "elsewhere" in {each["key"] for each in elsewhere["notes"]}


def test_written_files_are_read_back(plan: Callable[..., Answer], tmp_path: Path) -> None:
    """The doctor's own readers see in the files what was planned."""
    model(tmp_path / "model")
    (tmp_path / "train.py").write_text(SCRIPT.format(mode="colocate"))
    options = ["model", "--gpus", "4xH100", "--strategy", "zero3", "--offload", "optimizer"]
    code, _, err = plan(*options, "--write", "plan")
    assert code == 0
    assert sorted(each.name for each in (tmp_path / "plan").iterdir()) == [
        "accelerate.yaml", "ds_zero3_offload.json", "grpo.yaml",
    ]  # fmt: skip
    assert "written to plan" in err
    again = read(
        plan, "--gpus", "8xH100", "--", "accelerate", "launch", "--config_file", "plan/accelerate.yaml", "train.py"
    )
    assert (again["strategy"], again["offload"], again["hardware"]["trainers"]) == ("zero3", "optimizer", 4)
    training = yaml.safe_load((tmp_path / "plan" / "grpo.yaml").read_text())
    assert training["per_device_train_batch_size"] == 8
    assert training["vllm_tensor_parallel_size"] == 1
    assert plan("--gpus", "4xH100", "--write", "plan", "model")[0] == 2


@pytest.mark.process
def test_checks_find_nothing_wrong_with_the_files(
    plan: Callable[..., Answer], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    model(tmp_path / "model")
    (tmp_path / "train.py").write_text(SCRIPT.format(mode="colocate"))
    for strategy in ("zero2", "zero3", "fsdp", "ddp"):
        assert plan("model", "--gpus", "4xH100", "--strategy", strategy, "--write", strategy)[0] in {0, 1}
        run(["check", "--format", "json", "--", "accelerate", "launch", "--config_file",
             f"{strategy}/accelerate.yaml", "train.py"])  # fmt: skip
        found = json.loads(capsys.readouterr().out)["findings"]
        about_files = [each for each in found if each["id"][:3] in {"ACC", "DSP", "FSD"} and each["id"] != ABSENT]
        assert not [each for each in about_files if each["severity"] != "info"], (strategy, about_files)


def test_nothing_is_overwritten(plan: Callable[..., Answer], tmp_path: Path) -> None:
    (tmp_path / "plan").mkdir()
    (tmp_path / "plan" / "grpo.yaml").write_text("mine\n")
    code, _, err = plan("7B", "--gpus", "8xH100", "--write", "plan")
    assert code == 2
    assert "is not overwritten" in err
    assert [each.name for each in (tmp_path / "plan").iterdir()] == ["grpo.yaml"]
    assert (tmp_path / "plan" / "grpo.yaml").read_text() == "mine\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--gpus", "8xH100"], "name a model"),
        (["7B", "--gpus", "8"], "8xH100"),
        (["7B", "--gpus", "8xB9000"], "the card `B9000` is not known"),
        (["nowhere", "--gpus", "8xH100"], "neither a folder"),
        (["7B", "--params", "7e9", "--gpus", "8xH100"], "give one of them"),
        (["--params", "12", "--gpus", "8xH100"], "not a size"),
        (["--params", "nan", "--gpus", "8xH100"], "not a size"),
        (["7B", "--gpus", "1xH100", "--vllm", "server"], "needs a separate GPU"),
        (["7B", "--gpus", "8xH100", "--tensor-parallel", "3"], "evenly"),
        (["7B", "--gpus", "6xH100", "--tensor-parallel", "4"], "does not divide"),
        (
            ["7B", "--gpus", "8xH100", "--vllm", "server", "--tensor-parallel", "4", "--data-parallel", "2"],
            "leaves none",
        ),
        (["7B", "--gpus", "8xH100", "--strategy", "ddp", "--offload", "optimizer"], "needs ZeRO or FSDP"),
        (["7B", "--gpus", "8xH100", "--strategy", "zero2", "--offload", "all"], "zero3 or fsdp"),
        (["7B", "--gpus", "8xH100", "--strategy", "single"], "on one GPU"),
        (["7B", "--gpus", "8xH100", "--lora", "8", "--lora-targets", "c_attn"], "q_proj"),
        (["7B", "--gpus", "8xH100", "--batch", "0"], "batch"),
        (["7B", "--gpus", "8xH100", "--", "vllm", "serve", "m"], "no GRPO run"),
        (["7B", "8B", "--gpus", "8xH100"], "8B"),
        (["7B", "--gpus", "8xH100", "--python", "/nowhere/python"], "--python"),
        (["7B", "--gpus", "8xH100", "--python", ""], "--python"),
        (["7B", "--gpus", "8xH100", "--", "accelerate", "launch", "nowhere.py"], "no GRPO run"),
        (["7B", "--gpus", "8xH100", "--", "make", "everything"], "no GRPO run"),
    ],
)
def test_wrong_input_is_named(plan: Callable[..., Answer], words: list[str], said: str) -> None:
    code, out, err = plan(*words)
    assert (code, out) == (2, "")
    assert said in err
    assert "Traceback" not in err


@pytest.mark.parametrize("content", ["", "[]", "{", '{"hidden_size": 8}', '{"hidden_size": "x"}', "\0"])
def test_broken_configuration_is_named(plan: Callable[..., Answer], tmp_path: Path, content: str) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "config.json").write_text(content)
    code, _, err = plan("model", "--gpus", "8xH100")
    assert code == 2
    assert "config" in err


@pytest.mark.parametrize(
    ("name", "size"),
    [("Qwen/Qwen2.5-7B-Instruct", "7B"), ("Qwen/Qwen3-30B-A3B", "30B-A3B"), ("meta-llama/Llama-3.1-8B", "8B"),
     ("my/model", None), ("org/v2-beta", None)],
)  # fmt: skip
def test_size_in_a_name(name: str, size: str | None) -> None:
    from doctor.sizing.sizes import in_name

    assert in_name(name) == size


def test_model_that_is_not_here_is_taken_from_published_figures(plan: Callable[..., Answer]) -> None:
    found = read(plan, "Qwen/Qwen2.5-7B-Instruct", "--gpus", "8xH100")
    assert found["model"]["parameters"] == 7_615_616_512
    assert "published" in {each["key"] for each in found["notes"]}
    assert "assumed_shape" not in {each["key"] for each in found["notes"]}


def test_model_that_nobody_publishes_is_taken_by_its_name(plan: Callable[..., Answer]) -> None:
    found = read(plan, "somebody/Qwen2.5-7B-Instruct", "--gpus", "8xH100")
    assert {"not_here", "assumed_shape"} <= {each["key"] for each in found["notes"]}


def test_published_model_is_named_in_the_files(plan: Callable[..., Answer]) -> None:
    found = read(plan, "Qwen/Qwen2.5-7B-Instruct", "--gpus", "8xH100")
    assert "Qwen/Qwen2.5-7B-Instruct" in found["files"]["grpo.yaml"]


@pytest.mark.parametrize(
    ("settings", "strategy", "offload"),
    [
        ({"fsdp_version": 2}, "fsdp", "none"),
        ({"fsdp_sharding_strategy": "SHARD_GRAD_OP"}, "fsdp-grad-op", "none"),
        ({"fsdp_version": 2, "fsdp_reshard_after_forward": False}, "fsdp-grad-op", "none"),
        ({"fsdp_offload_params": True}, "fsdp", "all"),
    ],
)
def test_fsdp_is_read(
    plan: Callable[..., Answer], tmp_path: Path, settings: dict[str, Any], strategy: str, offload: str
) -> None:
    words = command(tmp_path)
    file = {"distributed_type": "FSDP", "num_processes": 4, "num_machines": 1, "fsdp_config": settings}
    (tmp_path / "zero3.yaml").write_text(yaml.safe_dump(file))
    found = read(plan, "--gpus", "4xH100", *words)
    assert (found["strategy"], found["offload"]) == (strategy, offload)


def test_adapter_is_sent_to_its_base(plan: Callable[..., Answer], tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "adapter_config.json").write_text('{"base_model_name_or_path": "Qwen/Qwen2.5-7B"}')
    code, _, err = plan("model", "--gpus", "8xH100")
    assert code == 2
    assert "Qwen/Qwen2.5-7B" in err


def test_release_decides_how_logits_are_made() -> None:
    from doctor.sizing.from_facts import Read
    from doctor.sizing.planning import _head

    assert [_head(Read(trl=each)) for each in ("0.20.0", "1.14.0", "1.15.0", "1.16.0", None)] == [
        "full", "full", "chunked", "chunked", "chunked",
    ]  # fmt: skip


def test_server_command_follows_the_release() -> None:
    from dataclasses import replace

    from doctor.sizing.launch import launch_of
    from doctor.sizing.setup import Hardware, Rollout

    from . import cases

    volta = Hardware(4, 2**34, "V100", capability=(7, 0))
    setup = replace(cases.setup_of("plain"), rollout=Rollout("server", 0.9, 2, 1), hardware=volta)
    old = launch_of(setup, model="m", trl="1.10.0").commands[0]
    new = launch_of(setup, model="m", trl="1.11.0").commands[0]
    assert old[2:6] == ("trl", "vllm-serve", "--model", "m")
    assert new[3:6] == ("vllm", "serve", "m")
    for each in (old, new):
        sizes = dict(pairwise(each))
        assert (sizes["--tensor-parallel-size"], sizes["--data-parallel-size"], sizes["--dtype"]) == (
            "2", "1", "float16",
        )  # fmt: skip


@pytest.mark.parametrize("language", ["en", "zh"])
def test_every_change_has_its_words(plan: Callable[..., Answer], language: str) -> None:
    """Whatever the search finds for odd runs can be said."""
    for words in (
        ("7B", "--gpus", "1x24GiB", "--dtype", "float32"), ("14B", "--gpus", "8x24GiB", "--strategy", "ddp"),
        ("7B", "--gpus", "2x40GiB", "--lora", "16", "--strategy", "ddp", "--no-checkpointing", "--head", "full"),
        ("72B", "--gpus", "8x80GiB", "--vllm", "server", "--attention", "eager"),
    ):  # fmt: skip
        code, out, err = plan("--lang", language, *words)
        assert code in {0, 1}, err
        body = out.split(WORDS[language]["start"])[0]
        assert not re.search(r"\{(before|after|need|most|memory|word)\}", body)


def test_host_memory_is_compared_with_what_loading_takes(plan: Callable[..., Answer]) -> None:
    """Eight ranks that each load 28 GiB do not fit beside each other into 64."""
    tight = read(plan, "7B", "--gpus", "8xH100", "--strategy", "zero2", "--dtype", "float32", "--host-memory", "64")
    roomy = read(plan, "7B", "--gpus", "8xH100", "--strategy", "zero2", "--dtype", "float32", "--host-memory", "2048")
    unknown = read(plan, "7B", "--gpus", "8xH100", "--strategy", "zero2", "--dtype", "float32")
    assert (tight["verdict"]["word"], tight["verdict"]["host"]) == ("unsure", "unsure")
    assert (roomy["verdict"]["word"], roomy["verdict"]["host"]) == ("fits", "fits")
    assert unknown["verdict"]["host"] is None
    assert "host_unknown" in {each["key"] for each in unknown["notes"]}
    assert unknown["host_bytes"] > 8 * 4 * 7_615_616_512


@pytest.mark.parametrize(
    ("spec", "near"), [("8xH21", "H20"), ("4xRTX4091", "RTX-4090"), ("8xMI300", "MI300X"), ("2xL40SS", "L40S")]
)
def test_a_card_that_is_not_known_gets_names_and_no_memory_of_another(
    plan: Callable[..., Answer], spec: str, near: str
) -> None:
    code, _, err = plan("7B", "--gpus", spec)
    assert code == 2
    assert f"`{near}`" in err
    assert "24GiB" not in err


@pytest.mark.parametrize("card", ["V100", "T4"])
def test_a_card_without_bfloat16_is_planned_without_it(plan: Callable[..., Answer], tmp_path: Path, card: str) -> None:
    code, out, err = plan("0.5B", "--gpus", f"1x{card}", "--write", str(tmp_path / "files"), "--format", "json")
    assert code == 0, err
    found = json.loads(out)
    assert "no_bf16" in {each["key"] for each in found["notes"]}
    written = (tmp_path / "files" / "grpo.yaml").read_text()
    assert "bf16: false" in written
    assert "fp16: true" in written
    _, page, _ = plan("7B", "--gpus", f"1x{card}")
    assert "dtype: bfloat16" not in page
    assert "--dtype bfloat16" not in page
    _, asked, _ = plan("0.5B", "--gpus", f"1x{card}", "--mixed", "bf16")
    assert "--mixed fp16" in asked
    _, newer, _ = plan("0.5B", "--gpus", "1xA100")
    assert "fp16" not in newer
