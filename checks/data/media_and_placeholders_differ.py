"""A row holds another number of images, videos or audios than its text has places for.

## What it means
LLaMA-Factory and the processors of multimodal models put each file at a placeholder of the text (`<image>`,
`<video>`, `<audio>`). A row with more of one than of the other cannot be encoded. Often the whole column was not read,
because `dataset_info.json` does not map it or names it in the singular.
## What it does to a run
Tokenizing stops with ValueError, in the worst case after hours.
## What to do
Count both in every row.
## How it is found
In a log: by the words of the framework, which name the kind.
## References
https://github.com/hiyouga/LLaMA-Factory/blob/main/data/README.md
https://github.com/hiyouga/EasyR1/issues/405
https://github.com/hiyouga/LlamaFactory/issues/6839
https://github.com/QwenLM/Qwen3-VL/issues/152
https://github.com/haon-chen/MoCa/issues/6
https://github.com/2U1/Qwen-VL-Series-Finetune/issues/134
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="DAT040", name="media-and-placeholders-differ", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"ValueError: `len\((?P<kind>image|video|audio)s\)` is less than the number of"),
    Signature(r"ValueError: The number of (?P<kind>image|video|audio)s (?:does|do) not match the number of"),
    Signature(
        r"ValueError: [Tt]he number of (?P<kind>image|video|audio)s? (?:tokens|placeholders) [^\n]{0,80}(?:does|do) "
        r"not match|"
        r"(?:Mismatch|mismatch) in `?(?P<kind_too>image|video|audio)`? token count between text and `input_ids`"
    ),
    Signature(
        # the processors of Qwen's models take the grid of the next file for each placeholder of the text
        r"(?:\* \(?|num_(?:image|video)_tokens = )(?P<kind>image|video)_grid_thw\[(?P<counter>\w{1,20})\]\.prod\(\) ?//"
    ),
    Signature(
        r"^IndexError: index (?P<index>\d{1,6}) is out of bounds for dimension 0 with size (?P<files>\d{1,6})",
        kind="sign",
    ),
    Signature(
        r"^IndexError: list index out of range", frame=r"rotary_embedding\.py:\w{0,20}get_input_positions\w{0,20}$"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "a row of the data has another number of {kind}s than `<{kind}>` places in its text",
        "Each file goes to one placeholder of the text, in order. Either single rows are wrong, or no "
        "{kind}s were read at all: the column is not mapped, is named in the singular, or the text was cut "
        "in the middle of a placeholder.",
        'In LLaMA-Factory map the column in `dataset_info.json` by its plural name: `"columns": '
        '{{"messages": "messages", "{kind}s": "{kind}s"}}`, each row with a list (`"{kind}s": '
        '["a.file"]`). Count every row: `python -c "import json; [print(i) for i, r in '
        "enumerate(json.load(open('FILE'))) if json.dumps(r).count('<{kind}>') != len(r.get('{kind}s') or "
        '[])]"`. Delete the rows that it prints or mend them, raise `cutoff_len`, and clear the cache '
        "(`overwrite_cache: true`).",
    ),
    zh=Words(
        "数据的某一行中 {kind} 的数量与文本中 `<{kind}>` 占位符的数量不同",
        "每个文件按顺序对应文本中的一个占位符。要么个别行有误,要么根本没有读到任何 {kind}:该列没有映射、用"
        "了单数名称,或文本在占位符中间被截断。",
        '在 LLaMA-Factory 的 `dataset_info.json` 中用复数名称映射该列:`"columns": {{"messages": '
        '"messages", "{kind}s": "{kind}s"}}`,每行为列表(`"{kind}s": ["a.file"]`)。逐行统计:`python -c '
        "\"import json; [print(i) for i, r in enumerate(json.load(open('FILE'))) if "
        "json.dumps(r).count('<{kind}>') != len(r.get('{kind}s') or [])]\"`。删除或修正打印出的行,增大"
        " `cutoff_len`,并清除缓存(`overwrite_cache: true`)。",
    ),
)

CUT = Message(
    en=Words(
        "{kind} tokens of a row were cut off: the text has more of them than its `input_ids`",
        "The processor writes many tokens for each {kind} and counts them again after tokenizing. Truncation took some "
        "of them away, so that the rest no longer belongs to a whole {kind}.",
        "Turn truncation off or raise the maximal length (`max_length`, `max_prompt_length`, `cutoff_len`; in TRL "
        "`max_length=None`), make the {kind}s smaller (`max_pixels`), or drop rows that are too long before training.",
    ),
    zh=Words(
        "某一行的 {kind} token 被截断:文本中的数量多于 `input_ids` 中的数量",
        "处理器为每个 {kind} 写入许多 token,并在分词后再次计数。截断去掉了其中一部分,剩下的不再对应完整的 {kind}。",
        "关闭截断或增大最大长度(`max_length`、`max_prompt_length`、`cutoff_len`;TRL 中 `max_length=None`),缩小 {kind}"
        "(`max_pixels`),或在训练前去掉过长的行。",
    ),
)

GRID = Message(
    en=Words(
        "a text has more {kind} placeholders than the {kind}s that were given with it ({files})",
        "The processor goes through the placeholders of all texts of a batch and takes the next {kind} for each. "
        "Either a row's text names more than its files hold (`<image>` or `<|image_pad|>` written by hand besides the "
        "chat template's own, a file that was dropped or not found), or texts and {kind}s of a batch were collected "
        "apart: prompts repeated for a group while their {kind}s were not.",
        "Print both for the failing batch: the count of the placeholder in every text, and the number of {kind}s "
        "handed to the processor. Correct or drop rows where they differ; let the chat template alone write the "
        'placeholder (content as `{{"type": "{kind}"}}` parts); where prompts are repeated for generations, repeat '
        "their {kind}s as well.",
    ),
    zh=Words(
        "文本中的 {kind} 占位符多于随其给出的 {kind}({files})",
        "处理器依次遍历一个批次所有文本的占位符,并为每个占位符取下一个 {kind}。要么某行文本中的占位符多于其文件(在"
        "聊天模板之外又手写了 `<image>` 或 `<|image_pad|>`,或文件被丢弃、没有找到),要么批次的文本与 {kind} 是分别收集"
        "的:提示按组重复了,而其 {kind} 没有重复。",
        "对失败的批次打印两者:每条文本中占位符的数量,以及传给处理器的 {kind} 数量。修正或删除不一致的行;占位符只由聊天"
        '模板写入(内容用 `{{"type": "{kind}"}}` 片段);若提示按生成数重复,其 {kind} 也要同样重复。',
    ),
)
ENGINE = Message(
    en=Words(
        "a prompt for vLLM has more image or video places than files came with it",
        "vLLM gives positions to the tokens of each image of the prompt in order and found one without a file. Either "
        "a row's text names more than its files hold (`<image>` or `<|image_pad|>` written by hand besides the chat "
        "template's own, a file that was dropped), or the trainer handed over token ids in which each image is "
        "already many tokens, or that were cut inside an image (`max_prompt_length`).",
        "Print both for the failing row: the count of the placeholder in the text, and the number of files. Correct or "
        "drop rows where they differ, filter prompts that are too long instead of cutting them "
        "(`data.filter_overlong_prompts=True`), and try `export VLLM_USE_V1=0` where that release has both engines.",
    ),
    zh=Words(
        "交给 vLLM 的提示中图像或视频的位置多于随附的文件",
        "vLLM 按顺序为提示中每张图像的 token 分配位置,发现其中一张没有文件。要么某行文本中的占位符多于其文件(在聊天模"
        "板之外又手写了 `<image>` 或 `<|image_pad|>`,或文件被丢弃),要么训练框架交出的 token id 中图像已展开为许多 "
        "token,或在图像中间被截断(`max_prompt_length`)。",
        "对失败的行打印两者:文本中占位符的数量与文件的数量。修正或删除不一致的行;过长的提示应过滤而不是截断"
        "(`data.filter_overlong_prompts=True`);若该版本有两种引擎,可试 `export VLLM_USE_V1=0`。",
    ),
)
_GRID, _INDEX, _POSITIONS = 3, 4, 5


def explain(hits: Hits) -> Finding | None:
    """The kind stands in one of two places; a line of the processor's code counts with the index that failed."""
    kind = hits.get("kind") or hits.get("kind_too") or "image"
    if hits.first.signature == _GRID:
        near = [hit for hit in hits.of(_INDEX) if 0 < hit.line - hits.first.line <= 2]
        files = near[0].groups["files"] if near else ""
        if not near or near[0].groups["index"] != files:
            return None
        return found(
            PROBLEM, GRID, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, kind=kind, files=files
        )  # fmt: skip
    if hits.first.signature == _POSITIONS:
        return found(PROBLEM, ENGINE, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY)
    if counted := hits.first.groups.get("kind_too"):
        return found(
            PROBLEM, CUT, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, kind=counted
        )  # fmt: skip
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), kind=kind)
