"""Triton finds no driver for a GPU in this process, or two.

## What it means
Triton asks its back ends (nvidia, amd, and others that a plugin adds) which of them is active. A process without a
visible GPU has none; Triton for two makers in one environment may have two.
## What it does to a run
RuntimeError as soon as a module is imported that makes Triton kernels, also where no kernel would ever run: DeepSpeed's
and flash-attn's modules do that in processes of Ray that own no GPU.
## What to do
Let the process see a GPU, or do not import such modules there; remove the back end that is not this machine's.
## How it is found
In a log: by Triton's words, which tell the number.
## References
https://github.com/triton-lang/triton/blob/v3.3.0/python/triton/runtime/driver.py
https://github.com/hiyouga/EasyR1/blob/main/README.md
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TOR059", name="triton-driver-not-single", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"RuntimeError: (?P<count>\d{1,2}) active drivers \(\[(?P<drivers>[^\]\n]{0,200})\]\)",
        symptom_of=("RAY011", "TOR008", "GPU001"),
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "Triton found no GPU in this process, and something that was imported makes Triton kernels",
        "The process sees no GPU: Ray gives none to a driver, a rollout manager or a reward worker that did not ask "
        "for one, or CUDA_VISIBLE_DEVICES is empty. Modules with Triton kernels ask for the driver when they are "
        "imported{by}; DeepSpeed's inference kernels do so wherever DeepSpeed is installed, needed or not.",
        "If nothing of this run needs DeepSpeed: `pip uninstall -y deepspeed` (EasyR1, veRL with FSDP). Else keep the "
        "import out of processes without a GPU, give the process one (`@ray.remote(num_gpus=...)`), or check "
        "`echo $CUDA_VISIBLE_DEVICES` and `nvidia-smi -L` there.",
    ),
    zh=Words(
        "Triton 在此进程中找不到 GPU,而被导入的代码会创建 Triton 内核",
        "该进程看不到 GPU:Ray 不会给没有申请的 driver、rollout 管理器或奖励 worker 分配 GPU,或 CUDA_VISIBLE_DEVICES 为"
        "空。含 Triton 内核的模块在导入时就会查询驱动{by_zh};只要安装了 DeepSpeed,其推理内核就会如此,无论是否需要。",
        "若此任务不需要 DeepSpeed:`pip uninstall -y deepspeed`(EasyR1、使用 FSDP 的 veRL)。否则不要在没有 GPU 的进程中"
        "导入它,为该进程申请 GPU(`@ray.remote(num_gpus=...)`),或在其中检查 `echo $CUDA_VISIBLE_DEVICES` 与 `nvidia-smi "
        "-L`。",
    ),
)
TWO = Message(
    en=Words(
        "Triton has {count} active drivers in this process, and takes exactly one",
        "Back ends of two makers answer: a plugin (Ascend, Intel, a CPU back end) beside Triton for NVIDIA, or files "
        "of two Triton distributions in one folder.",
        "Keep one: `pip list | grep -i triton`, uninstall all of them, delete `site-packages/triton`, and install the "
        "one of this machine (`triton` for NVIDIA, `triton-ascend` for Ascend, `pytorch-triton-rocm` for AMD).",
    ),
    zh=Words(
        "此进程中 Triton 有 {count} 个活动驱动,而它只接受一个",
        "两家厂商的后端同时应答:插件(昇腾、Intel、CPU 后端)与 NVIDIA 版 Triton 并存,或同一目录中混有两个 Triton 发行包"
        "的文件。",
        "只保留一个:`pip list | grep -i triton`,全部卸载,删除 `site-packages/triton`,再安装本机对应的(NVIDIA 为 "
        "`triton`,昇腾为 `triton-ascend`,AMD 为 `pytorch-triton-rocm`)。",
    ),
)


def explain(hits: Hits) -> Finding:
    """None, or more than one; DeepSpeed is named where its module asked."""
    count = int(hits.get("count") or 0)
    deepspeed = any("deepspeed" in frame for frame in hits.first.frames)
    return found(
        PROBLEM, TWO if count else LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        count=count, by=" (here DeepSpeed's)" if deepspeed else "", by_zh="(此处为 DeepSpeed)" if deepspeed else "",
    )  # fmt: skip
