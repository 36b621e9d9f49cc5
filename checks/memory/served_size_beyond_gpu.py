"""A model that is still to be downloaded is, by its name, too large for the GPUs that the server uses.

## What it means
The name says how many parameters there are (`Qwen2.5-72B`), and its family publishes them with two bytes each. Divided
by tensor and pipeline parallel sizes they take more than the largest GPU of this machine has in all.
## What it does to a run
The server downloads the whole model and then ends with `CUDA out of memory` while the weights are loaded.
## What to do
Divide the model among more GPUs, or serve a quantized or smaller one.
## How it is found
Only while the model's files are not on this machine (with them, MEM003 counts), only for dense models of families whose
plain names stand for 16-bit weights, and with 5 % off, for sizes in names are rounded.
## References
https://docs.vllm.ai/projects/recipes/en/latest/Qwen/Qwen2.5-VL.html
https://docs.vllm.ai/en/latest/serving/parallelism_scaling.html
https://qwen.readthedocs.io/en/v2.0/_sources/benchmark/speed_benchmark.rst.txt
"""

from __future__ import annotations

import re

from doctor.checks.memory._helpers import GIB, HALF_BYTES, gib
from doctor.checks.vllm._helpers import sizes_known
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Evidence, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.facts.gpus import Gpus
from doctor.facts.model import Model
from doctor.facts.serving import Serving

PROBLEM = Problem(id="MEM029", name="served-size-beyond-gpu", severity=ERROR, since="0.1")

#: dense models whose plain name stands for bf16 weights: organisation, family, and billions of parameters at the end
_DENSE = re.compile(
    r"(?:Qwen/Qwen(?:1\.5|2|2\.5|3)|meta-llama/(?:Meta-)?Llama-(?:2|3|3\.1|3\.3)"
    r"|deepseek-ai/DeepSeek-R1-Distill-(?:Qwen|Llama))-(?P<billions>\d{1,3}(?:\.\d)?)b"
    r"(?:-(?:instruct|chat|base|hf|chat-hf|instruct-2507|thinking-2507))?",
    re.IGNORECASE,
)
_ROUNDED = 0.95
#: options by which the weights take another form, or another place
_OTHERWISE = ("cpu_offload_gb", "load_format", "hf_overrides", "nnodes", "device", "offload_backend")
#: of a GPU, what the weights may take at most of the size that is proposed: the rest is the KV cache
_ROOM = 0.75

MESSAGE = Message(
    en=Words(
        "`{model}` has about {weights} GiB of weights, {part} GiB a GPU; {gpu} has {total} GiB",
        "The size is that of the model's name, for its files are not on this machine yet. The server downloads all of "
        "it and then ends with `CUDA out of memory` while it loads the weights.",
        "Divide it among more GPUs by the tensor parallel size, or serve a quantized or smaller model.",
    ),
    zh=Words(
        "`{model}` 的权重约 {weights} GiB,每张 GPU 要装 {part} GiB,而 {gpu} 只有 {total} GiB",
        "该大小取自模型名,因为其文件尚不在本机。服务器会先下载整个模型,然后在加载权重时以 `CUDA out of memory` 退出。",
        "用张量并行把它分到更多 GPU 上,或改用量化的、更小的模型。",
    ),
)


@check(PROBLEM)
def served_size_beyond_gpu(serving: Serving, model: Model | None, gpus: Gpus) -> Judgement:
    """The largest GPU counts, whichever are visible."""
    name = _DENSE.fullmatch(serving.model or "")
    if model is not None or name is None or serving.quantization or not sizes_known(serving):
        return
    if any(serving.arguments.get(each) for each in _OTHERWISE) or not gpus.gpus:
        return
    if any(gpu.memory_total_bytes is None or gpu.mig_enabled for gpu in gpus.gpus):
        return
    largest = max(gpus.gpus, key=lambda gpu: gpu.memory_total_bytes or 0)
    total = largest.memory_total_bytes or 0
    need = float(name["billions"]) * 1e9 * HALF_BYTES * _ROUNDED
    part = need / (serving.tensor_parallel_size * serving.pipeline_parallel_size)
    if part <= total:
        return
    wider = _wider(serving, need, total, len(gpus.gpus))
    given = serving.arguments.get("tensor_parallel_size")
    yield found(
        PROBLEM,
        MESSAGE,
        model=serving.model,
        weights=round(need / GIB),
        part=round(part / GIB),
        gpu=largest.label,
        total=gib(total),
        confidence=LIKELY,
        where=place_of(given),
        commands=(f"--tensor-parallel-size {wider}",) if wider else (),
        evidence=(Evidence("NVML", f"{len(gpus.gpus)} GPUs, the largest with {gib(total)} GiB"),),
    )


def _wider(serving: Serving, need: float, total: int, gpus: int) -> int | None:
    """The smallest tensor parallel size with which the weights leave room; the families divide by all of these."""
    if serving.pipeline_parallel_size * serving.data_parallel_size > 1:
        return None
    return next((size for size in (2, 4, 8) if size <= gpus and need / size <= total * _ROOM), None)
