"""The DeepSpeed configuration has a misspelt key at the top.

## What it means
DeepSpeed looks its sections up by name and does not complain about others: a misspelt section has no effect.
## What it does to a run
What the section asks for does not happen: no clipping, no offload, no precision, without any message.
## What to do
Correct the key.
## How it is found
A top-level key that no release knows and that is nearly one that DeepSpeed knows.
## References
https://www.deepspeed.ai/docs/config-json/
"""

from __future__ import annotations

from doctor.checks.deepspeed._helpers import unread
from doctor.checks.deepspeed._keys import TOP
from doctor.checks.launch._helpers import proof
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.core.reading import place_of
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.training import Training

PROBLEM = Problem(id="DSP009", name="deepspeed-key-ignored", severity=WARNING, since="0.1")

NEAR = 0.86  # similarity that only a slip of one or two letters reaches

MESSAGE = Message(
    en=Words(
        "DeepSpeed knows no `{key}`; it knows `{nearest}`",
        "DeepSpeed reads its sections by name and passes over others without a word, so this one has no effect.",
        "Write `{nearest}`.",
    ),
    zh=Words(
        "DeepSpeed 不认识 `{key}`;它认识 `{nearest}`",
        "DeepSpeed 按名字读取各节,对不认识的不作任何提示就跳过,因此这一节不起作用。",
        "改成 `{nearest}`。",
    ),
)


@check(PROBLEM)
def ignored_key(deepspeed: DeepspeedConfig | None, training: Training | None) -> Judgement:
    """Keys that resemble nothing may be a script's own and are left alone."""
    if deepspeed is None:
        yield from unread(training)
        return
    if deepspeed.broken:
        return
    import difflib

    seen = set()
    for name, setting in deepspeed.settings.items():
        key = name.partition(".")[0]
        if key in TOP or key in seen:
            continue
        seen.add(key)
        nearest = difflib.get_close_matches(key, TOP, 1, NEAR)
        if nearest:
            yield found(
                PROBLEM,
                MESSAGE,
                key=key,
                nearest=nearest[0],
                where=place_of(setting),
                confidence=LIKELY,
                commands=(f'"{nearest[0]}"',),
                evidence=(proof(setting),),
            )
