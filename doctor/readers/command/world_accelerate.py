"""How many processes `accelerate launch` makes.

accelerate/commands/launch.py (`_validate_launch_command`, `launch_command`) and accelerate/utils/launch.py: options
win over the file; with a file nothing is counted; without one the visible GPUs are; the launcher is DeepSpeed's, else
FSDP's, Megatron's, multi-GPU's, else a simple one that starts a single process whatever `num_processes` says.
"""

from __future__ import annotations

from typing import Any

from doctor.base.evidence import Observed
from doctor.readers.command.world_parts import Asked, gpus_left, number, stage_and_offload, text, to_come

_TYPES = ("multi_gpu", "tpu", "tpu_use_cluster", "use_deepspeed", "use_fsdp", "use_megatron_lm")
_BACKENDS = {
    "use_deepspeed": "deepspeed", "use_fsdp": "fsdp", "use_megatron_lm": "megatron", "multi_gpu": "multi_gpu",
    "tpu": "tpu",
}  # fmt: skip
_BY_TYPE = {
    "DEEPSPEED": "deepspeed", "FSDP": "fsdp", "MEGATRON_LM": "megatron", "XLA": "tpu", "TPU": "tpu",
    "MULTI_GPU": "multi_gpu", "MULTI_NPU": "multi_gpu", "MULTI_MLU": "multi_gpu", "MULTI_XPU": "multi_gpu",
    "MULTI_HPU": "multi_gpu", "MULTI_SDAA": "multi_gpu", "MULTI_MUSA": "multi_gpu", "MULTI_NEURON": "multi_gpu",
}  # fmt: skip
_PORT = 29500


def accelerate_world(asked: Asked) -> dict[str, Any]:
    """Fields of World for `accelerate launch` and `trl`."""
    fields = _gpus(asked)
    if asked.accelerate is not None and asked.accelerate.broken is not None:
        return {**fields, "machines": None}
    count, source = _num_processes(asked)
    backend = _backend(asked, count)
    machines = _or(asked.either("num_machines"), 1)
    fields |= {
        "machines": machines,
        "machine_rank": _or(asked.either("machine_rank"), 0),
        "backend": backend,
        "mixed_precision": _precision(asked, backend),
    }
    if asked.on("cpu") or backend in {"none", "cpu"}:
        return fields | _simple(asked, count, source)
    fields |= _rendezvous(asked, machines) | _parallel(asked, backend)
    if asked.uses_cpu:
        fields["backend"] = "cpu"
    if machines is None or count is None or count < 1 or count // machines < 1:
        return {**fields, "processes_from": source}
    local = count // machines
    return {**fields, "processes": local * machines, "local_processes": local, "processes_from": source}


def _or(setting: Observed | None, default: int) -> int | None:
    """The number, else its default; None where only the run will tell it."""
    return None if to_come(setting) else number(setting) or default


def _gpus(asked: Asked) -> dict[str, Any]:
    """`gpu_ids` other than "all" replaces CUDA_VISIBLE_DEVICES."""
    ids = text(asked.either("gpu_ids"))
    if ids is not None and ids != "all":
        return gpus_left(asked, ids, "gpu_ids")
    return gpus_left(asked, asked.variables.get("CUDA_VISIBLE_DEVICES"), "CUDA_VISIBLE_DEVICES")


def _num_processes(asked: Asked) -> tuple[int | None, Observed | None]:
    """The total that is asked for, and the setting that says so."""
    setting = asked.either("num_processes")
    if setting is not None:
        return number(setting), setting
    if asked.accelerate is None:
        return asked.visible_count, None
    return (1 if _type(asked) == "NO" else None), None  # else accelerate refuses: "You need to manually pass ..."


def _type(asked: Asked) -> str:
    return (text(asked.from_yaml("distributed_type")) or "NO").upper()


def _backend(asked: Asked, count: int | None) -> str | None:
    if asked.on("cpu"):
        return "cpu"
    if any(asked.on(name) for name in _TYPES):
        return next((backend for name, backend in _BACKENDS.items() if asked.on(name)), "none")
    if asked.accelerate is not None:
        backend = _BY_TYPE.get(_type(asked), "none")
        uses_cpu = asked.from_yaml("use_cpu")
        return "cpu" if backend == "none" and uses_cpu is not None and uses_cpu.value is True else backend
    if asked.visible_count is None:
        return None
    return "multi_gpu" if (count or 0) > 1 and asked.visible_count > 1 else "none"


def _simple(asked: Asked, count: int | None, source: Observed | None) -> dict[str, Any]:
    """The simple launcher: one process, or what mpirun makes when it is given a host file."""
    if asked.either("mpirun_hostfile") or asked.from_yaml("mpirun_config.mpirun_hostfile"):
        return {"processes": count, "processes_from": source, "local_processes": None}
    return {"processes": 1, "local_processes": 1}


def _rendezvous(asked: Asked, machines: int | None) -> dict[str, Any]:
    """Address and port; port 0 stands for a free one."""
    setting = asked.either("main_process_port")
    port = _PORT if setting is None or setting.value is None else number(setting)
    address = text(asked.either("main_process_ip"))
    alone = machines == 1 and not to_come(asked.either("main_process_ip"))
    return {"master_addr": address or ("127.0.0.1" if alone else None), "master_port": port or None}


def _parallel(asked: Asked, backend: str | None) -> dict[str, Any]:
    if backend == "deepspeed":
        return stage_and_offload(asked)
    if backend == "fsdp":
        setting = asked.options.get("fsdp_offload_params") or asked.from_yaml("fsdp_config.fsdp_offload_params")
        if setting is not None and str(setting.value).lower() == "true":
            return {"offload_optimizer": "cpu", "offload_param": "cpu"}
    if backend in {"multi_gpu", None} and _is_switched_on(asked):
        return {"backend": "deepspeed", **stage_and_offload(asked)}
    return {}


def _is_switched_on(asked: Asked) -> bool:
    """Whether the training argument switches DeepSpeed on; accelerate's own option does nothing without its switch."""
    return asked.deepspeed is not None and "deepspeed_config_file" not in asked.options


def _precision(asked: Asked, backend: str | None) -> str | None:
    """Of the launcher, unless DeepSpeed's file says it by name."""
    if backend == "deepspeed" and asked.deepspeed is not None and asked.deepspeed.precision is not None:
        return asked.deepspeed.precision
    setting = asked.either("mixed_precision")
    if setting is None:
        old = asked.from_yaml("fp16")  # files of accelerate before 0.9
        return "fp16" if old is not None and old.value is True else "no"
    if setting.value in (None, False):  # an unquoted `no` is False to YAML
        return "no"
    return str(setting.value).lower()
