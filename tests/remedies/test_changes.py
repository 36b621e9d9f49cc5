"""Commands as data: each tongue that remedies are written in, and every command of the catalogue's cases."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.base.change import ANY
from doctor.catalogue.changes import changes_of

READ = {
    'pip install "trl>=0.18,<1"': [("package", "trl", ">=0.18,<1")],
    "pip install -U 'transformers>=4.51.1,<4.54'": [("package", "transformers", ">=4.51.1,<4.54")],
    "uv pip install hf_transfer": [("package", "hf-transfer", "")],
    "/venv/bin/python -m pip install trl datasets": [("package", "trl", ""), ("package", "datasets", "")],
    'pip install --force-reinstall "torch==2.8.0" --index-url https://x/cu129': [("package", "torch", "==2.8.0")],
    "pip uninstall -y pynvml": [("package", "pynvml", None)],
    "pip install -e '/home/u/trl'": [],
    "export CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=0": [
        ("variable", "CUDA_DEVICE_ORDER", "PCI_BUS_ID"), ("variable", "CUDA_VISIBLE_DEVICES", "0"),
    ],
    "export TMPDIR=$HOME/tmp; mkdir -p $TMPDIR": [("variable", "TMPDIR", ANY)],
    "unset NCCL_P2P_DISABLE NCCL_SHM_DISABLE": [
        ("variable", "NCCL_P2P_DISABLE", None), ("variable", "NCCL_SHM_DISABLE", None),
    ],
    "NCCL_P2P_DISABLE=1": [("variable", "NCCL_P2P_DISABLE", "1")],
    "HF_HUB_OFFLINE=0 hf download Qwen/Qwen2.5-7B": [],
    "fp16=False, bf16=False": [("setting", "fp16", False), ("setting", "bf16", False)],
    "num_generations=...": [("setting", "num_generations", ANY)],
    "target_modules=['q_proj', 'v_proj']": [("setting", "target_modules", ["q_proj", "v_proj"])],
    "learning_rate=1e-5": [("setting", "learning_rate", 1e-5)],
    "processing_class=tokenizer": [("setting", "processing_class", ANY)],
    "--num_processes NUMBER_OF_GPUS": [("setting", "num_processes", ANY)],
    "--model_name_or_path MODEL": [("setting", "model_name_or_path", ANY)],
    "--deepspeed=/data/.../ds.json": [("setting", "deepspeed", ANY)],
    "--deepspeed ds_config.json": [("setting", "deepspeed", "ds_config.json")],
    "mixed_precision: 'no'": [("setting", "mixed_precision", "no")],
    "fsdp_sync_module_states: true": [("setting", "fsdp_sync_module_states", True)],
    '"zero_optimization": {"stage": 2}': [("setting", "zero_optimization.stage", 2)],
    '"loss_scale": 0': [("setting", "loss_scale", 0)],
    '"loss_scale": 0, "initial_scale_power": 16': [
        ("setting", "loss_scale", 0), ("setting", "initial_scale_power", 16),
    ],
    "--max-model-len 8192": [("setting", "max_model_len", 8192)],
    "--gpu_ids 2,3": [("setting", "gpu_ids", "2,3")],
    "--enable-auto-tool-choice --tool-call-parser hermes": [
        ("setting", "enable_auto_tool_choice", True), ("setting", "tool_call_parser", "hermes"),
    ],
    "--served-model-name 'my model' --max-num-seqs \"64\"": [
        ("setting", "served_model_name", "my model"), ("setting", "max_num_seqs", 64),
    ],
    "--config_file FILE": [("setting", "config_file", ANY)],
    "actor_rollout_ref.rollout.n=8": [("setting", "actor_rollout_ref.rollout.n", 8)],
    "torchrun --nproc_per_node 2 train.py": [("launch", "torchrun", ("torchrun", "--nproc_per_node", "2", "train.py"))],
    "VLLM_SERVER_DEV_MODE=1 vllm serve m": [
        ("variable", "VLLM_SERVER_DEV_MODE", "1"), ("launch", "vllm", ("vllm", "serve", "m")),
    ],
}  # fmt: skip
ONLY_LOOK = (
    "nvidia-smi -q -d PERFORMANCE", "df -h /data", "dataset = dataset.filter(lambda row: row)", "ray status",
    "python -c 'import trl'", "sudo nvidia-smi --gpu-reset -i 1", "emptyDir: {medium: Memory}", "ulimit -n 65535",
    "tokenizer.pad_token = tokenizer.eos_token", "trinity convert --checkpoint-dir /r", "",
    "def reward(prompts, completions, **kwargs):", "export", "pip install", 'echo "unbalanced',
)  # fmt: skip


@pytest.mark.parametrize("command", READ)
def test_what_is_ordered(command: str) -> None:
    found: list[tuple[str, str, Any]] = [(each.input.kind, each.input.name, each.new) for each in changes_of(command)]
    assert found == READ[command]


@pytest.mark.parametrize("command", ONLY_LOOK)
def test_what_only_looks_orders_nothing(command: str) -> None:
    assert changes_of(command) == ()


@pytest.mark.parametrize(
    ("command", "name"), [("batch_size:", "batch_size"), ('"gradient_clipping"', "gradient_clipping")]
)
def test_a_name_alone_is_for_what_stands_there_under_another(command: str, name: str) -> None:
    (change,) = changes_of(command)
    assert change.renames
    assert change.input.name == name


def test_what_pip_does_besides_the_version_is_told() -> None:
    assert changes_of('pip install "trl[vllm]==1.16.0"')[0].again
    assert changes_of("pip install --force-reinstall --no-deps vllm")[0].again
    assert changes_of("pip install -U transformers")[0].newest
    assert not changes_of('pip install "trl>=0.14"')[0].again
