"""Puts a rehearsal into a process as its libraries are imported; called by the start-up hook."""

from __future__ import annotations

import atexit
import importlib
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from doctor.monitors.rehearse import journal
from doctor.monitors.rehearse.settings import settings

#: module of a library -> (module of this package, function) that is given it, once it is imported
_PLACES = {
    "transformers.configuration_utils": ("models", "configurations"),
    "transformers.modeling_utils": ("models", "weights"),
    "transformers.utils.quantization_config": ("kernels", "configurations"),
    "peft.peft_model": ("models", "adapters"),
    "transformers.tokenization_utils_base": ("relations.rendered", "attach"),
    "transformers.training_args": ("arguments", "attach"),
    "transformers.trainer": ("trainers", "attach"),
    "transformers.generation.utils": ("completions", "attach"),
    "datasets.load": ("data", "loaders"),
    "datasets.arrow_dataset": ("data", "datasets"),
    "datasets.dataset_dict": ("outside", "pushes"),
    "huggingface_hub.hf_api": ("outside", "hub"),
    "transformers.utils.hub": ("outside", "pushes"),
    "torch.optim.optimizer": ("loops", "attach"),
    "torch.autograd": ("loops", "backwards"),
    "torch.nn.modules.module": ("loops", "modules"),
    "torch.nn.utils.clip_grad": ("relations.clipping", "attach"),
    "torch.nn.functional": ("relations.contracts", "attach"),
    "torch.utils.data._utils.fetch": ("relations.collating", "attach"),
    "torch.serialization": ("saved", "torch_files"),
    "safetensors": ("saved", "safetensors_files"),
    "wandb": ("outside", "trackers"),
    "swanlab": ("outside", "trackers"),
    "trackio": ("outside", "trackers"),
    "mlflow": ("outside", "trackers"),
    "vllm.engine.arg_utils": ("engines", "attach"),
    "sglang.srt.server_args": ("engines", "servers"),
    "trl.extras.vllm_client": ("server", "clients"),
    "trl.generation.vllm_client": ("server", "clients"),
    "hydra.main": ("verl", "tasks"),
    "ray._private.worker": ("rays", "clusters"),
    "ray.scripts.scripts": ("rays", "programs"),
    "ray.dashboard.modules.job.cli": ("rays", "jobs"),
}
AWAITED = tuple(_PLACES)


def begin() -> None:
    """Begin in this process, before anything of the user's is imported."""
    try:
        journal.write("process", argv=list(getattr(sys, "argv", []))[:4], parent=os.getppid())
        from doctor.monitors.rehearse import outside, standing

        outside.watch(settings())
        run = os.environ.get("DOCTOR_RUN_DIR")
        if run:
            standing.listen(Path(run))
        if os.environ.get("RANK"):
            atexit.register(_left)
    except Exception:  # noqa: BLE001 - a rehearsal that is not there is told by the doctor
        journal.crashed("attach.begin")


def _left() -> None:
    """Note that this rank's program is over, and whether an exception ended it."""
    journal.write("left", failed=getattr(sys, "last_value", None) is not None)


def attach(name: str, module: ModuleType) -> None:
    """Replace in a module that was just imported."""
    place = _PLACES.get(name)
    if place is None:
        return
    try:
        owner: Any = importlib.import_module(f"doctor.monitors.rehearse.{place[0]}")
        getattr(owner, place[1])(module)
        journal.once("attached", name, module=name)
        if name == "transformers.trainer":
            from doctor.monitors.rehearse import again

            again.keep()
    except Exception:  # noqa: BLE001 - another release of a library: what was not replaced is told
        journal.crashed(f"attach {name}")
