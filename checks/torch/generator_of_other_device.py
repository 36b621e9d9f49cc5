"""A random generator and the tensor it is to fill lie on different devices.

## What it means
With `torch.set_default_device("cuda")` (or `set_default_tensor_type(torch.cuda.FloatTensor)`) every new tensor lies
on the GPU, also the shuffled indices of a sampler, whose generator is on the CPU.
## What it does to a run
RuntimeError when the DataLoader is first asked for a batch, or where a seeded generator is used.
## What to do
Drop the default device, or give the DataLoader a generator on it.
## How it is found
In a log: by torch's exception.
## References
https://docs.pytorch.org/docs/stable/generated/torch.Generator.html
https://docs.pytorch.org/docs/stable/generated/torch.set_default_device.html
https://github.com/GXYM/TextBPN-Plus-Plus/issues/24
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TOR056", name="generator-of-other-device", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"RuntimeError: Expected a '(?P<wanted>[\w:]{2,12})' device type for generator but found "
        r"'(?P<given>[\w:]{2,12})'"
    ),
)

LOADER = Message(
    en=Words(
        "the sampler's generator is on `{given}`, and new tensors are made on `{wanted}`",
        "`torch.set_default_device` or `torch.set_default_tensor_type` (old training scripts) puts also the indices of "
        "the DataLoader's shuffle on the GPU, which a generator of the CPU cannot fill.",
        "Take the default device (`torch.set_default_tensor_type(torch.cuda.FloatTensor)`, `torch.set_default_device`) "
        "out and move model and batches with `.to(device)`; or hand the loader a matching generator: "
        "`DataLoader(..., generator=torch.Generator(device='{wanted}'))`.",
    ),
    zh=Words(
        "采样器的随机数生成器在 `{given}` 上,而新张量创建在 `{wanted}` 上",
        "`torch.set_default_device` 或 `torch.set_default_tensor_type`(旧训练脚本)会把 DataLoader 打乱用的索引也放到 "
        "GPU 上,而 CPU 上的生成器无法填充它。",
        "去掉默认设备(`torch.set_default_tensor_type(torch.cuda.FloatTensor)`、`torch.set_default_device`),用 "
        "`.to(device)` 移动模型和批次;或给 loader 一个匹配的生成器:`DataLoader(..., "
        "generator=torch.Generator(device='{wanted}'))`。",
    ),
)
OTHER = Message(
    en=Words(
        "a random generator on `{given}` is to fill a tensor on `{wanted}`",
        "torch draws random numbers only with a generator of the tensor's own device.",
        "Make it there: `torch.Generator(device='{wanted}').manual_seed(SEED)`, or draw on `{given}` and move the "
        "result with `.to('{wanted}')`. Where no generator was made by hand, look for `torch.set_default_device` or "
        "`torch.set_default_tensor_type`.",
    ),
    zh=Words(
        "`{given}` 上的随机数生成器要填充 `{wanted}` 上的张量",
        "torch 只能用与张量同一设备的生成器产生随机数。",
        "在该设备上创建:`torch.Generator(device='{wanted}').manual_seed(SEED)`,或在 `{given}` 上生成后用 "
        "`.to('{wanted}')` 移动。若没有手工创建生成器,查找 `torch.set_default_device` 或 "
        "`torch.set_default_tensor_type`。",
    ),
)

MESSAGES = (LOADER, OTHER)


def explain(hits: Hits) -> Finding:
    """Tell the DataLoader's sampler from a generator of the script."""
    groups = hits.first.groups
    loader = any("sampler.py:" in each or "dataloader.py:" in each for each in hits.first.frames)
    return found(
        PROBLEM, LOADER if loader else OTHER, where=hits.where(), evidence=hits.evidence(), wanted=groups["wanted"],
        given=groups["given"],
    )  # fmt: skip
