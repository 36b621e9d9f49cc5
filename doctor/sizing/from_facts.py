"""What a launch command says about a run, as values of a `Setup`, with notes on what could not be told."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

from doctor.base.evidence import Observed
from doctor.base.record import record
from doctor.data.models import known_model
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.packages import Packages
from doctor.facts.training import LLAMAFACTORY, SWIFT, SWIFT_MEGATRON, Training, effective_value
from doctor.facts.world import World

FACTS = ("launch", "training", "packages", "deepspeed_config", "accelerate_config", "world", "model", "gpus", "host")
#: argument of GRPOConfig -> value of a plan
_PLAIN = {
    "per_device_train_batch_size": "batch", "gradient_accumulation_steps": "accumulation",
    "num_generations": "generations", "max_completion_length": "completion_length",
    "max_prompt_length": "prompt_length", "num_iterations": "iterations",
    "steps_per_generation": "steps_per_generation", "vllm_gpu_memory_utilization": "share",
    "vllm_tensor_parallel_size": "tensor_parallel", "vllm_enable_sleep_mode": "sleep",
    "gradient_checkpointing": "checkpointing", "num_train_epochs": "epochs",
}  # fmt: skip
_WHOLE = {"batch", "accumulation", "generations", "completion_length", "prompt_length", "iterations",
          "steps_per_generation", "tensor_parallel"}  # fmt: skip

#: whose defaults are not TRL's
_OWN_DEFAULTS = {SWIFT: "ms-swift", SWIFT_MEGATRON: "ms-swift", LLAMAFACTORY: "LLaMA-Factory"}


@record
class Read:
    """What was read.

    Args:
        values: by the names of the command's options.
        config: content of the model's `config.json`, None without one; `model` its name, `parameters` those on disk.
        unknown: arguments that the command sets in a way that only running it tells.
        trl: installed version, None when it is not seen.

    """

    values: Mapping[str, Any] = field(default_factory=dict)
    config: Mapping[str, Any] | None = None
    model: str | None = None
    parameters: int | None = None
    unknown: tuple[str, ...] = ()
    trl: str | None = None
    why_not: str = ""


def read(states: Mapping[str, Observed]) -> Read:
    """Values that the facts of a command give."""

    def value(name: str) -> Any:
        state = states.get(name)
        return state.value if state is not None and state.status == "ok" else None

    training: Training | None = value("training")
    state = states.get("training")
    why_not = state.reason if state is not None and training is None else ""
    framework = _OWN_DEFAULTS.get(training.config_origin) if training is not None else None
    if framework is not None:
        training, why_not = None, f"the command trains with {framework}"
    packages: Packages | None = value("packages")
    model = value("model")
    found: dict[str, Any] = {}
    unknown: list[str] = []
    if training is not None:
        _arguments(training, packages or Packages(), found, unknown)
    _world(value("world"), value("deepspeed_config"), found)
    if found.get("strategy") == "fsdp" and value("accelerate_config") is not None:
        _fsdp(value("accelerate_config").settings, found)
    return Read(
        values=found,
        config=_config(model),
        model=_model_name(training, model),
        parameters=model.parameters if model is not None and not model.is_adapter else None,
        unknown=tuple(unknown),
        trl=packages.version("trl") if packages is not None else None,
        why_not=why_not,
    )


def _config(model: Any) -> Mapping[str, Any] | None:
    """`config.json` of a model on this machine, else what is known of one of that name."""
    if model is None or model.here:
        return config_of(Path(model.folder)) if model is not None else None
    known = known_model(model.name)
    return known.config if known is not None and known.parameters is not None else None


def _model_name(training: Training | None, model: Any) -> str | None:
    if model is not None:
        return str(model.name)
    named = training.model if training is not None else None
    return str(named.value) if named is not None and named.known and named.value else None


def config_of(folder: Path) -> Mapping[str, Any] | None:
    """Content of `config.json` in a folder (or of the file itself); None when there is none that can be read."""
    from doctor.readers.script.python_source import SourceNotReadable, read_regular

    path = folder if folder.suffix == ".json" else folder / "config.json"
    try:
        content = json.loads(read_regular(str(path), 16 << 20))
    except (SourceNotReadable, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def _arguments(training: Training, packages: Packages, found: dict[str, Any], unknown: list[str]) -> None:
    for argument, name in _PLAIN.items():
        setting = effective_value(training, packages, argument)
        explicit = training.get(argument)
        if explicit is not None and not explicit.known:
            unknown.append(argument)
        if setting is None or not setting.known or setting.value is None:
            continue
        if name in _WHOLE and (not isinstance(setting.value, int) or setting.value < 1):
            continue
        found[name] = setting.value
    _precision(training, packages, found)
    _engine(training, packages, found)
    beta = effective_value(training, packages, "beta")
    if beta is not None and isinstance(beta.value, (int, float)):
        found["beta"] = beta.value
    if training.lora is not None or training.value("use_peft") is True:
        found["lora"] = _rank(training)
        targets = _targets(training)
        if targets:
            found["lora_targets"] = targets


def _precision(training: Training, packages: Packages, found: dict[str, Any]) -> None:
    for name, mixed in (("fp16", "fp16"), ("bf16", "bf16")):
        setting = effective_value(training, packages, name)
        if setting is not None and setting.value is True:
            found["mixed"] = mixed
    names = ("dtype", "torch_dtype")
    places = (training.model_arguments, training.arguments, training.nested)
    for settings in places:
        for name in (*names, *(f"model_init_kwargs.{each}" for each in names)):
            each = settings.get(name)
            text = str(each.value or each.text).removeprefix("torch.") if each is not None else ""
            if text in {"float32", "bfloat16", "float16"}:
                found["dtype"] = text
    kernels = ("attn_implementation", "model_init_kwargs.attn_implementation")
    attention = next((str(each[name].value) for each in places for name in kernels if name in each), "")
    if attention:
        found["attention"] = "flash" if "flash" in attention else "eager" if attention == "eager" else "sdpa"
    if training.value("load_in_4bit") is True:
        found["bits"] = 4
    elif training.value("load_in_8bit") is True:
        found["bits"] = 8


def _engine(training: Training, packages: Packages, found: dict[str, Any]) -> None:
    use = effective_value(training, packages, "use_vllm")
    if use is None:
        if training.complete and training.get("use_vllm") is None:  # off by default in every release
            found["vllm"] = "none"
        return
    mode = effective_value(training, packages, "vllm_mode")
    found["vllm"] = "none" if use.value is not True else str(mode.value) if mode is not None else "colocate"
    if found["vllm"] not in {"none", "colocate", "server"}:
        del found["vllm"]
    if found.get("vllm") == "server":  # the trainer's figures for a colocated engine are not the server's
        for name in ("share", "tensor_parallel", "sleep"):
            found.pop(name, None)
    length = training.value("vllm_max_model_length")
    if isinstance(length, int) and length > 0:
        found["max_model_length"] = length


def _rank(training: Training) -> int:
    """PEFT's default rank is 8, that of TRL's `lora_r` 16 (trl/trainer/model_config.py)."""
    if training.lora is not None:
        setting = training.lora.get("r")
        return setting.value if setting is not None and isinstance(setting.value, int) else 8
    rank = training.value("lora_r")
    return rank if isinstance(rank, int) else 16


def _targets(training: Training) -> tuple[str, ...]:
    setting = training.lora.get("target_modules") if training.lora is not None else None
    value = setting.value if setting is not None else training.value("lora_target_modules")
    if isinstance(value, str):
        return (value,)
    return tuple(map(str, value)) if isinstance(value, (list, tuple)) else ("q_proj", "v_proj")


def _world(world: World | None, deepspeed: DeepspeedConfig | None, found: dict[str, Any]) -> None:
    if world is None:
        return
    if world.backend == "deepspeed" and world.zero_stage is not None:
        found["strategy"] = f"zero{world.zero_stage}"
        found["offload"] = (
            "all" if world.offload_param != "none" else "optimizer" if world.offload_optimizer != "none" else "none"
        )
    elif world.backend == "fsdp":
        found["strategy"] = "fsdp"
    elif world.backend in {"none", "multi_gpu"} and world.processes is not None:
        found["strategy"] = "ddp" if world.processes > 1 else "single"
    if world.processes:
        found["processes"] = world.processes
    if world.machines:
        found["nodes"] = world.machines
    if world.mixed_precision in {"bf16", "fp16"} and "mixed" not in found:
        found["mixed"] = world.mixed_precision
    if deepspeed is not None:
        _buckets(deepspeed, found)


def _fsdp(settings: Mapping[str, Any], found: dict[str, Any]) -> None:
    """FSDP as accelerate's YAML has it (https://huggingface.co/docs/accelerate/usage_guides/fsdp)."""

    def said(key: str) -> str:
        setting = settings.get(f"fsdp_config.{key}")
        return str(setting.value).upper() if setting is not None else ""

    sharding, reshard = said("fsdp_sharding_strategy"), said("fsdp_reshard_after_forward")
    if "SHARD_GRAD_OP" in {sharding, reshard} or sharding == "2" or reshard == "FALSE":
        found["strategy"] = "fsdp-grad-op"
    elif sharding in {"NO_SHARD", "3"} or reshard == "NO_SHARD":
        found["strategy"] = "ddp"
    if said("fsdp_offload_params") == "TRUE" and found["strategy"] == "fsdp":
        found["offload"] = "all"


def _buckets(deepspeed: DeepspeedConfig, found: dict[str, Any]) -> None:
    """Bucket sizes that the file states; DeepSpeed's own default where the key is absent, hidden sizes for "auto"."""

    def number(key: str, default: int) -> int | None:
        setting = deepspeed.settings.get(f"zero_optimization.{key}")
        if setting is None:
            return default
        return int(setting.value) if isinstance(setting.value, (int, float)) else None

    def flag(key: str, *, default: bool) -> bool:
        setting = deepspeed.settings.get(f"zero_optimization.{key}")
        return setting.value if setting is not None and isinstance(setting.value, bool) else default

    found["buffers"] = {
        "reduce": number("reduce_bucket_size", 500_000_000),
        "prefetch": number("stage3_prefetch_bucket_size", 50_000_000),
        "max_live": number("stage3_max_live_parameters", 10**9) or 10**9,
        "contiguous": flag("contiguous_gradients", default=True),
        "overlap": flag("overlap_comm", default=deepspeed.zero_stage == 3),
    }
