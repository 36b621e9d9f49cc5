"""torch.utils.collect_env and vLLM's collect_env, which grew out of it.

Formats: https://github.com/pytorch/pytorch/blob/main/torch/utils/collect_env.py and
https://github.com/vllm-project/vllm/blob/main/vllm/collect_env.py
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from doctor.base.patterns import later
from doctor.readers.pasted import nvidia_smi
from doctor.readers.pasted.pip_list import conda_row
from doctor.readers.pasted.stated import VERSION, Stated

_KEY = later(r"^\s*([A-Za-z][A-Za-z0-9_ /()]*?)\s*:\s*(.*?)\s*$")
_PIP = later(rf"^\s*\[pip3?\]\s+([A-Za-z0-9][\w.-]*)==({VERSION})")
_CONDA = later(r"^\s*\[conda\]\s+(\S.*)$")
_VARIABLE = later(r"^\s*([A-Z][A-Za-z0-9_]{2,})=(.*)$")
_NOTHING = frozenset({"", "N/A", "None", "No CUDA", "Could not collect", "NA"})
#: keys that no other report has; people shorten what they paste, so that one of them has to do
_OF_IT_ALONE = frozenset({
    "CUDA used to build PyTorch", "ROCM used to build PyTorch", "Is CUDA available", "GPU models and configuration",
    "Nvidia driver version", "cuDNN version", "Is XNNPACK available", "Versions of relevant libraries",
})  # fmt: skip
#: vLLM sets these itself on import, so its own report always shows them:
#: https://github.com/vllm-project/vllm/blob/main/vllm/env_override.py
_SET_BY_VLLM = frozenset({
    "NCCL_CUMEM_ENABLE", "TORCHINDUCTOR_COMPILE_THREADS", "PYTORCH_NVML_BASED_CUDA_CHECK", "CUDA_MODULE_LOADING",
    "TORCHINDUCTOR_CACHE_DIR",
})  # fmt: skip


def read(lines: Sequence[str], stated: Stated, whole: Sequence[str]) -> None:
    """Read the first collect_env report in the text; `whole` has the lines that are too long for the others."""
    keys: dict[str, tuple[str, int]] = {}
    for number, line in enumerate(lines):
        match = _KEY.match(line)
        if match and match[1] == "PyTorch version" and match[1] in keys:
            lines, whole = lines[:number], whole[:number]  # a second machine, or the same one later
            break
        if match:
            keys.setdefault(match[1], (match[2], number))
    if "PyTorch version" not in keys or not _OF_IT_ALONE & keys.keys():
        return
    vllm = "vLLM Version" in keys
    source = "vLLM collect_env" if vllm else "torch collect_env"
    texts = {key: value for key, (value, _) in keys.items()}
    _torch(texts, stated, source)
    _system(texts, stated, source)
    _libraries(lines, stated, source)
    _gpus(lines, keys, stated, source)
    if vllm:
        version = texts["vLLM Version"].split(" ")[0]
        if re.match(VERSION, version):
            stated.package("vllm", version, source)
        _variables(whole, keys["vLLM Version"][1], stated, source)


def _torch(texts: dict[str, str], stated: Stated, source: str) -> None:
    version = texts["PyTorch version"]
    if not re.match(VERSION, version):
        return
    if stated.torch_version is None:
        stated.torch_version = version
        cuda = texts.get("CUDA used to build PyTorch")
        if cuda is not None and cuda not in {"N/A", ""}:
            # torch.version.cuda is None in a CPU build and is printed as "None" or "Could not collect"
            stated.torch_cuda = cuda if re.match(r"[0-9]+\.[0-9]+", cuda) else None
            stated.torch_cuda_known = True
        hip = texts.get("ROCM used to build PyTorch", "")
        if re.match(r"[0-9]", hip):
            stated.torch_hip, stated.torch_cuda_known = hip, True
    stated.note(source, "packages")


def _system(texts: dict[str, str], stated: Stated, source: str) -> None:
    python = texts.get("Python version", "")
    stated.say("python", python.split(" ")[0] if python[:1].isdigit() else None, source, "interpreter")
    if "packaged by conda-forge" in python or "Anaconda" in python:
        stated.say("environment_kind", "conda", source, "interpreter")
    stated.platform(texts.get("Python platform", ""), source)
    libc = re.match(r"glibc-([0-9.]+)", texts.get("Libc version", ""))
    stated.say("glibc", libc[1] if libc else None, source, "interpreter")
    system = texts.get("OS", "")
    stated.say("os", re.sub(r"\s*\([^()]*\)$", "", system) if system not in _NOTHING else None, source, "host")
    toolkit = re.match(r"([0-9]+\.[0-9]+)", texts.get("CUDA runtime version", ""))
    stated.say("nvcc", toolkit[1] if toolkit else None, source, "cuda")
    driver = texts.get("Nvidia driver version", "")
    stated.say("driver", driver if re.match(r"[0-9]+\.[0-9.]+$", driver) else None, source, "gpus")


def _libraries(lines: Sequence[str], stated: Stated, source: str) -> None:
    for line in lines:
        pip = _PIP.match(line)
        if pip:
            stated.package(pip[1], pip[2], source)
            continue
        conda = _CONDA.match(line)
        if conda:
            conda_row(conda[1], stated, source)
    version = stated.torch_version
    if version is not None:
        stated.package("torch", version, source)


def _gpus(lines: Sequence[str], keys: dict[str, tuple[str, int]], stated: Stated, source: str) -> None:
    if "GPU models and configuration" not in keys:
        return
    text, number = keys["GPU models and configuration"]
    listed = [text] if text else []
    for line in lines[number + 1 :]:
        if not re.match(r"^\s*(?:GPU \d+:|MIG )", line):
            if line.strip() or listed:
                break
            continue
        listed.append(line)
    before = len(stated.gpus)
    nvidia_smi.read_list(listed, stated, source)
    if len(stated.gpus) == before and text in _NOTHING and keys.get("Is CUDA available", ("",))[0] != "True":
        stated.no_gpu = f"{source} shows no NVIDIA GPU"


def _variables(lines: Sequence[str], start: int, stated: Stated, source: str) -> None:
    """Variables after vLLM's GPU topology: its own choice of names, secrets left out by it and by us."""
    from doctor.base.redact import redact_variable
    from doctor.facts.environment import NAMES, PREFIXES

    empty = 0
    for line in lines[start:]:
        match = _VARIABLE.match(line)
        if not match:
            empty += 1
            if (stated.environment and empty > 2) or line.startswith("#"):
                break
            continue
        empty = 0
        name, value = match[1], match[2].strip()
        if name not in _SET_BY_VLLM and (name in NAMES or name.startswith(PREFIXES)):
            stated.environment.setdefault(name, redact_variable(name, value))
        stated.note(source, "environment")
