"""Files and commands that start the run as it was planned.

- accelerate's YAML: https://huggingface.co/docs/accelerate/package_reference/cli#accelerate-config
- DeepSpeed's JSON: https://www.deepspeed.ai/docs/config-json/ ; `"auto"` is filled in by Transformers
  (https://huggingface.co/docs/transformers/deepspeed)
- the server: `trl vllm-serve` up to TRL 1.10, from 1.11 vLLM's own with an engine for weight transfer
  (https://github.com/huggingface/trl/blob/main/trl/generation/vllm_client.py)
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from doctor.base.record import record
from doctor.sizing import engine
from doctor.sizing.setup import GIB, Setup

ACCELERATE, TRAINING = "accelerate.yaml", "grpo.yaml"


@record
class LaunchAdvice:
    """What to write and what to type.

    Args:
        files: name -> content.
        commands: one a line, the server first; each also as words.
        variables: of each command.

    """

    files: Mapping[str, str]
    commands: tuple[tuple[str, ...], ...]


def launch_of(
    setup: Setup,
    *,
    model: str,
    script: tuple[str, ...] = (),
    trl: str | None = None,
    folder: str = "",
    known: Callable[[str], bool] = lambda _: True,
) -> LaunchAdvice:
    """Files and commands.

    Args:
        setup: the run.
        model: name or path for the server.
        script: what accelerate starts, with its arguments; without one `trl grpo` is shown.
        trl: installed version, None for the newest.
        folder: where the files will lie, seen from where the commands are typed.
        known: whether the installed TRL has an argument.

    """
    files: dict[str, str] = {}
    if setup.deepspeed:
        files[deepspeed_name(setup)] = json.dumps(deepspeed(setup), indent=2) + "\n"
    if setup.strategy != "single":
        files[ACCELERATE] = yaml(accelerate(setup, folder))
    files[TRAINING] = yaml({key: value for key, value in training(setup, model).items() if known(key)})
    commands = []
    if setup.rollout.engine == "server":
        commands.append(_server(setup, model, trl))
    commands.append(_trainer(setup, script, folder))
    return LaunchAdvice(files, tuple(commands))


def deepspeed_name(setup: Setup) -> str:
    """Name of DeepSpeed's file."""
    return f"ds_zero{setup.stage}{'_offload' if setup.offload_optimizer else ''}.json"


def deepspeed(setup: Setup) -> dict[str, Any]:
    """DeepSpeed's configuration. Batch numbers, clipping and precision are the trainer's, so they are "auto"."""
    zero: dict[str, Any] = {"stage": setup.stage}
    if setup.stage in {1, 2}:
        zero |= {
            "contiguous_gradients": True, "overlap_comm": setup.trainers > 1, "reduce_bucket_size": "auto",
            "allgather_bucket_size": 200_000_000,
        }  # fmt: skip
    if setup.stage == 3:
        zero |= {
            "contiguous_gradients": True, "overlap_comm": setup.trainers > 1, "reduce_bucket_size": "auto",
            "stage3_prefetch_bucket_size": "auto", "stage3_param_persistence_threshold": "auto",
            "stage3_gather_16bit_weights_on_model_save": True,
        }  # fmt: skip
    if setup.offload_optimizer:
        zero["offload_optimizer"] = {"device": "cpu", "pin_memory": True}
    if setup.offload_parameters:
        zero["offload_param"] = {"device": "cpu", "pin_memory": True}
    return {
        "train_batch_size": "auto",
        "train_micro_batch_size_per_gpu": "auto",
        "gradient_accumulation_steps": "auto",
        "gradient_clipping": "auto",
        "bf16": {"enabled": "auto"},
        "fp16": {"enabled": "auto"},
        "zero_optimization": zero,
    }


def accelerate(setup: Setup, folder: str = "") -> dict[str, Any]:
    """Accelerate's configuration for the GPUs that train."""
    kind = "DEEPSPEED" if setup.deepspeed else "FSDP" if setup.strategy.startswith("fsdp") else "MULTI_GPU"
    found: dict[str, Any] = {"compute_environment": "LOCAL_MACHINE", "distributed_type": kind}
    if setup.deepspeed:
        found["deepspeed_config"] = {
            "deepspeed_config_file": _within(folder, deepspeed_name(setup)), "zero3_init_flag": setup.stage == 3,
        }  # fmt: skip
    else:
        # beside DeepSpeed's own file accelerate refuses this key
        found["mixed_precision"] = setup.mixed
    if kind == "FSDP":
        found["fsdp_config"] = {
            "fsdp_version": 2,
            "fsdp_auto_wrap_policy": "TRANSFORMER_BASED_WRAP",
            "fsdp_reshard_after_forward": setup.strategy == "fsdp",
            "fsdp_offload_params": setup.offload_parameters or setup.offload_optimizer,
            "fsdp_cpu_ram_efficient_loading": True,
            "fsdp_state_dict_type": "SHARDED_STATE_DICT",
            "fsdp_activation_checkpointing": False,
        }
    return found | {
        "num_machines": setup.hardware.nodes,
        "num_processes": setup.trainers,
        "machine_rank": 0,
        "main_training_function": "main",
        "rdzv_backend": "static",
        "same_network": True,
        "use_cpu": False,
    }


def training(setup: Setup, model: str) -> dict[str, Any]:
    """Arguments of `trl grpo` (and of GRPOConfig) that the plan rests on."""
    rollout = setup.rollout
    found: dict[str, Any] = {
        "model_name_or_path": model,
        "per_device_train_batch_size": setup.batch,
        "gradient_accumulation_steps": setup.accumulation,
        "num_generations": setup.generations,
        "max_completion_length": setup.completion_length,
        "gradient_checkpointing": setup.checkpointing,
        "bf16": setup.mixed == "bf16",
    }
    if setup.mixed == "fp16":
        found["fp16"] = True
    if setup.steps_per_generation:
        found["steps_per_generation"] = setup.steps_per_generation
    if setup.iterations > 1:
        found["num_iterations"] = setup.iterations
    if setup.beta:
        found["beta"] = setup.beta
    if setup.lora:
        found |= {"use_peft": True, "lora_r": setup.lora.rank, "lora_target_modules": list(setup.lora.targets)}
        if setup.lora.targets == ("all-linear",):
            found["lora_target_modules"] = "all-linear"
    if setup.bits == 4:
        found["load_in_4bit"] = True
    if setup.attention == "flash":
        found["attn_implementation"] = "flash_attention_2"
    found["dtype"] = setup.weights
    if rollout.engine != "none":
        found |= {"use_vllm": True, "vllm_mode": rollout.engine}
    if rollout.engine == "colocate":
        found |= {
            "vllm_gpu_memory_utilization": rollout.share,
            "vllm_tensor_parallel_size": rollout.tensor_parallel,
            "vllm_enable_sleep_mode": rollout.sleep,
            "vllm_max_model_length": rollout.max_model_length or setup.sequence,
        }
    return found


def _server(setup: Setup, model: str, trl: str | None) -> tuple[str, ...]:
    rollout, total = setup.rollout, setup.hardware.gpus
    cards = ",".join(str(each) for each in range(total - rollout.gpus, total))
    length = str(rollout.max_model_length or setup.sequence)
    sizes = (
        "--tensor-parallel-size", str(rollout.tensor_parallel), "--data-parallel-size", str(rollout.data_parallel),
        "--dtype", setup.hardware.half, "--gpu-memory-utilization", f"{rollout.share:g}", "--max-model-len", length,
    )  # fmt: skip
    if trl is not None and _older(trl, (1, 11)):
        return ("env", f"CUDA_VISIBLE_DEVICES={cards}", "trl", "vllm-serve", "--model", model, *sizes)
    return (
        "env", f"CUDA_VISIBLE_DEVICES={cards}", "VLLM_SERVER_DEV_MODE=1", "vllm", "serve", model, *sizes,
        "--weight-transfer-config", '{"backend": "nccl"}', "--logprobs-mode", "processed_logprobs",
        "--max-logprobs", "-1",
    )  # fmt: skip


def _older(version: str, than: tuple[int, int]) -> bool:
    numbers = [int(each) for each in version.split(".")[:2] if each.isdigit()]
    return len(numbers) == 2 and tuple(numbers) < than


def _within(folder: str, name: str) -> str:
    """A file of the plan, seen from where the commands are typed: accelerate looks from there too."""
    return f"{folder}/{name}" if folder else name


def _trainer(setup: Setup, script: tuple[str, ...], folder: str) -> tuple[str, ...]:
    rollout, total = setup.rollout, setup.hardware.gpus
    cards = ",".join(str(each) for each in range(total - rollout.gpus))
    shown = ("env", f"CUDA_VISIBLE_DEVICES={cards}") if rollout.gpus else ()
    if not script:
        launcher = () if setup.strategy == "single" else ("--accelerate_config", _within(folder, ACCELERATE))
        data = ("--dataset_name", "DATASET", "--reward_funcs", "REWARD")
        return (*shown, "trl", "grpo", "--config", _within(folder, TRAINING), *data, *launcher)
    if setup.strategy == "single":
        return (*shown, "python", *script)
    return (*shown, "accelerate", "launch", "--config_file", _within(folder, ACCELERATE), *script)


def yaml(content: Mapping[str, Any], indent: str = "") -> str:
    """Plain YAML of nested mappings, lists, numbers, texts and truth values (a text is quoted as JSON where needed)."""
    lines = []
    for key, value in content.items():
        if isinstance(value, Mapping):
            lines.append(f"{indent}{key}:\n{yaml(value, indent + '  ')}")
        else:
            lines.append(f"{indent}{key}: {_scalar(value)}\n")
    return "".join(lines)


def _scalar(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        plain = value and value not in {"no", "yes", "on", "off", "true", "false", "null", "none"}
        return (
            value
            if plain and all(each.isalnum() or each in "_-./" for each in value) and not _numeric(value)
            else json.dumps(value)
        )
    if isinstance(value, list):
        return json.dumps(value)
    return str(value)


def _numeric(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


# --- who gets which GPU ---------------------------------------------------------------------------------------------


def split(setup: Setup) -> tuple[int, int]:
    """Tensor and data parallelism of a server on GPUs of one node: the least that holds the model and its cache.

    A small model is copied rather than cut: tensor parallelism costs communication for every token, and is taken only
    where one GPU has no room for weights and for a cache as large as they are.
    """
    shape, total = setup.shape, setup.hardware.gpus
    ranks = [each for each in engine.possible_ranks(shape.heads, shape.kv_heads, total - 1) if each & (each - 1) == 0]
    chosen = next((each for each in ranks if _roomy(setup, each)), ranks[-1] if ranks else 1)
    copies = 1
    while chosen * (copies + 1) <= total // 4:
        copies += 1
    return chosen, copies


def _roomy(setup: Setup, ranks: int) -> bool:
    served = engine.of(setup, ranks)
    return served.cache >= served.weights and served.sequences >= 8


def colocated(setup: Setup) -> int:
    """Tensor parallelism of a colocated engine: 1 while the weights take at most a third of its share's GPU.

    With more ranks an engine, prompts of several GPUs are gathered and every token is paid for with communication.
    """
    shape = setup.shape
    ranks = [
        each
        for each in engine.possible_ranks(shape.heads, shape.kv_heads, min(8, setup.hardware.gpus))
        if setup.trainers % each == 0
    ]
    limit = setup.hardware.gpu_bytes / 3
    return next((each for each in ranks if shape.parameters * 2 / each <= limit), ranks[-1] if ranks else 1)


def share_for(setup: Setup, least: float = 0.3) -> float:
    """`gpu_memory_utilization` that holds weights and the completions of one generation, in steps of 0.05, to 0.9."""
    served = engine.of(setup, setup.rollout.tensor_parallel)
    cache = min(served.wanted, 64) * setup.sequence * served.token
    needed = (served.weights + served.working + cache + 0.5 * GIB) / setup.hardware.gpu_bytes
    step = int(needed * 20) + 1
    return min(0.9, max(least, step / 20))
