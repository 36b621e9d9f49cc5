"""The KV cache cannot hold one sequence of the full length.

## What it means
vLLM insists that its cache can hold a sequence of `max_model_len`, which by default is the model's whole
window. A token takes two entries (key and value) of every key-value head in every layer.
## What it does to a run
After the weights are loaded, the engine ends with `To serve at least one request with the models's max seq
len (131072), ... KV cache is needed, which is larger than the available KV cache memory`.
## What to do
Say the length that your prompts and completions need, raise `--gpu-memory-utilization`, or spread the model
over more GPUs.
## How it is found
Layers, key-value heads and head size of config.json times the length, against the memory that NVML reports
times the utilization, less the weights. Activations are not counted, so the real limit is lower still.
In a log: by vLLM's own message.
## References
https://docs.vllm.ai/en/latest/configuration/conserving_memory.html
https://github.com/vllm-project/vllm/blob/v0.8.5/vllm/v1/core/kv_cache_utils.py
"""

from __future__ import annotations

from doctor.checks.launch._helpers import proofs
from doctor.checks.memory._helpers import gib
from doctor.checks.vllm._helpers import overridden, served_gpus
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Evidence, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Hits, Signature
from doctor.facts.environment import Environment
from doctor.facts.gpus import Gpus
from doctor.facts.model import Model
from doctor.facts.serving import Serving

PROBLEM = Problem(id="VLL015", name="kv-cache-below-one-sequence", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"max seq len \((?P<length>\d{1,9})\), \(?(?P<need>[\d.]{1,10}) GiB KV cache is needed, which"
        r" is larger than the available KV cache memory \((?P<have>[\d.]{1,10}) GiB\)(?:\. {0,2}Based"
        r" on the available memory, the estimated maximum model length is (?P<fits>\d{1,9}))?",
    ),
    Signature(
        r"max seq len \((?P<length>\d{1,9})\) is larger than the maximum number of tokens that can be"
        r" stored in KV cache \((?P<tokens>\d{1,9})\)",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the KV cache of one sequence of {length} tokens takes {need} GiB; {have} GiB are left",
        "vLLM must be able to hold one sequence of `max_model_len`, which is the model's whole window "
        "where nothing is set. After the weights and the activations only {have} GiB of its share of the "
        "GPU remain.",
        "Set `--max-model-len {fits}` or less (`vllm_max_model_length` in TRL; in veRL prompt plus "
        "response length): what prompts and completions really need. Or raise "
        "`--gpu-memory-utilization`, store the cache in fp8 (`--kv-cache-dtype fp8`), or spread the "
        "model with `--tensor-parallel-size`.",
    ),
    zh=Words(
        "一条 {length} token 序列的 KV cache 需要 {need} GiB,只剩 {have} GiB",
        "vLLM 必须能容纳一条长度为 `max_model_len` 的序列;未设置时即为模型的整个窗口。扣除权重和激活之后,"
        "它那一份显存只剩 {have} GiB。",
        "把 `--max-model-len` 设为 {fits} 或更小(TRL 中为 `vllm_max_model_length`;veRL 中为 prompt 与 "
        "response 长度之和),即实际需要的长度。或提高 `--gpu-memory-utilization`、用 fp8 存放缓存"
        "(`--kv-cache-dtype fp8`),或用 `--tensor-parallel-size` 把模型分到更多 GPU。",
    ),
)

LOG_MESSAGE_TOKENS = Message(
    en=Words(
        "`max_model_len` is {length}, and the KV cache has room for {fits} tokens",
        "vLLM must be able to hold one sequence of `max_model_len`, which is the model's whole window "
        "where nothing is set. Too little of its share of the GPU is left after the weights.",
        "Set `--max-model-len {fits}` or less: what prompts and completions really need. Or raise "
        "`--gpu-memory-utilization`, store the cache in fp8 (`--kv-cache-dtype fp8`), or spread the "
        "model with `--tensor-parallel-size`.",
    ),
    zh=Words(
        "`max_model_len` 为 {length},而 KV cache 只能容纳 {fits} 个 token",
        "vLLM 必须能容纳一条长度为 `max_model_len` 的序列;未设置时即为模型的整个窗口。扣除权重后它那一份显存剩得太少。",
        "把 `--max-model-len` 设为 {fits} 或更小,即实际需要的长度。或提高 `--gpu-memory-utilization`、用 "
        "fp8 存放缓存(`--kv-cache-dtype fp8`),或用 `--tensor-parallel-size` 把模型分到更多 GPU。",
    ),
)

MESSAGE = Message(
    en=Words(
        "One sequence of {length} tokens needs {need} GiB of KV cache; {gpu} has {have} left",
        "vLLM must be able to hold one sequence of the greatest length, and ends after loading the "
        "weights, with `larger than the available KV cache memory`.",
        "Give the length that prompt and completion need together, at most about {fitting} tokens here.",
    ),
    zh=Words(
        "一条 {length} token 的序列需要 {need} GiB 的 KV cache,{gpu} 只剩 {have} GiB",
        "vLLM 必须能装下一条最长的序列,因此在加载权重后会以 `larger than the available KV cache memory` 退出。",
        "把长度设为 prompt 与生成实际所需的总长,这里最多约 {fitting} 个 token。",
    ),
)


#: dense model types of which every layer keeps the whole sequence
FULL_ATTENTION = {"llama", "qwen2", "qwen3"}
#: no release takes a greater share by default (0.9, later 0.92)
DEFAULT_SHARE = 0.92
#: options that change what is kept or where
CHANGES = (
    "num_gpu_blocks_override", "kv_cache_memory_bytes", "cpu_offload_gb", "kv_offloading_size", "kv_transfer_config",
    "decode_context_parallel_size", "prefill_context_parallel_size", "quantization", "kv_offloading_backend",
)  # fmt: skip
HALF_BYTES = 2


def token_bytes(model: Model, serving: Serving) -> float | None:
    """Least bytes that a token takes in the cache of one GPU, None where the model does not tell."""
    if not (model.layers and model.attention_heads and model.kv_heads) or model.model_type not in FULL_ATTENTION:
        return None
    head = model.head_dim or (model.hidden_size or 0) // model.attention_heads
    heads = max(1.0, model.kv_heads / serving.tensor_parallel_size)
    kind = serving.arguments.get("kv_cache_dtype")
    width = 1 if kind is not None and kind.value != "auto" else HALF_BYTES
    return 2 * model.layers * heads * head * width / serving.pipeline_parallel_size or None


@check(PROBLEM, requires=("MEM003",))
def cache_below_one_sequence(serving: Serving, model: Model, gpus: Gpus, environment: Environment | None) -> Judgement:
    """Every number errs to the side of silence; only the first of equal cards is told."""
    given = serving.arguments
    if any(name in given for name in CHANGES) or overridden(serving) or model.quantization or not model.parameters:
        return
    setting = given.get("max_model_len")
    length = serving.max_model_len if setting is not None else model.max_position_embeddings
    each = token_bytes(model, serving)
    if length is None or each is None or (setting is None and model.rope_type not in {None, "default", "llama3"}):
        return
    used = [gpu for gpu in served_gpus(serving, gpus, environment) if gpu.memory_total_bytes and not gpu.mig_enabled]
    if not used:
        return
    largest = max(used, key=lambda gpu: gpu.memory_total_bytes or 0)
    share = serving.gpu_memory_utilization or DEFAULT_SHARE
    weights = model.parameters * HALF_BYTES / (serving.tensor_parallel_size * serving.pipeline_parallel_size)
    room = (largest.memory_total_bytes or 0) * share - weights
    if room <= 0 or length * each <= room:
        return
    fitting = max(int(room / each) // 1024 * 1024, 1024)
    yield found(
        PROBLEM,
        MESSAGE,
        length=length,
        need=gib(length * each),
        gpu=f"GPU {largest.index}",
        have=gib(room),
        fitting=fitting,
        where=place_of(setting),
        confidence=LIKELY,
        commands=(f"--max-model-len {fitting}",),
        evidence=(
            *proofs(setting),
            Evidence(f"{model.folder}/config.json", f"{model.layers} layers, {model.kv_heads} key-value heads"),
            Evidence("NVML", f"{largest.label}: {gib(largest.memory_total_bytes or 0)} GiB"),
        ),
    )


def explain(hits: Hits) -> Finding | None:
    """Newer releases tell the length that would fit, older ones only both sizes or the tokens."""
    length, need, have = hits.get("length"), hits.get("need"), hits.get("have")
    fits = hits.get("fits") or hits.get("tokens")
    if fits is None and need and have and length and float(need) > 0:
        fits = str(int(int(length) * float(have) / float(need)) // 16 * 16)
    return found(
        PROBLEM,
        LOG_MESSAGE if need else LOG_MESSAGE_TOKENS,
        where=hits.where(),
        evidence=hits.evidence(),
        commands=(f"--max-model-len {fits}",),
        length=length,
        need=need,
        have=have,
        fits=fits,
    )
