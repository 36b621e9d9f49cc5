"""Settings of a TRL trainer exclude each other, or one of them needs another.

## What it means
Packing needs a length to pack to; log-probabilities computed ahead need a reference that stays as it is and a dataset
with a length; GRPO cannot shard sequences. The trainers compare such settings when they are built.
## What it does to a run
ValueError in the first seconds, or when the configuration is made.
## What to do
Drop one of the two, as the finding says.
## How it is found
In a log: by TRL's exceptions, each of which names both settings.
## References
https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/sft_trainer.py
https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/dpo_trainer.py
https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/grpo_config.py
https://github.com/huggingface/trl/blob/v0.19.1/trl/trainer/dpo_trainer.py
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="TRL060", name="trainer-settings-exclude-each-other", severity=ERROR, since="0.1")

CASES = (
    (
        r"ValueError: When packing is enabled, `max_length` can't be `None`",
        Message(
            en=Words(
                "`packing=True` together with `max_length=None`",
                "Packing fills rows of a fixed length, and `max_length` is that length.",
                "Set `max_length` in the configuration (for instance 4096), or `packing=False`.",
            ),
            zh=Words(
                "`packing=True` 而 `max_length=None`",
                "打包要把样本填满固定长度的行,`max_length` 就是这个长度。",
                "在配置中设置 `max_length`(例如 4096),或 `packing=False`。",
            ),
        ),
    ),
    (
        r"ValueError: When `padding_free=True` without packing, `max_length` is not enforced",
        Message(
            en=Words(
                "`padding_free=True` without packing, and `max_length` is set",
                "Rows are then laid end to end and none is cut, so the length could not be kept.",
                "Set `packing=True` with `packing_strategy='bfd'`, or `max_length=None` for data that is short enough.",
            ),
            zh=Words(
                "`padding_free=True` 未与打包同用,却设置了 `max_length`",
                "此时样本首尾相接,不会被截断,长度无法保证。",
                "设置 `packing=True` 和 `packing_strategy='bfd'`;若数据足够短,设置 `max_length=None`。",
            ),
        ),
    ),
    (
        r"ValueError: Passing a custom data collator is not supported when using padding-free",
        Message(
            en=Words(
                "`padding_free=True` together with a data collator of your own",
                "Padding-free batches are made by TRL's own collator.",
                "Leave `data_collator` out, or set `padding_free=False` (packing with `bfd` switches it on).",
            ),
            zh=Words(
                "`padding_free=True` 与自定义 data collator 同时使用",
                "无填充批次由 TRL 自己的 collator 生成。",
                "去掉 `data_collator`,或设置 `padding_free=False`(`bfd` 打包会自动打开它)。",
            ),
        ),
    ),
    (
        r"ValueError: A formatting function was provided while `completion_only_loss=True`",
        Message(
            en=Words(
                "`formatting_func` together with `completion_only_loss=True`",
                "The function makes one text of prompt and completion, after which nothing tells them apart.",
                "Hand over a dataset with `prompt` and `completion` columns instead of the function, or set "
                "`completion_only_loss=False`.",
            ),
            zh=Words(
                "`formatting_func` 与 `completion_only_loss=True` 同时使用",
                "该函数把提示与回答合成一段文本,之后无法区分两者。",
                "改为提供带 `prompt` 和 `completion` 列的数据集而不传函数,或设置 `completion_only_loss=False`。",
            ),
        ),
    ),
    (
        r"ValueError: You passed a `DataCollatorForCompletionOnlyLM` to the SFTTrainer\. This is not compatible",
        Message(
            en=Words(
                "`packing=True` together with `DataCollatorForCompletionOnlyLM`",
                "The collator looks for the answer in single rows, which packing joins.",
                "Set `packing=False`, or leave the collator out and use `completion_only_loss` with `prompt` and "
                "`completion` columns (TRL 0.17 and newer).",
            ),
            zh=Words(
                "`packing=True` 与 `DataCollatorForCompletionOnlyLM` 同时使用",
                "该 collator 在单条样本中寻找回答,而打包会把样本拼接起来。",
                "设置 `packing=False`,或去掉该 collator,改用 `completion_only_loss` 与 `prompt`/`completion` "
                "列(TRL 0.17 起)。",
            ),
        ),
    ),
    (
        r"ValueError: You cannot use `sync_ref_model=True` together with `precompute_ref_log_probs=True`",
        Message(
            en=Words(
                "`sync_ref_model=True` beside `precompute_ref_log_probs=True`",
                "What was computed ahead belongs to a reference that would change during the training.",
                "Switch one of the two off.",
            ),
            zh=Words(
                "`sync_ref_model=True` 与 `precompute_ref_log_probs=True` 同时使用",
                "预先计算的对数概率属于参考模型,而参考模型会在训练中变化。",
                "设置 `precompute_ref_log_probs=False`,或 `sync_ref_model=False`。",
            ),
        ),
    ),
    (
        r"ValueError: `precompute_ref_log_probs=True` is not supported with IterableDataset",
        Message(
            en=Words(
                "`precompute_ref_log_probs=True` with a streaming dataset",
                "The log-probabilities become a column of the dataset, and a stream cannot get one.",
                "Load the dataset without `streaming=True`, or switch `precompute_ref_log_probs` off.",
            ),
            zh=Words(
                "`precompute_ref_log_probs=True` 用于流式数据集",
                "对数概率会成为数据集的一列,而流式数据集无法添加。",
                "去掉 `streaming=True` 加载数据集,或设置 `precompute_ref_log_probs=False`。",
            ),
        ),
    ),
    (
        (
            r"ValueError: You cannot use `precompute_ref_log_probs=True` with (?P<other>Deepspeed ZeRO-3|TR-DPO method"
            r"|liger kernel)"
        ),
        Message(
            en=Words(
                "`precompute_ref_log_probs=True` together with {other}",
                "The installed TRL cannot compute the reference's log-probabilities ahead there.",
                "Set `precompute_ref_log_probs=False`.",
            ),
            zh=Words(
                "`precompute_ref_log_probs=True` 与 {other} 同时使用",
                "已安装的 TRL 在这种情况下无法预先计算参考模型的对数概率。",
                "设置 `precompute_ref_log_probs=False`。",
            ),
        ),
    ),
    (
        r"ValueError: (?P<trainer>\w{3,40}Trainer) does not support sequence-dim parallelism",
        Message(
            en=Words(
                "{trainer} is to shard sequences (`cp_size` or `sp_size` above 1)",
                "This trainer makes its batches after generation, where context and sequence parallelism cannot "
                "split them.",
                "Set `cp_size=1` and `sp_size=1` in `parallelism_config` (of the accelerate configuration), or leave "
                "it out; against memory lower `max_completion_length`, or use ZeRO-3 or FSDP2.",
            ),
            zh=Words(
                "{trainer} 被要求切分序列(`cp_size` 或 `sp_size` 大于 1)",
                "该训练器在生成之后才构造批次,上下文并行与序列并行无法切分它们。",
                "在 accelerate 配置的 `parallelism_config` 中设置 `cp_size=1` 和 `sp_size=1`,或去掉它;"
                "显存不足时降低 `max_completion_length`,或使用 ZeRO-3、FSDP2。",
            ),
        ),
    ),
    (
        r"ValueError: log_completions_hub_repo is set, but log_completions is False",
        Message(
            en=Words(
                "`log_completions_hub_repo` is set and `log_completions` is not",
                "There is nothing to upload unless completions are logged.",
                "Set `log_completions=True`, or leave `log_completions_hub_repo` out.",
            ),
            zh=Words(
                "设置了 `log_completions_hub_repo`,却没有打开 `log_completions`",
                "不记录生成内容就没有可上传的东西。",
                "设置 `log_completions=True`,或去掉 `log_completions_hub_repo`。",
            ),
        ),
    ),
    (
        r"ValueError: vLLM does not support in-flight 8-bit quantization",
        Message(
            en=Words(
                "`use_vllm=True` with a model loaded in 8 bit",
                "The colocated engine would quantize the same weights, and vLLM quantizes to 4 bit at most this way.",
                "Load the policy in 4 bit (`load_in_4bit=True`) or in bf16, or set `use_vllm=False`.",
            ),
            zh=Words(
                "`use_vllm=True` 而模型以 8 位加载",
                "同机引擎要量化同一份权重,而 vLLM 的即时量化只支持 4 位。",
                "以 4 位(`load_in_4bit=True`)或 bf16 加载策略模型,或设置 `use_vllm=False`。",
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern) for pattern, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return finding_of_case(PROBLEM, CASES, hits)
