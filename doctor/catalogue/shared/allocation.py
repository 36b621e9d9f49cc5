"""What a batch job asks Slurm for, and what a container gets: read from the options, whatever this machine has.

https://slurm.schedmd.com/sbatch.html#OPT_gres, https://docs.docker.com/reference/cli/docker/container/run/
"""

from __future__ import annotations

import re

from doctor.base.evidence import Observed
from doctor.base.patterns import later
from doctor.catalogue.settings import whole
from doctor.facts.launch import Launch

_GPUS = later(r"(?:gres/)?gpu(?::[A-Za-z][\w.\-]*)?(?::(\d+))?(?:\(.*\))?")
_OF_KIND = later(r"(?:[A-Za-z][\w.\-]*:)?(\d+)")
_BYTES = {"b": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


def job_nodes(launch: Launch) -> int | None:
    """Nodes that the job asks for; one where it says nothing, None for a span."""
    setting = launch.wrapper_options.get("sbatch.nodes")
    return 1 if setting is None else whole(setting.value)


def tasks_of_a_node(launch: Launch) -> tuple[int, Observed] | None:
    """(Tasks that `srun` starts on a node, the option that says so); None without `srun`, or where they are not told.

    `srun` takes what its own line does not say from the job (https://slurm.schedmd.com/srun.html#OPT_ntasks-per-node).
    """
    options = launch.wrapper_options
    if "srun" not in launch.wrappers:
        return None
    nodes = options.get("srun.nodes")
    count = whole(nodes.value) if nodes is not None else job_nodes(launch) if "sbatch.nodes" in options else None
    for name in ("srun.ntasks", "srun.ntasks_per_node", "sbatch.ntasks_per_node", "sbatch.ntasks"):
        number = whole(options[name].value) if name in options else None
        if number is None:
            continue
        if name.endswith("per_node"):
            return number, options[name]
        return (number // count, options[name]) if count and number % count == 0 else None
    return None


def job_gpus(launch: Launch) -> tuple[int, Observed] | None:
    """(GPUs of a node, the option that says so); None where the job's options say nothing that can be counted."""
    options = launch.wrapper_options
    if (setting := options.get("sbatch.gpus_per_node")) is not None:
        count = _of_kind(setting.text)
        return (count, setting) if count is not None else None
    if (setting := options.get("sbatch.gres")) is not None:
        found = [_GPUS.fullmatch(each.strip()) for each in setting.text.split(",")]
        counts = [int(match[1] or 1) for match in found if match]
        return (sum(counts), setting) if counts else None
    setting, nodes = options.get("sbatch.gpus"), job_nodes(launch)
    total = _of_kind(setting.text) if setting is not None else None
    if setting is None or total is None or not nodes or total % nodes:
        return None
    return total // nodes, setting


def _of_kind(text: str) -> int | None:
    """`4`, `a100:4`."""
    counts = [_OF_KIND.fullmatch(each.strip()) for each in text.split(",")]
    return sum(int(match[1]) for match in counts if match) if counts and all(counts) else None


#: what a container has in /dev/shm when nothing is said (https://docs.docker.com/engine/containers/run/)
CONTAINER_SHM_BYTES = 64 << 20


def container_shm(launch: Launch) -> int | None:
    """Bytes of /dev/shm in the container; None outside of one, where the host's is shared or another is mounted."""
    options = launch.wrapper_options
    ipc = options.get("docker.ipc")
    mounted = any(
        "/dev/shm" in options[name].text  # noqa: S108 - an option is read
        for name in ("docker.volume", "docker.mount", "docker.tmpfs")
        if name in options
    )
    if launch.image is None or mounted or (ipc is not None and ipc.text not in {"private", "shareable"}):
        return None
    setting = options.get("docker.shm_size")
    if setting is None:
        return CONTAINER_SHM_BYTES
    match = re.fullmatch(r"(\d+)([bkmg]?)b?", setting.text.strip().lower())
    return int(match[1]) * _BYTES[match[2] or "b"] if match else None
