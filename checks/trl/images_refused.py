"""Rows with images meet a trainer setting, or a model, that cannot take them.

## What it means
Columns named `image` or `images` make TRL treat the run as one of a vision-language model. Such runs cannot pack, cut
from the left, or prepare texts ahead, for the placeholders of an image must stay as many as its features.
## What it does to a run
ValueError when the trainer is built, or in the batch whose prompt is cut in the middle of an image.
## What to do
Drop the setting; raise `max_length`; take a model that sees, or drop the column.
## How it is found
In a log: by TRL's exceptions.
## References
https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/sft_trainer.py
https://github.com/huggingface/trl/blob/v1.16.0/trl/trainer/grpo_trainer.py
https://huggingface.co/docs/trl/dataset_formats#vision-datasets
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature, finding_of_case

PROBLEM = Problem(id="TRL061", name="images-refused-by-trainer", severity=ERROR, since="0.1", affects={"trl": ">=0.20"})

CASES = (
    (
        r"ValueError: The dataset appears to be vision-related \(contains 'image' or 'images' keys\)",
        Message(
            en=Words(
                "the dataset has a column `image` or `images`, and the model takes text only",
                "TRL looked for a processor of images beside the model and found a tokenizer.",
                "Train a vision-language model (and pass its `AutoProcessor` as `processing_class`), or remove the "
                'column: `dataset.remove_columns("images")`.',
            ),
            zh=Words(
                "数据集有 `image` 或 `images` 列,而模型只接受文本",
                "TRL 在模型旁寻找图像处理器,只找到分词器。",
                "改用视觉语言模型(并把其 `AutoProcessor` 作为 `processing_class` 传入),或删除该列:"
                '`dataset.remove_columns("images")`。',
            ),
        ),
    ),
    (
        r"ValueError: The current `max_length` \((?P<length>\d{1,7})\) is too short and causes image placeholder",
        Message(
            en=Words(
                "`max_length={length}` cuts prompts in the middle of their images",
                "The placeholders that are left no longer match the image's features.",
                "Raise `max_length`, or set it to None; smaller images (`max_pixels` of the processor) need "
                "fewer tokens.",
            ),
            zh=Words(
                "`max_length={length}` 把提示截断在图像中间",
                "剩余的图像占位符与图像特征不再对应。",
                "增大 `max_length`,或设为 None;更小的图像(处理器的 `max_pixels`)需要更少的词元。",
            ),
        ),
    ),
    (
        r"ValueError: Multimodal training requires conversational prompts",
        Message(
            en=Words(
                "prompts with images are plain texts instead of conversations",
                "TRL puts the images into the messages itself; a prompt that went through the chat template already "
                "has no place for them.",
                "Leave `prompt` as a list of messages (role, content) and do not call `apply_chat_template` on "
                "the dataset.",
            ),
            zh=Words(
                "带图像的提示是纯文本而不是对话",
                "TRL 会自行把图像放入消息;已经套用过对话模板的提示没有放置图像的位置。",
                "让 `prompt` 保持为消息列表(role、content),不要对数据集调用 `apply_chat_template`。",
            ),
        ),
    ),
    (
        r"ValueError: Packing is not supported for vision(?:-language models| datasets)",
        Message(
            en=Words(
                "`packing=True` with images",
                "Packed rows would mix the images of several examples.",
                "Set `packing=False`.",
            ),
            zh=Words(
                "有图像时使用 `packing=True`",
                "打包会混合多条样本的图像。",
                "设置 `packing=False`。",
            ),
        ),
    ),
    (
        r"ValueError: Padding-free training is yet not supported for vision",
        Message(
            en=Words(
                "`padding_free=True` with images",
                "The trainer cannot lay rows with images end to end.",
                "Set `padding_free=False`.",
            ),
            zh=Words(
                "有图像时使用 `padding_free=True`",
                "训练器无法把带图像的样本首尾相接。",
                "设置 `padding_free=False`。",
            ),
        ),
    ),
    (
        r"ValueError: truncation_mode='keep_end' is not supported for vision",
        Message(
            en=Words(
                "`truncation_mode='keep_end'` with images",
                "Cutting the beginning would drop placeholders of the images.",
                "Set `truncation_mode='keep_start'`, or `max_length=None`.",
            ),
            zh=Words(
                "有图像时使用 `truncation_mode='keep_end'`",
                "从开头截断会丢掉图像占位符。",
                "设置 `truncation_mode='keep_start'`,或 `max_length=None`。",
            ),
        ),
    ),
    (
        r"ValueError: `precompute_ref_log_probs=True` is not supported for vision datasets",
        Message(
            en=Words(
                "`precompute_ref_log_probs=True` with images",
                "Rows with images are prepared batch by batch, never ahead.",
                "Set `precompute_ref_log_probs=False`.",
            ),
            zh=Words(
                "有图像时使用 `precompute_ref_log_probs=True`",
                "带图像的样本逐批处理,不会预先处理。",
                "设置 `precompute_ref_log_probs=False`。",
            ),
        ),
    ),
    (
        r"ValueError: Assistant-only loss (?:is not yet supported for vision|for vision datasets requires)",
        Message(
            en=Words(
                "`assistant_only_loss=True` with images",
                "Processors of images give no mask of the assistant's words in this Transformers.",
                "Set `assistant_only_loss=False`, or upgrade TRL and Transformers (5.18 and newer can).",
            ),
            zh=Words(
                "有图像时使用 `assistant_only_loss=True`",
                "此版本 Transformers 的图像处理器不给出助手内容的掩码。",
                "设置 `assistant_only_loss=False`,或升级 TRL 与 Transformers(5.18 起支持)。",
            ),
        ),
    ),
    (
        r"ValueError: `use_transformers_(?:continuous_batching|paged)` does not support multimodal models",
        Message(
            en=Words(
                "`use_transformers_continuous_batching` with a model that takes images",
                "The continuous batching of Transformers generates from text only.",
                "Leave it out and set `use_vllm=True`.",
            ),
            zh=Words(
                "对带图像的模型使用 `use_transformers_continuous_batching`",
                "Transformers 的连续批处理只能从文本生成。",
                "去掉它,改用 `use_vllm=True`。",
            ),
        ),
    ),
)

SIGNATURES = tuple(Signature(pattern) for pattern, _ in CASES)


def explain(hits: Hits) -> Finding:
    """Say what the first hit's own case calls for."""
    return finding_of_case(PROBLEM, CASES, hits)
