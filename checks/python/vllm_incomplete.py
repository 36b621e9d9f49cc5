"""The vLLM that would be imported was never built.

## What it means
The folder that `import vllm` takes is a source tree, or a build that stopped half-way: it lacks the compiled module
(`vllm/_C*.so`) or the generated `vllm/_version.py`.
## What it does to a run
Without the compiled module every use ends with `No module named 'vllm._C'`. Without the version file vLLM warns
"Failed to read commit hash" and calls itself "dev", so that comparisons with its version go wrong.
## What to do
Start the command from another folder than a checkout of vLLM, or install vLLM again.
## How it is found
The files of the package that this interpreter would import.
In a log: by vLLM's own message.
## References
https://github.com/vllm-project/vllm/issues/1814
https://github.com/vllm-project/vllm/issues/9421
"""

from __future__ import annotations

from doctor.core.check import Judgement, check
from doctor.core.finding import CONFIRMED, LIKELY, Evidence, Finding, Message, Where, Words, found
from doctor.core.problem import ERROR, WARNING, Problem
from doctor.core.signature import Hits, Signature
from doctor.facts.packages import Packages

PROBLEM = Problem(id="PYT009", name="vllm-incomplete", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^(?:ModuleNotFoundError|ImportError): No module named 'vllm\._(?:C|moe_C|rocm_C)'",
        symptom_of=("PYT018",),
    ),
    Signature(
        r"Failed to import from vllm\._(?:C|moe_C) with ModuleNotFoundError\(.No module named 'vllm\._",
        kind="warning",
        contributes_to=("VLL",),
    ),
    Signature(r"[\\/]Lib[\\/]site-packages[\\/]vllm", kind="sign"),
)

LOG_MESSAGE = Message(
    en=Words(
        "the `vllm` that was imported has no compiled part (`vllm._C`)",
        "Three things do that: Python found a source tree of vLLM instead of the installed package (the "
        "command ran inside a clone), the wheel was made for another platform or its build stopped, or "
        "the operating system is native Windows, which vLLM does not support: pip installs it there "
        "without the extension.",
        "Print where it comes from: `python -c 'import vllm; print(vllm.__file__)'`. If that is a clone, "
        "start the command from another folder; else reinstall (`pip install --force-reinstall --no-deps "
        "vllm`). On Windows use WSL2 or a Linux container.",
    ),
    zh=Words(
        "导入的 `vllm` 没有编译好的部分(`vllm._C`)",
        "原因有三种:Python 找到的是 vLLM 源代码目录而不是已安装的包(在克隆目录中执行命令);wheel 属于其他"
        "平台或编译中断;操作系统是原生 Windows,vLLM 不支持它,pip 在那里安装的包没有扩展模块。",
        "打印它的位置:`python -c 'import vllm; print(vllm.__file__)'`。若是克隆目录,换一个目录执行;否则重"
        "新安装(`pip install --force-reinstall --no-deps vllm`)。在 Windows 上请使用 WSL2 或 Linux 容器。",
    ),
)

LOG_MESSAGE_WINDOWS = Message(
    en=Words(
        "vLLM was installed on native Windows, where it has no compiled part (`vllm._C`)",
        "vLLM does not support Windows: pip installs the Python files there without the extension. "
        "Nothing that is reinstalled will help.",
        "Run it under WSL2 or in a Linux container (`vllm/vllm-openai`).",
    ),
    zh=Words(
        "vLLM 安装在原生 Windows 上,没有编译好的部分(`vllm._C`)",
        "vLLM 不支持 Windows:pip 在那里只安装 Python 文件,没有扩展模块。重新安装无济于事。",
        "在 WSL2 或 Linux 容器(`vllm/vllm-openai`)中运行。",
    ),
)

NOT_BUILT = Message(
    en=Words(
        "`vllm` in {folder} has no compiled module",
        "Its import, or the start of the engine, ends with `No module named 'vllm._C'`. The folder is a source tree "
        "that was not built.",
        "Start the command from another folder, or install vLLM again.",
    ),
    zh=Words(
        "{folder} 中的 `vllm` 没有编译好的模块",
        "导入或启动引擎时会以 `No module named 'vllm._C'` 失败。该目录是未编译的源代码。",
        "换一个目录执行命令,或重新安装 vLLM。",
    ),
)

NO_VERSION = Message(
    en=Words(
        "`vllm` in {folder} lacks its generated `_version.py`",
        'vLLM warns "Failed to read commit hash" and calls itself "dev", so that code that compares its version goes '
        "wrong. The folder is a source tree, or the build stopped half-way.",
        "Install vLLM again.",
    ),
    zh=Words(
        "{folder} 中的 `vllm` 缺少生成的 `_version.py`",
        'vLLM 会警告 "Failed to read commit hash",并把版本报为 "dev",比较版本的代码会出错。该目录是源代码,'
        "或编译中途停止。",
        "重新安装 vLLM。",
    ),
)

#: builds for hardware without a module of that name
_OTHER_HARDWARE = ("tpu", "xpu", "hpu", "gaudi", "neuron", "empty", "ascend")


@check(PROBLEM)
def vllm_incomplete(packages: Packages) -> Judgement:
    """The missing module says more than the missing version file: one of the two is told."""
    folder = packages.modules.get("vllm")
    if not folder:
        return
    version = (packages.version("vllm") or "").partition("+")[2]
    other = any(mark in version for mark in _OTHER_HARDWARE)
    not_built = "vllm/_C*.so" in packages.missing_files and not other
    if not not_built and "vllm/_version.py" not in packages.missing_files:
        return
    yield found(
        PROBLEM,
        NOT_BUILT if not_built else NO_VERSION,
        severity=ERROR if not_built else WARNING,
        confidence=LIKELY if not_built and "vllm" not in packages.distributions else CONFIRMED,
        where=Where(file=folder),
        commands=("pip install --force-reinstall --no-deps vllm",),
        evidence=tuple(Evidence(folder, f"{each} is missing") for each in packages.missing_files),
        folder=folder,
    )


def explain(hits: Hits) -> Finding | None:
    """Paths of Windows tell the platform."""
    windows = bool(hits.of(2)) or any("\\" in frame for hit in hits for frame in hit.frames)
    return found(
        PROBLEM,
        LOG_MESSAGE_WINDOWS if windows else LOG_MESSAGE,
        where=hits.where(),
        evidence=hits.evidence(),
        commands=() if windows else ("python -c 'import vllm; print(vllm.__file__)'",),
        confidence=CONFIRMED if windows or hits.of(0) else LIKELY,
        severity=ERROR if hits.of(0) else WARNING,
    )
