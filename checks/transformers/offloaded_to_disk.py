"""`device_map` sends a part of the model to the disk.

## What it means
`device_map="auto"` fills the GPUs, then the host's memory, and what is left goes to the disk. That takes a folder, and
a model that lies there cannot be trained.
## What it does to a run
ValueError while the model is loaded.
## What to do
Make the model fit, or load it without `device_map`; a folder helps only where the model is to generate.
## How it is found
In a log: by the exceptions of Transformers and accelerate.
## References
https://github.com/huggingface/transformers/blob/v4.57.1/src/transformers/modeling_utils.py
https://github.com/huggingface/accelerate/blob/v1.14.0/src/accelerate/utils/modeling.py
https://huggingface.co/docs/accelerate/usage_guides/big_modeling
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TRF052", name="model-offloaded-to-disk", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"ValueError: The current `device_map` had weights offloaded to the disk"),
    Signature(r"ValueError: At least one of the model submodule will be offloaded to disk, please pass along"),
    Signature(r"ValueError: We need an `offload_dir` to dispatch this model according to this `device_map`"),
    Signature(r"MemoryError: Offloaded module must fit in CPU memory to call save_model"),
)

LOG_MESSAGE = Message(
    en=Words(
        "the model does not fit into GPUs and host memory together, and a part went to the disk",
        "`device_map` fills the GPUs that this process may use first, then the host. Often the GPUs are taken by "
        "another process, or fewer are visible than meant. Weights on the disk cannot be trained.",
        "Look at what is free (`nvidia-smi`). For training leave `device_map` out and shard the model (ZeRO-3 or "
        'FSDP), load it in 4 bit with an adapter, or take a smaller one. Only to generate: `offload_folder="offload"`.',
    ),
    zh=Words(
        "GPU 与主机内存合起来也放不下模型,一部分被放到了磁盘",
        "`device_map` 先填满该进程可用的 GPU,再用主机内存。常见原因是 GPU 被其他进程占用,或可见的 GPU 比预期少。"
        "磁盘上的权重无法训练。",
        "查看空闲显存(`nvidia-smi`)。训练时去掉 `device_map` 并切分模型(ZeRO-3 或 FSDP),或以 4 位加适配器加载,"
        '或换更小的模型。仅用于生成时:`offload_folder="offload"`。',
    ),
)
