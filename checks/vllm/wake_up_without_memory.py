"""A sleeping vLLM cannot take its GPU memory back.

## What it means
Sleep mode gives the memory of weights and KV cache back to the driver, and wake-up maps the same amount again.
What the trainer allocated meanwhile (and torch keeps in its own cache) is missing then.
## What it does to a run
The rollout of a step fails with an error of the allocator, usually after the first training step.
## What to do
Free the memory of the trainer before the wake-up, or give vLLM a smaller share.
## How it is found
In a log, by the message that the program prints.
## References
https://docs.vllm.ai/en/latest/features/sleep_mode/
https://github.com/vllm-project/vllm/pull/12981
https://github.com/OpenRLHF/OpenRLHF/blob/v0.10.1/openrlhf/cli/train_ppo_ray.py
https://github.com/OpenRLHF/OpenRLHF/blob/v0.10.2/openrlhf/cli/train_ppo_ray.py
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VLL054", name="wake-up-without-memory", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"CUDA Error: out of memory at \S{0,200}cumem_allocator\.cpp",
    ),
    Signature(
        r"CUDA Error: invalid argument at \S{0,200}cumem_allocator\.cpp:(?:5|6)\d\b",
        kind="sign",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "vLLM woke up from sleep and did not get its GPU memory back",
        "Wake-up maps weights and KV cache again in one piece, from the driver. The trainer on the same "
        "GPU still holds too much: parameters, optimizer states, or blocks that torch has freed but "
        "keeps in its cache.",
        "Lower `gpu_memory_utilization` of the rollout (`vllm_gpu_memory_utilization` in TRL, "
        "`--vllm.gpu_memory_utilization` in OpenRLHF). Call `torch.cuda.empty_cache()` before "
        "`wake_up()`, offload the trainer between its steps (`param_offload` and `optimizer_offload` in "
        "veRL, `--ds.enable_sleep` in OpenRLHF), and wake up weights and KV cache one after the other "
        '(`wake_up(tags=["weights"])`, then `["kv_cache"]`). OpenRLHF before 0.10.2 calls its two '
        "options `--vllm_gpu_memory_utilization` and `--deepspeed_enable_sleep`.",
    ),
    zh=Words(
        "vLLM 从睡眠中唤醒时没有拿回显存",
        "唤醒时会直接向驱动重新映射权重与 KV cache。同一 GPU 上的训练进程仍占用过多:参数、优化器状态,或 "
        "torch 已释放但仍留在缓存中的显存块。",
        "降低 rollout 的 `gpu_memory_utilization`(TRL 为 `vllm_gpu_memory_utilization`,OpenRLHF 为 "
        "`--vllm.gpu_memory_utilization`)。在 `wake_up()` 之前调用 `torch.cuda.empty_cache()`,在训练步之"
        "间卸载训练端(veRL 的 `param_offload` 与 `optimizer_offload`,OpenRLHF 的 "
        '`--ds.enable_sleep`),并分两次唤醒权重与 KV cache(先 `wake_up(tags=["weights"])`,再 '
        '`["kv_cache"]`)。0.10.2 之前的 OpenRLHF 中这两个选项为 `--vllm_gpu_memory_utilization` 与 '
        "`--deepspeed_enable_sleep`。",
    ),
)

START = Message(
    en=Words(
        "a vLLM that can sleep got no GPU memory for its weights or KV cache",
        "With sleep mode vLLM maps its memory itself, straight from the driver, and the GPU had not enough left while "
        "the engine was being built: another process or the trainer holds it, or the model does not fit.",
        "Look at `nvidia-smi` and end what is left over. Build the engine before the trainer's model, or offload the "
        "trainer first; lower `gpu_memory_utilization` (`vllm_gpu_memory_utilization` in TRL) and `max_model_len`, or "
        "spread the model over more GPUs (`tensor_parallel_size`).",
    ),
    zh=Words(
        "启用睡眠模式的 vLLM 没有得到存放权重或 KV cache 的显存",
        "在睡眠模式下 vLLM 直接向驱动映射显存,而构建引擎时 GPU 剩余不足:被其他进程或训练端占用,或模型放不下。",
        "查看 `nvidia-smi` 并结束残留进程。先构建引擎再加载训练模型,或先卸载训练端;降低 `gpu_memory_utilization`"
        "(TRL 为 `vllm_gpu_memory_utilization`)与 `max_model_len`,或把模型分到更多 GPU(`tensor_parallel_size`)。",
    ),
)

#: functions that build an engine
_BUILDS = (":load_model", ":determine_available_memory", ":initialize_cache", ":initialize_kv_cache")


def explain(hits: Hits) -> Finding | None:
    """The traceback tells a wake-up from a start; the allocator's line alone does not."""
    main = hits.of(0)
    if not main:
        return None
    frames = [frame for hit in main for frame in hit.frames]
    woke = any(frame.endswith((":wake_up", ":create_and_map")) for frame in frames)
    built = not woke and any(frame.endswith(_BUILDS) for frame in frames)
    return found(
        PROBLEM, START if built else LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(),
        confidence=CONFIRMED if any(frame.endswith(":wake_up") for frame in frames) else LIKELY,
    )  # fmt: skip
