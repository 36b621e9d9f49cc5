"""Which file accelerate would read, and what stands in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.facts.accelerate_config import AccelerateConfig
from tests.facts.command_facts import fact_of, state_of

ZERO3 = (
    "compute_environment: LOCAL_MACHINE\ndistributed_type: DEEPSPEED\nnum_processes: 4\n"
    "deepspeed_config:\n  zero_stage: 3\n"
)


def read(line: str, folder: Path, **rest: object) -> AccelerateConfig:
    found = fact_of("accelerate_config", line, folder, **rest)
    assert isinstance(found, AccelerateConfig)
    return found


def test_named_on_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "zero3.yaml").write_text(ZERO3)
    for line in (
        "accelerate launch --config_file zero3.yaml train.py",
        "accelerate launch --config-file=./zero3.yaml train.py",
        "python -m accelerate.commands.launch --config_file zero3.yaml train.py",
        "trl grpo --config_file zero3.yaml --model_name_or_path m",
        "trl grpo --accelerate_config zero3.yaml",
        f"env -C {tmp_path} accelerate launch --config_file zero3.yaml t.py",
    ):
        found = read(line, tmp_path)
        assert found.path == str(tmp_path / "zero3.yaml")
        assert (found.is_default, found.broken, found.is_shipped) == (False, None, False)
        stage = found.settings["deepspeed_config.zero_stage"]
        assert (stage.value, stage.place and stage.place.line) == (3, 5)


def test_named_in_trls_file(tmp_path: Path) -> None:
    (tmp_path / "grpo.yaml").write_text("learning_rate: 1.0e-6\naccelerate_config: zero2\nnum_processes: 2\n")
    found = read("trl grpo --config grpo.yaml", tmp_path)
    assert found.settings["deepspeed_config.zero_stage"].value == 2
    assert found.is_shipped


@pytest.mark.parametrize(
    ("name", "key", "value"),
    [
        ("zero1", "deepspeed_config.zero_stage", 1), ("zero2", "deepspeed_config.zero_stage", 2),
        ("zero3", "deepspeed_config.zero_stage", 3), ("fsdp1", "fsdp_config.fsdp_version", 1),
        ("fsdp2", "fsdp_config.fsdp_version", 2), ("multi_gpu", "distributed_type", "MULTI_GPU"),
        ("single_gpu", "distributed_type", "NO"),
    ],
)  # fmt: skip
def test_shipped_with_trl(tmp_path: Path, name: str, key: str, value: object) -> None:
    found = read(f"trl grpo --accelerate_config {name}", tmp_path)
    assert found.settings[key].value == value
    assert found.path == f"trl/accelerate_configs/{name}.yaml"


def test_default_file(tmp_path: Path) -> None:
    line = "accelerate launch train.py"
    assert state_of("accelerate_config", line, tmp_path).reason == "accelerate has no configuration file here"
    for variables, folder in (
        ({}, "home/.cache/huggingface"),
        ({"XDG_CACHE_HOME": str(tmp_path / "cache")}, "cache/huggingface"),
        ({"HF_HOME": str(tmp_path / "hf")}, "hf"),
        ({"HF_HOME": "~/mine"}, "home/mine"),
    ):
        path = tmp_path / folder / "accelerate" / "default_config.yaml"
        path.parent.mkdir(parents=True)
        path.write_text("distributed_type: 'NO'\nnum_processes: 1\n")
        found = read(line, tmp_path, environ=variables)
        assert (found.path, found.is_default) == (str(path), True)
    assert "reads no configuration" in state_of("accelerate_config", "accelerate launch --cpu t.py", tmp_path).reason
    assert read("HF_HOME=" + str(tmp_path / "hf") + " accelerate launch t.py", tmp_path).is_default


@pytest.mark.parametrize(
    ("content", "line", "words"),
    [("a: 1\n\tb: 2\n", 2, "tab"), ("- 1\n", 1, "list"), ("", None, "empty"), ("a: [\n", 2, ""), ("a: !x 1", 1, "tag")],
)
def test_broken_files(tmp_path: Path, content: str, line: int | None, words: str) -> None:
    (tmp_path / "x.yaml").write_text(content)
    broken = read("accelerate launch --config_file x.yaml t.py", tmp_path).broken
    assert broken is not None
    assert words in broken.message
    assert broken.place.line == line


def test_missing_files(tmp_path: Path) -> None:
    for line in ("accelerate launch --config_file no.yaml t.py", "accelerate launch --config_file no.json t.py"):
        broken = read(line, tmp_path).broken
        assert broken is not None
        assert "does not exist" in broken.message
    broken = read("trl grpo --accelerate_config zero9", tmp_path).broken
    assert broken is not None
    assert "neither a file nor" in broken.message


def test_json_and_duplicates(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text('{"distributed_type": "NO",\n "num_processes": 1,\n "num_processes": 2}')
    found = read("accelerate launch --config_file a.json t.py", tmp_path)
    assert found.settings["num_processes"].value == 2
    assert [(each.first.line, each.last.line) for each in found.repeated_keys] == [(2, 3)]


def test_other_launchers(tmp_path: Path) -> None:
    for line in ("torchrun t.py", "python t.py", "vllm serve m", "foo"):
        assert "accelerate's launcher" in state_of("accelerate_config", line, tmp_path).reason
