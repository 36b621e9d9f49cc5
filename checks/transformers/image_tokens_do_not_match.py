"""The placeholders of images in the ids do not match the features of the images.

## What it means
A vision language model puts the features of its images in the place of placeholder tokens, one for one. There are
fewer placeholders where the prompt was cut (`max_prompt_length`, `cutoff_len`) or the text lacks the image token;
there are one or a few too many where the model itself has written the placeholder into its completion; other numbers
come from images that were resized differently for text and for pixels.
## What it does to a run
ValueError in the forward pass, often only after many steps.
## What to do
It depends on which of the two is larger.
## How it is found
In a log: by the exception with both numbers.
## References
https://github.com/StarsfieldAI/R1-V/issues/91
https://github.com/hiyouga/EasyR1/issues/110
https://github.com/2U1/Qwen-VL-Series-Finetune/issues/128
https://github.com/verl-project/verl/issues/3469
https://github.com/QwenLM/Qwen3-VL/issues/66
https://github.com/huggingface/transformers/blob/v4.57.1/src/transformers/models/qwen2_vl/modeling_qwen2_vl.py
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TRF035", name="image-tokens-do-not-match", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"(?P<kind>[Ii]mage|[Vv]ideo|[Aa]udio)s? features and \w{5} tokens do not match[:,] "
        r"tokens: (?P<tokens>\d{1,9}),? features:? (?P<features>\d{1,9})"
    ),
    Signature(
        r"RuntimeError: shape mismatch: value tensor of shape \[3, (?P<positions>\d{1,9})\] cannot be broadcast to "
        r"indexing result of shape \[3, (?P<ids>\d{1,9})\]"
    ),
    Signature(
        # releases that put the features in without counting them first
        r"RuntimeError: shape mismatch: value tensor of shape \[(?P<values>\d{1,9}), (?P<hidden>\d{2,6})\] cannot be "
        r"broadcast to indexing result of shape \[(?P<places>\d{1,9}), (?P=hidden)\]",
        frame=r"modeling_\w{1,60}\.py:",
    ),
    Signature(
        r"^RuntimeError: (?P<empty>torch\.cat\(\): expected a non-empty list of Tensors)", frame=r":get_rope_index$"
    ),
)

POSITIONS = Message(
    en=Words(
        "the images and the text take {positions} positions, the ids have {ids}",
        "Qwen-VL counts positions from `image_grid_thw` and from the placeholders in the ids (`get_rope_index`). With "
        "fewer ids than positions, placeholders were cut away with the prompt (`max_prompt_length`, `max_length`), or "
        "ids and grid belong to different rows or sizes of the image; with more, the attention mask and the ids come "
        "from different padding.",
        "Raise `max_prompt_length` above {positions} (TRL before 0.28: `max_prompt_length=None`; newer releases do not "
        "cut), or shrink the images by the processor's `max_pixels`; drop long samples instead of cutting them. In a "
        "trainer of your own build ids, mask, pixels and grid of a batch by one call of the processor, and repeat them "
        "alike for each generation.",
    ),
    zh=Words(
        "图像和文本共占 {positions} 个位置,而 token 有 {ids} 个",
        "Qwen-VL 根据 `image_grid_thw` 和 token 中的占位符计算位置(`get_rope_index`)。token 少于位置时,占位符随提示被截"
        "掉(`max_prompt_length`、`max_length`),或 token 与 grid 属于不同的行或图像尺寸;多于位置时,attention mask 与 "
        "token 的填充不一致。",
        "把 `max_prompt_length` 提高到 {positions} 以上(TRL 0.28 之前:`max_prompt_length=None`,之后不再截断),或用 "
        "processor 的 `max_pixels` 缩小图像;丢弃过长样本,而不是截断。自己写的训练器请用一次 processor 调用生成同一批的 "
        "token、mask、像素和 grid,并在每次生成时同样重复它们。",
    ),
)

EMPTY = Message(
    en=Words(
        "a sample has no ids at all when the positions of its images are counted",
        "The prompt came out empty (or its attention mask is 0 all over): mostly the chat template wrote nothing. The "
        "`chat_template.json` of base models like Qwen2-VL is made for pieces of content, and leaves out messages that "
        "have a role; an instruct model's writes them.",
        "Print the text that `apply_chat_template` gives for one sample. Of a base model, replace `chat_template.json` "
        "(or `chat_template` in `tokenizer_config.json`) by the instruct model's of the same family, or give the "
        "trainer a template of your own; then look for samples with an empty prompt.",
    ),
    zh=Words(
        "计算图像位置时,某个样本没有任何 token",
        "提示为空(或 attention mask 全为 0):多半是聊天模板没有写出任何内容。Qwen2-VL 等基座模型的 `chat_template.json` "
        "针对内容片段,会略过带 role 的消息;指令模型的模板则会写出。",
        "打印 `apply_chat_template` 对一个样本给出的文本。基座模型请把 `chat_template.json`(或 "
        "`tokenizer_config.json` 中的 `chat_template`)换成同系列指令模型的,或为训练器提供自己的模板;然后检查是否有空提"
        "示的样本。",
    ),
)

NONE = Message(
    en=Words(
        "the ids hold no placeholder for the {kind}, whose features take {features} positions",
        "The text was built without the model's {kind} token (another chat template, a tokenizer without the "
        "processor, `tokenizer_config.json` or `chat_template` files that are missing or old), or all of it was "
        "cut away.",
        "Build the text with `processor.apply_chat_template` from messages that hold "
        '`{{"type": "{kind}"}}`; download the model\'s processor files again; raise `max_prompt_length`.',
    ),
    zh=Words(
        "token 中没有 {kind} 的占位符,而其特征需要 {features} 个位置",
        "文本中没有该模型的 {kind} token。原因是用了别的聊天模板、只用了 tokenizer 没用 processor、"
        "`tokenizer_config.json` 或 `chat_template` 文件缺失或过旧,或者全部被截掉。",
        '用含有 `{{"type": "{kind}"}}` 的消息经 `processor.apply_chat_template` 构造文本;重新下载模型的 processor 文件;'
        "增大 `max_prompt_length`。",
    ),
)

CUT = Message(
    en=Words(
        "the ids hold {tokens} placeholders for {kind} features of {features} positions",
        "Placeholders were cut away with the end or the beginning of the prompt (`max_prompt_length`, `max_length`, "
        "`cutoff_len`), or text and pixels were made with different sizes of the {kind}.",
        "Raise the length limit above {features} plus the text, or shrink the {kind} (`max_pixels` of the "
        "processor) in both places alike; drop long samples instead of cutting them.",
    ),
    zh=Words(
        "token 中有 {tokens} 个占位符,而 {kind} 特征需要 {features} 个位置",
        "占位符随提示的结尾或开头被截掉(`max_prompt_length`、`max_length`、`cutoff_len`),"
        "或文本与像素使用了不同的 {kind} 尺寸。",
        "把长度上限提高到 {features} 加上文本长度以上,或在两处一致地缩小 {kind}(processor 的 `max_pixels`);"
        "丢弃过长样本,而不是截断。",
    ),
)

WRITTEN = Message(
    en=Words(
        "the ids hold {tokens} placeholders for {kind} features of {features} positions: too many",
        "In RL the policy now and then writes the placeholder token itself into a completion; in supervised data the "
        "text holds the tag more often than there are {kind}s.",
        "Forbid the token while generating (vLLM: `bad_words` or `logit_bias` in the sampling parameters; "
        "Transformers: `suppress_tokens`), or replace it in the completion ids before the forward pass. In data: "
        "one tag of the dataset format for each {kind}.",
    ),
    zh=Words(
        "token 中有 {tokens} 个占位符,多于 {kind} 特征的 {features} 个位置",
        "在强化学习中,策略有时会在回答里自己写出占位 token;在监督数据中,文本里的标签比 {kind} 多。",
        "生成时禁止该 token(vLLM:采样参数 `bad_words` 或 `logit_bias`;Transformers:`suppress_tokens`),"
        "或在前向之前替换回答中的该 token。数据方面:每个 {kind} 只写一个数据格式规定的标签。",
    ),
)


def explain(hits: Hits) -> Finding:
    """Too many were written, none were never there, fewer were cut."""
    if hits.get("empty"):
        return found(PROBLEM, EMPTY, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
    if positions := hits.get("positions"):
        return found(
            PROBLEM, POSITIONS, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
            positions=positions, ids=hits.get("ids"),
        )  # fmt: skip
    tokens = int(hits.get("tokens") or hits.get("places") or 0)
    features = int(hits.get("features") or hits.get("values") or 0)
    message = NONE if tokens == 0 else CUT if tokens < features else WRITTEN
    return found(
        PROBLEM, message, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        kind=(hits.get("kind") or "image").lower(), tokens=tokens, features=features,
    )  # fmt: skip
