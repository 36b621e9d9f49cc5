"""A compiled package was built for another torch than the one that is installed.

## What it means
Extensions are linked against the C++ library of one torch release, whose functions and C++ ABI change
between releases. The loader finds that a function is missing and refuses the file.
## What it does to a run
`ImportError: ... undefined symbol`, at the import of vLLM, xformers, sgl-kernel, deepspeed operations and
the like.
## What to do
Bring the package and torch together again.
## How it is found
In a log, by the message that the program prints.
## References
https://github.com/vllm-project/vllm/issues/13608
https://github.com/sgl-project/sglang/issues/5100
"""

from __future__ import annotations

import re

from doctor.core.finding import CONFIRMED, LIKELY, Finding, Message, Words, found
from doctor.core.problem import ERROR, Problem
from doctor.core.signature import Hits, Signature

PROBLEM = Problem(id="TOR011", name="extension-of-another-torch", severity=ERROR, since="0.1")

SIGNATURES = (
    Signature(
        r"^(?:- )?(?:(?:\w{1,40}\.){0,4}(?:ImportError|OSError): |[^\n]{0,80}symbol lookup error: )?"
        r"(?P<library>~?/[^\s:'\"(]{1,300}\.so(?:\.\d{1,4}){0,4}): undefined symbol: (?P<symbol>\w{1,300})"
        r"(?:, version (?P<version>\w{1,40}(?:\.\d{1,4}){0,3}))?",
    ),
    Signature(
        r"Failed to import from vllm\._\w{1,10} with ImportError\(['\"](?P<library>/[^\s:'\"(]{1,300}\.so): "
        r"undefined symbol: (?P<symbol>\w{1,300})"
    ),
)

LOG_MESSAGE = Message(
    en=Words(
        "`{name}` was built for another torch than the one that is installed",
        "It misses the function `{symbol}` of libtorch: the compiled part of `{package}` and torch are "
        "of different releases{abi}. One of the two was upgraded or built alone.",
        "Install the release of `{package}` that was built for the installed torch (its release notes or "
        "`pip show -v {package}` name it), upgrade both together, or rebuild it here: `pip install "
        "--force-reinstall --no-build-isolation --no-cache-dir {source}`.",
    ),
    zh=Words(
        "`{name}` 是针对另一个 torch 版本构建的",
        "它找不到 libtorch 的函数 `{symbol}`:`{package}` 的编译部分与 torch 版本不一致{abi}。两者之一被单"
        "独升级或编译。",
        "安装针对当前 torch 构建的 `{package}` 版本(见其发布说明或 `pip show -v {package}`),两者一起升级,"
        "或在本机重新编译:`pip install --force-reinstall --no-build-isolation --no-cache-dir {source}`。",
    ),
)

LOG_MESSAGE_OWN = Message(
    en=Words(
        "torch's own `{name}` misses `{symbol}`: it got another version of a CUDA library",
        "torch comes with matching CUDA libraries (cuBLAS, cuDNN, cuSPARSE, NCCL). An older copy was "
        "loaded instead, from LD_LIBRARY_PATH, conda or a package that was installed by itself, or the "
        "nvidia-* packages were changed one by one.",
        "Start with an empty LD_LIBRARY_PATH (`env -u LD_LIBRARY_PATH python -c 'import torch'`); if "
        "that works take the old folder out for good. Otherwise reinstall torch with all that it needs: "
        "`pip install --force-reinstall torch`.",
    ),
    zh=Words(
        "torch 自己的 `{name}` 缺少 `{symbol}`:加载到了另一版本的 CUDA 库",
        "torch 自带配套的 CUDA 库(cuBLAS、cuDNN、cuSPARSE、NCCL)。实际加载的是较旧的副本,来自 "
        "LD_LIBRARY_PATH、conda 或单独安装的包,或者 nvidia-* 包被逐个更换过。",
        "用空的 LD_LIBRARY_PATH 启动(`env -u LD_LIBRARY_PATH python -c 'import torch'`);若可行,请彻底去掉"
        "旧目录。否则连同依赖重装 torch:`pip install --force-reinstall torch`。",
    ),
)

LOG_MESSAGE_SYSTEM = Message(
    en=Words(
        "the system's `{name}` does not find `{symbol}`: the environment shadows a system library",
        "A library of the operating system was loaded after one of the conda environment (or of LD_LIBRARY_PATH) of "
        "the same name but another version{wanted}, and they do not fit together. torch, CUDA and the package that was "
        "imported have no part in it.",
        "Install the matching one into the environment (`conda install -c conda-forge libffi` for symbols that begin "
        "with `ffi_`; else `conda install -c conda-forge {package}` for the library that has the symbol), or let the "
        "system's come first: `export LD_PRELOAD=/usr/lib/x86_64-linux-gnu/libffi.so.7`. `ldd` on the file shows which "
        "copies meet.",
    ),
    zh=Words(
        "系统的 `{name}` 找不到 `{symbol}`:环境带来了某个系统库的另一份副本",
        "操作系统的库在 conda 环境(或 LD_LIBRARY_PATH)中同名但不同版本{wanted}的库之后加载,两者不匹配。与 torch、CUDA "
        "及所导入的包无关。",
        "在环境中安装匹配的版本(符号以 `ffi_` 开头时 `conda install -c conda-forge libffi`,否则 `conda install -c "
        "conda-forge {package}`,即含有该符号的库),或让系统的库优先:`export "
        "LD_PRELOAD=/usr/lib/x86_64-linux-gnu/libffi.so.7`。对该文件运行 `ldd` 可看到哪些副本相遇。",
    ),
)

LOG_MESSAGE_OTHER = Message(
    en=Words(
        "`{name}` misses the function `{symbol}`",
        "The compiled part of `{package}` was built against another version of a library than the one "
        "that was loaded: another torch, another CUDA, another Python or another system library.",
        "Find the library that should have it (`ldd` on the file, `c++filt {symbol}`), take older copies "
        "out of LD_LIBRARY_PATH, and reinstall `{package}` for the installed torch and CUDA.",
    ),
    zh=Words(
        "`{name}` 缺少函数 `{symbol}`",
        "`{package}` 的编译部分所针对的库与实际加载的版本不同:torch、CUDA、Python 或系统库。",
        "找出应提供该函数的库(对文件运行 `ldd`,`c++filt {symbol}`),从 LD_LIBRARY_PATH 去掉旧副本,并针对当"
        "前的 torch 和 CUDA 重装 `{package}`。",
    ),
)


LOG_MESSAGE_BUILT = Message(
    en=Words(
        "`{name}` was built here for another torch than the one that is installed",
        "It misses the function `{symbol}` of libtorch. This file is no part of a package: a program compiled it "
        "on this machine at an earlier start and keeps it. Since then torch was changed, or the folder was moved "
        "to another environment.",
        "Delete the folder of the file, so that it is compiled anew at the next start: `rm -rf {folder}` "
        "(torch's own builds lie in `~/.cache/torch_extensions`). nvcc and a compiler must be there.",
    ),
    zh=Words(
        "`{name}` 是在本机针对另一个 torch 编译的",
        "它找不到 libtorch 的函数 `{symbol}`。该文件不属于任何安装包:某个程序在之前启动时在本机编译并保留了它。此后"
        " torch 已更换,或目录被移到另一个环境。",
        "删除该文件所在目录,下次启动时会重新编译:`rm -rf {folder}`(torch 自身的编译结果在 "
        "`~/.cache/torch_extensions`)。需要 nvcc 与编译器。",
    ),
)


DRIVER = Message(
    en=Words(
        "the NVIDIA driver is too old for `{package}`: it has no `{symbol}`",
        "`{symbol}` is a function of the driver itself (`libcuda.so.1`, `libnvidia-ml.so.1`), not of torch or the CUDA "
        "toolkit{since}. The wheel was built for a newer CUDA than the driver of this machine; a container uses the "
        "driver of its host.",
        "Upgrade the driver{least} (`nvidia-smi` shows what is loaded), or install a release of `{package}` that was "
        "built for the older CUDA. In a container data-centre GPUs may use the `cuda-compat` package instead. If the "
        "driver is new enough, another `libcuda.so` (stubs, an old copy on LD_LIBRARY_PATH) is found first.",
    ),
    zh=Words(
        "NVIDIA 驱动对 `{package}` 过旧:没有 `{symbol}`",
        "`{symbol}` 是驱动本身(`libcuda.so.1`、`libnvidia-ml.so.1`)的函数,不属于 torch 或 CUDA 工具包{since_zh}。该"
        " wheel 针对比本机驱动更新的 CUDA 构建;容器使用宿主机的驱动。",
        "升级驱动{least_zh}(`nvidia-smi` 显示当前版本),或安装针对旧 CUDA 构建的 `{package}`。容器内数据中心 GPU 也可用 "
        "`cuda-compat` 包。若驱动已足够新,则是先找到了另一个 `libcuda.so`(stubs、LD_LIBRARY_PATH 上的旧副本)。",
    ),
)

ASCEND = Message(
    en=Words(
        "`{name}` and the installed CANN are of different releases: `{symbol}` is missing",
        "torch_npu and the libraries of Ascend (CANN toolkit, kernels, and NNAL with ATB) go together release by "
        "release. The toolkit or NNAL is older than torch_npu was built for, was not sourced, or was built for the "
        "other C++ ABI (`cxx_abi_0` or `cxx_abi_1`).",
        "Install the CANN, kernels and NNAL versions that the release of torch_npu (or vllm-ascend) names, then "
        "`source /usr/local/Ascend/ascend-toolkit/set_env.sh` and `source /usr/local/Ascend/nnal/atb/set_env.sh "
        "--cxx_abi=$(python -c 'import torch; print(int(torch.compiled_with_cxx11_abi()))')`; or install the "
        "torch_npu that belongs to the CANN that is there. The images of vllm-ascend hold a set that fits.",
    ),
    zh=Words(
        "`{name}` 与已安装的 CANN 版本不配套:缺少 `{symbol}`",
        "torch_npu 与昇腾库(CANN 工具包、kernels 以及含 ATB 的 NNAL)逐版本配套。工具包或 NNAL 比 torch_npu 所针对的版本"
        "旧、没有 source,或 C++ ABI 不同(`cxx_abi_0` 与 `cxx_abi_1`)。",
        "安装 torch_npu(或 vllm-ascend)该版本指定的 CANN、kernels 与 NNAL,然后 `source "
        "/usr/local/Ascend/ascend-toolkit/set_env.sh`、`source /usr/local/Ascend/nnal/atb/set_env.sh "
        "--cxx_abi=$(python -c 'import torch; print(int(torch.compiled_with_cxx11_abi()))')`;或安装与现有 CANN 配套的 "
        "torch_npu。vllm-ascend 镜像中是配套的一组。",
    ),
)

#: functions of the driver -> the CUDA release that brought them, and its first Linux driver
_SINCE = ((r"cuGreenCtx", "12.4", "550"), (r"cuMulticast", "12.1", "530"), (r"cuTensorMap", "12.0", "525"))
_OF_DRIVER = re.compile(r"cu(?!blas|dnn|sparse|fft|rand|solver|da|pti|file|tensor[A-Z])[A-Z]\w+|nvml[A-Z]\w+")
_OF_ASCEND = re.compile(r"_ZNK?3atb|_ZN3Mki|aclrt|aclnn|acl[A-Z]|Hccl|_ZN2ge")

#: compiled parts that lie beside their package, by how they are named -> their package
_PARTS = (
    (
        r"amp_C|apex_C|syncbn|xentropy_cuda|(?:mlp|fused_\w{1,40}|scaled_\w{1,40}softmax|generic_scaled_masked_softmax)_cuda",
        "apex",
    ),
    (r"causal_conv1d_cuda", "causal-conv1d"),
    (r"selective_scan_cuda", "mamba-ssm"),
)
#: what pip installs where that is not the name: the index's own apex is something else
_SOURCES = {"apex": "git+https://github.com/NVIDIA/apex"}


def _package(module: str) -> str:
    return next((name for pattern, name in _PARTS if re.fullmatch(pattern, module)), module.replace("_", "-"))


def _of_machine(hits: Hits, name: str, package: str, symbol: str) -> Finding:
    """A function of the driver or of CANN, which no package of pip brings."""
    cuda, driver = next(((each[1], each[2]) for each in _SINCE if re.match(each[0], symbol)), ("", ""))
    return found(
        PROBLEM,
        ASCEND if _OF_ASCEND.match(symbol) else DRIVER,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=LIKELY,
        name=name,
        package=package,
        symbol=symbol[:36] + ("..." if len(symbol) > 36 else ""),
        since=f", and came with CUDA {cuda}" if cuda else "",
        since_zh=f",从 CUDA {cuda} 起提供" if cuda else "",
        least=f" to {driver} or newer" if driver else "",
        least_zh=f"到 {driver} 及以上" if driver else "",
    )


def explain(hits: Hits) -> Finding | None:
    """Whose file it is, and whose function, tell the kind."""
    library, symbol = hits.get("library") or "", hits.get("symbol") or ""
    told_elsewhere = any(part in library for part in ("flash_attn", "torchvision", "libtorchaudio"))
    if symbol.startswith("__nvJitLink") or told_elsewhere:
        return None  # told by problems of their own
    folder, base = ["", *library.split("/")][-2:]
    name = (f"{folder}/" if folder not in ("", "site-packages", "dist-packages") else "") + base.partition(".")[0]
    after = re.split(r"(?:site|dist)-packages/", library)[-1] if "-packages/" in library else ""
    package = after.partition("/")[0].partition(".")[0] or base.partition(".")[0]
    own = package in ("torch", "nvidia") or base.startswith(("libtorch", "libc10"))
    of_torch = any(part in symbol for part in ("3c10", "5torch", "N2at", "THP", "_ZN6caffe2"))
    if of_torch and "-packages/" not in library and re.search(r"/build/|torch_extensions/", library):
        return found(
            PROBLEM,
            LOG_MESSAGE_BUILT,
            where=hits.where(),
            evidence=hits.evidence(),
            confidence=LIKELY,
            name=base,
            symbol=symbol[:36] + ("..." if len(symbol) > 36 else ""),
            folder=library.rpartition("/")[0],
        )
    if _OF_DRIVER.fullmatch(symbol) or _OF_ASCEND.match(symbol):
        return _of_machine(hits, name, _package(package), symbol)
    if re.match(r"/(?:usr/)?lib(?:64)?/", library) and "-packages/" not in library and not of_torch:
        return found(
            PROBLEM, LOG_MESSAGE_SYSTEM, where=hits.where(), evidence=hits.evidence(), confidence=LIKELY, name=base,
            symbol=symbol[:36], wanted=f" ({hits.get('version')})" if hits.get("version") else "",
            package="libffi" if symbol.startswith("ffi_") else "PACKAGE",
        )  # fmt: skip
    old = symbol.endswith("Ss") or "RKSs" in symbol or "KSs" in symbol
    return found(
        PROBLEM,
        LOG_MESSAGE_OWN if own else LOG_MESSAGE if of_torch else LOG_MESSAGE_OTHER,
        where=hits.where(),
        evidence=hits.evidence(),
        confidence=CONFIRMED if of_torch and not own else LIKELY,
        name=name,
        package=_package(package),
        source=_SOURCES.get(_package(package), _package(package)),
        symbol=symbol[:36] + ("..." if len(symbol) > 36 else ""),
        abi=", and of the old and the new C++ ABI" if old else "",
    )
