"""Judges attention-backend-unfit (VLL098), whose words stand in the TOML beside it."""

from __future__ import annotations

import re

from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
REFUSED = TOML["refused"]
NONE_LEFT = TOML["none_left"]
SINKS = TOML["sinks"]
SINK_TYPE = TOML["sink_type"]
HEADS = TOML["heads"]
LMCACHE = TOML["lmcache"]
TGI = TOML["tgi"]
OLD_GPU = TOML["old_gpu"]


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
