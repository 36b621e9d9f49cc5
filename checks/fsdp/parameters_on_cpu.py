"""FSDP is to send the weights of rank 0 to the others, and a rank has them on the CPU.

## What it means
`sync_module_states=True` broadcasts parameters and buffers over NCCL, so they must lie on the GPU, or FSDP must know
the device (`device_id`) to move them there itself.
## What it does to a run
ValueError or RuntimeError while the model is wrapped, often only when training is resumed.
## What to do
Tell FSDP the device, or upgrade Accelerate, which does.
## How it is found
In a log: by torch's refusal.
## References
https://github.com/huggingface/transformers/issues/25100
https://github.com/pytorch/pytorch/blob/v2.8.0/torch/distributed/fsdp/_init_utils.py
https://docs.pytorch.org/docs/stable/fsdp.html
https://docs.pytorch.org/docs/stable/distributed.html#torch.distributed.init_process_group
https://github.com/areal-project/AReaL/issues/644
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="FSD013", name="parameters-on-cpu", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"(?:ValueError|RuntimeError|AssertionError): (?:(?:The m|M)odule has CPU parameters"
        r"|Synchronization involving parameters/buffers on CPU|FSDP requires `sync_module_states=True`)"
    ),
    Signature(
        r"RuntimeError: No backend type associated with device type (?P<device>cpu)\b",
        frame=r"[\\/]torch[\\/]distributed[\\/](?:_?tensor|fsdp|_composable|checkpoint)[\\/]",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "FSDP wants to broadcast the weights, and this rank holds some of them on the CPU",
        "`sync_module_states=True` sends the weights of rank 0 over NCCL, which needs them on the GPU. A model that "
        "was moved back to the CPU, loaded there again on resume, or wrapped without `device_id` has them elsewhere.",
        "Own FSDP code: `FSDP(model, device_id=torch.cuda.current_device(), sync_module_states=True)`. With the "
        "Trainer: `pip install -U accelerate transformers`, do not move the model yourself (`.cpu()`, "
        "`device_map`), and set `fsdp_sync_module_states: true` together with `fsdp_cpu_ram_efficient_loading: "
        "true`, or both to false.",
    ),
    zh=Words(
        "FSDP 要广播权重,而该 rank 有一部分权重在 CPU 上",
        "`sync_module_states=True` 通过 NCCL 发送 rank 0 的权重,要求它们在 GPU 上。模型被移回 CPU、恢复训练时重新在 "
        "CPU 加载,或包装时没有 `device_id`,都会使权重不在 GPU。",
        "自己的 FSDP 代码:`FSDP(model, device_id=torch.cuda.current_device(), sync_module_states=True)`。使用 "
        "Trainer 时:`pip install -U accelerate transformers`,不要自己移动模型(`.cpu()`、`device_map`),并把 "
        "`fsdp_sync_module_states: true` 与 `fsdp_cpu_ram_efficient_loading: true` 一起设置,或都设为 false。",
    ),
)

NO_BACKEND = Message(
    en=Words(
        "sharded weights on the CPU were to be gathered, and the process group knows only the GPU",
        "NCCL takes tensors of the GPU alone. Parameters that FSDP offloads to the CPU (`CPUOffloadPolicy`, "
        "`param_offload`) are gathered there by `full_tensor()`, by saving, by the norm of gradients or by the "
        "transfer to the engine, and a group that was made for `nccl` has no way for them.",
        'Make the group for both: `init_process_group("cpu:gloo,cuda:nccl")` (Ascend: `cpu:gloo,npu:hccl`). In a '
        "framework switch the offload of parameters off, or upgrade it: newer ones move each weight to the GPU before "
        "they gather it. In code of your own: `param.to('cuda').full_tensor()`.",
    ),
    zh=Words(
        "要收集位于 CPU 的分片权重,而进程组只支持 GPU",
        "NCCL 只接受 GPU 上的张量。FSDP 卸载到 CPU 的参数(`CPUOffloadPolicy`、`param_offload`)在 `full_tensor()`、保"
        "存、计算梯度范数或传给引擎时就地收集,而只为 `nccl` 建立的进程组无法处理。",
        '建立同时支持两者的进程组:`init_process_group("cpu:gloo,cuda:nccl")`(昇腾为 `cpu:gloo,npu:hccl`)。在框架中则关'
        "闭参数卸载,或升级:较新的版本在收集之前把每个权重移到 GPU。自己的代码:`param.to('cuda').full_tensor()`。",
    ),
)


def explain(hits: Hits) -> Finding:
    """A broadcast at the start, or a gathering later on."""
    return found(
        PROBLEM, NO_BACKEND if hits.get("device") else LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(),
        confidence=LIKELY,
    )  # fmt: skip
