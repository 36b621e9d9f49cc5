"""torch's memory cache was emptied while a memory pool was in use.

## What it means
Sleep modes and memory savers of engines, and CUDA graphs, allocate in a pool of their own. In releases of torch
around 2.5 to 2.7 `torch.cuda.empty_cache()` within such a pool trips an internal check.
## What it does to a run
The engine ends while it loads weights or captures graphs.
## What to do
An engine whose loader does not empty the cache there, or no pool.
## How it is found
In a log: by torch's internal assertion.
## References
https://github.com/pytorch/pytorch/issues/145168
https://github.com/sgl-project/sglang/pull/5151
https://github.com/verl-project/verl/issues/705
https://github.com/sgl-project/sglang/issues/4717
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="TOR041", name="cache-emptied-in-pool", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"captures_underway\.empty\(\) INTERNAL ASSERT FAILED",
        symptom_of=("MEM",),
    ),
)

LOG_CONFIDENCE = LIKELY

LOG_MESSAGE = Message(
    en=Words(
        "torch's memory cache was emptied while a separate memory pool was in use",
        "The engine holds its weights in a pool (memory saver of SGLang, sleep mode of vLLM) or captures CUDA "
        "graphs, and something called `torch.cuda.empty_cache()` within: SGLang up to 0.4.5 does when it loads "
        "`.bin` or `.pt` weights, quantization code and plugins do, too. It is no fault of the GPU.",
        "Upgrade the engine: SGLang 0.4.6 or newer (for veRL `pip install 'verl[sglang]'` of a current release). "
        "Until then give it safetensors weights (`model.save_pretrained(DIR, safe_serialization=True)`), or switch "
        "the pool off: `enable_memory_saver=False`, `enable_sleep_mode=False`. Take `empty_cache()` out of code of "
        "your own that runs while the engine loads.",
    ),
    zh=Words(
        "在使用独立内存池期间清空了 torch 的显存缓存",
        "引擎把权重放在一个池中(SGLang 的 memory saver、vLLM 的 sleep mode)或正在捕获 CUDA graph,而其中有代码调用了"
        " `torch.cuda.empty_cache()`:SGLang 0.4.5 及以前加载 `.bin` 或 `.pt` 权重时会这样,量化代码与插件也会。这不"
        "是 GPU 的故障。",
        "升级引擎:SGLang 0.4.6 以上(veRL 请用当前版本的 `pip install 'verl[sglang]'`)。在此之前提供 safetensors 权重"
        "(`model.save_pretrained(DIR, safe_serialization=True)`),或关闭该池:`enable_memory_saver=False`、"
        "`enable_sleep_mode=False`。去掉自己代码中在引擎加载期间执行的 `empty_cache()`。",
    ),
)
