"""Judges extension-of-another-torch (TOR011), whose words stand in the TOML beside it."""

from __future__ import annotations

import re
from typing import Any

from doctor.base.patterns import later
from doctor.catalogue.finding import CONFIRMED, LIKELY, Finding, found
from doctor.catalogue.signature import Hits
from doctor.catalogue.words import words_of

TOML = words_of(__name__)
PROBLEM = TOML.problem
LOG_MESSAGE = TOML["log"]
LOG_MESSAGE_OWN = TOML["log_own"]
LOG_MESSAGE_UNNAMED = TOML["log_unnamed"]
LOG_MESSAGE_SYSTEM = TOML["log_system"]
LOG_MESSAGE_OTHER = TOML["log_other"]
LOG_MESSAGE_BUILT = TOML["log_built"]
DRIVER = TOML["driver"]
ASCEND = TOML["ascend"]


#: functions of the driver -> the CUDA release that brought them, and its first Linux driver
_SINCE = ((r"cuGreenCtx", "12.4", "550"), (r"cuMulticast", "12.1", "530"), (r"cuTensorMap", "12.0", "525"))
_OF_DRIVER = later(r"cu(?!blas|dnn|sparse|fft|rand|solver|da|pti|file|tensor[A-Z])[A-Z]\w+|nvml[A-Z]\w+")
_OF_ASCEND = later(r"_ZNK?3atb|_ZN3Mki|aclrt|aclnn|acl[A-Z]|Hccl|_ZN2ge")

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
        symbol=_shortened(symbol),
        cuda=cuda,
        driver=driver,
    )


def _shortened(symbol: str) -> str:
    return symbol[:36] + ("..." if len(symbol) > 36 else "")


class _Library:
    """The file that lacks a function: how it is called for users, and whose it is.

    Args:
        path: of the file, as the loader printed it.

    """

    def __init__(self, path: str) -> None:
        folder, base = ["", *path.split("/")][-2:]
        after = re.split(r"(?:site|dist)-packages/", path)[-1] if "-packages/" in path else ""
        beside = folder if folder and not path.startswith(("/", "~")) else ""  # the path begins with the package
        module = after.partition("/")[0].partition(".")[0] or beside or base.partition(".")[0]
        self.path, self.base = path, base
        inside = f"{folder}/" if folder not in ("", "site-packages", "dist-packages") else ""
        self.name = inside + base.partition(".")[0]
        self.package = _package(module)
        self.of_torch = module in ("torch", "nvidia") or base.startswith(("libtorch", "libc10"))
        self.installed = "-packages/" in path
        self.built_here = not self.installed and bool(re.search(r"/build/|torch_extensions/", path))
        self.of_the_system = not self.installed and bool(re.match(r"/(?:usr/)?lib(?:64)?/", path))


def explain(hits: Hits) -> Finding | None:
    """Whose file it is, and whose function, tell the kind."""
    path, symbol = hits.get("library") or "", hits.get("symbol") or ""
    told_elsewhere = any(part in path for part in ("flash_attn", "torchvision", "libtorchaudio"))
    if symbol.startswith("__nvJitLink") or told_elsewhere:
        return None  # told by problems of their own
    shown: dict[str, Any] = {"where": hits.where(), "evidence": hits.evidence(), "symbol": _shortened(symbol)}
    if not path:
        return found(PROBLEM, LOG_MESSAGE_UNNAMED, confidence=LIKELY, **shown)
    library = _Library(path)
    of_torch = any(part in symbol for part in ("3c10", "5torch", "N2at", "THP", "_ZN6caffe2"))
    if of_torch and library.built_here:
        folder = path.rpartition("/")[0]
        return found(PROBLEM, LOG_MESSAGE_BUILT, confidence=LIKELY, name=library.base, folder=folder, **shown)
    if _OF_DRIVER.fullmatch(symbol) or _OF_ASCEND.match(symbol):
        return _of_machine(hits, library.name, library.package, symbol)
    if library.of_the_system and not of_torch:
        return found(
            PROBLEM, LOG_MESSAGE_SYSTEM, confidence=LIKELY, name=library.name,
            wanted=f" ({hits.get('version')})" if hits.get("version") else "",
            package="libffi" if symbol.startswith("ffi_") else "PACKAGE", **{**shown, "symbol": symbol[:36]},
        )  # fmt: skip
    return found(
        PROBLEM, LOG_MESSAGE_OWN if library.of_torch else LOG_MESSAGE if of_torch else LOG_MESSAGE_OTHER,
        confidence=CONFIRMED if of_torch and not library.of_torch else LIKELY, name=library.name,
        package=library.package, source=_SOURCES.get(library.package, library.package),
        old_abi=symbol.endswith("Ss") or "RKSs" in symbol or "KSs" in symbol, **shown,
    )  # fmt: skip
