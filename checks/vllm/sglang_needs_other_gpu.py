"""What SGLang was told to use does not exist for this GPU.

## What it means
Attention and expert back ends are made for certain GPUs: TensorRT-LLM's kernels for Blackwell, FlashAttention 3 for
Hopper. SGLang itself begins at compute capability 7.5.
## What it does to a run
The server ends before the model is loaded.
## What to do
Leave the choice to SGLang, or name a back end that the GPU has.
## How it is found
In a log: by SGLang's refusal, with the back end and the GPUs that have it.
## References
https://github.com/sgl-project/sglang/blob/v0.5.4/python/sglang/srt/server_args.py
https://docs.sglang.ai/advanced_features/attention_backend.html
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="VLL091", name="sglang-needs-other-gpu", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"(?P<backend>[A-Z][\w.\-]{1,20}(?: [\w.\-]{1,20}){0,2}?) (?:attention )?backend (?:is only supported|only "
        r"works|requires|only supports)"
        r" (?:on |for )?(?P<gpus>[\w /,()]{2,40}?(?:GPUs?|SM\d{2,3}\)?))(?:[.,]|$| \()",
        frame=r"sglang[\\/]srt[\\/]",
    ),
    Signature(r"RuntimeError: SGLang only supports sm(?P<least>\d{2}) and above"),
)

LOG_MESSAGE = Message(
    en=Words(
        "the back end {backend} of SGLang exists for {gpus} only",
        "It was chosen on the command line, by the trainer or by a recipe for another GPU. Its kernels are compiled "
        "for those GPUs alone.",
        "Leave `--attention-backend`, `--moe-runner-backend` and `--prefill-attention-backend` out, so that SGLang "
        "chooses, or name one that this GPU has: `fa3` on Hopper, `flashinfer` or `triton` elsewhere (slime "
        "`--sglang-attention-backend`, veRL `engine_kwargs.sglang.attention_backend`).",
    ),
    zh=Words(
        "SGLang 的后端 {backend} 只支持 {gpus}",
        "它由命令行、训练框架或面向其他 GPU 的配方选定,其内核只为这些 GPU 编译。",
        "去掉 `--attention-backend`、`--moe-runner-backend`、`--prefill-attention-backend`,由 SGLang 自行选择;或指定该 "
        "GPU 支持的后端:Hopper 用 `fa3`,其他用 `flashinfer` 或 `triton`(slime `--sglang-attention-backend`,veRL "
        "`engine_kwargs.sglang.attention_backend`)。",
    ),
)
TOO_OLD = Message(
    en=Words(
        "the GPU is older than SGLang serves: it begins at compute capability {least}",
        "Its kernels are compiled for Turing and newer (T4, RTX 20 and later); V100 and older have none.",
        "Take a newer GPU, or generate with vLLM's older releases or with Transformers on this one "
        "(`rollout.name=hf`, `use_vllm=False`).",
    ),
    zh=Words(
        "GPU 早于 SGLang 支持的范围:计算能力须不低于 {least}",
        "其内核为 Turing 及更新的 GPU 编译(T4、RTX 20 起);V100 及更早的没有。",
        "换用较新的 GPU,或在该 GPU 上用较旧的 vLLM 或 Transformers 生成(`rollout.name=hf`、`use_vllm=False`)。",
    ),
)


def explain(hits: Hits) -> Finding:
    """A back end for other GPUs, or a GPU that is too old for all of it."""
    least = hits.get("least")
    return found(
        PROBLEM, TOO_OLD if least else LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(),
        least=f"{least[0]}.{least[1]}" if least else "", backend=f"`{(hits.get('backend') or '').strip()}`",
        gpus=(hits.get("gpus") or "").strip(),
    )  # fmt: skip
