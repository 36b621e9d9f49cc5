"""veRL finds no parser of tool calls for the model.

## What it means
With tools, a rollout needs the parser that fits the chat template of the model. veRL looks for it by the marks
that the parsers of SGLang define, or by the name in `multi_turn.format`.
## What it does to a run
The rollout workers end while they start.
## What to do
A model with such a template, the right name, or releases that fit each other.
## How it is found
In a log, by the message that the program prints.
## References
https://verl.readthedocs.io/en/latest/sglang_multiturn/multiturn.html
https://github.com/verl-project/verl/pull/1852
https://github.com/verl-project/verl/blob/v0.4.1/verl/workers/rollout/sglang_rollout/sglang_rollout.py
https://github.com/sgl-project/sglang/blob/v0.4.7/python/sglang/srt/function_call/qwen25_detector.py
"""

from __future__ import annotations

from doctor.core.finding import LIKELY, Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VRL021", name="tool-parser-absent", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"ValueError: No tool call parser found for tokenizer",
    ),
    Signature(
        r"ValueError: Unknown tool parser: (?P<name>\S{1,60})",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "no tool call parser fits this model",
        "The rollout calls tools, and no parser fits: the model's chat template has no marks for tool "
        "calls (a base model), `multi_turn.format` names a parser that this release does not have, or "
        "SGLang changed its parsers and this veRL looks for the old marks (SGLang 0.4.7 put a newline to "
        "those of Qwen, and veRL before 0.4.1 does not find them).",
        "Use an instruct model with tool calls in its template (Qwen2.5 or Qwen3 instruct), set "
        "`actor_rollout_ref.rollout.multi_turn.format` (`hermes` for Qwen), install the SGLang release "
        "that the setup.py of this veRL names, or upgrade veRL. Without tools set "
        "`multi_turn.enable=False`.",
    ),
    zh=Words(
        "没有适合该模型的工具调用解析器",
        "rollout 会调用工具,但没有合适的解析器:模型的 chat template 中没有工具调用标记(基座模型"
        "),`multi_turn.format` 指定了此版本没有的解析器,或 SGLang 更改了解析器而此 veRL 仍寻找旧标记"
        "(SGLang 0.4.7 给 Qwen 的标记加了换行,0.4.1 之前的 veRL 因此找不到)。",
        "使用模板中带工具调用的 instruct 模型(Qwen2.5 或 Qwen3 instruct),设置 "
        "`actor_rollout_ref.rollout.multi_turn.format`(Qwen 用 `hermes`),安装此 veRL 的 setup.py 所列的 "
        "SGLang 版本,或升级 veRL。不用工具时设置 `multi_turn.enable=False`。",
    ),
)

LOG_CONFIDENCE = LIKELY
