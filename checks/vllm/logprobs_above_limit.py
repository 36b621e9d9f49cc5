"""More log probabilities are asked for than the server allows.

## What it means
`max_logprobs` of the engine limits how many a request may ask for: 20, 5 in old releases.
## What it does to a run
The request is refused.
## What to do
Start the server with a higher limit.
## How it is found
In a log, by the message that the program prints.
## References
https://docs.vllm.ai/en/latest/configuration/engine_args/
"""

from __future__ import annotations

from doctor.core.finding import Message, Words
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Signature

PROBLEM = Problem(id="VLL050", name="logprobs-above-limit", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"Requested (?:sample|prompt) logprobs of (?P<asked>\d{1,6}),? which is greater than max"
        r" allowed: (?P<most>\d{1,6})",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "{asked} log probabilities a token were asked for; the server allows {most}",
        "The limit is an option of the server.",
        "Start it with `--max-logprobs {asked}` (-1 for no limit in newer releases; `trl vllm-serve` of "
        "TRL 1.11 and newer sets that), or ask for fewer.",
    ),
    zh=Words(
        "请求了每个 token {asked} 个 logprob,而服务器只允许 {most} 个",
        "该上限是服务器的选项。",
        "用 `--max-logprobs {asked}` 启动(新版本中 -1 表示不限;TRL 1.11 及以上的 `trl vllm-serve` 会这样"
        "设置),或减少请求数量。",
    ),
)

LOG_COMMANDS = ("--max-logprobs {asked}",)
