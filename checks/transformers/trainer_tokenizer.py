"""The trainer is given `tokenizer=`, which it no longer takes.

## What it means
The argument became `processing_class` in Transformers 4.46, and `Trainer` refuses the old name from 5.0.0.
`GRPOTrainer` has never taken it; TRL's SFT and DPO trainers refuse it from 0.16.
## What it does to a run
The trainer raises `TypeError: __init__() got an unexpected keyword argument 'tokenizer'`, after the model
was loaded.
## What to do
Pass the tokenizer as `processing_class`.
## How it is found
The keywords of the trainer's call in the script, against the installed TRL and Transformers.
In a log: by the exception of the trainer.
## References
https://github.com/huggingface/transformers/blob/v5.0.0/MIGRATION_GUIDE_V5.md
https://huggingface.co/docs/trl/grpo_trainer#trl.GRPOTrainer
"""

from __future__ import annotations

import re

from doctor.checks.trl._helpers import quoted, unsloth_replaces
from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Hits, Signature
from doctor.facts.packages import Packages
from doctor.facts.script import Script
from doctor.facts.training import Training

PROBLEM = Problem(
    id="TRF005",
    name="trainer-tokenizer-removed",
    severity=ERROR,
    since="0.1",
    affects={"transformers": ">=4.37"},
)

SIGNATURES = (
    Signature(
        r"TypeError: (?:(?P<trainer>\w{0,40}Trainer)\.)?__init__\(\) got an unexpected keyword"
        r" argument 'tokenizer'",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`{trainer}` was given `tokenizer=`, which it does not take; it is `processing_class`",
        "The argument was renamed in Transformers 4.46 and dropped in 5.0.0; `GRPOTrainer` never had it, "
        "TRL's SFT and DPO trainers dropped it in 0.16.",
        "Pass the tokenizer as `processing_class=tokenizer`.",
    ),
    zh=Words(
        "向 `{trainer}` 传入了它不接受的 `tokenizer=`;应为 `processing_class`",
        "该参数在 Transformers 4.46 中改名,在 5.0.0 中移除;`GRPOTrainer` 从未有过它,TRL 的 SFT 和 DPO 训"
        "练器在 0.16 中移除。",
        "以 `processing_class=tokenizer` 传入分词器。",
    ),
)

MESSAGE = Message(
    en=Words(
        "`{trainer}` does not take `tokenizer`; it is `processing_class`",
        "The trainer raises a TypeError about an unexpected keyword argument, after the model was loaded.",
        "Pass the tokenizer under its new name.",
    ),
    zh=Words(
        "`{trainer}` 不接受 `tokenizer`;应为 `processing_class`",
        "模型加载之后,训练器会因意外的关键字参数而抛出 TypeError。",
        "用新名称传入分词器。",
    ),
)

PASSED_ON = Message(
    en=Words(
        "`{library}` hands `tokenizer` to `{trainer}` of Transformers, which no longer takes it",
        "The argument was renamed to `processing_class` in Transformers 4.46 and dropped in 5.0. The installed "
        "`{library}` is older than that, so changing the script does not help.",
        "Upgrade it: `pip install -U {library}` (and use its new names: `processing_class=` instead of `tokenizer=`), "
        'or keep Transformers of its time: `pip install "transformers<5"` (before 4.46 for releases that know only '
        "`tokenizer`). `pip check` tells the range it names.",
    ),
    zh=Words(
        "`{library}` 把 `tokenizer` 传给了 Transformers 的 `{trainer}`,而后者已不再接受",
        "该参数在 Transformers 4.46 中改名为 `processing_class`,并在 5.0 中移除。已安装的 `{library}` 比这更旧,因此修"
        "改脚本没有用。",
        "升级它:`pip install -U {library}`(并使用新名称:`processing_class=` 代替 `tokenizer=`),或使用同时期的 "
        'Transformers:`pip install "transformers<5"`(只认识 `tokenizer` 的版本需 4.46 之前)。`pip check` 会给出其要求的'
        "范围。",
    ),
)

_LIBRARY = re.compile(r"(?:site|dist)-packages[\\/](?P<name>\w{1,60})[\\/]")

#: packages whose trainers these are; a class of the user's may take what it likes
LIBRARIES = {"trl", "transformers", ""}

#: trainer -> the range in which it refuses `tokenizer`: signatures of the released trainers
REFUSED_FROM = {
    "GRPOTrainer": ("trl", ">=0.14"),
    "SFTTrainer": ("trl", ">=0.16"),
    "DPOTrainer": ("trl", ">=0.16"),
    "Trainer": ("transformers", ">=5.0"),
}


@check(PROBLEM)
def trainer_tokenizer(training: Training, packages: Packages, script: Script | None) -> Judgement:
    """Judge the keyword by the trainer's own history; Unsloth's trainers take both names."""
    setting, trainer = training.trainer_arguments.get("tokenizer"), training.trainer
    if setting is None or trainer is None or unsloth_replaces(script):
        return
    module, _, name = training.trainer_origin.rpartition(".")
    if module.partition(".")[0] not in LIBRARIES or (name and name != trainer):
        return
    package, specifier = REFUSED_FROM.get(trainer, ("", ""))
    if package and packages.matches(package, specifier):
        yield found(
            PROBLEM,
            MESSAGE,
            where=place_of(setting),
            evidence=quoted(setting),
            commands=(f"processing_class={setting.text or 'tokenizer'}",),
            trainer=trainer,
        )


def explain(hits: Hits) -> Finding | None:
    """Before Python 3.10 the exception does not name the class; a library that passes it on is too old itself."""
    sure = CONFIRMED if hits.get("trainer") else LIKELY
    frames = hits.first.frames
    library = _LIBRARY.search(frames[-1]) if frames else None
    if library is not None and library["name"] not in ("transformers", "huggingface_hub"):
        name = library["name"]
        return found(
            PROBLEM, PASSED_ON, where=hits.where(), evidence=hits.evidence(), library=name,
            trainer=hits.get("trainer") or "Trainer", confidence=sure,
        )  # fmt: skip
    trainer = hits.get("trainer") or "the trainer"
    commands = ("processing_class=tokenizer",)
    return found(
        PROBLEM, LOG_MESSAGE, where=hits.where(), evidence=hits.evidence(), commands=commands, trainer=trainer,
        confidence=sure,
    )  # fmt: skip
