"""The model must be downloaded and does not fit on the disk of the cache.

## What it means
The model is not on this machine, and the file system of Hugging Face's cache has less room than its weights take.
## What it does to a run
The download ends with `No space left on device` after most of it, on every rank that tries.
## What to do
Free the disk, or put the cache on another one with HF_HOME.
## How it is found
Size by the number of parameters in the name ("7B"), at two bytes each; names of quantized models are left alone.
## References
https://huggingface.co/docs/huggingface_hub/package_reference/environment_variables#hfhome
"""

from __future__ import annotations

import re

from doctor.checks.host._helpers import size
from doctor.checks.hub._helpers import is_repository, named_model, place, quoted
from doctor.core.check import Judgement, check
from doctor.core.finding import LIKELY, Evidence, Message, Words, found
from doctor.core.problem import WARNING, Problem
from doctor.facts.host import Host
from doctor.facts.hub import Hub
from doctor.facts.model import Model
from doctor.facts.serving import Serving
from doctor.facts.training import Training
from doctor.facts.trinity_config import TrinityConfig
from doctor.facts.verl_config import VerlConfig

PROBLEM = Problem(id="HST009", name="download-does-not-fit", severity=WARNING, since="0.1")
BYTES_PER_PARAMETER = 2  # bf16 and fp16, how models are published
_PARAMETERS = re.compile(r"(?i)(?<![a-z0-9.])(\d+(?:\.\d+)?)b(?![a-z0-9])")
_SMALLER = re.compile(r"(?i)awq|gptq|gguf|exl2|mlx|quant|bnb|[48]-?bit|int[48]|fp[48]|w[48]a|gpt-oss|lora|adapter")

MESSAGE = Message(
    en=Words(
        "`{model}` takes about {needed}, and `{path}` has {free} left",
        "The model is not on this machine. Its download ends with `No space left on device`.",
        "Free the disk, or put Hugging Face's cache on another one.",
    ),
    zh=Words(
        "`{model}` 约需 {needed},而 `{path}` 只剩 {free}",
        "本机没有该模型,下载会以 `No space left on device` 中断。",
        "清理磁盘,或把 Hugging Face 缓存放到其他磁盘。",
    ),
)


@check(PROBLEM)
def download_does_not_fit(
    host: Host,
    hub: Hub,
    model: Model | None,
    training: Training | None,
    serving: Serving | None,
    verl_config: VerlConfig | None,
    trinity_config: TrinityConfig | None,
) -> Judgement:
    """Judge models that are not here and whose name tells their size."""
    named = named_model(training, serving, verl_config, trinity_config)
    disk = host.disk("hf cache")
    if model is not None or named is None or disk is None or disk.free_bytes is None:
        return
    name = str(named.value)
    match = _PARAMETERS.search(name)
    if match is None or not is_repository(name) or _SMALLER.search(name) or name in hub.cached_models:
        return
    needed = int(float(match.group(1)) * 1e9 * BYTES_PER_PARAMETER)
    if disk.free_bytes >= needed:
        return
    yield found(
        PROBLEM,
        MESSAGE,
        model=name,
        needed=size(needed),
        path=disk.path,
        free=size(disk.free_bytes),
        confidence=LIKELY,
        where=place(named),
        commands=(f"du -sh {disk.path}", "export HF_HOME=/path/to/a/larger/disk"),
        evidence=(quoted(named), Evidence("statvfs", f"{disk.path}: {disk.free_bytes} bytes free")),
    )
