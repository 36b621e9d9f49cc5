"""The quantized model does not fit into the GPUs that the loader may use.

## What it means
`device_map="auto"` spreads modules over GPUs, CPU and disk; quantized modules may not lie on the CPU, so
the loader gives up. Other processes on the GPU leave too little room as well.
## What it does to a run
Loading raises ValueError.
## What to do
Free GPU memory, use more GPUs or a smaller model, or allow the CPU for the rest.
## How it is found
In a log: by the exception of Transformers.
## References
https://huggingface.co/docs/transformers/quantization/bitsandbytes#offloading
https://github.com/huggingface/transformers/blob/v4.53.2/src/transformers/quantizers/quantizer_bnb_4bit.py
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="BNB004", name="modules-on-cpu", severity=ERROR, since="0.1")

SIGNATURES = (Signature(r"Some modules are dispatched on the CPU or the disk\. Make sure you have enough GPU RAM"),)

LOG_MESSAGE = Message(
    en=Words(
        "the quantized model does not fit into the free GPU memory",
        "The loader put some modules on the CPU or the disk, which quantized layers do not support.",
        "See with `nvidia-smi` what else holds memory, make more or larger GPUs visible, take a smaller "
        'model, or pass `device_map={{"": 0}}` to get the real out-of-memory error; '
        "`llm_int8_enable_fp32_cpu_offload=True` with a device map of your own allows the CPU in 8 bit.",
    ),
    zh=Words(
        "量化模型放不进空闲的显存",
        "加载器把部分模块放到了 CPU 或磁盘上,而量化层不支持这样做。",
        "用 `nvidia-smi` 查看还有什么占用显存,让更多或更大的 GPU 可见,使用更小的模型,或传入 "
        '`device_map={{"": 0}}` 以得到真实的显存不足错误;8 位时,`llm_int8_enable_fp32_cpu_offload=True` '
        "配合自定义 device map 可使用 CPU。",
    ),
)
