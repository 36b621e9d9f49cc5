"""A value of the accelerate configuration has a type that the launcher cannot use.

## What it means
PyYAML reads an unquoted `no` as False, `0` as a number and `"1"` as text. accelerate expects text for
`mixed_precision`, `gpu_ids` and `dynamo_backend`, and numbers for ports and machine counts, and does not convert.
## What it does to a run
`accelerate launch` ends at once with a traceback that names none of this: `'bool' object has no attribute 'lower'`,
`'int' object has no attribute 'split'`, `'str' object cannot be interpreted as an integer`.
## What to do
Quote what is text, and take the quotes off what is a number.
## How it is found
Types of the values as PyYAML reads them. Each failure was run with accelerate 1.15.0.
## References
https://github.com/huggingface/accelerate/blob/v1.14.0/src/accelerate/utils/launch.py
https://yaml.org/type/bool.html
"""

from __future__ import annotations

from doctor.checks.launch._helpers import options_are_plain, proof, unread_config
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.base import Setting
from doctor.facts.launch import Launch
from doctor.facts.world import World

PROBLEM = Problem(id="ACC004", name="accelerate-value-of-wrong-type", severity=ERROR, since="0.1")

TEXTS = {"mixed_precision": "lower", "gpu_ids": "split", "dynamo_backend": "upper"}
NUMBERS = ("main_process_port", "num_machines")

TEXT = Message(
    en=Words(
        "`{key}: {text}` is read as {type}, and accelerate needs text",
        "The launcher ends with `AttributeError: '{kind}' object has no attribute '{method}'`, because YAML takes an "
        "unquoted `no`, `off` or number for something else than text.",
        "Put the value in quotes.",
    ),
    zh=Words(
        "`{key}: {text}` 被读成 {type},而 accelerate 需要文本",
        "启动器会以 `AttributeError: '{kind}' object has no attribute '{method}'` 退出,因为 YAML 不把不加引号的 `no`、"
        "`off` 或数字当作文本。",
        "给该值加上引号。",
    ),
)
NUMBER = Message(
    en=Words(
        "`{key}: {text}` is read as text, and accelerate needs a number",
        "The launcher compares it with numbers and ends with a `TypeError`.",
        "Take the quotes off.",
    ),
    zh=Words(
        "`{key}: {text}` 被读成文本,而 accelerate 需要数字",
        "启动器会把它和数字比较,并以 `TypeError` 退出。",
        "去掉引号。",
    ),
)


def _decides(launch: Launch, name: str) -> bool:
    """Whether the file's value counts: the command line goes before it."""
    return launch.option(name) is None


def _shown(setting: Setting) -> str:
    return setting.text.rpartition(":")[2].strip() or str(setting.value)


@check(PROBLEM)
def value_of_wrong_type(launch: Launch, accelerate: AccelerateConfig | None, world: World | None) -> Judgement:
    """One finding a key."""
    if accelerate is None:
        yield from unread_config(launch)
        return
    if not options_are_plain(launch):
        return
    for key, method in TEXTS.items():
        setting = accelerate.settings.get(key)
        if setting is None or setting.value is None or isinstance(setting.value, str) or not _decides(launch, key):
            continue
        kind = type(setting.value).__name__
        quoted = f"'{'no' if setting.value is False else setting.value}'"
        yield found(
            PROBLEM,
            TEXT,
            key=key,
            text=_shown(setting),
            type="a boolean" if kind == "bool" else "a number",
            kind=kind,
            method=method,
            where=place_of(setting),
            commands=(f"{key}: {quoted}",),
            evidence=(proof(setting),),
        )
    several = world is not None and (world.processes or 1) > 1
    for key in NUMBERS:
        setting = accelerate.settings.get(key)
        if setting is not None and isinstance(setting.value, str) and several and _decides(launch, key):
            text, commands = _shown(setting), (f"{key}: {setting.value}",)
            line = (place_of(setting), (proof(setting),))
            yield found(PROBLEM, NUMBER, key=key, text=text, where=line[0], commands=commands, evidence=line[1])
