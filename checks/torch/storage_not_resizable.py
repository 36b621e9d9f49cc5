"""A tensor wanted more memory than the storage it lies in holds.

## What it means
A worker of the data loader collects a batch in shared memory of the size of equal rows; `torch.load` lays a tensor over
a storage that was read from the file. Where the rows differ in size, or the storage is smaller than its tensor, torch
would have to enlarge memory that cannot grow.
## What it does to a run
RuntimeError at the first such batch, or while the checkpoint is loaded.
## What to do
Pad the rows; load the checkpoint by what wrote it.
## How it is found
In a log: by torch's message; the frames tell which of the two it is.
## References
https://github.com/ykdai/BasicPBC/issues/3
https://github.com/doldolOuO/IAET/issues/2
https://github.com/Lightning-AI/litData/issues/472
https://github.com/declare-lab/flan-alpaca/issues/4
https://github.com/pytorch/pytorch/blob/v2.5.0/torch/utils/data/_utils/collate.py
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_signature

PROBLEM = Problem(id="TOR064", name="storage-not-resizable", severity=ERROR, since="0.1")

_WORDS = r"RuntimeError: Trying to resize storage that is not resizable"

CASES = (
    (
        Signature(_WORDS, frame=r"torch[\\/]utils[\\/]data[\\/]_utils[\\/]collate\.py:\w{1,40}$"),
        Message(
            en=Words(
                "rows of a batch have different sizes, and nobody padded them",
                "The worker of the data loader reserves memory for equal rows. With `num_workers=0` the same batch "
                "fails with both sizes in its message. Rarely a row is a view into memory of another library "
                "(numpy, a memory map).",
                "Start once with `num_workers=0` (`dataloader_num_workers=0`) to read the sizes. Then give the loader "
                "a collator that pads, or bring rows to one size: resize or crop images, also those with an alpha "
                "channel or grey ones (`image.convert('RGB')`), cut and pad ids. For views return `tensor.clone()`.",
            ),
            zh=Words(
                "同一批的行大小不同,且没有填充",
                "数据加载器的工作进程按等大的行预留内存。`num_workers=0` 时同一批次报错会给出两个大小。少数情况下,"
                "某行是另一个库(numpy、内存映射)内存上的视图。",
                "先用 `num_workers=0`(`dataloader_num_workers=0`)运行一次以看到大小。然后给加载器一个会填充的 collator,"
                "或把各行变成同样大小:缩放或裁剪图像(带透明通道或灰度的用 `image.convert('RGB')`),截断并填充 ids。"
                "若是视图,返回 `tensor.clone()`。",
            ),
        ),
        LIKELY,
    ),
    (
        Signature(_WORDS, frame=r"torch[\\/]_utils\.py:_rebuild_tensor(?:_v\d)?$"),
        Message(
            en=Words(
                "a tensor of the checkpoint is larger than the storage that was saved with it",
                "The file was written while FSDP or ZeRO had taken the weights apart, so it holds emptied or cut "
                "storages, or it is one of several pieces that belong together.",
                "Load it with the framework that wrote it, and let that save a whole model: Lightning "
                "`python -m lightning.pytorch.utilities.consolidate_checkpoint DIR`, FSDP `FULL_STATE_DICT`, DeepSpeed "
                "`zero_to_fp32.py`. A file with emptied weights alone cannot be mended: take another checkpoint.",
            ),
            zh=Words(
                "检查点中某个张量比随它保存的存储更大",
                "写文件时 FSDP 或 ZeRO 已把权重拆开,因此文件中的存储是空的或不完整的;或它只是若干文件之一,必须合在一"
                "起。",
                "用写出它的框架加载,并让该框架保存完整模型:Lightning 用 `python -m "
                "lightning.pytorch.utilities.consolidate_checkpoint DIR`,FSDP 用 `FULL_STATE_DICT`,DeepSpeed 用 "
                "`zero_to_fp32.py`。权重已被清空的单个文件无法修复:请换一个检查点。",
            ),
        ),
        LIKELY,
    ),
)

SIGNATURES = tuple(signature for signature, _, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own frames call for."""
    return finding_of_signature(PROBLEM, CASES, hits)
