"""`trl env`, `transformers env` and `accelerate env`: lines of `- NAME version: VALUE`.

Formats: https://github.com/huggingface/trl/blob/main/trl/scripts/env.py,
https://github.com/huggingface/transformers/blob/main/src/transformers/cli/system.py and
https://github.com/huggingface/accelerate/blob/main/src/accelerate/commands/env.py
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from doctor.base.patterns import later
from doctor.readers.pasted.stated import VERSION, Stated, bytes_of

_LINE = later(r"^\s*(?:[-*•]\s+)?([A-Za-z`][\w` /?()-]*?):\s*(.*?)\s*$")
_NAMES = {
    "transformers version": "transformers", "accelerate version": "accelerate", "trl version": "trl",
    "huggingface_hub version": "huggingface-hub", "hf hub version": "huggingface-hub",
    "safetensors version": "safetensors", "datasets version": "datasets", "peft version": "peft",
    "vllm version": "vllm", "deepspeed version": "deepspeed", "liger-kernel version": "liger-kernel",
    "bitsandbytes version": "bitsandbytes", "diffusers version": "diffusers", "llm-blender version": "llm-blender",
    "openai version": "openai", "numpy version": "numpy", "tokenizers version": "tokenizers",
}  # fmt: skip
#: one of these must be there, and the first tells the tool: trl env also states the versions of the others
_TOOLS = (
    ("trl version", "trl env"), ("transformers version", "transformers env"), ("accelerate version", "accelerate env"),
)  # fmt: skip


def read(lines: Sequence[str], stated: Stated) -> None:
    """Read all reports of this family in the text."""
    found: dict[str, str] = {}
    for line in lines:
        match = _LINE.match(line)
        if match:
            key = match[1].replace("`", "").lower().strip()
            found.setdefault(re.sub(r"\s*\(.*\)$", "", key) if "version" in key else key, match[2])
    if "python version" not in found or not {"pytorch version", "platform"} & found.keys():
        return
    source = next((name for key, name in _TOOLS if key in found), None)
    if source is None:
        return
    for key, name in _NAMES.items():
        version = re.match(VERSION, found.get(key, ""))
        if version:
            stated.package(name, version[0], source)
    _system(found, stated, source)
    _devices(found, stated, source)


def _system(found: dict[str, str], stated: Stated, source: str) -> None:
    python = re.match(r"[0-9]+\.[0-9]+(?:\.[0-9a-z]+)?", found["python version"])
    stated.say("python", python[0] if python else None, source, "interpreter")
    stated.platform(found.get("platform", ""), source)
    torch = re.match(VERSION, found.get("pytorch version", ""))
    if torch:
        stated.torch(torch[0], source)
    memory = re.match(r"([0-9.]+)\s*([KMGT]i?B)", found.get("system ram", ""))
    if memory:
        stated.say("memory_bytes", bytes_of(memory[1], memory[2]), source, "host")


def _devices(found: dict[str, str], stated: Stated, source: str) -> None:
    """List the GPUs that trl env names; `GPU type` of the others is the first card only, which is no list."""
    text = found.get("cuda device(s)") or found.get("accelerator(s)") or ""
    names = [name.strip() for name in text.split(",")]
    if any(word in text for word in ("NVIDIA", "Tesla", "GeForce", "Quadro")):
        for index, name in enumerate(names):
            stated.gpu(index, source, name=name)
    elif text.lower() in {"cpu", "not available", "n/a", "none"}:
        stated.no_gpu = f"{source} shows no NVIDIA GPU"
