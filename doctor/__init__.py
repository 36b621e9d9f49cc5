"""Diagnostics for GRPO training: TRL, vLLM, DeepSpeed, Accelerate, veRL, Trinity-RFT and the NVIDIA stack below.

Importing this package imports neither torch nor anything that opens CUDA.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from doctor.core.marks import phase

__version__ = "0.1.0"
__all__ = ["__version__", "phase"]


def __getattr__(name: str) -> Any:
    """Import a public name when it is first asked for."""
    if name == "phase":
        from doctor.core.marks import phase

        return phase
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
