"""Judges download-does-not-fit (HST009), whose words stand in the TOML beside it."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.base.patterns import later
from doctor.catalogue.check import Judgement, check
from doctor.catalogue.finding import LIKELY, found
from doctor.catalogue.settings import place_of
from doctor.catalogue.shared.named_models import is_repository, named_model, on_machine, quoted
from doctor.catalogue.shared.sizes import size
from doctor.catalogue.words import words_of
from doctor.facts.host import Host
from doctor.facts.hub import Hub
from doctor.facts.model import Model
from doctor.facts.serving import Serving
from doctor.facts.training import Training
from doctor.facts.trinity_config import TrinityConfig
from doctor.facts.verl_config import VerlConfig

TOML = words_of(__name__)
PROBLEM = TOML.problem
MESSAGE = TOML["main"]


BYTES_PER_PARAMETER = 2  # bf16 and fp16, how models are published
_PARAMETERS = later(r"(?i)(?<![a-z0-9.])(\d+(?:\.\d+)?)b(?![a-z0-9])")
_SMALLER = later(r"(?i)awq|gptq|gguf|exl2|mlx|quant|bnb|[48]-?bit|int[48]|fp[48]|w[48]a|gpt-oss|lora|adapter")


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
    if on_machine(model) or named is None or disk is None or disk.free_bytes is None:
        return
    name = str(named.value)
    parameters = _parameters(name, model)
    if parameters is None or not is_repository(name) or _SMALLER.search(name) or name in hub.cached_models:
        return
    needed = int(parameters * BYTES_PER_PARAMETER)
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
        where=place_of(named),
        commands=(f"du -sh {disk.path}", "export HF_HOME=/path/to/a/larger/disk"),
        evidence=(quoted(named), Observed.quoted("statvfs", f"{disk.path}: {disk.free_bytes} bytes free")),
    )


def _parameters(name: str, model: Model | None) -> float | None:
    """As public sources count them, else as the name says."""
    if model is not None and model.parameters:
        return None if model.quantization else model.parameters
    match = _PARAMETERS.search(name)
    return float(match.group(1)) * 1e9 if match else None
