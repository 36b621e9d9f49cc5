"""The chosen optimizer lives in a package that is not installed.

## What it means
Several values of `optim` name optimizers of other packages: the 8-bit and paged ones of bitsandbytes,
torchao's low-bit AdamW, GaLore, LOMO, APOLLO, schedule-free.
## What it does to a run
The trainer raises an ImportError or ValueError when it makes the optimizer, after the model was loaded and,
with vLLM, after the engine was started.
## What to do
Install the package, or choose an optimizer of torch.
## How it is found
`optim` as set, against the installed packages.
In a log: by the exception of Transformers.
## References
https://github.com/huggingface/transformers/blob/v5.0.0/src/transformers/trainer.py
https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments
"""

from __future__ import annotations

from doctor.checks.trl._helpers import quoted
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Signature
from doctor.facts.packages import Packages
from doctor.facts.training import Training

PROBLEM = Problem(
    id="TRF008",
    name="optimizer-package-missing",
    severity=ERROR,
    since="0.1",
    affects={"transformers": ">=4.46"},
)

SIGNATURES = (
    Signature(
        r"(?:ImportError|ValueError): You need to install `(?P<package>[\w.\-]{1,40})` in order to"
        r" use [\w/ ]{1,40} optimizers",
    ),
    Signature(
        r"ValueError: Trainer tried to instantiate bnb optimizer but `(?P<package>bitsandbytes)` is"
        r" not installed",
    ),
    Signature(r"ValueError: Please install (?P<package>grokadamw) with `pip install grokadamw`"),
    Signature(
        r"ValueError: Trainer tried to instantiate (?P<package>apex) FusedAdam but apex is not installed",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "the optimizer that `optim` names needs `{package}`, which is not installed",
        "The Trainer imports the optimizer's package when it makes the optimizer, after the model was loaded.",
        "Install `{package}` for the interpreter that trains (`pip install -U {package}`), or use an "
        'optimizer of torch: `optim="adamw_torch"`.',
    ),
    zh=Words(
        "`optim` 指定的优化器需要 `{package}`,但未安装",
        "Trainer 在创建优化器时(模型加载之后)导入该优化器的包。",
        "为训练所用的解释器安装 `{package}`(`pip install -U {package}`),或使用 torch 自带的优化器"
        ':`optim="adamw_torch"`。',
    ),
)

MESSAGE = Message(
    en=Words(
        '`optim="{optim}"` needs `{package}`, which is not installed',
        "The trainer fails when it makes the optimizer, after the model was loaded.",
        "Install `{package}`, or use an optimizer of torch.",
    ),
    zh=Words(
        '`optim="{optim}"` 需要 `{package}`,但未安装',
        "模型加载之后,训练器在创建优化器时失败。",
        "安装 `{package}`,或使用 torch 自带的优化器。",
    ),
)

#: how the value starts -> distribution, first match counts
#: https://github.com/huggingface/transformers/blob/v5.0.0/src/transformers/trainer.py
PACKAGES = (
    ("adamw_torch_4bit", "torchao"),
    ("adamw_torch_8bit", "torchao"),
    ("adamw_bnb_8bit", "bitsandbytes"),
    ("adamw_8bit", "bitsandbytes"),
    ("ademamix", "bitsandbytes"),
    ("lion_", "bitsandbytes"),
    ("paged_", "bitsandbytes"),
    ("rmsprop_bnb", "bitsandbytes"),
    ("galore_", "galore-torch"),
    ("lomo", "lomo-optim"),
    ("adalomo", "lomo-optim"),
    ("grokadamw", "grokadamw"),
    ("schedule_free_", "schedulefree"),
    ("apollo_", "apollo-torch"),
    ("stable_adamw", "torch-optimi"),
)


def _package(optim: str) -> str | None:
    """Return the distribution that an optimizer comes from, None for those of torch and Transformers."""
    return next((package for start, package in PACKAGES if optim.startswith(start)), None)


@check(PROBLEM)
def optimizer_package_missing(training: Training, packages: Packages) -> Judgement:
    """Judge an explicit and readable value."""
    setting = training.get("optim")
    if setting is None or not setting.known or not isinstance(setting.value, str):
        return
    package = _package(setting.value)
    if package is None or package in packages.distributions:
        return
    if not packages.complete:
        yield Skip("the list of installed packages is not complete")
        return
    yield found(
        PROBLEM,
        MESSAGE,
        where=place_of(setting),
        evidence=quoted(setting),
        commands=(f"pip install {package}", 'optim="adamw_torch"'),
        optim=setting.value,
        package=package,
    )
