"""A layer ran while FSDP had its weights taken apart.

## What it means
Outside the `forward` of the module that FSDP wrapped, each rank holds pieces of weights only; the full ones have
no storage. `generate` of the inner module, a loss that calls `lm_head` by itself, or reentrant checkpointing around a
wrapped layer reach for them anyway.
## What it does to a run
RuntimeError in the first generation or the first backward pass.
## What to do
Gather the weights around such a call, or let the call go through the wrapped module.
## How it is found
In a log: by the messages of PyTorch about storage that is not there.
## References
https://docs.pytorch.org/docs/stable/fsdp.html#torch.distributed.fsdp.FullyShardedDataParallel.summon_full_params
https://github.com/pytorch/pytorch/issues/123962
https://github.com/pytorch/pytorch/issues/82203
https://github.com/huggingface/accelerate/issues/2178
https://github.com/huggingface/trl/pull/3260
"""

from __future__ import annotations

from dataclasses import replace

from doctor.core.finding import LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="FSD014", name="weights-absent-outside-forward", severity=ERROR, since="0.1")

#: (pattern, what is said of it)
CASES = (
    (
        (
            r"RuntimeError: The tensor has a non-zero number of elements, but its data is not allocated "
            r"yet\.(?! *If you)"
        ),
        Message(
            en=Words(
                "a layer ran while FSDP held only pieces of its weights",
                "The full weight has no storage: FSDP gathers it only inside the `forward` of the module that it "
                "wrapped. `generate`, or a part of the model called by itself, went past that.",
                "Gather around the call: `with FSDP.summon_full_params(model, writeback=False): "
                "model.generate(..., synced_gpus=True)`; or call the wrapped model, never `model.module` or a "
                "layer of it. In TRL use 0.18 or newer, whose GRPO trainer gathers under FSDP, or generate with "
                "vLLM (`use_vllm=True`); DeepSpeed ZeRO-3 is the other way.",
            ),
            zh=Words(
                "某一层运行时,FSDP 只持有其权重的分片",
                "完整权重没有存储空间:FSDP 只在被包装模块的 `forward` 内收集权重。`generate` 或单独调用模型的一部"
                "分绕过了它。",
                "在调用外收集权重:`with FSDP.summon_full_params(model, writeback=False): model.generate(..., "
                "synced_gpus=True)`;或调用被包装的模型,不要调用 `model.module` 或其某一层。TRL 请用 0.18 或更新版"
                "本(其 GRPO 训练器会在 FSDP 下收集权重),或用 vLLM 生成(`use_vllm=True`);也可改用 DeepSpeed ZeRO-3"
                "。",
            ),
        ),
    ),
    (
        (
            r"RuntimeError: setStorage: sizes [^\n]{4,120} requiring a storage size of (?P<bytes>\d{1,18}) "
            r"are out of bounds for storage of size 0\b"
        ),
        Message(
            en=Words(
                "a weight of {bytes} bytes was needed while FSDP had freed it",
                "A view of a weight outlived the gathered weight: reentrant gradient checkpointing recomputes "
                "past the hooks of FSDP, and so do LoRA layers or tied weights in a unit that was freed.",
                'Checkpoint without re-entering: `gradient_checkpointing_kwargs={{"use_reentrant": False}}`, or '
                "let FSDP do it (`fsdp_activation_checkpointing: true` and `gradient_checkpointing=False`). With "
                "LoRA set `fsdp_use_orig_params: true` (or wrap by `peft.utils.other.fsdp_auto_wrap_policy`), on "
                "PyTorch 2.1 or newer; outside of training gather with `FSDP.summon_full_params`.",
            ),
            zh=Words(
                "需要某个 {bytes} 字节的权重时,FSDP 已将其释放",
                "权重的视图比收集到的权重存活更久:可重入的梯度检查点在重算时绕过 FSDP 的钩子;处于已释放单元中的 "
                "LoRA 层或共享权重也会如此。",
                '使用不可重入的检查点:`gradient_checkpointing_kwargs={{"use_reentrant": False}}`,或交给 '
                "FSDP(`fsdp_activation_checkpointing: true` 且 `gradient_checkpointing=False`)。使用 LoRA 时设置 "
                "`fsdp_use_orig_params: true`(或用 `peft.utils.other.fsdp_auto_wrap_policy` 包装),PyTorch 2.1 或"
                "更新;训练之外用 `FSDP.summon_full_params` 收集。",
            ),
        ),
    ),
    (
        r"RuntimeError: (?:'weight' must be 2-D|weight should have at least three dimensions)",
        Message(
            en=Words(
                "under FSDP a layer was called past its wrapper and met the flattened weight",
                "FSDP keeps the weights of a unit as one flat vector and restores their shapes only inside its "
                "own `forward`.",
                "Call the wrapped model, not `model.module` or a layer of it; for `generate` use `with "
                "FSDP.summon_full_params(model, writeback=False):`. Wrap such a layer together with the one that "
                "calls it (auto-wrap policy by transformer layer), or leave it out (`ignored_modules`).",
            ),
            zh=Words(
                "FSDP 下某层绕过包装被调用,遇到展平的权重",
                "FSDP 把一个单元的权重保存为一个扁平向量,只在自己的 `forward` 内恢复形状。",
                "调用被包装的模型,不要调用 `model.module` 或其某一层;`generate` 时使用 `with "
                "FSDP.summon_full_params(model, writeback=False):`。将该层与调用它的层包装在一起(按 transformer "
                "层的自动包装策略),或将其排除(`ignored_modules`)。",
            ),
        ),
    ),
)

SIGNATURES = (
    Signature(CASES[0][0], keywords=("data is not allocated yet",)),
    Signature(CASES[1][0], keywords=("out of bounds for storage of size 0",), symptom_of=("TRF043",)),
    Signature(CASES[2][0], frame=r"(?:^|[\\/])fsdp[\\/]", own_code=True),  # the model may be the user's
)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return replace(finding_of_case(PROBLEM, CASES, hits), confidence=LIKELY)
