"""A function of your own raises when the library calls it: a reward, a mapping, a collator, a callback, a metric.

## What it means
The library calls it with real rows or completions, and one of them is not as the function expects: a completion
without the tag that is searched for, an empty list, a missing key, a number where text was expected.
## What it does to a run
The exception ends the run; for a reward after a whole batch was generated, for a callback at its first event.
## What to do
Call the function alone on the row that failed, and let it answer for what it cannot read.
## How it is found
In a log: by an exception whose traceback goes from the library's call into a file of your own.
## References
https://huggingface.co/docs/trl/grpo_trainer#using-a-custom-reward-function
https://huggingface.co/docs/transformers/main_classes/callback
https://huggingface.co/docs/datasets/process#map
https://docs.pytorch.org/docs/stable/data.html#working-with-collate-fn
https://verl.readthedocs.io/en/latest/preparation/reward_function.html
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from doctor.core.finding import LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="DAT053", name="own-function-raises", severity=ERROR, since="0.1")

#: areas of problems that know more of the same line
_OTHERS = (
    "TRL", "TRF", "VLL", "DSP", "ACC", "FSD", "PFT", "BNB", "FLA", "TOR", "CUD", "NCC", "MEM", "HST", "HUB", "CKP",
    "LCH", "PYT", "RAY", "VRL", "TRI", "ORL", "TRK", "RLX", "DAT001", "DAT002", "DAT003", "DAT005", "DAT010", "DAT013",
    "DAT028", "DAT037", "DAT038", "DAT041", "DAT048",
)  # fmt: skip
#: who calls -> the last frame of the library before one of the user's own
_CALLERS = (
    (
        "reward",
        re.compile(
            r"(?:grpo_trainer|rloo_trainer|GRPOTrainer|online_dpo_trainer|ppo_trainer|rollout_mixin)\.py:"
            r"_?(?:calculate_rewards|compute_rewards\w*|score_completions|generate_and_score_completions"
            r"|prepare_inputs|call_async_reward\w*)$"
            r"|[\\/]verl[\\/](?:workers[\\/]reward_manager|experimental[\\/]reward\w*|utils[\\/]reward_score"
            r"|trainer[\\/]ppo[\\/]reward)\b[^\n]{0,80}:(?:__call__|compute_score|default_compute_score|run_single"
            r"|compute_reward|verify|_verify|_compute_\w+|_call_with_kwargs)$"
        ),
    ),
    (
        "map",
        re.compile(
            r"[\\/]datasets[\\/]arrow_dataset\.py:"
            r"(?:apply_function\w*|_map_single|iter_outputs|process|async_apply_function\w*"
            r"|get_indices_from_mask_function|async_get_indices_from_mask_function)$"
        ),
    ),
    ("collator", re.compile(r"[\\/]torch[\\/]utils[\\/]data[\\/]_utils[\\/]fetch\.py:fetch$")),
    ("callback", re.compile(r"[\\/]transformers[\\/]trainer_callback\.py:call_event$")),
    ("metric", re.compile(r"[\\/]transformers[\\/]trainer(?:_seq2seq)?\.py:(?:evaluation_loop|prediction_loop)$")),
)
#: methods of a trainer that somebody wrote anew: the library calls them, but they are no such functions
_OF_TRAINER = re.compile(r":(?:prediction_step|compute_loss|training_step|evaluation_loop|prediction_loop|get_\w+)$")
_INSTALLED = re.compile(
    r"(?:site|dist)-packages[\\/]|[\\/]python3?(?:\.\d+t?)?[\\/]|^<frozen |[\\/]trl[\\/]trainer[\\/]"
    r"|[\\/]src[\\/]transformers[\\/]"
)

SIGNATURES = (
    Signature(
        r"^(?:[\w.]{1,60}\.)?(?P<kind>AttributeError|KeyError|TypeError|ValueError|IndexError|ZeroDivisionError"
        r"|JSONDecodeError|NameError|UnboundLocalError|SyntaxError|UnicodeDecodeError|UnicodeEncodeError|RecursionError"
        r"|OverflowError|AssertionError)\b(?:: (?P<told>[^\n]{1,300}))?",
        frame="|".join(f"(?:{pattern.pattern})" for _, pattern in _CALLERS),
        own_code=True,
        symptom_of=_OTHERS,
    ),
)

#: who calls -> what is said
MESSAGES = {
    "reward": Message(
        en=Words(
            "your reward function `{name}` raises {kind} in `{place}`",
            "A model writes anything, and one of its completions is not as the function expects. {meaning}",
            "Give such a completion 0.0 (or `None`, where the trainer leaves it out) instead of raising: test what "
            "was found before it is used, or `try: ... except {kind}: score = 0.0`. Try the function alone, with "
            "the columns of a real row and `completions` that are empty or hold no tags.",
        ),
        zh=Words(
            "你的奖励函数 `{name}` 抛出 {kind},位于 `{place}`",
            "模型什么都可能写出来,其中一条回答不符合该函数的预期。{meaning_zh}",
            "对这样的回答给 0.0(或 `None`,若训练器会忽略它),而不要抛出异常:先检查再使用,或 `try: ... except {kind}: "
            "score = 0.0`。用真实样本的各列,以及为空或没有标签的 `completions`,单独试运行该函数。",
        ),
    ),
    "map": Message(
        en=Words(
            "your function for `dataset.map` or `filter` `{name}` raises {kind} in `{place}`",
            "It is called with every row, and one of them is not as it expects. {meaning}",
            "See what a row holds: `print(dataset.column_names, dataset[0])`, and call the function on it (on "
            "`dataset[:2]` with `batched=True`: then every value is a list). For rows that lack something use "
            "`example.get(...)`, or `dataset.filter(...)` before.",
        ),
        zh=Words(
            "你的用于 `dataset.map` 或 `filter` 的函数 `{name}` 抛出 {kind},位于 `{place}`",
            "它会处理每一行,其中某一行不符合预期。{meaning_zh}",
            "查看一行的内容:`print(dataset.column_names, dataset[0])`,并对其调用该函数(`batched=True` 时用 "
            "`dataset[:2]`,此时每个值都是列表)。缺少内容的行:用 `example.get(...)`,或先 `dataset.filter(...)`。",
        ),
    ),
    "collator": Message(
        en=Words(
            "your dataset or collator `{name}` raises {kind} in `{place}`",
            "The data loader calls it for every batch, and one row is not as it expects. {meaning}",
            "Call it outside of training: `collator([dataset[0], dataset[1]])`, and `dataset[i]` for all rows. "
            "Columns that the Trainer removes are not there: `remove_unused_columns=False` keeps them.",
        ),
        zh=Words(
            "你的数据集或 collator `{name}` 抛出 {kind},位于 `{place}`",
            "数据加载器为每个批次调用它,其中某一行不符合预期。{meaning_zh}",
            "在训练之外调用它:`collator([dataset[0], dataset[1]])`,并对所有行取 `dataset[i]`。被 Trainer 删除的列不"
            "在其中:`remove_unused_columns=False` 可保留它们。",
        ),
    ),
    "callback": Message(
        en=Words(
            "your callback `{name}` raises {kind} in `{place}`",
            "What an event hands over differs: `logs` of a step, of an evaluation and of the end hold other keys. "
            "{meaning}",
            "Use `logs.get(...)`, print `logs.keys()` once, and let a callback never raise: its exception ends the "
            "training.",
        ),
        zh=Words(
            "你的回调 `{name}` 抛出 {kind},位于 `{place}`",
            "各事件传入的内容不同:训练步、评估和结束时的 `logs` 键不同。{meaning_zh}",
            "使用 `logs.get(...)`,先打印一次 `logs.keys()`,并且不要让回调抛出异常:异常会结束训练。",
        ),
    ),
    "metric": Message(
        en=Words(
            "your `compute_metrics` raises {kind} in `{place}`",
            "It gets what the evaluation gathered: `predictions` may be a tuple with the logits first, and labels "
            "hold -100 where there is padding. {meaning}",
            "Look at the shapes first: `print(type(p.predictions), p.label_ids.shape)`; replace -100 in the labels "
            "before they are decoded, and take `predictions[0]` of a tuple.",
        ),
        zh=Words(
            "你的 `compute_metrics` 抛出 {kind},位于 `{place}`",
            "它得到的是评估收集的结果:`predictions` 可能是元组(第一个是 logits),标签在填充处为 -100。{meaning_zh}",
            "先查看形状:`print(type(p.predictions), p.label_ids.shape)`;解码前替换标签中的 -100,元组取 "
            "`predictions[0]`。",
        ),
    ),
}

#: what the exception says, the first that fits -> what it means
_MEANINGS = (
    (
        re.compile(r"^AttributeError: 'NoneType' object has no attribute '(?:group|groups|groupdict|start|end|span)'"),
        ("A regular expression found nothing in the text (`re.search` gave `None`), and the match was used.",
         "正则表达式在文本中没有匹配(`re.search` 返回 `None`),却仍使用了匹配结果。"),
    ),
    (
        re.compile(r"^(?:AttributeError|TypeError): [^\n]{0,40}'?NoneType"),
        ("A value is `None`: a field that the row does not fill, or a search or a call that gave nothing.",
         "某个值为 `None`:该行没有填写的字段,或没有结果的查找或调用。"),
    ),
    (
        re.compile(r"JSONDecodeError|^ValueError: (?:could not convert string to float|invalid literal for)"),
        ("The text is not the number or the JSON as which it is read.", "该文本不是所要解析的数字或 JSON。"),
    ),
    (
        re.compile(r"^AttributeError: '(?:int|float|bool|dict|list)' object has no attribute"),
        ("The value is a number or a list where text was expected: a column of another type (`str(value)`).",
         "该值是数字或列表,而代码期望文本:列的类型不同(`str(value)`)。"),
    ),
    (
        re.compile(r"^(?:KeyError|NameError|UnboundLocalError)"),
        ("It asks for a name that is not there: a column, a key, a variable that only one branch sets.",
         "它使用了不存在的名称:列、键,或只在某个分支中赋值的变量。"),
    ),
    (
        re.compile(r"^(?:IndexError|ZeroDivisionError)"),
        ("Something is empty or shorter than expected: no match, no word, no row.",
         "某个内容为空或比预期短:没有匹配、没有词或没有行。"),
    ),
)  # fmt: skip
#: the name that is not there
_KEY = re.compile(r"^(?:KeyError: |NameError: name )'([\w./\- ]{1,60})'")
_PLAIN = ("One row is not as the function expects.", "有一行与该函数的预期不符。")


def explain(hits: Hits) -> Finding | None:
    """Only where the frame behind the library's call is the user's own."""
    called = _called(hits.first.frames)
    if called is None:
        return None
    role, outer, inner = called
    name = outer.rpartition(":")[2]
    meaning, meaning_zh = next((told for pattern, told in _MEANINGS if pattern.search(hits.first.text)), _PLAIN)
    key = _KEY.search(hits.first.text)
    asked = f"`{key[1]}`: " if key else ""
    return found(
        PROBLEM, MESSAGES[role], where=hits.where(), evidence=hits.evidence(), confidence=LIKELY,
        name=name if name.isidentifier() else "lambda", kind=hits.first.groups["kind"],
        place=re.split(r"[\\/]", inner)[-1], meaning=asked + meaning, meaning_zh=asked + meaning_zh,
    )  # fmt: skip


def _called(frames: Sequence[str]) -> tuple[str, str, str] | None:
    """(who calls, the function of the user's that is called, the user's innermost frame) of the innermost such call."""
    for at in range(len(frames) - 2, -1, -1):
        role = next((role for role, pattern in _CALLERS if pattern.search(frames[at])), None)
        if role is not None and not _INSTALLED.search(frames[at + 1]) and not _OF_TRAINER.search(frames[at + 1]):
            own = [frame for frame in frames[at + 1 :] if not _INSTALLED.search(frame)]
            return role, own[0], own[-1]
    return None
