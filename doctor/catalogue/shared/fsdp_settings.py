"""What the checks of FSDP share: settings of `fsdp_config` in the accelerate file or as options of the launcher."""

from __future__ import annotations

from doctor.base.evidence import Observed
from doctor.catalogue.settings import whole
from doctor.facts.accelerate_config import AccelerateConfig
from doctor.facts.launch import Launch


def fsdp_setting(launch: Launch, accelerate: AccelerateConfig | None, name: str) -> Observed | None:
    """A setting by its name without the prefix `fsdp_`; the command line goes first."""
    option = launch.option(f"fsdp_{name}")
    if option is not None or accelerate is None:
        return option
    settings = accelerate.settings
    return settings.get(f"fsdp_config.fsdp_{name}") or settings.get(f"fsdp_config.{name}")


def uses_fsdp(launch: Launch, accelerate: AccelerateConfig | None) -> bool:
    """Whether accelerate starts the run with FSDP."""
    if launch.kind not in {"accelerate", "trl"}:
        return False
    if launch.option("use_fsdp") is not None:
        return True
    kind = accelerate.settings.get("distributed_type") if accelerate is not None else None
    return kind is not None and kind.value == "FSDP"


def version(launch: Launch, accelerate: AccelerateConfig | None) -> int:
    """FSDP version that is asked for; accelerate's default is 1."""
    setting = fsdp_setting(launch, accelerate, "version")
    return (whole(setting.value) if setting is not None else None) or 1
