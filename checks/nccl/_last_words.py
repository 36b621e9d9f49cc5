"""What NCCL says right before it ends, and what follows from it.

It prints these words as "Last error:" below the exception, or as its own warning. Facts: NCCL's sources and its guide
(https://docs.nvidia.com/deeplearning/nccl/user-guide/docs/troubleshooting.html).
"""

from __future__ import annotations

from doctor.catalogue.words import words_of

TOML = words_of(__name__)

#: a part of NCCL's own words -> what is said about them
LAST_WORDS = {
    "network": TOML["network"],
    "attaching": TOML["attaching"],
    "not supported in the installed": TOML["function"],
    "NVLS": TOML["nvls"],
    "truncated": TOML["truncated"],
    "Failed to CUDA": TOML["memory"],
    "unknown error": TOML["unknown"],
    "nvls.cc": TOML["nvls"],
    "operation not supported": TOML["operation"],
    "invalid device function": TOML["kernels"],
    "port error": TOML["port"],
}
