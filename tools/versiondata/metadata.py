"""What METADATA says: requirements inside the stack, and the pins that checks need as plain columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from email.parser import HeaderParser
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from versiondata.history import column

# Packages whose releases are listed, and from which release on (about the start of 2024; TRL from its 0.7).
PACKAGES = {
    "trl": "0.7.0",
    "vllm": "0.6.0",
    "torch": "2.2.0",
    "deepspeed": "0.9.0",
    "accelerate": "0.26.0",
    "transformers": "4.37.0",
    "peft": "0.8.0",
    "flash-attn": "2.5.0",
    "datasets": "2.16.1",
    "bitsandbytes": "0.42.0",
    "ray": "2.9.1",
    "verl": "0.1",
    "trinity-rft": "0.1.0",
    "openrlhf": "0.7.1",
    "liger-kernel": "0.1.0",
    "triton": "2.2.0",
    "xformers": "0.0.24",
    "flashinfer-python": "0.2",
    "numpy": "1.26.3",
    "nvidia-ml-py": "12.535.133",
    "tokenizers": "0.15.1",
    "huggingface-hub": "0.20.3",
    "safetensors": "0.4.1",
    "sglang": "0.4.0",
    "tensordict": "0.3.0",
    "torchvision": "0.17.0",
    "torchaudio": "2.2.0",
}
_ALSO_OF_INTEREST = {
    "compressed-tensors",
    "cuda-toolkit",
    "fastapi",
    "hydra-core",
    "kernels",
    "mpi4py",
    "numba",
    "outlines",
    "outlines-core",
    "pandas",
    "pyarrow",
    "pydantic",
    "pynvml",
    "setuptools",
    "starlette",
    "torchcodec",
    "torchdata",
    "wandb",
    "xgrammar",
}
# Words in the name of an extra that only the package's own developers, or users of another framework, ask for.
_OTHERS_EXTRAS = {
    "all",
    "benchmark",
    "benchmarks",
    "bench",
    "ci",
    "dev",
    "develop",
    "doc",
    "docs",
    "flax",
    "jax",
    "lint",
    "onnx",
    "onnxruntime",
    "pipelines",
    "quality",
    "readthedocs",
    "style",
    "tensorflow",
    "test",
    "testing",
    "tests",
    "tf",
    "torchhub",
    "tpu",
    "typing",
    "agents",
    "cpp",
    "template",
    "templates",
    "tensorizer",
    "sagemaker",
    "retrieval",
    "speech",
    "audio",
    "vision",
    "video",
    "xgb",
    "rllib",
    "tune",
    "air",
    "serve",
    "client",
    "observability",
    "cgraph",
    "1bit",
    "autotuning",
    "inf",
    "sd",
    "sparse",
    "integrations",
    "serving",
}


def requirements(metadata: str) -> list[Requirement]:
    """All Requires-Dist of a METADATA text; lines that are no valid requirement are left out."""
    found = []
    for line in HeaderParser().parsestr(metadata).get_all("Requires-Dist") or []:
        try:
            found.append(Requirement(line))
        except InvalidRequirement:
            continue
    return found


def requires_python(metadata: str | None) -> str | None:
    """The Requires-Python header."""
    value: str | None = HeaderParser().parsestr(metadata or "").get("Requires-Python")
    return value


def of_interest(found: Iterable[Requirement]) -> list[str]:
    """Requirements that name packages of the stack, as sorted PEP 508 strings."""
    kept = {str(each) for each in found if _names_stack(each) and not _of_others(each)}
    return sorted(kept, key=str.lower)


def _names_stack(each: Requirement) -> bool:
    name = canonicalize_name(each.name)
    return name in PACKAGES or name in _ALSO_OF_INTEREST or name.startswith("nvidia-")


def _of_others(each: Requirement) -> bool:
    extras = re.findall(r'extra == "([^"]+)"', str(each.marker or ""))
    return any(_OTHERS_EXTRAS & set(re.split(r"[-_]", extra.lower())) for extra in extras)


def specifier(found: Iterable[Requirement], name: str, extra: str | None = None) -> str | None:
    """Specifier with which a package is required (by an extra), None when it is not required or without a bound."""
    for each in found:
        marker = str(each.marker or "")
        wanted = f'extra == "{extra}"' in marker if extra else "extra ==" not in marker
        if canonicalize_name(each.name) == name and wanted:
            return str(each.specifier) or None
    return None


def pin_of(found: Iterable[Requirement], prefix: str) -> str | None:
    """Specifier of the NVIDIA wheel of a library whatever its CUDA suffix (nvidia-cublas-cu12, nvidia-cublas)."""
    for each in found:
        if re.fullmatch(rf"{prefix}(-cu\d+)?", canonicalize_name(each.name)):
            return str(each.specifier) or None
    return None


def torch_cuda(found: Iterable[Requirement]) -> str | None:
    """CUDA version of the default Linux wheel of torch: major.minor of the CUDA runtime that it requires."""
    listed = list(found)
    pin = pin_of(listed, "nvidia-cuda-runtime") or specifier(listed, "cuda-toolkit")
    match = re.match(r"==(\d+\.\d+)", pin or "")
    return match.group(1) if match else None


def metadata_columns(per_version: Mapping[str, str | None], fields: Mapping[str, Any]) -> dict[str, Any]:
    """Columns computed from the requirements of each release; ``fields`` maps a column to a function of the
    requirements.
    """
    read = {version: requirements(text) for version, text in per_version.items() if text}
    columns = {
        field: column((version, compute(read.get(version, []))) for version in per_version)
        for field, compute in fields.items()
    }
    columns["requires_python"] = column((version, requires_python(text)) for version, text in per_version.items())
    return columns
