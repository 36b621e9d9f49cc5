"""The DeepSpeed configuration holds a key or value that DeepSpeed refuses.

## What it means
The sections `zero_optimization`, `fp16` and `bf16` take no key that they do not know, the stage is 0 to 3, and a
device of offload is none, cpu or nvme.
## What it does to a run
A `ValidationError` when the engine is made, after the model was loaded: `Extra inputs are not permitted`, or `Input
should be ...`.
## What to do
Correct the key or the value.
## How it is found
Keys and values against all releases of DeepSpeed from 0.10.0 to 0.19.5. A newer one may know more: then it is likely.
In a log: by the exception of the configuration.
## References
https://github.com/deepspeedai/DeepSpeed/blob/v0.19.5/deepspeed/runtime/zero/config.py
https://github.com/deepspeedai/DeepSpeed/blob/v0.19.5/deepspeed/runtime/config_utils.py
https://www.deepspeed.ai/docs/config-json/
"""

from __future__ import annotations

from doctor.checks.deepspeed._helpers import unread
from doctor.checks.deepspeed._keys import KEYS, NEWEST_READ
from doctor.checks.launch._helpers import proof
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Confidence, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of, whole
from doctor.core.signature import Hits, Signature
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.packages import Packages
from doctor.facts.training import Training

PROBLEM = Problem(
    id="DSP008", name="deepspeed-value-refused", severity=ERROR, since="0.1", affects={"deepspeed": ">=0.10"}
)

SIGNATURES = (
    Signature(
        r"ValidationError: \d{1,3} validation errors? for"
        r" (?P<section>DeepSpeed\w{1,60}|BF16\w{1,40}|FP16\w{1,40}"
        r"|(?:ZenFlow|HybridEngine|TPTraining)Config)",
    ),
    Signature(r"AssertionError: (?:DeepSpeedConfig: )?Maximum supported ZeRO stage is"),
)

LOG_MESSAGE = Message(
    en=Words(
        "DeepSpeed refuses a key or value of its configuration (`{section}`)",
        "The section is checked strictly: an unknown key, a value of the wrong type, or a stage that "
        "does not exist ends the run when the engine is made. The lines after the exception name the "
        "field.",
        "Look at the field named under the exception, and correct or remove it in the DeepSpeed JSON: "
        "https://www.deepspeed.ai/docs/config-json/ lists what the newest release takes; a key of "
        "another release needs that release.",
    ),
    zh=Words(
        "DeepSpeed 拒绝其配置中的某个键或值(`{section}`)",
        "该部分会被严格检查:未知的键、类型错误的值或不存在的 stage 会在创建引擎时终止运行。异常之后的行给出字段名。",
        "查看异常下方给出的字段,在 DeepSpeed JSON 中更正或删除"
        ":https://www.deepspeed.ai/docs/config-json/ 列出了最新版本接受的内容;其他版本的键需要相应版本。",
    ),
)

KEY = Message(
    en=Words(
        "`{section}` of the DeepSpeed configuration has no key `{key}`",
        "DeepSpeed ends with `Extra inputs are not permitted` when the engine is made, after the model was loaded.",
        "Correct the key; the nearest known one is `{nearest}`.",
    ),
    zh=Words(
        "DeepSpeed 配置的 `{section}` 没有键 `{key}`",
        "创建引擎时(模型已加载完)DeepSpeed 会以 `Extra inputs are not permitted` 退出。",
        "改正该键;最接近的是 `{nearest}`。",
    ),
)
VALUE = Message(
    en=Words(
        "`{key}` is {value}, and DeepSpeed takes {choices}",
        "DeepSpeed ends with a validation error when the engine is made, after the model was loaded.",
        "Write one of these values.",
    ),
    zh=Words(
        "`{key}` 是 {value},而 DeepSpeed 只接受 {choices}",
        "创建引擎时(模型已加载完)DeepSpeed 会以校验错误退出。",
        "改成其中之一。",
    ),
)


@check(PROBLEM)
def unknown_key(deepspeed: DeepspeedConfig | None, packages: Packages, training: Training | None) -> Judgement:
    """The longest section that covers a key decides, so keys of free dictionaries are left alone."""
    if deepspeed is None:
        yield from unread(training)
        return
    if deepspeed.broken:
        return
    sure = _sure(packages)
    for name, setting in deepspeed.settings.items():
        section, _, key = name.rpartition(".")
        known = KEYS.get(section)
        if known is None or key in known:
            continue
        import difflib

        nearest = (difflib.get_close_matches(key, known, 1, 0.4) or ["stage" if "stage" in known else "enabled"])[0]
        yield found(
            PROBLEM,
            KEY,
            section=section,
            key=key,
            nearest=nearest,
            where=place_of(setting),
            confidence=sure,
            evidence=(proof(setting),),
        )


@check(PROBLEM)
def impossible_value(deepspeed: DeepspeedConfig | None, packages: Packages) -> Judgement:
    """Stage and offload devices."""
    if deepspeed is None or deepspeed.broken:
        return
    zero = "zero_optimization"
    for key in (f"{zero}.stage", f"{zero}.offload_optimizer.device", f"{zero}.offload_param.device"):
        setting = deepspeed.settings.get(key)
        if setting is None or not setting.known or setting.value in {"auto", None}:
            continue
        good = whole(setting.value) in range(4) if key.endswith("stage") else setting.value in {"none", "cpu", "nvme"}
        if not good:
            yield found(
                PROBLEM,
                VALUE,
                key=key,
                value=repr(setting.value),
                choices="0, 1, 2, 3" if key.endswith("stage") else "none, cpu, nvme",
                where=place_of(setting),
                confidence=_sure(packages),
                evidence=(proof(setting),),
            )


def _sure(packages: Packages) -> Confidence:
    return CONFIRMED if packages.matches("deepspeed", NEWEST_READ) else LIKELY


def explain(hits: Hits) -> Finding | None:
    """Name the section that was refused."""
    section = hits.get("section") or "zero_optimization.stage"
    return found(PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), section=section)
