"""A prompt is longer than data.max_prompt_length and nothing filters or cuts it.

## What it means
veRL's dataset raises where truncation is 'error' and a prompt was not filtered.
## What it does to a run
The run ends when the data loader meets that prompt, perhaps hours later.
## What to do
Filter, cut, or allow longer prompts.
## How it is found
veRL's message.
## References
https://verl.readthedocs.io/en/latest/examples/config.html
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VRL015", name="verl-prompt-longer-than-limit", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"NotImplementedError: sequence_length=(?P<length>\d{1,9}) is larger than"
        r" (?:self\.)?max_length=(?P<limit>\d{1,9})"
    ),
    Signature(r"RuntimeError: Prompt length (?P<length>\d{1,9}) is longer than (?P<limit>\d{1,9})"),
)

LOG_MESSAGE = Message(
    en=Words(
        "a prompt of {length} tokens exceeds the limit of {limit}",
        "`data.truncation` is `error` and the prompt was not filtered. Releases around 0.3 with an "
        "own trainer did not hand `filter_overlong_prompts` and `truncation` on to the dataset, and "
        "long multimodal prompts grow after the filter.",
        "Set `data.filter_overlong_prompts=True` (on a current veRL; update an old checkout), or "
        "raise `data.max_prompt_length` to {length} or more, or cut with `data.truncation=left` (or "
        "`right`, `middle`).",
    ),
    zh=Words(
        "一条 {length} 个 token 的提示超过上限 {limit}",
        "`data.truncation` 为 `error`,且该提示没有被过滤。0.3 前后的版本在自定义训练器中没有把 "
        "`filter_overlong_prompts` 与 `truncation` 传给数据集;多模态提示也可能在过滤之后变长。",
        "设置 `data.filter_overlong_prompts=True`(使用新版 veRL,旧代码请更新),或把 "
        "`data.max_prompt_length` 提高到 {length} 以上,或用 `data.truncation=left`(或 `right`、"
        "`middle`)截断。",
    ),
)
