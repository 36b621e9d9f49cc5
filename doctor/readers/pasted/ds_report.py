"""`ds_report`: https://github.com/deepspeedai/DeepSpeed/blob/master/deepspeed/env_report.py."""

from __future__ import annotations

import re
from collections.abc import Sequence

from doctor.base.patterns import later
from doctor.readers.pasted.stated import VERSION, Stated, bytes_of

_LINE = later(r"^\s*([a-z][\w /()]*?(?:w\.)?)\s+\.{2,}\s+(.*?)\s*$")
SOURCE = "ds_report"


def read(lines: Sequence[str], stated: Stated) -> None:
    """Read the section "general environment info"."""
    found: dict[str, str] = {}
    for line in lines:
        match = _LINE.match(line)
        if match:
            found.setdefault(match[1], match[2])
    if "deepspeed info" not in found and "deepspeed install path" not in found:
        return
    version = re.match(VERSION, found.get("deepspeed info", ""))
    if version:
        stated.package("deepspeed", version[0].rstrip(","), SOURCE)
    torch = re.match(VERSION, found.get("torch version", ""))
    if torch:
        if stated.torch_version is None:
            cuda, hip = found.get("torch cuda version", ""), found.get("torch hip version", "")
            stated.torch_cuda = cuda if re.match(r"[0-9]+\.[0-9]+", cuda) else None
            stated.torch_hip = hip if re.match(r"[0-9]", hip) else None
            stated.torch_cuda_known = bool(stated.torch_cuda or stated.torch_hip)
        stated.torch(torch[0], SOURCE)
    nvcc = re.match(r"[0-9]+\.[0-9]+", found.get("nvcc version", ""))
    stated.say("nvcc", nvcc[0] if nvcc else None, SOURCE, "cuda")
    shm = re.match(r"([0-9.]+)\s*([KMGT]?B)", found.get("shared memory (/dev/shm) size", ""))
    if shm:
        stated.say("shm_bytes", bytes_of(shm[1], shm[2]), SOURCE, "host")
    python = re.search(r"/lib/python(3\.[0-9]+)/", found.get("torch install path", ""))
    stated.say("python", python[1] if python else None, SOURCE, "interpreter")
