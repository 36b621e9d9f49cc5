"""SGLang's memory saver could not take or give back GPU memory.

## What it means
torch_memory_saver unmaps the memory of weights, KV cache and graphs while the trainer works, and maps as much again
before the next rollout. It ends the process when the driver refuses.
## What it does to a run
The engine's process is gone. The trainer sees a request that times out, a closed connection or a dead actor, or waits.
## What to do
Leave memory for the engine when it comes back; for refusals that are not about memory, fit the versions together.
## How it is found
In a log: by the line that torch_memory_saver prints before it ends the process.
## References
https://github.com/fzyzcjy/torch_memory_saver/blob/master/csrc/core.cpp
https://github.com/sgl-project/sglang/issues/14092
https://github.com/verl-project/verl/pull/1911
https://github.com/THUDM/slime/issues/1895
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="MEM030", name="memory-saver-call-failed", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"\[torch_memory_saver\.cpp\] (?:CUresult|cudaError) error:? {1,2}(?:result=)?(?P<code>\d{1,5})\b"
        r"[^\n]{0,200}\bfunc=(?P<step>\w{1,40})"
    ),
    Signature(r"\[torch_memory_saver\.cpp\] Cannot (?P<step>resume|pause) allocation that is not (?:paused|active)"),
)

NO_MEMORY = Message(
    en=Words(
        "SGLang did not get its GPU memory back: too little is free",
        "Before a rollout the memory saver maps the memory of weights, KV cache and graphs again. The trainer on the "
        "same GPU (parameters, optimizer states, blocks that torch keeps in its cache) or another process holds too "
        "much. The saver then ends the engine's process; requests that time out and lost connections follow from it.",
        "Lower the engine's share: `actor_rollout_ref.rollout.gpu_memory_utilization` (veRL), "
        "`--sglang-mem-fraction-static` (slime), `--mem-fraction-static`. Let the trainer go first: "
        "`param_offload=True` and `optimizer_offload=True` (veRL), `--offload-train` (slime), "
        "`torch.cuda.empty_cache()` before the resume. Resume in two stages where the releases can (veRL "
        "`actor_rollout_ref.rollout.multi_stage_wake_up=True`). `nvidia-smi` shows processes of an earlier run.",
    ),
    zh=Words(
        "SGLang 未能拿回显存:空闲显存不足",
        "每次 rollout 之前,memory saver 会重新映射权重、KV cache 与 graph 的显存。同一 GPU 上的训练进程(参数、优化"
        "器状态、torch 缓存的显存块)或其他进程占用过多。memory saver 随即结束引擎进程;请求超时与连接断开都是其后果"
        "。",
        "降低引擎的份额:veRL 的 `actor_rollout_ref.rollout.gpu_memory_utilization`、slime 的 "
        "`--sglang-mem-fraction-static`、`--mem-fraction-static`。让训练端先让出显存:veRL 的 `param_offload=True` "
        "与 `optimizer_offload=True`,slime 的 `--offload-train`,恢复之前调用 `torch.cuda.empty_cache()`。版本支持时"
        "分阶段恢复(veRL `actor_rollout_ref.rollout.multi_stage_wake_up=True`)。用 `nvidia-smi` 查看是否有先前任务"
        "残留的进程。",
    ),
)

NO_HOST_MEMORY = Message(
    en=Words(
        "the memory saver found no pinned host memory to put GPU memory into",
        "When it pauses with a copy on the CPU, it takes as much page-locked host memory as the weights are large, "
        "in every process of the node. The machine, the container or its limit has too little.",
        "Give the container more memory, offload less, or pause without the copy (weights are sent anew after the "
        "training step anyway). `free -g` and the container's limit tell how much there is.",
    ),
    zh=Words(
        "memory saver 没有足够的锁页主机内存来存放显存内容",
        "带 CPU 备份暂停时,节点上的每个进程都要占用与权重等量的锁页主机内存。机器、容器或其上限不够。",
        "给容器更多内存,减少卸载,或暂停时不做备份(训练步之后本来就会重新发送权重)。用 `free -g` 与容器上限核对。",
    ),
)

OTHER = Message(
    en=Words(
        "torch_memory_saver was refused by the driver in `{step}` (CUDA error {code})",
        "Not a lack of memory: it gave back or took memory that was not in the state it believed. Pausing or "
        "resuming twice, resuming only a part with a release that knows no parts (tags), memory that was freed "
        "meanwhile, or a process that ends while it is paused. It ends the engine's process.",
        "Install the torch-memory-saver that this release of SGLang or of the framework names, and check that each "
        "pause is followed by exactly one resume of the same tags. To go on at once: resume everything in one "
        "call, leave `multi_stage_wake_up` off (veRL), or keep the engine in memory "
        "(`actor_rollout_ref.rollout.free_cache_engine=False`, no `--offload` in slime).",
    ),
    zh=Words(
        "torch_memory_saver 在 `{step}` 中被驱动拒绝(CUDA 错误 {code})",
        "不是显存不足:它归还或取回的显存并不处于它以为的状态。重复暂停或恢复,用不支持分部(tag)的版本只恢复一部分,"
        "期间显存已被释放,或进程在暂停状态下退出。它会结束引擎进程。",
        "安装该版本 SGLang 或框架所指定的 torch-memory-saver,并确认每次暂停之后对相同 tag 恰好恢复一次。若要立即继续:"
        "一次恢复全部,关闭 `multi_stage_wake_up`(veRL),或让引擎常驻显存"
        "(`actor_rollout_ref.rollout.free_cache_engine=False`,slime 不用 `--offload`)。",
    ),
)

OUT_OF_MEMORY = "2"  # CUDA_ERROR_OUT_OF_MEMORY and cudaErrorMemoryAllocation


def explain(hits: Hits) -> Finding:
    """The code of the driver tells memory from misuse, the step GPU memory from that of the host."""
    code, step = hits.get("code"), hits.get("step") or ""
    message = OTHER
    if code == OUT_OF_MEMORY:
        message = NO_HOST_MEMORY if step == "pause" else NO_MEMORY
    return found(
        PROBLEM,
        message,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY if message is OTHER else CONFIRMED,
        code=code or "-",
        step=step,
    )
