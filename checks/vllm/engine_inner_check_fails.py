"""A check inside of vLLM's engine fails on what only vLLM itself wrote.

## What it means
Scheduler, caches and model runner tell each other which requests and blocks there are. Where their books differ,
an assertion or a KeyError ends the engine: a defect of that release, or features that do not go together.
## What it does to a run
EngineCore dies, and every request and weight update after it fails.
## What to do
What the finding says for the message.
## How it is found
In a log: by the message that the library raises.
## References
https://docs.vllm.ai/en/latest/configuration/optimization/
https://github.com/vllm-project/vllm/blob/v0.11.0/vllm/multimodal/cache.py
https://github.com/vllm-project/vllm/issues/31404
https://github.com/modelscope/ms-swift/issues/9863
https://github.com/verl-project/verl/issues/584
https://github.com/vllm-project/vllm/issues/8016
"""

from __future__ import annotations

import re
from dataclasses import replace

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="VLL094", name="engine-inner-check-fails", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        r"AssertionError: Expected a cached item for mm_hash=",
        Message(
            en=Words(
                "vLLM's cache of processed images lost an item that its other half still counts on",
                "API process and engine each keep such a cache and must drop items alike. They differ after an "
                "engine sleeps, is reset or gets new weights, with several API servers, and in releases with "
                "defects in it.",
                "Switch it off: `--mm-processor-cache-gb 0` (`LLM(..., mm_processor_cache_gb=0)`, ms-swift "
                "`--vllm_mm_processor_cache_gb 0`); `pip install -U vllm`.",
            ),
            zh=Words(
                "vLLM 的图像处理缓存丢失了另一半仍在引用的条目",
                "API 进程与引擎各有一份缓存,两者必须同步淘汰。引擎休眠、重置或更新权重之后,或有多个 API 服务进程"
                "时,二者会不一致;部分版本也有缺陷。",
                "关闭该缓存:`--mm-processor-cache-gb 0`(`LLM(..., mm_processor_cache_gb=0)`,ms-swift 用 "
                "`--vllm_mm_processor_cache_gb 0`);`pip install -U vllm`。",
            ),
        ),
    ),
    (
        r"AssertionError: Encoder cache miss for ",
        Message(
            en=Words(
                "vLLM's engine has no encoded image where a request needs it",
                "The scheduler believed the output of the vision encoder to be in the cache. It was dropped "
                "(preemption, prefix cache, speculative decoding or chunked prefill with images) in a release "
                "where that goes wrong.",
                "`pip install -U vllm`; until then `--no-enable-prefix-caching` (`enable_prefix_caching=False`), "
                "no speculative decoding for this model, and `--max-num-batched-tokens` above the tokens of one "
                "prompt with its images.",
            ),
            zh=Words(
                "vLLM 引擎缺少请求所需的图像编码结果",
                "调度器认为视觉编码器的输出在缓存中,但它已被丢弃(抢占、前缀缓存、投机解码或带图像的 chunked "
                "prefill),该版本在此处有缺陷。",
                "`pip install -U vllm`;在此之前用 `--no-enable-prefix-caching`(`enable_prefix_caching=False`),该"
                "模型不用投机解码,并使 `--max-num-batched-tokens` 大于一个带图像提示的 token 数。",
            ),
        ),
    ),
    (
        r"^AssertionError: expected running sequences",
        Message(
            en=Words(
                "the engine of vLLM 0.5.5 or thereabouts lost a running request in multi-step scheduling",
                "Its step handed an answer on for a request that had ended or been aborted meanwhile. That is a "
                "defect of that release.",
                "`pip install -U vllm`; until then `--num-scheduler-steps 1`.",
            ),
            zh=Words(
                "0.5.5 前后的 vLLM 引擎在多步调度中丢失了运行中的请求",
                "某一步的结果属于一个此时已结束或被取消的请求。这是该版本的缺陷。",
                "`pip install -U vllm`;在此之前用 `--num-scheduler-steps 1`。",
            ),
        ),
    ),
    (
        r"^AssertionError:?$",
        Message(
            en=Words(
                "vLLM's old scheduler failed while it took requests back for lack of cache",
                "With several answers for one prompt (`n` above 1) the V0 scheduler cannot preempt by computing anew "
                "what it has, and asserts that it never happens. It happens when the KV cache runs full.",
                "Use the V1 engine: vLLM 0.8 and newer, `VLLM_USE_V1=1` (veRL: a release that supports it). With V0 "
                "keep the cache from running full: a higher `gpu_memory_utilization`, lower `max_num_seqs` and "
                "lengths, or `n=1` with each prompt repeated.",
            ),
            zh=Words(
                "vLLM 旧调度器在缓存不足而收回请求时失败",
                "一个 prompt 有多个回答(`n` 大于 1)时,V0 调度器不能用重新计算的方式抢占,并断言这种情况不会发生。KV 缓存"
                "用满时它就会发生。",
                "使用 V1 引擎:vLLM 0.8 及以上,`VLLM_USE_V1=1`(veRL 需为支持它的版本)。使用 V0 时避免缓存用满:提高 "
                "`gpu_memory_utilization`,减小 `max_num_seqs` 与长度,或用 `n=1` 并重复每个 prompt。",
            ),
        ),
    ),
    (
        r"^(?:AssertionError:?|KeyError: '[\w.\-]{6,90}')$",
        Message(
            en=Words(
                "a check inside of vLLM's engine failed",
                "Nothing of the caller's is named: the engine's own books of requests, blocks or batches differ. "
                "That is a defect of this release, or a combination that it does not cover (speculative "
                "decoding, KV connectors or offloading, prefix caching with prompt logprobs, pipeline "
                "parallelism, aborted requests, sleep while requests run).",
                "`pip install -U vllm`, and search its issues for the last frame. Until then take the features "
                "out one by one: `speculative_config`, KV transfer and offloading, `--no-enable-prefix-caching`, "
                "`--no-async-scheduling`, `--enforce-eager`. In RL let all requests end before `sleep()` or new "
                "weights.",
            ),
            zh=Words(
                "vLLM 引擎内部的检查失败",
                "没有涉及调用方的任何内容:引擎自己记录的请求、块或批次不一致。这是该版本的缺陷,或它不支持的组合("
                "投机解码、KV connector 或卸载、前缀缓存与 prompt logprobs、流水线并行、被中止的请求、请求运行时 "
                "sleep)。",
                "`pip install -U vllm`,并以最后一个栈帧搜索其 issue。在此之前逐个去掉这些功能"
                ":`speculative_config`、KV 传输与卸载、`--no-enable-prefix-caching`、`--no-async-scheduling`、"
                "`--enforce-eager`。RL 中请让全部请求结束后再 `sleep()` 或更新权重。",
            ),
        ),
    ),
)

#: where the engine keeps its books
ENGINE = (
    r"[\\/]vllm[\\/]v1[\\/](?:core|engine|executor|worker|sample|spec_decode|attention|structured_output"
    r"|kv_offload|outputs|request)\b"
)
#: where the V0 engine takes a running request back
OLD_SCHEDULER = r"[\\/]vllm[\\/]core[\\/]scheduler\.py:_preempt\w{0,30}$"
#: entries whose words are those of any exception -> where it must have been raised
PLACES = {3: OLD_SCHEDULER, 4: ENGINE}

SIGNATURES = (
    Signature(CASES[0][0]),
    Signature(CASES[1][0]),
    Signature(CASES[2][0]),
    Signature(CASES[3][0], frame=OLD_SCHEDULER),
    Signature(
        CASES[4][0],
        frame=ENGINE,
        symptom_of=("VLL098", "VLL036"),
    ),
)


def explain(hits: Hits) -> Finding | None:
    """Say what the first hit's own case calls for; a bare exception is the engine's where it was raised there."""
    place = PLACES.get(hits.first.signature)
    if place and not re.search(place, (hits.first.frames or ("",))[-1]):
        return None
    return replace(finding_of_case(PROBLEM, CASES, hits), confidence=LIKELY)
