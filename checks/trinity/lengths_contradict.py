"""The lengths of prompt and response do not fit the model length, or none is given.

## What it means
`model.max_model_len` holds prompt and response. It may be left out where both `max_prompt_tokens` and
`max_response_tokens` are there.
## What it does to a run
`max_prompt_tokens + max_response_tokens exceeds max_model_len`, or `Unable to determine max_model_len,
please set it manually`, at the start.
## What to do
Set `max_model_len` to at least the sum.
## How it is found
The numbers of the file.
## References
https://github.com/agentscope-ai/Trinity-RFT/blob/v0.6.0/trinity/common/config_validator.py
https://github.com/agentscope-ai/Trinity-RFT/blob/v0.3.1/trinity/common/config.py
"""

from __future__ import annotations

from doctor.checks.launch._helpers import proofs
from doctor.checks.trinity._helpers import Trinity, trinity_of
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of, whole
from doctor.facts.packages import Packages
from doctor.facts.trinity_config import TrinityConfig

PROBLEM = Problem(
    id="TRI008",
    name="trinity-lengths-contradict",
    severity=ERROR,
    since="0.1",
    affects={"trinity-rft": ">=0.3.1"},
)

EXCEEDS = Message(
    en=Words(
        "Prompt {prompt} and response {response} exceed `max_model_len` {length}",
        "Trinity-RFT compares the three at the start and ends.",
        "Raise `max_model_len` to at least {sum}, or shorten one of the two.",
    ),
    zh=Words(
        "prompt {prompt} 与 response {response} 之和超过 `max_model_len` {length}",
        "Trinity-RFT 会在启动时比较三者并退出。",
        "把 `max_model_len` 提高到至少 {sum},或缩短其中之一。",
    ),
)

MISSING = Message(
    en=Words(
        "`model.max_model_len` is not set, and nothing tells it",
        "Without it both `max_prompt_tokens` and `max_response_tokens` must be set; the run ends with "
        "`Unable to determine max_model_len`.",
        "Set `model.max_model_len`.",
    ),
    zh=Words(
        "没有设置 `model.max_model_len`,也无从推断",
        "缺少它时必须同时设置 `max_prompt_tokens` 和 `max_response_tokens`;运行会以 "
        "`Unable to determine max_model_len` 退出。",
        "设置 `model.max_model_len`。",
    ),
)


KEYS = ("model.max_prompt_tokens", "model.max_response_tokens", "model.max_model_len")


@check(PROBLEM)
def lengths_contradict(trinity_config: TrinityConfig, packages: Packages) -> Judgement:
    """Only what the file says; a stage may say something else."""
    trinity = trinity_of(trinity_config, packages)
    if not isinstance(trinity, Trinity):
        yield from trinity
        return
    given = [trinity.setting(key) for key in KEYS]
    if trinity.has_stages or any(each is not None and not each.known for each in given):
        return
    prompt, response, length = (whole(each.value) if each is not None else None for each in given)
    place = place_of(*given) or place_of(*trinity.settings("model.model_path"))
    if length is None and (prompt is None or response is None):
        yield found(PROBLEM, MISSING, where=place, commands=("max_model_len: 4096",), evidence=proofs(*given))
    elif length is not None and prompt is not None and response is not None and prompt + response > length:
        yield found(
            PROBLEM,
            EXCEEDS,
            prompt=prompt,
            response=response,
            length=length,
            sum=prompt + response,
            where=place,
            commands=(f"max_model_len: {prompt + response}",),
            evidence=proofs(*given),
        )
