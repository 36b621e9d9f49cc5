"""The attention backend that is chosen, or left, cannot serve this model on this GPU.

## What it means
Attention is computed by one of several backends, and each takes some kinds of models, cache types and GPUs only:
attention sinks (gpt-oss, MiMo) need FlashAttention 3 on Hopper or the Triton backend, an fp8 cache needs a backend that
reads it, MLA models (DeepSeek) have backends of their own, and FlashAttention 2 starts at compute capability 8.0.
## What it does to a run
The engine ends while it builds the model's layers, or with the first request.
## What to do
Leave the choice to the engine, or name a backend that fits.
## How it is found
In a log, by the refusal of the engine, which names backend and reasons.
## References
https://github.com/vllm-project/vllm/blob/v0.33.0/vllm/v1/attention/backend.py
https://github.com/vllm-project/vllm/issues/22331
https://github.com/vllm-project/vllm/issues/40153
https://github.com/vllm-project/vllm/issues/13398
https://github.com/LMCache/LMCache/issues/412
https://github.com/huggingface/text-generation-inference/issues/686
"""

from __future__ import annotations

import re

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VLL098", name="attention-backend-unfit", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"Selected backend (?:AttentionBackendEnum\.)?(?P<backend>\w{1,60}) is not valid for this configuration\. "
        r"Reasons?: \[(?P<reasons>[^\]\n]{1,300})\]"
    ),
    Signature(
        r"No valid attention backend found for (?P<device>\w{1,20}) with [^\n]{1,700}?Reasons: "
        r"\{(?P<all>[^\n]{1,900})"
    ),
    Signature(r"Sinks are only supported in (?P<sinks>FlashAttention 3)"),
    Signature(r"Only (?P<only>FlashAttention) backend is supported for now", frame=r"lmcache"),
    Signature(r"(?P<tgi>\w[\w ]{2,30}) requires Flash Attention (?:enabled models|CUDA kernels to be installed)"),
    Signature(
        r"AssertionError: (?:H must be 128, but got |nhead=)(?P<heads>\d{1,4})(?: not supported)?",
        frame=r"mla|attention",
    ),
    Signature(r"Sinks must be of type (?P<sinktype>float32)"),
    Signature(r"^\s{1,16}assert is_fa_version_supported\((?P<old>(?:self\.)?fa_version)\)$"),
)

REFUSED = Message(
    en=Words(
        "attention backend `{backend}` cannot serve this model on this machine: {reasons}",
        "It was chosen by `--attention-backend` or `VLLM_ATTENTION_BACKEND`, and {why}.",
        "Take that choice out, so that vLLM picks a backend that fits; or {fit}.",
    ),
    zh=Words(
        "注意力后端 `{backend}` 在此机器上不能服务该模型:{reasons_zh}",
        "它由 `--attention-backend` 或 `VLLM_ATTENTION_BACKEND` 指定,而{why_zh}。",
        "去掉该设置,让 vLLM 自行选择合适的后端;或{fit_zh}。",
    ),
)

NONE_LEFT = Message(
    en=Words(
        "no attention backend of vLLM fits this model on {backend}: {reasons}",
        "vLLM tried all backends of this release, and {why}.",
        "Try {fit}; otherwise a newer vLLM, the kind of GPU that the model was released for, or another engine.",
    ),
    zh=Words(
        "vLLM 没有任何注意力后端能在 {backend} 上服务该模型:{reasons_zh}",
        "vLLM 试过该版本的全部后端,而{why_zh}。",
        "尝试{fit_zh};否则使用更新的 vLLM、该模型发布时针对的 GPU 或其他引擎。",
    ),
)

SINKS = Message(
    en=Words(
        "the model has attention sinks, and FlashAttention has them on Hopper GPUs only",
        "gpt-oss and some other models add a learned sink to the softmax. FlashAttention 3 computes it (Hopper, 9.0); "
        "on Ampere, Ada (A10, L40S, RTX 30 and 40) and consumer Blackwell vLLM has FlashAttention 2, which does not.",
        "Use the Triton backend: `--attention-backend TRITON_ATTN` (before vLLM 0.15 "
        "`VLLM_ATTENTION_BACKEND=TRITON_ATTN`, in 0.10 `TRITON_ATTN_VLLM_V1`); newer releases choose it by "
        "themselves: `pip install -U vllm`.",
    ),
    zh=Words(
        "该模型含 attention sink,而 FlashAttention 仅在 Hopper GPU 上支持",
        "gpt-oss 等模型在 softmax 中加入可学习的 sink。FlashAttention 3(Hopper,9.0)能计算它;在 Ampere、Ada"
        "(A10、L40S、RTX 30/40)和消费级 Blackwell 上 vLLM 只有 FlashAttention 2,不支持。",
        "使用 Triton 后端:`--attention-backend TRITON_ATTN`(vLLM 0.15 之前为 "
        "`VLLM_ATTENTION_BACKEND=TRITON_ATTN`,0.10 为 `TRITON_ATTN_VLLM_V1`);更新的版本会自动选择:`pip install -U "
        "vllm`。",
    ),
)

SINK_TYPE = Message(
    en=Words(
        "the attention kernel wants the model's attention sinks in float32, and gets them in 16 bit",
        "On B200-class GPUs vLLM serves gpt-oss by TRT-LLM kernels of FlashInfer, which read the sinks in float32. "
        "This vLLM and this FlashInfer are of releases that do not agree on it.",
        "Upgrade both together: `pip install -U vllm` with the `flashinfer-python` that it pins (the image of that "
        "release holds the pair). Until then another backend: `--attention-backend TRITON_ATTN` (older: "
        "`VLLM_ATTENTION_BACKEND=TRITON_ATTN_VLLM_V1`, or `VLLM_USE_TRTLLM_ATTENTION=0`).",
    ),
    zh=Words(
        "注意力内核要求模型的 attention sink 为 float32,而得到的是 16 位",
        "在 B200 一类 GPU 上 vLLM 用 FlashInfer 的 TRT-LLM 内核服务 gpt-oss,该内核以 float32 读取 sink。所装 vLLM 与 "
        "FlashInfer 的版本在此不一致。",
        "两者一起升级:`pip install -U vllm` 以及它限定的 `flashinfer-python`(该版本的镜像含有配套的两者)。在此之前"
        "换用其他后端:`--attention-backend TRITON_ATTN`(旧版:`VLLM_ATTENTION_BACKEND=TRITON_ATTN_VLLM_V1`,或 "
        "`VLLM_USE_TRTLLM_ATTENTION=0`)。",
    ),
)

HEADS = Message(
    en=Words(
        "the attention kernel does not take {heads} heads a GPU",
        "Kernels for latent attention (CUTLASS MLA, AITER MLA) are written for the heads of a whole DeepSeek (128) "
        "or a few shares of it; tensor parallelism leaves {heads} to each GPU.",
        "Take a backend without that limit (`--attention-backend flashinfer`, `triton` or `fa3` in SGLang, "
        "`TRITON_MLA` in vLLM), a smaller tensor parallel size, or data-parallel attention, which keeps all heads "
        "on each GPU (SGLang `--enable-dp-attention`).",
    ),
    zh=Words(
        "该注意力内核不支持每 GPU {heads} 个头",
        "潜在注意力的内核(CUTLASS MLA、AITER MLA)针对完整 DeepSeek 的头数(128)或其少数几种份额编写;张量并行后每个 "
        "GPU 只有 {heads} 个头。",
        "换用没有该限制的后端(SGLang 的 `--attention-backend flashinfer`、`triton`、`fa3`,vLLM 的 `TRITON_MLA`),减"
        "小张量并行大小,或使用数据并行注意力,使每个 GPU 保留全部头(SGLang `--enable-dp-attention`)。",
    ),
)

LMCACHE = Message(
    en=Words(
        "LMCache works with vLLM's FlashAttention backend only, and another one is in use",
        "On a GPU older than Ampere (T4, V100, RTX 20; below compute capability 8.0) vLLM cannot use FlashAttention 2 "
        "and takes xFormers or FlashInfer, whose cache this LMCache cannot read. A backend that was chosen by hand "
        "does the same.",
        "Use a GPU with compute capability 8.0 or newer and no `VLLM_ATTENTION_BACKEND`; or start without LMCache "
        "(`--kv-transfer-config` out); or try a newer LMCache.",
    ),
    zh=Words(
        "LMCache 只支持 vLLM 的 FlashAttention 后端,而当前使用的是其他后端",
        "在 Ampere 之前的 GPU(T4、V100、RTX 20,计算能力低于 8.0)上 vLLM 不能使用 FlashAttention 2,改用 xFormers 或 "
        "FlashInfer,该 LMCache 读不了它们的缓存。手动指定后端也会如此。",
        "使用计算能力 8.0 及以上的 GPU,且不设 `VLLM_ATTENTION_BACKEND`;或不用 LMCache 启动(去掉 "
        "`--kv-transfer-config`);或尝试更新的 LMCache。",
    ),
)

TGI = Message(
    en=Words(
        "text-generation-inference needs FlashAttention for `{backend}`, and could not load it",
        "TGI runs this kind of model, and shards any model over GPUs, only with its FlashAttention classes. They "
        "did not load: the GPU is older than those kernels take (V100 is 7.0; T4 needs flash-attn 1), or the "
        "kernels are not in this installation. A warning about these classes further up names the reason.",
        "Use a GPU of Ampere or newer with the official image (`ghcr.io/huggingface/text-generation-inference`); "
        "on a V100 run on a single GPU without sharding (`--num-shard 1`) where the model fits, or serve with vLLM "
        "(`--dtype half`).",
    ),
    zh=Words(
        "text-generation-inference 运行 `{backend}` 需要 FlashAttention,但无法加载",
        "TGI 只有在具备其 FlashAttention 类时才能运行这类模型或在多 GPU 上切分模型。它们未能加载:GPU 比这些内核要求"
        "的旧(V100 为 7.0;T4 需要 flash-attn 1),或安装中没有这些内核。上文关于这些类的警告给出原因。",
        "在 Ampere 或更新的 GPU 上使用官方镜像(`ghcr.io/huggingface/text-generation-inference`);在 V100 上若模型放"
        "得下,用单卡且不切分(`--num-shard 1`),或改用 vLLM(`--dtype half`)。",
    ),
)

OLD_GPU = Message(
    en=Words(
        "vLLM's V1 engine wants FlashAttention, which this GPU cannot run",
        "FlashAttention 2 starts at compute capability 8.0; V100 (7.0), T4 and RTX 20 (7.5) are older. In this release "
        "the V1 engine has no other backend, so its check fails without a word.",
        "Take the old engine: `VLLM_USE_V1=0` (to vLLM 0.10); from 0.10.2 on the V1 engine runs on such cards with "
        "`VLLM_ATTENTION_BACKEND=TRITON_ATTN`, later `--attention-backend TRITON_ATTN`. With V100 also `--dtype half`.",
    ),
    zh=Words(
        "vLLM 的 V1 引擎需要 FlashAttention,而此 GPU 无法运行它",
        "FlashAttention 2 要求计算能力 8.0;V100(7.0)、T4 与 RTX 20(7.5)更旧。该版本的 V1 引擎没有其他后端,因此检查"
        "无声失败。",
        "使用旧引擎:`VLLM_USE_V1=0`(到 vLLM 0.10);0.10.2 起 V1 引擎可在这类卡上用 "
        "`VLLM_ATTENTION_BACKEND=TRITON_ATTN`,之后为 `--attention-backend TRITON_ATTN`。V100 还需 `--dtype half`。",
    ),
)

#: words in vLLM's reasons -> reason, why and what fits, each in English and Chinese
REASONS = (
    (
        "sink",
        ("attention sinks", "attention sink"),
        (
            "models with attention sinks (gpt-oss, MiMo) run on it on few GPUs (FlashAttention: Hopper) or never",
            "含 attention sink 的模型(gpt-oss、MiMo)只能在少数 GPU 上用它(FlashAttention:Hopper),或根本不能",
        ),
        (
            "`--attention-backend TRITON_ATTN`, which has sinks on every GPU",
            "`--attention-backend TRITON_ATTN`,它在各种 GPU 上都支持 sink",
        ),
    ),
    (
        "kv_cache_dtype",
        ("the type of the KV cache", "KV 缓存类型"),
        ("it cannot read a KV cache of the type that was chosen", "它读不了所选类型的 KV 缓存"),
        (
            "leave `--kv-cache-dtype` at auto, or take a backend that reads fp8 here (`TRITON_ATTN`, `FLASHINFER`)",
            "将 `--kv-cache-dtype` 保持为 auto,或改用能在该 GPU 上读取 fp8 的后端(`TRITON_ATTN`、`FLASHINFER`)",
        ),
    ),
    (
        "compute capability",
        ("this GPU's compute capability", "GPU 的计算能力"),
        ("it has no kernels for a GPU of this generation", "它没有这一代 GPU 的内核"),
        ("`--attention-backend TRITON_ATTN`", "`--attention-backend TRITON_ATTN`"),
    ),
    (
        "head_size",
        ("the size of the heads", "注意力头的大小"),
        ("it has no kernel for heads of this size", "它没有这种头大小的内核"),
        (
            "`--attention-backend TRITON_ATTN` or `FLEX_ATTENTION`",
            "`--attention-backend TRITON_ATTN` 或 `FLEX_ATTENTION`",
        ),
    ),
    (
        "MLA",
        ("latent attention (MLA)", "潜在注意力(MLA)"),
        (
            "models with latent attention (DeepSeek, Kimi) take MLA backends only, and these take no other model",
            "使用潜在注意力的模型(DeepSeek、Kimi)只能用 MLA 后端,而 MLA 后端也不服务其他模型",
        ),
        (
            "a backend of the model's kind: `TRITON_MLA`, `FLASHMLA` for these, others for the rest",
            "选用与模型相符的后端:这类模型用 `TRITON_MLA`、`FLASHMLA`,其余模型用其他后端",
        ),
    ),
    (
        "KV connector",
        ("KV transfer or offloading", "KV 传输或卸载"),
        ("it does not work together with a KV connector", "它不能与 KV connector 一起使用"),
        ("start without `--kv-transfer-config` and offloading", "不使用 `--kv-transfer-config` 与卸载启动"),
    ),
    (
        "dtype",
        ("the type of the weights", "权重类型"),
        ("it computes in 16 bit only", "它只支持 16 位计算"),
        ("`--dtype bfloat16` (or half)", "`--dtype bfloat16`(或 half)"),
    ),
)
OTHER = (
    ("a property of the model", "模型的某一特性"),
    ("it lacks something that the model needs", "它缺少模型所需的功能"),
    ("`--attention-backend TRITON_ATTN`", "`--attention-backend TRITON_ATTN`"),
)


def _common(text: str) -> str:
    """Reasons that all backends give, of `{A: [x, y], B: [x]}`; all of them where none is common."""
    lists = [set(re.split(r", ?", each)) for each in re.findall(r"\[([^\]]{1,300})\]", text)]
    shared = set.intersection(*lists) if lists else set()
    return ", ".join(sorted(shared)) or text


def _reason(text: str) -> tuple[tuple[str, str], tuple[str, str], tuple[str, str]]:
    """Reason, why and what fits for the first known word of vLLM's reasons."""
    return next((each[1:] for each in REASONS if each[0] in text), OTHER)


def explain(hits: Hits) -> Finding | None:
    """What was refused and why; heads of odd size have a problem of their own."""
    told = hits.first.groups
    if told.get("all") and "head_size not supported" in told["all"]:
        return None
    message = hits.choice(
        {
            "sinks": SINKS,
            "sinktype": SINK_TYPE,
            "heads": HEADS,
            "only": LMCACHE,
            "tgi": TGI,
            "old": OLD_GPU,
            "all": NONE_LEFT,
        },
        REFUSED,
    )
    reason, why, fit = _reason(told.get("reasons") or _common(told.get("all") or ""))
    return found(
        PROBLEM,
        message,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY if any(told.get(each) for each in ("all", "only", "tgi", "heads", "old")) else CONFIRMED,
        heads=told.get("heads") or "",
        backend=told.get("backend") or told.get("device") or told.get("tgi") or "",
        reasons=reason[0],
        reasons_zh=reason[1],
        why=why[0],
        why_zh=why[1],
        fit=fit[0],
        fit_zh=fit[1],
    )
