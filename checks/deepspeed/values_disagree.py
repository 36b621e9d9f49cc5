"""The DeepSpeed configuration and the training arguments disagree.

## What it means
A number or switch that both state differs: batch sizes, gradient accumulation, clipping, optimizer, scheduler or
precision. The Trainer compares them with `!=`, so the text "8" differs from the number 8. A JSON named through
accelerate that leaves `gradient_accumulation_steps` out counts as 1.
## What it does to a run
`Please correct the following DeepSpeed config values that mismatch TrainingArguments values`, raised when training
begins, after the models were loaded.
## What to do
Write "auto" in the DeepSpeed configuration, or the same value in both places.
## How it is found
The pairs that Transformers compares, with the explicit arguments or the defaults of the installed release.
In a log: by the exception of the Trainer, which lists the pairs.
## References
https://github.com/huggingface/transformers/blob/v4.56.2/src/transformers/integrations/deepspeed.py
https://huggingface.co/docs/transformers/deepspeed
"""

from __future__ import annotations

from doctor.checks.deepspeed._helpers import compares_arguments, unread
from doctor.checks.deepspeed._pairs import Pair, differ, from_json, from_yaml
from doctor.checks.launch._helpers import effective, proofs, written
from doctor.core.check import Judgement, check
from doctor.core.finding import Finding, Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of, whole
from doctor.core.signature import Hits, Signature
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.deepspeed_config import DeepspeedConfig
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages
from doctor.facts.training import Training
from doctor.facts.world import World

PROBLEM = Problem(id="DSP004", name="deepspeed-values-disagree", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"Please correct the following DeepSpeed config values that mismatch(?: (?:TrainingArguments|kwargs)|\s{0,3}$)",
    ),
    Signature(
        r"^- ds (?P<key>[\w.]{1,80})=(?P<ours>\[[^\]\n]{0,60}\]|[^\s]{1,40}) vs (?:hf|arg) (?P<argument>[\w.+|"
        r" ()]{1,80})=(?P<theirs>\[[^\]\n]{0,60}\]|[^\s]{1,40})",
        kind="sign",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the DeepSpeed configuration and the training arguments disagree on {keys}",
        "They say {pairs}. The Trainer compares the two and stops when training begins, after the models were loaded.",
        'Write `"auto"` for {keys} in the DeepSpeed JSON, so that the training arguments decide, or make '
        "the two equal.",
    ),
    zh=Words(
        "DeepSpeed 配置与训练参数不一致:{keys}",
        "两者分别为 {pairs}。Trainer 会比较两者,在训练开始时(模型已加载完)停止。",
        '在 DeepSpeed JSON 中把 {keys} 写成 `"auto"`,由训练参数决定;或使两者一致。',
    ),
)

QUOTED = Message(
    en=Words(
        "{keys} of the DeepSpeed configuration is text in quotes, not a number",
        "Both sides say {pairs}: the DeepSpeed JSON holds the number as a string, which is not equal to the number of "
        "the training arguments. The Trainer compares them and stops when training begins.",
        'Take the quotes off {keys} in the DeepSpeed JSON, or write `"auto"`, so that the training arguments decide.',
    ),
    zh=Words(
        "DeepSpeed 配置中的 {keys} 是带引号的文本,不是数字",
        "两边都是 {pairs}:DeepSpeed JSON 把数字写成了字符串,与训练参数中的数字不相等。Trainer 会比较两者,在训练开始时"
        "停止。",
        '去掉 DeepSpeed JSON 中 {keys} 的引号,或写成 `"auto"`,由训练参数决定。',
    ),
)

MESSAGE = Message(
    en=Words(
        "`{key}` is {ours} for DeepSpeed, and `{argument}` is {theirs} ({place})",
        "The Trainer compares the two and ends with `DeepSpeed config values that mismatch TrainingArguments values` "
        "when training begins, after the models were loaded.",
        'Write "auto" for `{key}`, or the same value in both places.',
    ),
    zh=Words(
        "DeepSpeed 的 `{key}` 是 {ours},而 `{argument}` 是 {theirs}({place})",
        "Trainer 会比较两者,在训练开始时(模型已加载完)以 `DeepSpeed config values that mismatch TrainingArguments "
        "values` 退出。",
        '把 `{key}` 写成 "auto",或两处写成相同的值。',
    ),
)
LEFT_OUT = Message(
    en=Words(
        "`{key}` is missing in `{file}` and counts as 1, and `{argument}` is {theirs} ({place})",
        "accelerate fills the gap with 1, and the Trainer ends with `DeepSpeed config values that mismatch "
        "TrainingArguments values` when training begins, after the models were loaded.",
        "Add the line to the DeepSpeed file.",
    ),
    zh=Words(
        "`{file}` 中没有 `{key}`,按 1 计,而 `{argument}` 是 {theirs}({place})",
        "accelerate 会用 1 补上,Trainer 在训练开始时(模型已加载完)以 `DeepSpeed config values that mismatch "
        "TrainingArguments values` 退出。",
        "在 DeepSpeed 配置文件中加上这一行。",
    ),
)


def _automatic(pair: Pair) -> str:
    """The line to write: DeepSpeed's JSON, or the key of the accelerate file."""
    name = pair.key.rpartition(".")[2]
    return f"{name}: auto" if pair.ours.name.startswith("deepspeed_config.") else f'"{name}": "auto"'


@check(PROBLEM)
def values_disagree(
    world: World,
    training: Training,
    deepspeed: DeepspeedConfig | None,
    accelerate: AccelerateConfig | None,
    packages: Packages | None,
) -> Judgement:
    """Pair by pair; what cannot be compared is said once."""
    if world.backend != "deepspeed" or not compares_arguments(training, packages):
        return
    if deepspeed is not None:
        pairs = list(from_json(deepspeed, training, packages))
    elif accelerate is not None:
        pairs = list(from_yaml(accelerate, training, packages))
    else:
        pairs = []
        yield from unread(training)
    guesses_batch = training.value("auto_find_batch_size")
    for pair in pairs:
        theirs = pair.theirs
        if theirs is None or not differ(pair) or (guesses_batch and pair.key.startswith("train_")):
            continue
        yield found(
            PROBLEM,
            MESSAGE,
            key=pair.key,
            ours=repr(pair.ours.value),
            argument=theirs.name,
            theirs=theirs.value,
            place=written(theirs),
            where=place_of(pair.ours, theirs),
            commands=(_automatic(pair),),
            evidence=proofs(pair.ours, theirs),
        )
    if any(pair.theirs is None for pair in pairs):
        keys = ", ".join(f"`{pair.key}`" for pair in pairs if pair.theirs is None)
        yield Skip(f"{keys} of the DeepSpeed configuration could not be compared with the training arguments")


@check(PROBLEM)
def accumulation_left_out(
    launch: Launch, world: World, training: Training, deepspeed: DeepspeedConfig | None, packages: Packages | None
) -> Judgement:
    """Only through accelerate: a file given as `deepspeed=` is compared before the gap is filled."""
    if launch.kind not in {"accelerate", "trl"} or world.backend != "deepspeed":
        return
    if not compares_arguments(training, packages):
        return
    key = "gradient_accumulation_steps"
    if deepspeed is None or deepspeed.broken or deepspeed.path is None:
        return
    if key in deepspeed.settings or training.get("deepspeed"):
        return
    theirs = effective(training, packages, key)
    if theirs is None or (whole(theirs.value) or 1) == 1:
        return
    yield found(
        PROBLEM,
        LEFT_OUT,
        key=key,
        file=deepspeed.path.rpartition("/")[2],
        argument=key,
        theirs=theirs.value,
        place=written(theirs),
        where=place_of(theirs),
        commands=('"gradient_accumulation_steps": "auto"',),
        evidence=proofs(theirs),
    )


def explain(hits: Hits) -> Finding | None:
    """Name the pairs that the following lines list."""
    if not hits.of(0):
        return None
    listed = [hit.groups for hit in hits.of(1)]
    pairs = [f"`{each['key']}` ({each['ours']}) and `{each['argument']}` ({each['theirs']})" for each in listed[:2]]
    keys = ", ".join(f"`{each['key']}`" for each in listed[:3])
    quoted = bool(listed) and all(each["ours"] == each["theirs"] for each in listed)
    return found(
        PROBLEM,
        QUOTED if quoted else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        pairs=", ".join(pairs) or "some values",
        keys=keys or "them",
    )
