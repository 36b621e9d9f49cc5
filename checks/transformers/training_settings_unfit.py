"""A training argument needs another one, or a device, that is not there.

## What it means
Some arguments only work together: a scheduler that watches the evaluation needs one, prefetching needs worker
processes, TF32 needs an Ampere GPU.
## What it does to a run
ValueError when TrainingArguments (or GRPOConfig and its kin) are made.
## What to do
Set the other one too, or leave this one out.
## How it is found
In a log: by the exceptions of TrainingArguments.
## References
https://github.com/huggingface/transformers/blob/v4.57.1/src/transformers/training_args.py
https://github.com/huggingface/transformers/blob/v4.57.1/src/transformers/trainer.py
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="TRF054", name="training-settings-unfit", severity=ERROR, since="0.1")

CASES = (
    (
        r"ValueError: --dataloader_prefetch_factor can only be set when data is loaded in a different process",
        Message(
            en=Words(
                "`dataloader_prefetch_factor` is set and `dataloader_num_workers` is 0",
                "Only worker processes fetch ahead.",
                "Set `dataloader_num_workers` to 1 or more, or leave `dataloader_prefetch_factor` out.",
            ),
            zh=Words(
                "设置了 `dataloader_prefetch_factor`,而 `dataloader_num_workers` 为 0",
                "只有数据加载进程才能预取。",
                "把 `dataloader_num_workers` 设为 1 或更大,或去掉 `dataloader_prefetch_factor`。",
            ),
        ),
    ),
    (
        r"ValueError: lr_scheduler_type (?P<scheduler>reduce_lr_on_plateau|greedy) requires an eval strategy",
        Message(
            en=Words(
                "`lr_scheduler_type={scheduler}` without evaluation",
                "The schedule follows the evaluation's metric.",
                'Set `eval_strategy="steps"` with `eval_steps` and an `eval_dataset`, or another scheduler '
                "(`cosine`, `constant_with_warmup`).",
            ),
            zh=Words(
                "`lr_scheduler_type={scheduler}`,却没有评估",
                "该调度器依据评估指标调整学习率。",
                '设置 `eval_strategy="steps"`、`eval_steps` 和 `eval_dataset`,或换用其他调度器(`cosine`、'
                "`constant_with_warmup`)。",
            ),
        ),
    ),
    (
        r"ValueError: --tf32 requires Ampere or a newer GPU arch",
        Message(
            en=Words(
                "`tf32=True` on a device that has no TF32",
                "Volta and Turing (V100, T4, RTX 20) and CPUs have none; nor is it seen where torch finds no GPU at "
                "all.",
                'Leave `tf32` out. If the GPU is an A100 or newer, torch does not see it: `python -c "import torch; '
                'print(torch.cuda.get_device_capability())"`.',
            ),
            zh=Words(
                "在没有 TF32 的设备上设置了 `tf32=True`",
                "Volta、Turing(V100、T4、RTX 20)与 CPU 没有 TF32;torch 找不到 GPU 时也会如此。",
                '去掉 `tf32`。若 GPU 是 A100 或更新型号,说明 torch 看不到它:`python -c "import torch; '
                'print(torch.cuda.get_device_capability())"`。',
            ),
        ),
    ),
    (
        (
            r"ValueError: (?P<kind>evaluation|logging|save) strategy (?P<strategy>\S{1,40}) requires (?:either"
            r" )?non-zero"
            r" --(?P<name>eval_steps|logging_steps|save_steps)"
        ),
        Message(
            en=Words(
                "the {kind} strategy is by steps and `{name}` is 0",
                "With 0 there is no step at which it could happen.",
                "Set `{name}` to 1 or more, or the strategy to `no` (or `epoch`).",
            ),
            zh=Words(
                "按步执行({kind}),而 `{name}` 为 0",
                "步数为 0 时没有可执行的时刻。",
                "把 `{name}` 设为 1 或更大,或把策略改为 `no`(或 `epoch`)。",
            ),
        ),
    ),
    (
        (
            r"ValueError: --(?P<name>logging_steps|eval_steps|save_steps) must be an integer if bigger than 1:"
            r" (?P<value>[\d.]{1,12}\d)"
        ),
        Message(
            en=Words(
                "`{name}={value}` is neither a whole number of steps nor a share below 1",
                "Values below 1 are a share of all steps, values above are counted in steps.",
                "Write `{name}` as a whole number, or as a share such as 0.1.",
            ),
            zh=Words(
                "`{name}={value}` 既不是整数步数,也不是小于 1 的比例",
                "小于 1 的值表示总步数的比例,大于 1 的值表示步数。",
                "把 `{name}` 写成整数,或如 0.1 的比例。",
            ),
        ),
    ),
    (
        r"ValueError: You cannot fine-tune quantized model with `torch\.compile\(\)`",
        Message(
            en=Words(
                "a quantized model that was compiled is to be trained",
                "Adapters cannot be put into a compiled quantized model.",
                "Load and train it without `torch.compile` (`torch_compile=False`).",
            ),
            zh=Words(
                "要训练一个已编译的量化模型",
                "已编译的量化模型无法加入适配器。",
                "不使用 `torch.compile` 加载和训练(`torch_compile=False`)。",
            ),
        ),
    ),
    (
        (
            r"ValueError: The model you are trying to fine-tune is quantized with (?P<method>[\w.\-]{1,40}) but that"
            r" quantization method do not support training"
        ),
        Message(
            en=Words(
                "the model is quantized with {method}, which cannot be trained, not even under an adapter",
                "Its weights are made for inference; gradients cannot pass through them.",
                "Start from the unquantized model, and quantize it while loading "
                "(`BitsAndBytesConfig(load_in_4bit=True)` with LoRA).",
            ),
            zh=Words(
                "模型以 {method} 量化,无法训练,加适配器也不行",
                "这种权重只用于推理,梯度无法通过。",
                "从未量化的模型出发,加载时再量化(`BitsAndBytesConfig(load_in_4bit=True)` 加 LoRA)。",
            ),
        ),
    ),
    (
        (
            r"ValueError: (?P<model>\w{2,60}) (?:does not support gradient checkpointing|is not compatible with"
            r" gradient checkpointing)"
        ),
        Message(
            en=Words(
                "`gradient_checkpointing` is on and `{model}` does not have it",
                "The class of the model was written without checkpoints of its layers; often it is code of the "
                "model's own.",
                "Set `gradient_checkpointing=False` and lower the batch size for memory, or take Transformers' own "
                "class of the model (without `trust_remote_code`).",
            ),
            zh=Words(
                "打开了 `gradient_checkpointing`,而 `{model}` 不支持",
                "该模型类没有实现逐层检查点,通常是模型自带的代码。",
                "设置 `gradient_checkpointing=False` 并减小批大小以节省显存,或使用 Transformers 自己的模型类(不用 "
                "`trust_remote_code`)。",
            ),
        ),
    ),
    (
        (
            r"AssertionError: EarlyStoppingCallback requires (?P<what>metric_for_best_model"
            r"|IntervalStrategy of steps or epoch|load_best_model_at_end)"
        ),
        Message(
            en=Words(
                "`EarlyStoppingCallback` without `{what}`",
                "It stops when a metric of the evaluation gets no better: it needs evaluations, the metric's name, "
                "and (before Transformers 5) the best checkpoint to come back to.",
                'Set `eval_strategy="steps"` with `eval_steps`, `metric_for_best_model="eval_loss"`, '
                "`greater_is_better=False`, and `load_best_model_at_end=True` with the same `save_strategy`; or "
                "leave the callback out.",
            ),
            zh=Words(
                "使用了 `EarlyStoppingCallback`,但缺少 `{what}`",
                "它在评估指标不再变好时停止:需要评估、指标名称,以及(Transformers 5 之前)可恢复的最佳检查点。",
                '设置 `eval_strategy="steps"` 与 `eval_steps`、`metric_for_best_model="eval_loss"`、'
                "`greater_is_better=False`,以及 `load_best_model_at_end=True` 和相同的 `save_strategy`;或去掉该回调"
                "。",
            ),
        ),
    ),
    (
        r"ValueError: This tokenizer does not have a mask token which is necessary for masked language modeling",
        Message(
            en=Words(
                "`DataCollatorForLanguageModeling` masks words, and the tokenizer has no mask token",
                "`mlm=True` is the default and belongs to models like BERT; a causal language model predicts the "
                "next token.",
                "`DataCollatorForLanguageModeling(tokenizer, mlm=False)`.",
            ),
            zh=Words(
                "`DataCollatorForLanguageModeling` 要做掩码,而分词器没有 mask token",
                "默认的 `mlm=True` 适用于 BERT 类模型;因果语言模型预测的是下一个 token。",
                "`DataCollatorForLanguageModeling(tokenizer, mlm=False)`。",
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern) for pattern, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return finding_of_case(PROBLEM, CASES, hits)
