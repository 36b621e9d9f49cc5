"""flash attention is asked for, and flash-attn is not installed.

## What it means
`attn_implementation="flash_attention_2"` needs the package flash-attn, or, in newer Transformers, the package
`kernels`, which fetches a compiled kernel from the Hub.
## What it does to a run
Loading the model ends with `FlashAttention2 has been toggled on, but it cannot be used due to the following error: the
package flash_attn seems to be not installed`.
## What to do
Install flash-attn in a build for the installed torch, or `kernels`, or use `sdpa`, which needs nothing.
## How it is found
`attn_implementation` in the script, the YAML or the command line, against the installed packages.
In a log: by the message that the program or the driver prints.
## References
https://github.com/huggingface/transformers/blob/v4.57.1/src/transformers/modeling_utils.py
https://github.com/Dao-AILab/flash-attention#installation-and-features
"""

from __future__ import annotations

from doctor.checks.flash_attn._helpers import asked_attention, falls_back_to_kernels, flash_version
from doctor.checks.trl._helpers import quoted
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Finding, Message, Skip, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.reading import place_of
from doctor.core.signature import Hits, Signature
from doctor.facts.packages import Packages
from doctor.facts.training import Training

PROBLEM = Problem(
    id="FLA001", name="flash-attn-missing", severity=ERROR, since="0.1", affects={"transformers": ">=4.36"}
)

SIGNATURES = (
    Signature(
        r"FlashAttention(?P<version>\d)? ?has been toggled on, but it cannot be used due to the"
        r" following error: the package (?:flash_attn(?:_\d)? seems to be not installed|for"
        r" FlashAttention\d doesn't seem to be installed)",
    ),
    Signature(r"^ModuleNotFoundError: No module named 'flash_attn(?P<module>\.[\w.]{1,60})?'"),
    Signature(r"^(?:ModuleNotFoundError: )?No module named '(?P<part>flash_attn_(?:2|3)_cuda|flashattn_hopper_cuda)'"),
)

OLDER = Message(
    en=Words(
        "the installed flash-attn has no `{module}`",
        "The package is there and a part of it is not: it is of another release than the code that imports it (vLLM, "
        "Transformers or model code) was written for, was installed without its `ops`, or another folder named "
        "`flash_attn` is found first.",
        'See what is there: `pip show flash-attn` and `python -c "import flash_attn; print(flash_attn.__file__)"`. '
        "Upgrade or reinstall it: a newer wheel for your torch, CUDA and Python from its release page, or `pip install "
        "-U --no-build-isolation flash-attn`; or uninstall it where nothing needs it (`pip uninstall flash-attn`).",
    ),
    zh=Words(
        "已安装的 flash-attn 没有 `{module}`",
        "包存在而其中一部分不在:它与导入它的代码(vLLM、Transformers 或模型代码)所针对的版本不同、安装时缺少 `ops`,或先"
        "找到了另一个名为 `flash_attn` 的目录。",
        '查看现状:`pip show flash-attn` 和 `python -c "import flash_attn; print(flash_attn.__file__)"`。升级或重装:从发'
        "布页安装与 torch、CUDA、Python 相符的新 wheel,或 `pip install -U --no-build-isolation flash-attn`;不需要时卸载"
        "(`pip uninstall flash-attn`)。",
    ),
)

PART = Message(
    en=Words(
        "flash-attn is installed without its compiled part `{part}`",
        "The Python files are there and the CUDA extension is not: the build was skipped or failed, or the wheel was "
        "made for another Python. Everything that imports flash-attn fails, whether it asks for it or not.",
        'Uninstall it where nothing needs it (`pip uninstall flash-attn`, then `attn_implementation="sdpa"`), or '
        "install a wheel for your torch, CUDA and Python from its release page, or build it again: `pip install "
        "--force-reinstall --no-deps --no-build-isolation --no-cache-dir flash-attn` (needs nvcc and an hour).",
    ),
    zh=Words(
        "已安装的 flash-attn 缺少编译部分 `{part}`",
        "Python 文件存在而 CUDA 扩展不在:构建被跳过或失败,或 wheel 是为另一 Python 制作的。凡是导入 flash-attn 的程序都"
        "会失败,无论是否要求使用它。",
        '不需要时卸载(`pip uninstall flash-attn`,并用 `attn_implementation="sdpa"`);或从发布页安装与 torch、CUDA、'
        "Python 相符的 wheel;或重新构建:`pip install --force-reinstall --no-deps --no-build-isolation --no-cache-dir "
        "flash-attn`(需要 nvcc,约一小时)。",
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "flash attention was asked for, and flash-attn is not installed",
        '`attn_implementation="flash_attention_2"` (the default of some scripts, and of veRL\'s and '
        "OpenRLHF's padding-free training) needs the package.",
        "Install a ready-made wheel for your torch, CUDA and Python from flash-attn's release page, or "
        "`pip install flash-attn --no-build-isolation` (needs nvcc and an hour); or `pip install "
        'kernels` with newer Transformers; or take `attn_implementation="sdpa"`, which needs nothing.',
    ),
    zh=Words(
        "要求使用 flash attention,但没有安装 flash-attn",
        '`attn_implementation="flash_attention_2"`(某些脚本以及 veRL、OpenRLHF 免填充训练的默认值)需要该包。',
        "从 flash-attn 的发布页安装与 torch、CUDA、Python 相符的 wheel,或 `pip install flash-attn "
        "--no-build-isolation`(需要 nvcc,约一小时);新版 Transformers 可 `pip install kernels`;或使用无需"
        '额外安装的 `attn_implementation="sdpa"`。',
    ),
)

IMPORTED = Message(
    en=Words(
        "`flash_attn` is imported, and flash-attn is not installed",
        "The import stands in the code of a framework (veRL's and OpenRLHF's padding-free training), of the model "
        "(`trust_remote_code`) or in your own; the traceback shows which. It fails whatever attention the model is set "
        "to.",
        "Install a ready-made wheel for your torch, CUDA and Python from flash-attn's release page, or `pip install "
        "flash-attn --no-build-isolation` (needs nvcc and an hour). Without it: switch off what imports it "
        "(padding-free training, `use_flash_attn` of that code), or take a model that Transformers itself knows, with "
        '`attn_implementation="sdpa"`.',
    ),
    zh=Words(
        "代码导入 `flash_attn`,但没有安装 flash-attn",
        "该导入位于框架(veRL、OpenRLHF 的免填充训练)、模型自带代码(`trust_remote_code`)或你自己的代码中,由回溯可见。无"
        "论模型设置为哪种注意力实现,它都会失败。",
        "从 flash-attn 的发布页安装与 torch、CUDA、Python 相符的 wheel,或 `pip install flash-attn "
        "--no-build-isolation`(需要 nvcc,约一小时)。不安装时:关闭导入它的功能(免填充训练、该代码的 `use_flash_attn`),或"
        '使用 Transformers 自身支持的模型并设 `attn_implementation="sdpa"`。',
    ),
)

NEWER = Message(
    en=Words(
        "FlashAttention {version} was asked for, and its package is not installed",
        '`attn_implementation="flash_attention_{version}"` needs a package of its own: `flash-attn` of PyPI is '
        "FlashAttention 2. Version 3 is built from the folder `hopper` of its repository and is for GPUs like H100.",
        'Take `attn_implementation="flash_attention_2"` (with flash-attn) or `"sdpa"`, which needs nothing; or `pip '
        "install kernels` with newer Transformers, which then fetches a ready-made one; or build it from the "
        "repository of flash-attention.",
    ),
    zh=Words(
        "要求使用 FlashAttention {version},但没有安装其软件包",
        '`attn_implementation="flash_attention_{version}"` 需要单独的软件包:PyPI 上的 `flash-attn` 是 FlashAttention 2'
        "。第 3 版由其仓库的 `hopper` 目录构建,用于 H100 一类的 GPU。",
        '改用 `attn_implementation="flash_attention_2"`(需 flash-attn)或无需额外安装的 `"sdpa"`;或在新版 Transformers '
        "中 `pip install kernels`,它会获取现成的内核;或从 flash-attention 仓库构建。",
    ),
)

MESSAGES = (LOG_MESSAGE, IMPORTED, NEWER, OLDER, PART)

MESSAGE = Message(
    en=Words(
        '`attn_implementation="{attention}"`, and flash-attn is not installed',
        "Loading the model ends with `FlashAttention2 has been toggled on, but it cannot be used`.",
        "Install flash-attn in a build for the installed torch, or use `sdpa`, which comes with torch.",
    ),
    zh=Words(
        '设置了 `attn_implementation="{attention}"`,但没有安装 flash-attn',
        "加载模型时会以 `FlashAttention2 has been toggled on, but it cannot be used` 失败。",
        "安装与当前 torch 匹配的 flash-attn,或使用 torch 自带的 `sdpa`。",
    ),
)

#: hardware with an implementation of its own
_OTHER_HARDWARE = ("torch-npu", "torch-mlu", "torch-musa")


def explain(hits: Hits) -> Finding:
    """A package without its compiled part is another matter than none."""
    part, module = hits.get("part"), hits.get("module")
    if module and not part:
        return found(
            PROBLEM,
            OLDER,
            where=hits.where(),
            evidence=hits.evidence(),
            confidence=LIKELY,
            module=f"flash_attn{module}",
        )
    version = hits.get("version") or ""
    toggled = NEWER if version not in ("", "2") else LOG_MESSAGE
    return found(
        PROBLEM, PART if part else toggled if hits.of(0) else IMPORTED, where=hits.where(),
        evidence=hits.evidence(), part=part or "", version=version,
    )  # fmt: skip


@check(PROBLEM)
def not_installed(training: Training, packages: Packages) -> Judgement:
    """`flash_attention_3` and `_4` come from packages that change their names; they are left alone."""
    setting = asked_attention(training)
    if setting is None or flash_version(setting.value) != 2:
        return
    if "flash-attn" in packages.distributions or packages.modules.get("flash_attn"):
        return
    if falls_back_to_kernels(packages) or any(each in packages.distributions for each in _OTHER_HARDWARE):
        return
    if not packages.complete:
        yield Skip("the list of installed packages is not complete")
        return
    kernels = ("pip install kernels",) if packages.matches("transformers", ">=4.56") else ()
    yield found(
        PROBLEM,
        MESSAGE,
        where=place_of(setting),
        evidence=quoted(setting),
        commands=("pip install flash-attn --no-build-isolation", *kernels, 'attn_implementation="sdpa"'),
        attention=setting.value,
    )
