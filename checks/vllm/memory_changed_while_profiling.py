"""GPU memory was freed by another process while vLLM measured it.

## What it means
vLLM measures free memory before and after a trial run and takes the difference as its own use. When another
process frees memory in between (a run that is ending, a second server that starts, the trainer), the
numbers make no sense.
## What it does to a run
The engine ends with an AssertionError at its start.
## What to do
Start one after another, when the GPU is quiet.
## How it is found
In a log, by the message that the program prints.
## References
https://github.com/vllm-project/vllm/issues/56830
https://github.com/vllm-project/vllm/issues/4608
https://github.com/modelscope/ms-swift/issues/3241
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VLL049", name="memory-changed-while-profiling", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"Error in memory profiling\. Initial (?:free|used) memory"
        r"(?: (?P<before>[\d.]{1,20})(?: GiB)?, current free memory (?P<after>[\d.]{1,20}\d))?"
    ),
    Signature(r"AssertionError: (?P<slept>Memory usage increased after sleeping)"),
)

LOG_MESSAGE = Message(
    en=Words(
        "another process freed GPU memory while vLLM was measuring it",
        "The assertion compares free memory before and after vLLM's trial run. It fails when a run that "
        "was just ended gives its memory back late, two servers start on one GPU at once, or the trainer "
        "works on the same GPU.",
        "Wait until `nvidia-smi` shows the GPU empty and start again; start several engines on one GPU "
        "one after another; end left-over processes first.",
    ),
    zh=Words(
        "vLLM 测量显存时,另一个进程释放了显存",
        "该断言比较 vLLM 试运行前后的空闲显存。刚结束的任务延迟归还显存、两个服务器同时在一张 GPU 上启动,"
        "或训练器在同一张 GPU 上工作时,断言会失败。",
        "等 `nvidia-smi` 显示 GPU 空闲后再启动;在同一张 GPU 上依次启动多个引擎;先结束残留进程。",
    ),
)

SLEPT = Message(
    en=Words(
        "the engine gave its memory back for sleep, and still less of the GPU was free than before",
        "vLLM compares the free memory before and after `sleep` and stops when it shrank. Somebody else took memory in "
        "that moment: the trainer on the same card (optimizer states that come back, a gather of weights), another "
        "engine or job. The engine itself may have had little to give: it slept already, or its allocator leaked "
        "(vLLM-Ascend of mid 2025).",
        "Let engine and trainer take turns: put the engine to sleep before the trainer loads its states back, and no "
        "other job on these cards (`nvidia-smi`, `npu-smi info`). Upgrade vLLM or vLLM-Ascend with the trainer; as a "
        "way around `free_cache_engine=False` (veRL) leaves the engine awake with a lower `gpu_memory_utilization`.",
    ),
    zh=Words(
        "引擎为 sleep 归还了显存,但空闲显存反而比之前少",
        "vLLM 比较 `sleep` 前后的空闲显存,变少就停止。此刻有别的进程占用了显存:"
        "同一张卡上的训练端(载回优化器状态、汇聚权重)、"
        "另一个引擎或作业。引擎自己也可能没有多少可归还:已经处于 sleep,或其分配器泄漏(2025 年中的 vLLM-Ascend)。",
        "让引擎与训练端轮流使用:在训练端载回状态之前先让引擎 sleep,"
        "这些卡上不要有其他作业(`nvidia-smi`、`npu-smi info`)。"
        "连同训练框架升级 vLLM 或 vLLM-Ascend;权宜之计:`free_cache_engine=False`(veRL)让引擎保持唤醒,并降低 "
        "`gpu_memory_utilization`。",
    ),
)


UNTOUCHED = Message(
    en=Words(
        "vLLM measured a GPU that its own model does not lie on",
        "Exactly as much memory was free after loading the model and a trial run as before: nothing of it is on the "
        "GPU that was measured. Older releases (up to 0.7) measure the current device and ignore a number in "
        "`device=cuda:1`, as a script of one's own, TRL's `vllm_device` or ms-swift of that time set it.",
        "Let vLLM see one GPU by itself: `CUDA_VISIBLE_DEVICES=1` for its process and `device` left out. With a "
        "trainer that places vLLM on the last GPU: the releases of trainer and vLLM that belong together, or vLLM as "
        "a server or colocated.",
    ),
    zh=Words(
        "vLLM 测量的 GPU 上没有它自己的模型",
        "加载模型并试运行之后的空闲显存与之前完全相同:被测量的 GPU 上没有它的任何内容。较旧的版本(0.7 及以前)测量当前"
        "设备,忽略 `device=cuda:1` 中的编号;自己的脚本、TRL 的 `vllm_device` 或当时的 ms-swift 会这样设置。",
        "只让 vLLM 看到一张 GPU:为其进程设 `CUDA_VISIBLE_DEVICES=1` 并去掉 `device`。若由训练框架把 vLLM 放到最后一张 "
        "GPU:使用相互配套的训练框架与 vLLM 版本,或以服务器方式、共置方式使用 vLLM。",
    ),
)


def explain(hits: Hits) -> Finding:
    """While the engine started, or when it was put to sleep; equal figures mean that nothing was loaded there."""
    before = hits.first.groups.get("before")
    if before and before == hits.first.groups.get("after"):
        return found(PROBLEM, UNTOUCHED, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
    slept = hits.get("slept")
    return found(
        PROBLEM, SLEPT if slept else LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(),
        confidence=LIKELY if slept else CONFIRMED, commands=("nvidia-smi",),
    )  # fmt: skip
