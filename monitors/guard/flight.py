"""NCCL's flight recorder: switched on where it is off, and written out when a run stands still.

Names of the variables by release: https://github.com/NVIDIA/nvidia-resiliency-ext/pull/163; what they do:
https://docs.pytorch.org/docs/stable/torch_nccl_environment_variables.html.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any, Optional

from doctor.run.folder import RunDir
from doctor.run.patience import touch

#: collectives kept; what torch keeps by itself since it keeps any (FlightRecorder.hpp of torch 2.13)
_ENTRIES = "2000"

#: first release that reads TORCH_FR_*; it warns of the older names
_RENAMED = (2, 8)


def prepare(run: RunDir) -> dict[str, str]:
    """Set what is not set yet, so that a dump after a time-out comes into the run folder; gives what was set.

    To be called after torch is imported and before the first process group is made. On machines without NCCL the
    variables mean nothing.
    """
    torch = sys.modules.get("torch")
    release = re.match(r"(\d+)\.(\d+)", str(getattr(torch, "__version__", "")))
    if release is None:
        return {}
    new = (int(release[1]), int(release[2])) >= _RENAMED
    stem = str(run.path / "stacks" / "nccl_trace_rank_")
    wanted = {
        "TORCH_FR_BUFFER_SIZE" if new else "TORCH_NCCL_TRACE_BUFFER_SIZE": _ENTRIES,
        "TORCH_FR_DUMP_TEMP_FILE" if new else "TORCH_NCCL_DEBUG_INFO_TEMP_FILE": stem,
        "TORCH_NCCL_DUMP_ON_TIMEOUT": "1",
    }
    taken = ("TORCH_FR_BUFFER_SIZE", "TORCH_NCCL_TRACE_BUFFER_SIZE", "TORCH_FR_DUMP_TEMP_FILE",
             "TORCH_NCCL_DEBUG_INFO_TEMP_FILE", "TORCH_NCCL_DUMP_ON_TIMEOUT")  # fmt: skip
    if any(name in os.environ for name in taken):  # the user has a mind of their own
        return {}
    touch(lambda: (run.path / "stacks").mkdir(parents=True, exist_ok=True), None)
    os.environ.update(wanted)
    return wanted


def dump(folder: Path, rank: int) -> Optional[Path]:
    """Write what the recorder of this process holds; None where NCCL is not used or this torch cannot tell."""
    distributed: Any = sys.modules.get("torch.distributed")
    if distributed is None or not distributed.is_available() or not distributed.is_initialized():
        return None
    if "nccl" not in str(distributed.get_backend()):
        return None
    dump_trace = getattr(sys.modules.get("torch._C._distributed_c10d"), "_dump_nccl_trace", None)
    if dump_trace is None:
        return None
    path = folder / f"nccl_trace_rank_{rank}"
    path.write_bytes(dump_trace())
    return path
