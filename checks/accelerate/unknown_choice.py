"""A value of the accelerate configuration is none of those that accelerate knows.

## What it means
`distributed_type` or `mixed_precision` holds a word that the installed release does not have.
## What it does to a run
`accelerate launch` ends at once: `'...' is not a valid DistributedType`, or `Unknown mixed_precision mode`.
## What to do
Write one of the known words.
## How it is found
The two values against the choices of accelerate.
## References
https://github.com/huggingface/accelerate/blob/v1.14.0/src/accelerate/utils/dataclasses.py
"""

from __future__ import annotations

from doctor.checks.launch._helpers import proof, unread_config
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages

PROBLEM = Problem(id="ACC005", name="accelerate-choice-unknown", severity=ERROR, since="0.1")

TYPES = (
    "NO", "MULTI_CPU", "MULTI_GPU", "MULTI_NPU", "MULTI_MLU", "MULTI_SDAA", "MULTI_MUSA", "MULTI_XPU", "MULTI_HPU",
    "MULTI_NEURON", "DEEPSPEED", "FSDP", "XLA", "TPU", "MEGATRON_LM",
)  # fmt: skip
PRECISIONS = ("no", "fp8", "fp16", "bf16")
NEWEST_READ = "<=1.15.0"

MESSAGE = Message(
    en=Words(
        "`{key}: {value}` is none of the values that accelerate knows",
        "`accelerate launch` ends at once. It knows {choices}.",
        "Write one of these values; the nearest is `{nearest}`.",
    ),
    zh=Words(
        "`{key}: {value}` 不是 accelerate 认识的取值",
        "`accelerate launch` 会立即退出。可用的取值有 {choices}。",
        "改成其中之一;最接近的是 `{nearest}`。",
    ),
)


@check(PROBLEM)
def unknown_choice(launch: Launch, accelerate: AccelerateConfig | None, packages: Packages | None) -> Judgement:
    """A word that a release newer than the one read may know is only likely wrong."""
    if accelerate is None:
        yield from unread_config(launch)
        return
    import difflib

    site = accelerate.settings.get("compute_environment")
    if launch.kind not in {"accelerate", "trl"} or (site and site.value != "LOCAL_MACHINE"):
        return
    sure = CONFIRMED if packages and packages.matches("accelerate", NEWEST_READ) else LIKELY
    for key, choices in (("distributed_type", TYPES), ("mixed_precision", PRECISIONS)):
        setting = accelerate.settings.get(key)
        if setting is None or not isinstance(setting.value, str) or not setting.value:
            continue
        value = setting.value.lower() if key == "mixed_precision" else setting.value
        if value in choices or (key == "mixed_precision" and launch.option(key)):
            continue
        nearest = difflib.get_close_matches(value.replace("float", "fp"), choices, 1, 0.3) or choices[:1]
        yield found(
            PROBLEM,
            MESSAGE,
            key=key,
            value=setting.value,
            choices=", ".join(f"`{choice}`" for choice in choices),
            nearest=nearest[0],
            where=place_of(setting),
            confidence=sure,
            commands=(f"{key}: '{nearest[0]}'",),
            evidence=(proof(setting),),
        )
