"""`accelerator.prepare` was called in a way that the plugin in use does not allow.

## What it means
A loop of your own hands model, optimizer and loaders to accelerate. DeepSpeed makes one engine of one
model; FSDP2 has to see model and optimizer together; an optimizer may stand in the DeepSpeed
configuration or in the code.
## What it does to a run
ValueError or AssertionError before the first step.
## What to do
Call `prepare` once, with all that belongs together.
## How it is found
In a log: by accelerate's exceptions.
## References
https://github.com/huggingface/accelerate/blob/v1.14.0/src/accelerate/accelerator.py
https://huggingface.co/docs/accelerate/usage_guides/deepspeed
https://huggingface.co/docs/accelerate/concept_guides/fsdp1_vs_fsdp2
"""

from __future__ import annotations

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="ACC019", name="prepared-in-a-wrong-way", severity=ERROR, since="0.1")

_TOGETHER = Message(
    en=Words(
        "under FSDP2 the model was prepared without its optimizer",
        "FSDP2 replaces the parameters by shards, and the optimizer has to be switched to these in the same call.",
        "`model, optimizer = accelerator.prepare(model, optimizer)` in one call; for a model that is not trained use "
        "`accelerator.prepare_model(model, evaluation_mode=True)` or leave it unprepared.",
    ),
    zh=Words(
        "FSDP2 下准备模型时没有同时传入优化器",
        "FSDP2 用分片替换参数,必须在同一次调用中把优化器切换到这些分片。",
        "在一次调用中写 `model, optimizer = accelerator.prepare(model, optimizer)`;不训练的模型用 "
        "`accelerator.prepare_model(model, evaluation_mode=True)`,或不做准备。",
    ),
)
_ONE_MODEL = Message(
    en=Words(
        "several models were handed to one `Accelerator` under {plugin}",
        "It makes one engine of one model with its optimizer.",
        "Give each model its own plugin and `Accelerator` (`deepspeed_plugins={{...}}`), or prepare only the policy "
        "and keep reference and reward model outside (`model.to(accelerator.device).eval()`), as TRL does.",
    ),
    zh=Words(
        "在 {plugin} 下把多个模型交给了同一个 `Accelerator`",
        "它只用一个模型及其优化器建立一个引擎。",
        "为每个模型使用各自的插件和 `Accelerator`(`deepspeed_plugins={{...}}`),或只准备策略模型,"
        "参考模型和奖励模型放在外面(`model.to(accelerator.device).eval()`),TRL 就是这样做的。",
    ),
)
_TWICE = Message(
    en=Words(
        "{what} stands in the DeepSpeed configuration and in the code",
        "Only one of the two can hold.",
        "Remove the section from the DeepSpeed configuration, or put `accelerate.utils.DummyOptim` (`DummyScheduler`) "
        "into the code in its place.",
    ),
    zh=Words(
        "{what} 同时出现在 DeepSpeed 配置和代码中",
        "两者只能有一个生效。",
        "从 DeepSpeed 配置中删除该部分,或在代码中改用 `accelerate.utils.DummyOptim`(`DummyScheduler`)。",
    ),
)
_DEVICES = Message(
    en=Words(
        "the optimizer was made for parameters on another device than the model is on",
        "It was built before the model was moved, so it would step tensors that nobody uses.",
        "Move or prepare the model first, and make the optimizer from `model.parameters()` afterwards.",
    ),
    zh=Words(
        "优化器所持参数与模型不在同一设备",
        "优化器在移动模型之前创建,更新的是无人使用的张量。",
        "先移动或准备模型,再用 `model.parameters()` 创建优化器。",
    ),
)
_TIED = Message(
    en=Words(
        "FSDP2 cannot match the parameters before and after sharding: weights are tied",
        "Input and output embeddings are one tensor (`tie_word_embeddings`), which FSDP2 shards once and is "
        "asked for twice.",
        "After loading: `model.config.tie_word_embeddings = False`; or `fsdp_version: 1`; upgrade accelerate.",
    ),
    zh=Words(
        "FSDP2 无法对应分片前后的参数:存在共享权重",
        "输入与输出嵌入是同一个张量(`tie_word_embeddings`),FSDP2 只切分一次,却被要求两次。",
        "加载后设置 `model.config.tie_word_embeddings = False`;或 `fsdp_version: 1`;并升级 accelerate。",
    ),
)
_MAPPED = Message(
    en=Words(
        "the model holds distributed tensors already, and DDP is to wrap it",
        '`device_map="auto"` (or a tensor-parallel plan) spread it over the GPUs while it was loaded.',
        'Load without `device_map` (or with that of this process alone, `device_map={{"": local_rank}}`) when several '
        "processes train.",
    ),
    zh=Words(
        "模型已含分布式张量,却要由 DDP 包装",
        '加载时 `device_map="auto"`(或张量并行方案)已把它分布到多个 GPU。',
        '多进程训练时不要用 `device_map`(或只指向本进程:`device_map={{"": local_rank}}`)。',
    ),
)
_CLIP = Message(
    en=Words(
        "`clip_grad_value_` under DeepSpeed or FSDP",
        "Neither can clip single values, for no rank has whole gradients.",
        "Use `accelerator.clip_grad_norm_(model.parameters(), max_norm)`.",
    ),
    zh=Words(
        "在 DeepSpeed 或 FSDP 下使用 `clip_grad_value_`",
        "两者都不能逐值裁剪,因为没有任何进程持有完整梯度。",
        "改用 `accelerator.clip_grad_norm_(model.parameters(), max_norm)`。",
    ),
)

CASES = (
    (r"ValueError: When using FSDP2, a model and optimizer must be passed together", _TOGETHER),
    (r"ValueError: FSDP2 preparation should be done via `accelerate\.prepare\(\)`", _TOGETHER),
    (r"ValueError: Only one model is supported when using (?P<plugin>FSDP2)", _ONE_MODEL),
    (
        (
            r"AssertionError: You can't use same `Accelerator\(\)` instance with multiple models when using"
            r" (?P<plugin>DeepSpeed|Megatron-LM)"
        ),
        _ONE_MODEL,
    ),
    (r"ValueError: You cannot specify an? (?P<what>optimizer|scheduler) in the config file and in the code", _TWICE),
    (r"ValueError: The model and the optimizer parameters are not on the same device", _DEVICES),
    (r"ValueError: FSDP2 mapping failed \(missing:", _TIED),
    (r"ValueError: Your model contains `DTensor` parameters, which is incompatible with DDP", _MAPPED),
    (r"Exception: DeepSpeed and FSDP {1,2}do not support `clip_grad_value_`", _CLIP),
)

SIGNATURES = tuple(Signature(pattern) for pattern, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for; of tied weights Accelerate itself is not sure."""
    guessed = CASES[hits.first.signature][1] is _TIED
    return finding_of_case(PROBLEM, CASES, hits, LIKELY if guessed else CONFIRMED)
