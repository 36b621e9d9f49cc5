"""Collects the fact `deep`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from doctor.base.fact import Context, DoesNotApply, Unavailable, fact
from doctor.facts.collectives import Collectives
from doctor.facts.deep import Deep, Import, Matmul, Speed
from doctor.facts.gpus import Gpus
from doctor.facts.interpreter import Interpreter
from doctor.facts.launch import Launch
from doctor.facts.packages import Packages

if TYPE_CHECKING:
    from doctor.readers.machine.deep_probes import Probed

MODULES = ("torch", "vllm", "deepspeed", "flash_attn", "trl", "bitsandbytes")
_TOTAL_S = 280.0  # of the fact's 300


@fact(timeout_s=300.0)  # slow by name: the user asked for it; each probe has a time-out of its own
def collect(
    context: Context,
    interpreter: Interpreter,
    launch: Launch | None,
    packages: Packages | None,
    gpus: Gpus | None,
    collectives: Collectives | None = None,  # noqa: ARG001 - asked for so that nothing else runs while nodes are measured
) -> Deep:
    """Run the probes one after the other in children of the patient's interpreter.

    Raises:
        Unavailable: `--deep` was not given, or the interpreter cannot be started.

    """
    if not context.deep:
        raise DoesNotApply("measured with --deep only")
    from doctor.readers.machine import deep_probes as probes

    environ = {**context.environ, **(launch.environment if launch else {})}
    patient = probes.Probed(interpreter.executable, environ, time.monotonic() + _TOTAL_S)
    try:
        found = [probes.import_module(patient, module) for module in _installed(packages)]
        imports = tuple(each for each in found if each is not None)
        if not any(each.module == "torch" and each.outcome == "ok" for each in imports):
            return Deep(imports=imports)
        return _with_torch(patient, imports, gpus)
    except OSError as exc:
        raise Unavailable(f"`{interpreter.executable}` cannot be started: {exc.strerror or exc}") from exc


def _with_torch(patient: Probed, imports: tuple[Import, ...], gpus: Gpus | None) -> Deep:
    """Go on with what needs a torch that can be imported."""
    from doctor.readers.machine import deep_probes as probes

    devices = probes.devices(patient)
    matmuls: list[Matmul] = []
    speeds: list[Speed] = []
    mapped = devices.mapped
    for index, uuid in enumerate(devices.uuids):
        results, libraries, fast = probes.matmul(patient, index, _nvml_index(index, uuid, gpus))
        matmuls += results
        speeds += fast
        mapped = libraries or mapped  # after a product more is loaded than after the import
    backend = "nccl" if len(devices.uuids) > 1 else "gloo"
    return Deep(
        imports=imports,
        matmuls=tuple(matmuls),
        mapped=mapped,
        collective=probes.collective(patient, backend),
        torch_arch_list=devices.arch_list,
        cuda_available=devices.cuda_available,
        speeds=tuple(speeds),
    )


def _installed(packages: Packages | None) -> tuple[str, ...]:
    """Modules of the stack to import: those that are installed, all when that is not known."""
    if packages is None:
        return MODULES
    return tuple(
        module
        for module in MODULES
        if packages.modules.get(module) or module.replace("_", "-") in packages.distributions
    )


def _nvml_index(index: int, uuid: str | None, gpus: Gpus | None) -> int:
    """NVML's index of torch's device: by UUID, for the two count differently; torch's own where it tells none."""
    for gpu in gpus.gpus if gpus and uuid else ():
        if gpu.uuid and gpu.uuid.removeprefix("GPU-") == str(uuid).removeprefix("GPU-"):
            return gpu.index
    return index
