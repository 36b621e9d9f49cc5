"""Diagnostics for GRPO training: TRL, vLLM, DeepSpeed, Accelerate, veRL, Trinity-RFT and the NVIDIA stack below.

Importing this package imports neither torch nor anything that opens CUDA.
"""

from __future__ import annotations

__version__ = "0.1.0"
__all__ = ["__version__"]
