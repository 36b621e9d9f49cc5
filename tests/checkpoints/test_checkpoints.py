"""Checkpoints are told by names and headers: real files where torch makes them, names of the sources elsewhere."""

from __future__ import annotations

import json
import pickle
import sys
from pathlib import Path

import pytest

from doctor.catalogue.finding import Finding
from doctor.logs.artifacts import is_artifact
from doctor.logs.artifacts import read as read_artifacts
from doctor.readers.files.checkpoint_files import read as recognise

POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 1234567\n"


def safetensors(path: Path, keep: float = 1.0, values: int = 4096) -> None:
    """A file of the format, cut off behind a share of it."""
    header = json.dumps(
        {"__metadata__": {"format": "pt"}, "w": {"dtype": "F32", "shape": [values], "data_offsets": [0, 4 * values]}}
    ).encode()
    content = len(header).to_bytes(8, "little") + header + b"\1" * 4 * values
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content[: int(len(content) * keep)])


def archive(path: Path, keep: float = 1.0) -> None:
    """A file as `torch.save` writes it."""
    torch = pytest.importorskip("torch")
    path.parent.mkdir(parents=True, exist_ok=True)
    torch.save({"w": torch.zeros(64, 64)}, path)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * keep)])


def verl(folder: Path, ranks: int = 4, *, skip: tuple[int, ...] = ()) -> Path:
    for rank in range(ranks):
        for part in ("model", "optim", "extra_state"):
            if rank not in skip:
                archive(folder / f"{part}_world_size_{ranks}_rank_{rank}.pt")
    (folder / "fsdp_config.json").write_text(json.dumps({"FSDP_version": 1, "world_size": ranks}))
    (folder / "huggingface").mkdir()
    (folder / "huggingface" / "config.json").write_text('{"model_type": "qwen2"}')
    (folder / "huggingface" / "tokenizer.json").write_text("{}")
    return folder


def zero(folder: Path, *, stage: int = 3, script: str = '"output_dir" --safe_serialization', ranks: int = 2) -> Path:
    tag = folder / "global_step40"
    for rank in range(ranks):
        archive(tag / f"bf16_zero_pp_rank_{rank}_mp_rank_00_optim_states.pt")
        if stage == 3:
            archive(tag / f"zero_pp_rank_{rank}_mp_rank_00_model_states.pt")
    if stage < 3:
        archive(tag / "mp_rank_00_model_states.pt")
    (folder / "latest").write_text("global_step40")
    (folder / "zero_to_fp32.py").write_text(script)
    return folder


def found(path: Path) -> dict[str, Finding]:
    result = read_artifacts([str(path)])
    assert not result.crashed
    for each in result.findings:
        each.words("zh")
    return {each.problem.id: each for each in result.findings}


def test_verl(tmp_path: Path) -> None:
    folder = verl(tmp_path / "global_step_40" / "actor")
    verl(tmp_path / "global_step_20" / "actor")
    findings = found(tmp_path)
    assert list(findings) == ["CKP9009/rank_shards"]
    finding = findings["CKP9009/rank_shards"]
    assert finding.where.step == 40
    assert finding.severity.value == "info"
    assert finding.commands == (
        f"python -m verl.model_merger merge --backend fsdp --local_dir {folder} --target_dir {folder}-merged",
    )
    safetensors(folder / "huggingface" / "model.safetensors")
    safetensors(tmp_path / "global_step_20" / "actor" / "huggingface" / "model.safetensors")
    assert not found(tmp_path), "whole weights were saved too"


def test_verl_on_two_nodes_without_a_common_disk(tmp_path: Path) -> None:
    verl(tmp_path / "global_step_40" / "actor", ranks=4, skip=(2, 3))
    findings = found(tmp_path)
    assert list(findings) == ["CKP016"]
    assert "2 pieces of checkpoint `global_step_40/actor` are missing, first `model_world_size_4_rank_2.pt`" in (
        findings["CKP016"].words().headline
    )


def test_trinity(tmp_path: Path) -> None:
    verl(tmp_path / "global_step_4" / "actor")
    (tmp_path / "latest_state_dict_iteration.txt").write_text("4")
    assert found(tmp_path)["CKP9009/rank_shards"].commands == (
        f"trinity convert --checkpoint-dir {tmp_path / 'global_step_4'}",
    )


def test_megatron_of_verl(tmp_path: Path) -> None:
    folder = tmp_path / "global_step_40" / "actor"
    (folder / "dist_ckpt").mkdir(parents=True)
    for name in ("__0_0.distcp", "__1_0.distcp", ".metadata", "common.pt", "metadata.json"):
        (folder / "dist_ckpt" / name).write_bytes(b"x")
    findings = found(tmp_path)
    assert list(findings) == ["CKP9009/megatron"]
    assert "--backend megatron" in findings["CKP9009/megatron"].commands[0]


@pytest.mark.parametrize("stage", [2, 3])
def test_zero(tmp_path: Path, stage: int) -> None:
    folder = zero(tmp_path / "checkpoint-40", stage=stage)
    finding = found(tmp_path)["CKP9009/zero_partitions"]
    assert finding.commands[0] == (f"python {folder}/zero_to_fp32.py {folder} {folder}-merged --safe_serialization")
    safetensors(folder / "model.safetensors")
    assert not found(tmp_path), "gathered weights lie beside the partitions"


def test_zero_of_deepspeed_0_14_without_latest(tmp_path: Path) -> None:
    folder = zero(tmp_path / "checkpoint-40", script='"output_file"')
    (folder / "latest").unlink()
    (command, _) = found(tmp_path)["CKP9009/zero_partitions"].commands
    assert command.endswith(f"{folder}-merged/pytorch_model.bin -t global_step40")


def test_a_partition_is_missing(tmp_path: Path) -> None:
    folder = zero(tmp_path / "checkpoint-40", ranks=4)
    (folder / "global_step40" / "bf16_zero_pp_rank_1_mp_rank_00_optim_states.pt").unlink()
    findings = found(tmp_path)
    assert list(findings) == ["CKP016"]
    assert findings["CKP016"].confidence.value == "likely"


@pytest.mark.filterwarnings("ignore:torch.distributed is disabled")
def test_sharded_state_as_torch_really_writes_it(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    dcp = pytest.importorskip("torch.distributed.checkpoint")
    folder = tmp_path / "checkpoint-4" / "pytorch_model_fsdp_0"
    folder.mkdir(parents=True)
    dcp.save({"model": {"w": torch.zeros(4, 4)}}, storage_writer=dcp.FileSystemWriter(folder), no_dist=True)
    finding = found(tmp_path)["CKP9009/fsdp_shards"]
    assert finding.commands[0] == f"accelerate merge-weights {folder} {tmp_path / 'checkpoint-4'}-merged"
    (folder / ".metadata").unlink()
    assert list(found(tmp_path)) == ["CKP016"], "torch writes it last"


@pytest.mark.parametrize(("keep", "size"), [(0.5, "8,247 of 16,494"), (0.004, "65 of 110")])
def test_cut_safetensors(tmp_path: Path, keep: float, size: str) -> None:
    path = tmp_path / "checkpoint-4" / "model.safetensors"
    safetensors(path, keep)
    findings = found(tmp_path)
    assert list(findings) == ["CKP005"]
    assert f"is truncated: it has {size} bytes" in findings["CKP005"].words().headline
    assert found(path).keys() == {"CKP005"}, "the file itself was named"


def test_an_empty_file_is_cut_off(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").touch()
    assert list(found(tmp_path)) == ["CKP005"]


def test_cut_archive_of_torch(tmp_path: Path) -> None:
    archive(tmp_path / "checkpoint-4" / "pytorch_model.bin", 0.7)
    findings = found(tmp_path)
    assert list(findings) == ["CKP006"]
    assert "truncated after" in findings["CKP006"].words().headline


def test_missing_shards_and_pointers(tmp_path: Path) -> None:
    names = [f"model-0000{number}-of-00003.safetensors" for number in (1, 2, 3)]
    (tmp_path / "model.safetensors.index.json").write_text(
        json.dumps({"metadata": {}, "weight_map": {f"w{at}": name for at, name in enumerate(names)}})
    )
    safetensors(tmp_path / names[0])
    (tmp_path / names[1]).write_text(POINTER)
    findings = found(tmp_path)
    assert set(findings) == {"HUB008", "DAT011"}
    assert names[2] in findings["HUB008"].words().headline
    assert findings["DAT011"].commands == (f"git -C {tmp_path} lfs pull",)


def test_whole_checkpoints_say_nothing(tmp_path: Path) -> None:
    safetensors(tmp_path / "checkpoint-1" / "model.safetensors")
    archive(tmp_path / "checkpoint-2" / "pytorch_model.bin")
    archive(tmp_path / "checkpoint-2" / "optimizer.pt")
    safetensors(tmp_path / "checkpoint-3" / "adapter_model.safetensors")
    (tmp_path / "checkpoint-3" / "adapter_config.json").write_text('{"base_model_name_or_path": "Qwen/Qwen3-8B"}')
    (tmp_path / "older.bin").write_bytes(pickle.dumps({"w": 1}))
    result = read_artifacts([str(tmp_path)])
    assert not result.findings
    assert not result.skipped


def test_no_torch_and_no_pickle_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    verl(tmp_path / "global_step_40" / "actor")
    monkeypatch.setattr(pickle, "loads", None)
    monkeypatch.setattr(pickle, "load", None)
    for name in ("torch", "safetensors"):
        monkeypatch.setitem(sys.modules, name, None)
    assert [each.kind for each in recognise(tmp_path / "global_step_40" / "actor")] == ["rank-shards"]


def test_weights_are_no_log_text(tmp_path: Path) -> None:
    safetensors(tmp_path / "model.safetensors")
    assert is_artifact(str(tmp_path / "model.safetensors"))
    (tmp_path / "train.log").write_text("step 1\n")
    assert not is_artifact(str(tmp_path / "train.log"))


def test_an_adapter_without_its_base(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoint-4"
    safetensors(folder / "adapter_model.safetensors")
    config = folder / "adapter_config.json"
    config.write_text(json.dumps({"base_model_name_or_path": str(tmp_path / "models" / "base")}))
    findings = found(tmp_path)
    assert list(findings) == ["CKP018"]
    assert "expects its base model at `models/base`, which does not exist here" in findings["CKP018"].words().headline
    (tmp_path / "models" / "base").mkdir(parents=True)
    assert not found(tmp_path)
    for broken in ("", "[]", '{"base_model_name_or_path": 7}', '{"base_model_name_or_path": null}'):
        config.write_text(broken)
        assert not found(tmp_path)
