"""Shared by the checks of flash-attn: which attention the run asks for."""

from __future__ import annotations

import re

from doctor.base.evidence import Observed
from doctor.base.patterns import later
from doctor.facts.packages import Packages
from doctor.facts.training import Training

#: how Transformers tells a kernel of the Hub from its own names (integrations/hub_kernels.py, 4.57.1)
_KERNEL = later(r"[^/:]+/[^/:]+(@[^/:]+)?(:[^/:]+)?")


def asked_attention(training: Training) -> Observed | None:
    """Return the `attn_implementation` of the model that is trained, None when nobody readable set it."""
    for setting in (
        training.model_arguments.get("attn_implementation"),
        training.nested.get("model_init_kwargs.attn_implementation"),
    ):
        if setting is not None and setting.known and isinstance(setting.value, str):
            return setting
    return None


def flash_version(attention: str) -> int | None:
    """Return 2, 3 or 4 for `flash_attention_2` ..., None for everything else."""
    match = re.fullmatch(r"(?:paged\|)?flash_attention_(\d)", attention)
    return int(match[1]) if match else None


def is_kernel(attention: str) -> bool:
    """Whether the name is that of a kernel on the Hub, `kernels-community/flash-attn`."""
    return _KERNEL.fullmatch(attention.removeprefix("paged|")) is not None


def falls_back_to_kernels(packages: Packages) -> bool:
    """Whether Transformers takes the kernel of the Hub where flash-attn is missing (4.56.0 and newer, not 4.55.0)."""
    return "kernels" in packages.distributions and packages.matches("transformers", "<4.56") is not True
