"""DeepSpeed's JSON, from a file or from a dictionary in the script."""

from __future__ import annotations

from dataclasses import field

from doctor.base.evidence import Place
from doctor.base.fact import BrokenFile, RepeatedKey, Settings
from doctor.base.record import record


@record
class DeepspeedConfig:
    """Keys dotted (`zero_optimization.stage`), each with its place. Values "auto" are kept as the text "auto".

    `named_by`: where the path was written (accelerate YAML, training argument, command line: None).
    """

    path: str | None
    settings: Settings = field(default_factory=dict)
    named_by: Place | None = None
    broken: BrokenFile | None = None
    repeated_keys: tuple[RepeatedKey, ...] = ()

    @property
    def zero_stage(self) -> int | None:
        """ZeRO stage that the file states; 0 where it has no `zero_optimization`, None when it cannot be read."""
        if self.broken:
            return None
        stage = self.settings.get("zero_optimization.stage")
        if stage is None:
            return 0
        return stage.value if isinstance(stage.value, int) else None

    def offload(self, what: str) -> str:
        """Device that "optimizer" or "param" is offloaded to: "none", "cpu" or "nvme"."""
        device = self.settings.get(f"zero_optimization.offload_{what}.device")
        if device is not None:
            return device.value if device.value in {"cpu", "nvme"} else "none"
        name = "cpu_offload" if what == "optimizer" else "cpu_offload_params"  # before DeepSpeed 0.4
        old = self.settings.get(f"zero_optimization.{name}")
        return "cpu" if old is not None and old.value is True else "none"

    @property
    def precision(self) -> str | None:
        """What is switched on: "fp16" or "bf16"; "no" where both are off by name, else None."""
        states = {name: self.settings.get(f"{name}.enabled") for name in ("bf16", "bfloat16", "fp16")}
        for name, state in states.items():
            if state is not None and state.value is True:
                return "fp16" if name == "fp16" else "bf16"
        known = [state for state in states.values() if state is not None]
        return "no" if len(known) >= 2 and all(state.value is False for state in known) else None
