"""The model is to be loaded in 4 or 8 bit, and bitsandbytes is not installed.

## What it means
`load_in_4bit` and `load_in_8bit`, in a `BitsAndBytesConfig` or as arguments, need the package bitsandbytes.
## What it does to a run
Loading the model ends with `Using bitsandbytes 4-bit quantization requires bitsandbytes`.
## What to do
Install bitsandbytes, or load the model unquantized.
## How it is found
The script, the YAML and the command line, against the installed packages.
In a log: by the exception of Transformers.
## References
https://github.com/huggingface/transformers/blob/v4.57.1/src/transformers/quantizers/quantizer_bnb_4bit.py
https://huggingface.co/docs/transformers/quantization/bitsandbytes
"""

from __future__ import annotations

from doctor.checks.bitsandbytes._helpers import quantization
from doctor.checks.trl._helpers import quoted
from doctor.core.check import Judgement, check
from doctor.core.finding import Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Signature
from doctor.facts.packages import Packages
from doctor.facts.script import Script
from doctor.facts.training import Training

PROBLEM = Problem(id="BNB001", name="bitsandbytes-missing", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(r"ImportError: Using `bitsandbytes` (?:4-bit |8-bit )?quantization requires"),
    Signature(r"ImportError: Please install bitsandbytes>=[\d.]{1,12} via"),
    Signature(r"PackageNotFoundError: No package metadata was found for (?:The ')?bitsandbytes"),
    Signature(r"please make sure that you have installed `bitsandbytes>=[\d.]{1,12}`"),
)

LOG_MESSAGE = Message(
    en=Words(
        "4-bit or 8-bit loading was asked for, and bitsandbytes is not installed (or too old)",
        "Quantization to 4 or 8 bit at load time is the work of bitsandbytes, which Transformers does not bring along.",
        "Run `pip install -U bitsandbytes` with the interpreter that trains, or load the model without "
        "`quantization_config` (`load_in_4bit`, `load_in_8bit`).",
    ),
    zh=Words(
        "要求以 4-bit 或 8-bit 加载,但未安装 bitsandbytes(或版本过旧)",
        "加载时的 4 位或 8 位量化由 bitsandbytes 完成,而 Transformers 不附带它。",
        "用训练所用的解释器 `pip install -U bitsandbytes`,或不使用 `quantization_config`(`load_in_4bit`、"
        "`load_in_8bit`)加载模型。",
    ),
)

LOG_COMMANDS = ("pip install -U bitsandbytes",)

MESSAGE = Message(
    en=Words(
        "`{name}=True`, and bitsandbytes is not installed",
        "Loading the model ends with an ImportError: quantization to 4 or 8 bit is bitsandbytes' work.",
        "Install bitsandbytes, or load the model unquantized.",
    ),
    zh=Words(
        "设置了 `{name}=True`,但没有安装 bitsandbytes",
        "4 位和 8 位量化由 bitsandbytes 完成,加载模型时会抛出 ImportError。",
        "安装 bitsandbytes,或不量化地加载模型。",
    ),
)


@check(PROBLEM)
def not_installed(training: Training, packages: Packages, script: Script | None) -> Judgement:
    """Optimizers of bitsandbytes are TRF008's."""
    setting = quantization(training, script)
    if setting is None or "bitsandbytes" in packages.distributions or packages.modules.get("bitsandbytes"):
        return
    if not packages.complete:
        yield Skip("the list of installed packages is not complete")
        return
    yield found(
        PROBLEM,
        MESSAGE,
        where=place_of(setting),
        evidence=quoted(setting),
        commands=("pip install bitsandbytes",),
        name=setting.name.rpartition(".")[2],
    )
