"""Diagnostics for GRPO training: TRL, vLLM, DeepSpeed, Accelerate, veRL, Trinity-RFT and the NVIDIA stack below.

Importing this package imports neither torch nor anything that opens CUDA.
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False  # `typing` is not imported: `python -m doctor` still looks into the working directory here
if TYPE_CHECKING:
    from typing import Any

    from doctor.monitors.guard.guard import Guard
    from doctor.monitors.guard.transformers import DoctorCallback, guard
    from doctor.monitors.guard.watch import watch
    from doctor.run.phases import phase

__version__ = "0.1.0"
__all__ = ["DoctorCallback", "Guard", "__version__", "guard", "phase", "watch"]

_HOMES = {
    "DoctorCallback": "doctor.monitors.guard.transformers",
    "Guard": "doctor.monitors.guard.guard",
    "guard": "doctor.monitors.guard.transformers",
    "phase": "doctor.run.phases",
    "watch": "doctor.monitors.guard.watch",
}


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for."""
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
