"""Words for imports that fail, shared by the areas whose packages `--deep` imports."""

from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.base.evidence import Observed
from doctor.catalogue.finding import Finding, Message, Words, found
from doctor.catalogue.problem import Problem
from doctor.facts.deep import Deep, Import
from doctor.facts.packages import Packages

SYMBOL = Message(
    en=Words(
        "`import {module}` fails: undefined symbol in {origin}",
        "A compiled module was built against another version of a library than the one it gets. The symbol is "
        "`{symbol}`. Everything that imports `{module}` ends here.",
        "Install a build of `{origin}` that fits the installed torch, and look for libraries that LD_LIBRARY_PATH puts "
        "first.",
    ),
    zh=Words(
        "`import {module}` 失败:{origin} 中有未定义的符号",
        "某个编译模块是针对另一版本的库构建的。缺少的符号是 `{symbol}`。所有导入 `{module}` 的程序都会在此失败。",
        "安装与当前 torch 匹配的 `{origin}`,并检查 LD_LIBRARY_PATH 是否把别的库排在了前面。",
    ),
)

LIBRARY = Message(
    en=Words(
        "`import {module}` fails: `{library}` is missing",
        "A compiled module in {origin} needs this library, and no folder of the system or of the environment holds it.",
        "Install the package that brings `{library}`, or a build of `{origin}` that does without.",
    ),
    zh=Words(
        "`import {module}` 失败:缺少 `{library}`",
        "{origin} 中的编译模块需要这个库,而系统和环境的目录里都没有。",
        "安装提供 `{library}` 的包,或换用不需要它的 `{origin}`。",
    ),
)

OTHER_CUDA = Message(
    en=Words(
        "`import {module}` fails: it wants `{library}`, and torch is CUDA {cuda}",
        "{origin} was built for CUDA {wanted}; the installed torch brings the libraries of CUDA {cuda} only.",
        "Install a build of `{origin}` for CUDA {cuda}, or a torch for CUDA {wanted}.",
    ),
    zh=Words(
        "`import {module}` 失败:它需要 `{library}`,而 torch 是 CUDA {cuda}",
        "{origin} 是为 CUDA {wanted} 编译的,已安装的 torch 只带有 CUDA {cuda} 的库。",
        "安装面向 CUDA {cuda} 的 `{origin}`,或面向 CUDA {wanted} 的 torch。",
    ),
)

SIGNAL = Message(
    en=Words(
        "`import {module}` kills the process with {signal}",
        "The interpreter dies inside a compiled module, without a traceback. Every process of the run would die so.",
        "Install `{module}` again in a build for this torch, this CUDA and this CPU.",
    ),
    zh=Words(
        "`import {module}` 会使进程被 {signal} 终止",
        "解释器死在某个编译模块内部,没有 traceback。本次运行的每个进程都会如此。",
        "重新安装适合当前 torch、CUDA 和 CPU 的 `{module}`。",
    ),
)

TIMEOUT = Message(
    en=Words(
        "`import {module}` did not end within {seconds} s",
        "Something that the import does waits: a network file system, a driver that does not answer, a lock.",
        "Import it by hand with `python -X importtime -c 'import {module}'` and see where it stops.",
    ),
    zh=Words(
        "`import {module}` 在 {seconds} 秒内没有结束",
        "导入过程在等待:网络文件系统、没有响应的驱动或某个锁。",
        "用 `python -X importtime -c 'import {module}'` 手动导入,看它停在哪里。",
    ),
)

ABSENT = Message(
    en=Words(
        "`import {module}` fails: no module named `{origin}`",
        "`{module}` is installed, and something that it needs is not. Everything that imports `{module}` ends here.",
        "Install `{module}` again without `--no-deps`; pip adds what is missing.",
    ),
    zh=Words(
        "`import {module}` 失败:没有名为 `{origin}` 的模块",
        "`{module}` 已安装,但它需要的东西没有安装。所有导入 `{module}` 的程序都会在此失败。",
        "去掉 `--no-deps` 重新安装 `{module}`,pip 会补上缺少的包。",
    ),
)

RAISED = Message(
    en=Words(
        "`import {module}` fails with {error_type} in {origin}",
        "The message is: {error}. Everything that imports `{module}` ends here.",
        "Install versions of `{module}` and `{origin}` that fit together.",
    ),
    zh=Words(
        "`import {module}` 失败:{origin} 抛出 {error_type}",
        "错误信息:{error}。所有导入 `{module}` 的程序都会在此失败。",
        "安装相互匹配的 `{module}` 和 `{origin}` 版本。",
    ),
)

_CUDA_LIBRARY = re.compile(r"lib(?:cudart|cublas|cublasLt|nvrtc|nvJitLink)\.so\.(\d+)")


def failures(deep: Deep, *modules: str) -> Iterator[Import]:
    """Yield failed imports of `modules`, except those that fail only because another failed one does."""
    failed = {each.module: each for each in deep.imports if each.outcome not in {"ok", "missing"}}
    for module in modules:
        each = failed.get(module)
        if each is None:
            continue
        origin = (each.raised_in or "").partition(".")[0].replace("flash_attn_2_cuda", "flash_attn")
        same_as_torch = module != "torch" and "torch" in failed
        if not same_as_torch and (origin == module or origin not in failed):
            yield each


def finding(problem: Problem, each: Import, packages: Packages | None) -> Finding:
    """Tell one failed import with the reason that the interpreter gave."""
    message, cuda, wanted = _message(each, packages)
    origin = each.raised_in or each.module
    return found(
        problem,
        message,
        commands=(f"python -c 'import {each.module}'",),
        evidence=(Observed.quoted(f"import {each.module}", each.error or each.signal or each.outcome),),
        module=each.module,
        origin=origin,
        symbol=each.undefined_symbol,
        library=each.missing_library,
        signal=each.signal,
        seconds=round(each.seconds),
        error_type=each.error_type or "an error",
        error=(each.error or "none").rstrip("."),
        cuda=cuda,
        wanted=wanted,
    )


def _message(each: Import, packages: Packages | None) -> tuple[Message, str | None, str | None]:
    """Choose the words, with torch's CUDA and the one that a missing library belongs to."""
    if each.outcome == "signal":
        return SIGNAL, None, None
    if each.outcome == "timeout":
        return TIMEOUT, None, None
    if each.undefined_symbol:
        return SYMBOL, None, None
    if each.missing_library:
        match = _CUDA_LIBRARY.match(each.missing_library)
        build = packages.torch_build if packages is not None else None
        if match and build is not None and build.cuda and build.cuda.partition(".")[0] != match[1]:
            return OTHER_CUDA, build.cuda, match[1]
        return LIBRARY, None, None
    # a missing part of the package itself is told as any other exception
    foreign = (each.raised_in or "").partition(".")[0] not in {"", each.module}
    return (ABSENT if each.error_type == "ModuleNotFoundError" and foreign else RAISED), None, None
