"""SFT is to learn from the assistant's words alone, and nothing marks them.

## What it means
`assistant_only_loss=True` needs conversations, and a chat template that marks the assistant's words with
`{% generation %}`. Most templates, Qwen3's and Llama 3's among them, do not.
## What it does to a run
TRL raises when the dataset is prepared; where it did not look, every label would be masked.
## What to do
Give the tokenizer a training template, or train on prompt and completion with `completion_only_loss`.
## How it is found
In a log: by TRL's exceptions.
## References
https://github.com/QwenLM/Qwen3/issues/1522
https://github.com/huggingface/trl/issues/4879
https://huggingface.co/docs/trl/sft_trainer#train-on-assistant-messages-only
"""

from __future__ import annotations

from doctor.core.finding import Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(
    id="DAT033", name="assistant-tokens-not-marked", severity=ERROR, since="0.1", affects={"trl": ">=0.19"}
)

SIGNATURES = (
    Signature(r"You're using `assistant_only_loss=True`, but at least one example has no assistant tokens"),
    Signature(r"ValueError: The chat template is not training-compatible \(missing prefix-preservation"),
    Signature(r"ValueError: You set `assistant_only_loss=True`, but the dataset is not conversational"),
    Signature(r"ValueError: The `assistant_only_loss` argument is only supported for conversational"),
)

LOG_MESSAGE = Message(
    en=Words(
        "the chat template marks no assistant words, which `assistant_only_loss=True` needs",
        "Without `{{% generation %}}` in the template nothing tells the assistant's tokens from the user's, and no "
        "token would be left to learn from.",
        "Upgrade TRL (`pip install -U trl`; newer ones bring training templates for Qwen, Llama and others), or put "
        "`{{% generation %}}` and `{{% endgeneration %}}` around the assistant's content in "
        "`tokenizer.chat_template`. Or "
        "drop `assistant_only_loss` and train on `prompt` and `completion` columns (`completion_only_loss=True`).",
    ),
    zh=Words(
        "对话模板没有标出助手的内容,而 `assistant_only_loss=True` 需要它",
        "模板中没有 `{{% generation %}}`,就无法区分助手与用户的词元,没有可学习的词元。",
        "升级 TRL(`pip install -U trl`;新版自带 Qwen、Llama 等的训练模板),或在 `tokenizer.chat_template` 中用 "
        "`{{% generation %}}` 和 `{{% endgeneration %}}` 包住助手内容。或去掉 `assistant_only_loss`,改用 `prompt` 与 "
        "`completion` 列(`completion_only_loss=True`)。",
    ),
)
PLAIN = Message(
    en=Words(
        "`assistant_only_loss=True` is set for a dataset that holds no conversations",
        "The option masks what the assistant did not say, which only rows with a `messages` column (role and content) "
        "tell.",
        "Set `assistant_only_loss=False`, or bring the data into the conversational form: a column `messages` with "
        '`{{"role": ..., "content": ...}}`; for `prompt` and `completion` columns `completion_only_loss` does '
        "the same.",
    ),
    zh=Words(
        "设置了 `assistant_only_loss=True`,而数据集不是对话格式",
        "该选项遮蔽非助手的内容,只有带 `messages` 列(role 与 content)的数据才能区分。",
        '设置 `assistant_only_loss=False`,或把数据改为对话格式:`messages` 列,元素为 `{{"role": ..., "content": ...}}`;'
        "对 `prompt`/`completion` 列,用 `completion_only_loss` 即可。",
    ),
)
_OF_TEMPLATE = 2


def explain(hits: Hits) -> Finding | None:
    """The template lacks the marks, or the data has no conversation."""
    message = LOG_MESSAGE if hits.first.signature < _OF_TEMPLATE else PLAIN
    return found(PROBLEM, message, where=hits.where(), evidence=hits.evidence())
